//! The outcome of a study in one to three sentences: what was observed, how sure it is, what was not shown.
//!
//! Every number comes from the summary. Sentences observe; they recommend nothing.

use super::contrasts;
use crate::number::{Decimals, factor, p_value, percent};
use crate::safety;
use crate::summary::{CellSummary, Estimate, Range, StudySummary, Verdict, runs_needed};

/// Most configurations that a sentence names; more are counted.
const NAMES_MAX: usize = 5;

/// Writes the sentences of a study.
pub(crate) fn sentences(summary: &StudySummary) -> Vec<String> {
    let words = Words::of(summary);
    let known: Vec<&CellSummary> = summary.cells.iter().filter(|cell| cell.estimate.is_some()).collect();
    let mut sentences = Vec::new();
    match known.as_slice() {
        [] => sentences.push(nothing_counts(summary)),
        [only] if summary.cells.len() == 1 => sentences.push(words.single(only)),
        _ => match contrasts::reading(summary) {
            Some(reading) => {
                sentences.push(reading.headline);
                sentences.extend(safety::sentence(summary));
                sentences.extend(reading.remarks);
            }
            None => {
                sentences.extend(words.best(&known));
                sentences.extend(safety::sentence(summary));
                sentences.extend(words.others());
            }
        },
    }
    if summary.counts.counting < summary.counts.planned && !known.is_empty() {
        sentences.push(format!(
            "{} of {} {} runs count; the others are excluded from all numbers above.",
            summary.counts.counting,
            summary.counts.planned,
            summary.origin_word()
        ));
    }
    sentences
}

fn nothing_counts(summary: &StudySummary) -> String {
    let counts = summary.counts;
    if counts.counting > 0 {
        return format!(
            "None of the {} counting runs measured {}, nothing is compared: --metric names another metric.",
            counts.counting,
            summary.quantity.name()
        );
    }
    format!(
        "No run counts, nothing is compared: {} invalid, {} interrupted, {} suspect.",
        counts.invalid, counts.interrupted, counts.suspect
    )
}

/// The summary with what its sentences share.
struct Words<'a> {
    summary: &'a StudySummary,
    decimals: Decimals,
    comparison_count: usize,
}

impl<'a> Words<'a> {
    fn of(summary: &'a StudySummary) -> Self {
        let means = summary.cells.iter().filter_map(|cell| cell.estimate).map(|estimate| estimate.mean);
        Self {
            summary,
            decimals: Decimals::for_values(means),
            comparison_count: summary.cells.iter().filter(|cell| cell.comparison.is_some()).count(),
        }
    }

    fn single(&self, cell: &CellSummary) -> String {
        let Some(estimate) = cell.estimate else { return String::new() };
        let spread = match estimate.sd {
            Some(sd) if estimate.mean != 0.0 => {
                format!("; the standard deviation is {} % of the mean", percent(100.0 * sd / estimate.mean))
            }
            _ => String::new(),
        };
        format!(
            "Only one configuration was measured, nothing is compared: mean {} {}{spread}.",
            self.summary.quantity.words(),
            self.mean(estimate)
        )
    }

    /// What the comparison with the reference comes to.
    fn best(&self, known: &[&CellSummary]) -> Vec<String> {
        let Some(reference) = self.summary.reference_index.map(|index| &self.summary.cells[index]) else {
            return Vec::new();
        };
        let Some(reference_estimate) = reference.estimate else {
            return vec![format!(
                "No run of the reference {} counts, nothing is compared with it.",
                reference.label
            )];
        };
        let better = self.with(Verdict::Better);
        if let Some(best) = self.best_of(&better) {
            let mut sentences = vec![self.better(best, reference, reference_estimate)];
            let rivals: Vec<&CellSummary> =
                known.iter().copied().filter(|cell| cell.cell_index != best.cell_index).collect();
            let rival = self.best_of(&rivals);
            if let Some(rival) = rival.filter(|rival| !rival.is_reference) {
                sentences.push(self.next(best, rival));
            }
            let also: Vec<&CellSummary> =
                better.iter().copied().filter(|cell| cell.cell_index != best.cell_index).collect();
            if !also.is_empty() {
                sentences.push(format!("Also better than {}: {}.", reference.label, names(&also)));
            }
            return sentences;
        }
        if self.with(Verdict::NoDifferenceShown).len() == self.comparison_count && self.comparison_count > 0 {
            return vec![self.no_difference(reference, reference_estimate)];
        }
        if self.with(Verdict::TooFewRuns).len() == self.comparison_count && self.comparison_count > 0 {
            return vec![self.too_few(known, reference)];
        }
        vec![format!(
            "No configuration was shown to be better than the reference {}: mean {} {}.",
            reference.label,
            self.summary.quantity.words(),
            self.mean(reference_estimate)
        )]
    }

    /// The cell with the best mean; the first of equals.
    fn best_of<'b>(&self, cells: &[&'b CellSummary]) -> Option<&'b CellSummary> {
        let mean = |cell: &CellSummary| cell.estimate.map(|estimate| estimate.mean);
        let is_better = |left: &CellSummary, right: &CellSummary| {
            let means = mean(left).zip(mean(right));
            means.is_some_and(|(left, right)| self.summary.quantity.is_better(left, right))
        };
        cells.iter().copied().reduce(|best, cell| if is_better(cell, best) { cell } else { best })
    }

    fn better(&self, best: &CellSummary, reference: &CellSummary, reference_estimate: Estimate) -> String {
        let (Some(estimate), Some(change), Some(comparison)) =
            (best.estimate, best.vs_reference, best.comparison)
        else {
            return String::new();
        };
        let interval = comparison.speed_up_interval.map_or_else(String::new, |interval| {
            format!(", 95 % interval {} to {}", factor(interval.low), factor(interval.high))
        });
        let p_adjusted = comparison.p_adjusted.unwrap_or(comparison.p_value);
        let corrected = match self.comparison_count {
            1 => String::new(),
            count => format!(" after correction for {count} comparisons"),
        };
        format!(
            "{} was better than {}: mean {} {} against {}, {} % less time{} ({} times as fast{interval}; \
             {}{corrected}).",
            best.label,
            reference.label,
            self.summary.quantity.words(),
            self.mean(estimate),
            self.mean(reference_estimate),
            percent(change.time_reduction_percent),
            self.per_piece(),
            factor(change.speed_up),
            p_value(p_adjusted),
        )
    }

    /// The runner-up is not tested against the best: choosing both by their means would flatter the difference. So
    /// nothing is said about it but its mean.
    fn next(&self, best: &CellSummary, rival: &CellSummary) -> String {
        let mean = rival.estimate.map_or_else(String::new, |estimate| self.mean(estimate));
        let means = best.estimate.zip(rival.estimate).map(|(best, rival)| (best.mean, rival.mean));
        let place = match means {
            Some((best, rival)) if self.summary.quantity.is_better(rival, best) => "Better by mean",
            _ => "Next by mean",
        };
        format!("{place}: {} ({mean}); not compared with {}.", rival.label, best.label)
    }

    fn no_difference(&self, reference: &CellSummary, reference_estimate: Estimate) -> String {
        let others = self.with(Verdict::NoDifferenceShown);
        let of_other = |cell: &&CellSummary| {
            let mean = cell.estimate.map_or_else(String::new, |estimate| self.mean(estimate));
            let ratio = cell.comparison.and_then(|comparison| comparison.speed_up_interval).map_or_else(
                String::new,
                |interval: Range| {
                    format!(", {} to {} times as fast", factor(interval.low), factor(interval.high))
                },
            );
            format!("{} {mean}{ratio}", cell.label)
        };
        let named: Vec<String> = others.iter().take(NAMES_MAX).map(of_other).collect();
        let more = match others.len().saturating_sub(NAMES_MAX) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let smallest_n = others.iter().filter_map(|cell| cell.estimate).map(|estimate| estimate.n).min();
        let n = smallest_n.unwrap_or(reference_estimate.n).min(reference_estimate.n);
        format!(
            "No difference shown (n={n}): mean {} of {} {}; {}{more}. This is not proof of equality; there is \
             no winner.",
            self.summary.quantity.words(),
            reference.label,
            self.mean(reference_estimate),
            named.join("; "),
        )
    }

    fn too_few(&self, known: &[&CellSummary], reference: &CellSummary) -> String {
        let smallest_n =
            known.iter().filter_map(|cell| cell.estimate).map(|estimate| estimate.n).min().unwrap_or(0);
        let observed = self.best_of(known).map_or_else(String::new, |best| {
            let mean = best.estimate.map_or_else(String::new, |estimate| self.mean(estimate));
            format!(
                " The best mean is that of {}, {mean}: an observation, not a significant difference.",
                best.label
            )
        });
        format!(
            "Too few runs (n={smallest_n}) to show that any configuration differs from {}: {}.{observed}",
            reference.label,
            self.needed(),
        )
    }

    /// The configurations that the first sentences leave out, by verdict.
    fn others(&self) -> Option<String> {
        let all = |verdict: Verdict| self.with(verdict).len() == self.comparison_count;
        if all(Verdict::NoDifferenceShown) || all(Verdict::TooFewRuns) {
            return None;
        }
        let mut parts = Vec::new();
        for (verdict, words) in [
            (Verdict::Worse, "worse than the reference"),
            (Verdict::NoDifferenceShown, "no significant difference from the reference"),
            (Verdict::TooFewRuns, "too few runs"),
        ] {
            let cells = self.with(verdict);
            if !cells.is_empty() {
                let needed = if verdict == Verdict::TooFewRuns {
                    format!(" ({})", self.needed())
                } else {
                    String::new()
                };
                let named = if verdict == Verdict::Worse { self.worse(&cells) } else { names(&cells) };
                parts.push(format!("{words}: {named}{needed}"));
            }
        }
        (!parts.is_empty()).then(|| format!("Of the others: {}.", parts.join("; ")))
    }

    /// `key=random (0.78 s [0.63, 0.94] (n=5), 91.0 % more time, 0.52 times as fast, p = 0.019), ...`.
    fn worse(&self, cells: &[&CellSummary]) -> String {
        let of_one = |cell: &&CellSummary| {
            let (Some(estimate), Some(change), Some(comparison)) =
                (cell.estimate, cell.vs_reference, cell.comparison)
            else {
                return cell.label.clone();
            };
            format!(
                "{} ({}, {} % more time{}, {} times as fast, {})",
                cell.label,
                self.mean(estimate),
                percent(-change.time_reduction_percent),
                self.per_piece(),
                factor(change.speed_up),
                p_value(comparison.p_adjusted.unwrap_or(comparison.p_value)),
            )
        };
        let named: Vec<String> = cells.iter().take(NAMES_MAX).map(of_one).collect();
        match cells.len().saturating_sub(NAMES_MAX) {
            0 => named.join(", "),
            more => format!("{} and {more} more", named.join(", ")),
        }
    }

    fn needed(&self) -> String {
        match runs_needed(self.comparison_count) {
            Some(n) => format!(
                "{} at least {n} counting runs of each configuration",
                if self.comparison_count == 1 {
                    "one comparison needs".to_owned()
                } else {
                    format!("{} comparisons need", self.comparison_count)
                }
            ),
            None => format!(
                "{} comparisons need more than a dozen counting runs of each configuration",
                self.comparison_count
            ),
        }
    }

    fn with(&self, verdict: Verdict) -> Vec<&'a CellSummary> {
        let has =
            |cell: &&CellSummary| cell.comparison.is_some_and(|comparison| comparison.verdict == verdict);
        self.summary.cells.iter().filter(has).collect()
    }

    /// `1.234 s [1.200, 1.260] (n=5)`.
    fn mean(&self, estimate: Estimate) -> String {
        let interval = estimate.interval.map_or_else(String::new, |interval| {
            format!(" [{}, {}]", self.decimals.write(interval.low), self.decimals.write(interval.high))
        });
        let mean = self.summary.quantity.with_unit(&self.decimals.write(estimate.mean));
        format!("{mean}{interval} (n={})", estimate.n)
    }

    fn per_piece(&self) -> &'static str {
        self.summary.quantity.per_piece()
    }
}

fn names(cells: &[&CellSummary]) -> String {
    let named: Vec<&str> = cells.iter().take(NAMES_MAX).map(|cell| cell.label.as_str()).collect();
    match cells.len().saturating_sub(NAMES_MAX) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}
