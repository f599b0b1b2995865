//! The comparisons of a design, one row each.

use stats::change::PercentDefinition;

use super::levels::{level_cells, level_columns};
use crate::layout::{Align, Block, Grid, Section};
use crate::number::{Decimals, factor, p_value, percent};
use crate::summary::{Contrast, Levels, SecondaryMetric, StudySummary};
use crate::tables::or_dash;

/// The table of a design that compares other cells than each with the first; `None` for one that does not.
pub(crate) fn comparisons(summary: &StudySummary) -> Option<Section> {
    let is_own = |contrast: &Contrast| contrast.asked != "reference";
    if !summary.comparisons.iter().any(is_own) {
        return None;
    }
    let has_common = summary.comparisons.iter().any(|contrast| !contrast.common.0.is_empty());
    let at = has_common.then(|| ("at".to_owned(), Align::Left));
    let (percent_head, factor_head) = heads_of_change(summary);
    let mut grid = Grid::named_by(at.into_iter().chain([("comparison".to_owned(), Align::Left)])).with([
        (percent_head, Align::Right),
        (factor_head, Align::Right),
        ("95 % interval", Align::Right),
        ("p", Align::Right),
        ("verdict", Align::Left),
    ]);
    for contrast in &summary.comparisons {
        let mut row: Vec<String> = has_common.then(|| label(&contrast.common)).into_iter().collect();
        row.push(sides(contrast));
        row.extend(change_cells(summary, contrast));
        grid.push(row);
    }
    let note = format!(
        "{} p is from a permutation test, corrected for all comparisons of this table together; the chance of one false \
         \"better\" or \"worse\" among them is at most {}.",
        definition(summary),
        summary.chance()
    );
    Some(Section::new("Comparisons of the experiment", vec![Block::Grid(grid), Block::Paragraph(note)]))
}

/// Means of the metrics that the design names beside the compared one; `None` without any.
pub(crate) fn secondary(summary: &StudySummary) -> Option<Section> {
    if summary.secondary.is_empty() {
        return None;
    }
    let head = |metric: &SecondaryMetric| match metric.measure.unit.as_str() {
        "" | "1" => metric.measure.name.clone(),
        unit => format!("{} [{unit}]", metric.measure.name),
    };
    let heads: Vec<String> = summary.secondary.iter().map(head).collect();
    let mut grid = level_columns(summary).with(heads.iter().map(|head| (head.as_str(), Align::Right)));
    let mean = |metric: &SecondaryMetric, place: usize| {
        metric.cells.get(place).and_then(|cell| cell.estimate).map(|estimate| estimate.mean)
    };
    let decimals: Vec<Decimals> = summary
        .secondary
        .iter()
        .map(|metric| {
            let means = (0..metric.cells.len()).filter_map(|place| mean(metric, place));
            Decimals::for_column(means.collect::<Vec<_>>())
        })
        .collect();
    for (place, cell) in summary.cells.iter().enumerate() {
        let means = summary.secondary.iter().zip(&decimals);
        let means = means.map(|(metric, decimals)| decimals.write_or_dash(mean(metric, place)));
        grid.push(level_cells(&cell.levels).into_iter().chain(means).collect());
    }
    let title = "Secondary metrics, mean per run (no verdict rests on them)";
    Some(Section::new(title, vec![Block::Grid(grid)]))
}

/// Heads of the columns of a change: in percent, and as a factor.
pub(crate) fn heads_of_change(summary: &StudySummary) -> (&'static str, &'static str) {
    match summary.quantity.is_speed() {
        true => (PercentDefinition::TimeReduction.header(), "speed-up"),
        false => ("% difference", "ratio"),
    }
}

/// What percentages and factors are made of.
pub(crate) fn definition(summary: &StudySummary) -> String {
    let quantity = summary.quantity;
    if !quantity.is_speed() {
        return format!(
            "Ratio is the geometric mean of {} over that of the configuration compared with; % difference is 100 * (ratio - 1).",
            quantity.name()
        );
    }
    let per = match (quantity.name(), quantity.piece()) {
        ("elapsed_s", _) => "t is the geometric mean of the elapsed time".to_owned(),
        (_, Some(piece)) => format!("t is the geometric mean of the time per {piece}"),
        (name, _) if quantity.is_rate() => format!("t is the inverse of the geometric mean of {name}"),
        (name, _) => format!("t is the geometric mean of {name}"),
    };
    format!("% is {}, {per}; speed-up is t_ref / t.", summary.percent_definition)
}

/// The change, its interval, p and verdict.
fn change_cells(summary: &StudySummary, contrast: &Contrast) -> Vec<String> {
    let quantity = summary.quantity;
    let comparison = contrast.comparison;
    let interval = comparison.and_then(|comparison| comparison.speed_up_interval);
    vec![
        or_dash(contrast.change, |change| match quantity.is_speed() {
            true => percent(change.time_reduction_percent),
            false => percent(100.0 * (quantity.ratio_of(change.speed_up) - 1.0)),
        }),
        or_dash(contrast.change, |change| factor(quantity.shown_factor(change.speed_up))),
        or_dash(interval, |interval| {
            let ends = [interval.low, interval.high].map(|end| quantity.shown_factor(end));
            format!("{} to {}", factor(ends[0].min(ends[1])), factor(ends[0].max(ends[1])))
        }),
        or_dash(comparison.and_then(|comparison| comparison.p_adjusted), |p| {
            let text = p_value(p);
            text.strip_prefix("p = ").or(text.strip_prefix("p ")).unwrap_or(&text).to_owned()
        }),
        comparison.map_or_else(|| "not compared".to_owned(), |comparison| comparison.words()),
    ]
}

/// `batch_size=10 vs 1`, or both sides in full where they differ in several factors.
fn sides(contrast: &Contrast) -> String {
    match (contrast.of_candidate.0.as_slice(), contrast.of_reference.0.as_slice()) {
        ([(name, level)], [(_, reference)]) => format!("{name}={level} vs {reference}"),
        _ => format!("{} vs {}", label(&contrast.of_candidate), label(&contrast.of_reference)),
    }
}

fn label(levels: &Levels) -> String {
    let named: Vec<String> = levels.0.iter().map(|(name, level)| format!("{name}={level}")).collect();
    named.join(" ")
}
