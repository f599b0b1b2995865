//! Several studies laid out: the verdict first, means and factors by study, the best cases, what differs around them.

use super::studies::{BestCase, InStudy, StudiesSummary};
use super::summary::SideView;
use crate::layout::{Align, Block, Grid, Section, SectionId};
use crate::number::{Decimals, factor, number, percent};
use crate::summary::{Range, Verdict};
use crate::tables::{moment, or_dash};

/// Lays out the whole table of studies.
pub(crate) fn studies_sections(summary: &StudiesSummary) -> Vec<Section> {
    let mut sections = vec![head(summary)];
    let verdict = vec![Block::Items(summary.sentences.clone())];
    sections.push(Section::new("Verdict", verdict).named(SectionId::Verdict));
    sections.extend([means(summary), factors(summary), best_of_studies(summary)]);
    sections.extend(best_per_level(summary));
    sections.extend(differs(summary));
    sections
}

fn names(summary: &StudiesSummary) -> impl Iterator<Item = &str> {
    summary.studies.iter().map(|study| study.name.as_str())
}

fn head(summary: &StudiesSummary) -> Section {
    let side = |(place, study): (usize, &SideView)| {
        let word = if place == 0 { "baseline" } else { "study" };
        format!(
            "{word} {}: study {}, {} on {}, made {}; configurations: {}; runs that count: {}",
            study.name,
            study.study_id,
            study.experiment,
            study.engine,
            moment(&study.created_at),
            study.cell_count,
            study.counting
        )
    };
    let items = summary.studies.iter().enumerate().map(side).collect();
    let title = format!("Comparison of {} over {} studies", summary.measure.name, summary.studies.len());
    Section::new(title, vec![Block::Items(items)]).named(SectionId::Sides)
}

fn grid_of_studies<'a>(first: &str, names: impl Iterator<Item = &'a str>) -> Grid {
    let names: Vec<String> = names.map(str::to_owned).collect();
    Grid::named_by([(first.to_owned(), Align::Left)])
        .with(names.iter().map(|name| (name.as_str(), Align::Right)))
}

fn means(summary: &StudiesSummary) -> Section {
    let all = || summary.rows.iter().flat_map(|row| row.studies.iter().flatten());
    let decimals = Decimals::for_values(all().filter_map(|of| of.geometric_mean).collect::<Vec<_>>());
    let mut grid = grid_of_studies("configuration", names(summary));
    for row in &summary.rows {
        let cells =
            row.studies.iter().map(|of| decimals.write_or_dash(of.as_ref().and_then(|of| of.geometric_mean)));
        grid.push(std::iter::once(row.label.clone()).chain(cells).collect());
    }
    let unit = &summary.measure.unit;
    let unit = if unit.is_empty() { String::new() } else { format!(" in {unit}") };
    Section::new(format!("{}{unit} by study, geometric means", summary.measure.name), vec![Block::Grid(grid)])
}

fn factors(summary: &StudiesSummary) -> Section {
    let mut grid = grid_of_studies("configuration", names(summary).skip(1));
    for row in &summary.rows {
        let cells = row.studies.iter().skip(1).map(|of| or_dash(of.as_ref(), of_study));
        grid.push(std::iter::once(row.label.clone()).chain(cells).collect());
    }
    let baseline = names(summary).next().unwrap_or_default();
    let what = match summary.is_speed() {
        true => format!("Times as fast as {baseline}"),
        false => format!("Ratio to {baseline}"),
    };
    let first = summary.comparisons.first();
    let note = format!(
        "Ratios of geometric means with their 95 % intervals; + better, - worse, = no difference shown, ? too few runs. All pairs \
         are decided together: the chance of one false + or - among them is at most {} %. Studies share no blocks: what one had \
         and the other had not (day, machine, state of the device) is part of the difference. A regression is worse by more than \
         {} %.",
        number(100.0 * first.map_or(0.05, |comparison| comparison.alpha)),
        percent(first.map_or(5.0, |comparison| comparison.threshold_percent))
    );
    Section::new(what, vec![Block::Grid(grid), Block::Paragraph(note)])
}

/// `7.25 [6.90, 7.60] +`.
fn of_study(of: &InStudy) -> String {
    let Some(ratio) = of.factor else { return "-".to_owned() };
    let interval = of
        .factor_interval
        .map_or_else(String::new, |Range { low, high }| format!(" [{}, {}]", factor(low), factor(high)));
    let mark = match of.verdict {
        Some(Verdict::Better) => " +",
        Some(Verdict::Worse) => " -",
        Some(Verdict::NoDifferenceShown) => " =",
        Some(Verdict::TooFewRuns) => " ?",
        None => "",
    };
    format!("{}{interval}{mark}", factor(ratio))
}

const NOTE_OF_BEST: &str = "Selected by mean, not by a test: the best of several noisy means is biased upward. Improvement is the \
                            baseline's best against this best.";

fn best_of_studies(summary: &StudiesSummary) -> Section {
    let columns = [
        ("best configuration", Align::Left),
        ("mean", Align::Right),
        ("n", Align::Right),
        ("improvement", Align::Right),
    ];
    let mut grid = Grid::named_by([("study".to_owned(), Align::Left)]).with(columns);
    let decimals = decimals(&summary.best_of_studies);
    for best in &summary.best_of_studies {
        let mut row = vec![summary.studies[best.study].name.clone()];
        row.extend(of_best(best, decimals));
        grid.push(row);
    }
    Section::new(
        "Best case of each study",
        vec![Block::Grid(grid), Block::Paragraph(NOTE_OF_BEST.to_owned())],
    )
}

fn best_per_level(summary: &StudiesSummary) -> Option<Section> {
    if summary.best_per_level.is_empty() {
        return None;
    }
    let mut grid = Grid::named_by([
        ("factor".to_owned(), Align::Left),
        ("level".to_owned(), Align::Right),
        ("study".to_owned(), Align::Left),
    ])
    .with([
        ("best configuration", Align::Left),
        ("mean", Align::Right),
        ("n", Align::Right),
        ("improvement", Align::Right),
    ]);
    let decimals = decimals(&summary.best_per_level);
    for best in &summary.best_per_level {
        let Some((name, level)) = &best.at else { continue };
        let mut row = vec![name.clone(), level.to_string(), summary.studies[best.study].name.clone()];
        row.extend(of_best(best, decimals));
        grid.push(row);
    }
    Some(Section::new("Best case per level", vec![Block::Grid(grid)]))
}

fn decimals(cases: &[BestCase]) -> Decimals {
    Decimals::for_values(cases.iter().map(|best| best.mean).collect::<Vec<_>>())
}

fn of_best(best: &BestCase, decimals: Decimals) -> [String; 4] {
    [best.label.clone(), decimals.write(best.mean), best.n.to_string(), or_dash(best.improvement, factor)]
}

/// What differs around the studies: one column per study, those rows alone in which one of them differs.
fn differs(summary: &StudiesSummary) -> Option<Section> {
    let mut rows: Vec<(&'static str, String, Option<String>)> = Vec::new();
    for changed in summary.comparisons.iter().flat_map(|comparison| &comparison.changes) {
        let key = (changed.part.word(), changed.name.clone(), changed.baseline.clone());
        if !rows.contains(&key) {
            rows.push(key);
        }
    }
    if rows.is_empty() {
        return None;
    }
    let columns: Vec<String> = names(summary).map(str::to_owned).collect();
    let mut grid = Grid::named_by([("part".to_owned(), Align::Left), ("name".to_owned(), Align::Left)])
        .with(columns.iter().map(|name| (name.as_str(), Align::Wrapped)));
    for (part, name, of_baseline) in rows {
        let written = |value: &Option<String>| value.clone().unwrap_or_else(|| "(not there)".to_owned());
        let of_candidate = summary.comparisons.iter().map(|comparison| {
            let mut changes = comparison.changes.iter();
            let changed = changes.find(|changed| changed.part.word() == part && changed.name == name);
            changed.map_or_else(|| "(same)".to_owned(), |changed| written(&changed.candidate))
        });
        let of_candidate: Vec<String> = of_candidate.collect();
        let head = vec![part.to_owned(), name.clone(), written(&of_baseline)];
        grid.push(head.into_iter().chain(of_candidate).collect());
    }
    Some(Section::new("What differs around the studies", vec![Block::Grid(grid)]))
}
