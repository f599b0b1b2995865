//! The history laid out: one table per series, with a bar that starts at zero and the changes marked.

use super::{History, LevelChange, Point, Series};
use crate::layout::{Align, Block, Grid, Section, SectionId};
use crate::number::{Decimals, number, p_value, percent};
use crate::tables::{moment, or_dash};

/// Header of the bars.
pub(crate) const BARS: &str = "from zero";

/// Cells of the longest bar.
const BAR_MAX: usize = 14;

/// Eighths of a cell, from one to seven.
const EIGHTHS: [char; 7] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/// Lays out the whole history.
pub(crate) fn sections(history: &History) -> Vec<Section> {
    let mut sections = vec![head(history)];
    sections.extend(history.series.iter().flat_map(|series| of_series(history, series)));
    sections.push(notes(history));
    sections
}

/// The changes of the level, a sentence each, or why there is none.
pub(crate) fn outcome(history: &History) -> Vec<String> {
    let mut sentences = Vec::new();
    for series in &history.series {
        for point in &series.points {
            sentences.extend(point.change.as_ref().map(|change| sentence(series, point, change)));
        }
    }
    let longest = history.series.iter().map(|series| series.points.len()).max().unwrap_or(0);
    if sentences.is_empty() && longest >= history.studies_min {
        sentences.push("No change point found.".to_owned());
    } else if sentences.is_empty() {
        sentences.push(format!(
            "Too few studies for change points: {longest} of at least {} measured the same way.",
            history.studies_min
        ));
    }
    sentences
}

fn head(history: &History) -> Section {
    let sentences = outcome(history);
    let outcome = match history.change_count() {
        0 => Block::Paragraph(sentences.concat()),
        _ => Block::Items(sentences),
    };
    let title =
        format!("{} of {} over {} studies", history.measure.name, history.experiment, history.study_count);
    Section::new(title, vec![outcome])
}

fn sentence(series: &Series, point: &Point, change: &LevelChange) -> String {
    let word = if change.is_better { "better" } else { "worse" };
    let changed: Vec<String> = change.changes.iter().take(3).map(|changed| changed.name.clone()).collect();
    let why = match (changed.is_empty(), change.changes.len().saturating_sub(changed.len())) {
        (true, _) => "no recorded change at the same time".to_owned(),
        (false, 0) => format!("changed at the same time: {}", changed.join(", ")),
        (false, more) => format!("changed at the same time: {} and {more} more", changed.join(", ")),
    };
    format!(
        "{}: {word} by {} % since study {} ({}), {}; {why}",
        series.label,
        percent(change.difference_percent.abs()),
        point.study_id,
        moment(&point.created_at),
        p_value(change.p_value)
    )
}

fn of_series(history: &History, series: &Series) -> Option<Section> {
    let unit =
        if history.measure.unit.is_empty() { String::new() } else { format!(" in {}", history.measure.unit) };
    let mean = format!("geometric mean{unit}");
    let mut grid = Grid::named_by([("study".to_owned(), Align::Right)]).with([
        ("made", Align::Left),
        ("n", Align::Right),
        (mean.as_str(), Align::Right),
        (BARS, Align::Left),
        ("% vs previous", Align::Right),
        ("verdict", Align::Left),
        ("change point", Align::Right),
    ]);
    let means = || series.points.iter().map(|point| point.geometric_mean);
    let (decimals, largest) = (Decimals::for_values(means()), means().fold(0.0, f64::max));
    for point in &series.points {
        grid.push(vec![
            point.study_id.to_string(),
            minute(&point.created_at),
            point.estimate.n.to_string(),
            decimals.write(point.geometric_mean),
            bar(point.geometric_mean, largest),
            or_dash(point.vs_previous_percent, signed),
            or_dash(point.vs_previous, |verdict| verdict.words().to_owned()),
            point
                .change
                .as_ref()
                .map_or_else(String::new, |change| format!("{} %", signed(change.difference_percent))),
        ]);
    }
    let mut blocks = vec![Block::Grid(grid)];
    if series.missing_count > 0 {
        let n = series.missing_count;
        blocks.push(Block::Paragraph(format!("{n} more studies have no counting run with this metric.")));
    }
    Some(Section::new(series.label.clone(), blocks))
}

/// A stored moment without its seconds: `2026-11-20 10:00Z`.
fn minute(at: &str) -> String {
    let moment = moment(at);
    match moment.get(..16) {
        Some(minute) if moment.ends_with('Z') => minute.replace('T', " ") + "Z",
        _ => moment,
    }
}

fn signed(value: f64) -> String {
    if value >= 0.0 { format!("+{}", percent(value)) } else { percent(value) }
}

/// A bar in eighths of a cell; the largest value fills it.
fn bar(value: f64, largest: f64) -> String {
    let eighths = (value / largest * (8 * BAR_MAX) as f64).round().clamp(0.0, (8 * BAR_MAX) as f64) as usize;
    let mut bar = "█".repeat(eighths / 8);
    bar.extend(eighths.checked_rem(8).filter(|rest| *rest > 0).map(|rest| EIGHTHS[rest - 1]));
    bar
}

fn notes(history: &History) -> Section {
    let better = if history.measure.is_smaller_better { "Smaller" } else { "Larger" };
    let level = number(100.0 * history.alpha);
    let text = format!(
        "{better} is better. Means and percentages are of geometric means. A series has the same target, scale and parameters. \"Verdict\" \
         compares the runs of a study with those of the one before, as `fathom compare` does (permutation test, Holm over \
         the series; over many studies about {level} % of these give a false alarm). \"Change point\" marks where the geometric mean of \
         the studies changes for good (E-divisive, permutation of the studies, {level} % over all series; at least {} \
         studies).",
        history.studies_min
    );
    Section::new("How to read this", vec![Block::Paragraph(text)]).named(SectionId::Notes)
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn a_bar_starts_at_zero_and_ends_at_the_largest_value() {
        assert_eq!(bar(2.0, 2.0).chars().count(), 14);
        assert_eq!(bar(1.0, 2.0), "█".repeat(7));
        assert_eq!(bar(1.0 / 8.0 + 1.0, 14.0), "█▏");
        assert_eq!(bar(0.0, 2.0), "");
    }
}
