//! How two configurations differ, in words: times as fast for a speed, lower or higher for anything else.

use crate::number::{factor, percent};
use crate::quantity::Quantity;
use crate::summary::{Contrast, Range};

/// From this ratio on, "times as high" says more than a percentage.
const TIMES_FROM: f64 = 2.0;

/// The words for differences in one quantity.
#[derive(Clone, Copy)]
pub(super) struct Difference {
    /// What is compared.
    pub quantity: Quantity,
}

impl Difference {
    /// `faster`, or `lower` where that is better.
    pub(super) fn comparative(self, is_better: bool) -> &'static str {
        match (self.quantity.is_speed(), self.is_larger(is_better)) {
            (true, _) if is_better => "faster",
            (true, _) => "slower",
            (false, true) => "higher",
            (false, false) => "lower",
        }
    }

    /// `is 1.31 times as fast as batch_size=1`, `has 24 % lower p99 response time than batch_size=1`.
    pub(super) fn against(self, contrast: &Contrast, reference: &str) -> String {
        let Some(change) = contrast.change else { return format!("against {reference}") };
        if self.quantity.is_speed() {
            return format!("is {} times as fast as {reference}", factor(change.speed_up));
        }
        let ratio = self.quantity.ratio_of(change.speed_up);
        let words = self.quantity.words();
        match ratio {
            ratio if ratio >= TIMES_FROM => format!("has {} times the {words} of {reference}", factor(ratio)),
            _ => format!("has {} % {} {words} than {reference}", self.percent(ratio), higher(ratio)),
        }
    }

    /// `1.31 times as fast (1.20 to 1.43)`, `24.0 % lower (20.1 to 27.3 % lower)`.
    pub(super) fn with_interval(self, contrast: &Contrast) -> String {
        let Some(change) = contrast.change else { return String::new() };
        let interval = contrast.comparison.and_then(|comparison| comparison.speed_up_interval);
        let interval = interval.map_or_else(String::new, |range| format!(" ({})", self.interval(range)));
        if self.quantity.is_speed() {
            return format!("{} times as fast{interval}", factor(change.speed_up));
        }
        let ratio = self.quantity.ratio_of(change.speed_up);
        format!("{} times as high{interval}", factor(ratio))
    }

    /// The interval of the factor: `1.20 to 1.43`.
    pub(super) fn interval(self, range: Range) -> String {
        let (low, high) = match self.quantity.is_speed() {
            true => (range.low, range.high),
            false => {
                let (one, other) = (self.quantity.ratio_of(range.low), self.quantity.ratio_of(range.high));
                (one.min(other), one.max(other))
            }
        };
        format!("{} to {}", factor(low), factor(high))
    }

    /// `is 0.58 to 0.77 times as fast as`, `has 0.58 to 0.77 times the p99 response time of`.
    pub(super) fn range(self, speed_ups: Range) -> String {
        let interval = self.interval(speed_ups);
        match self.quantity.is_speed() {
            true => format!("is {interval} times as fast as"),
            false => format!("has {interval} times the {} of", self.quantity.words()),
        }
    }

    fn percent(self, ratio: f64) -> String {
        percent(100.0 * (ratio - 1.0).abs())
    }

    /// Is the better (or the worse) value the larger one?
    fn is_larger(self, is_better: bool) -> bool {
        self.quantity.is_better(2.0, 1.0) == is_better
    }
}

fn higher(ratio: f64) -> &'static str {
    if ratio >= 1.0 { "higher" } else { "lower" }
}

/// The corrected p of a comparison, or its own where it took no part in the correction.
pub(super) fn p_of(contrast: &Contrast) -> Option<f64> {
    contrast.comparison.map(|comparison| comparison.p_adjusted.unwrap_or(comparison.p_value))
}
