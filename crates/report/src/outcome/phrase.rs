//! The outcome of a study in one phrase, for lists of studies.

use super::contrasts;
use crate::summary::{CellSummary, StudySummary, Verdict};

/// Most configurations that the phrase names; more are counted.
const NAMES_MAX: usize = 2;

/// Writes the answer to the question of the design, or what the comparisons with the reference came to: `better than
/// batch_size=1: batch_size=10 and batch_size=100`.
pub fn phrase(summary: &StudySummary) -> String {
    if let Some(reading) = contrasts::reading(summary) {
        return reading.headline.trim_end_matches('.').to_owned();
    }
    let known = summary.cells.iter().filter(|cell| cell.estimate.is_some()).count();
    let reference = summary.reference_index.map_or("", |index| summary.cells[index].label.as_str());
    let with = |verdict: Verdict| -> Vec<&CellSummary> {
        let has =
            |cell: &&CellSummary| cell.comparison.is_some_and(|comparison| comparison.verdict == verdict);
        summary.cells.iter().filter(has).collect()
    };
    let compared = summary.cells.iter().filter(|cell| cell.comparison.is_some()).count();
    if known == 0 {
        return "no run counts".to_owned();
    }
    if compared == 0 {
        return match summary.cells.len() {
            1 => "one configuration, nothing to compare".to_owned(),
            _ => "nothing compared yet".to_owned(),
        };
    }
    let mut parts = Vec::new();
    for (verdict, word) in [(Verdict::Better, "better"), (Verdict::Worse, "worse")] {
        let cells = with(verdict);
        if !cells.is_empty() {
            parts.push(format!("{word} than {reference}: {}", names(&cells)));
        }
    }
    if parts.is_empty() {
        parts.push(match with(Verdict::TooFewRuns).len() {
            0 => "no difference shown".to_owned(),
            few if few == compared => "too few runs to show a difference".to_owned(),
            few => format!("no difference shown; too few runs for {few} of {compared} comparisons"),
        });
    }
    parts.join("; ")
}

/// `a`, `a and b`, `a, b and 3 more`.
fn names(cells: &[&CellSummary]) -> String {
    let named: Vec<&str> = cells.iter().take(NAMES_MAX).map(|cell| cell.label.as_str()).collect();
    match cells.len().saturating_sub(NAMES_MAX) {
        0 => named.join(" and "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}
