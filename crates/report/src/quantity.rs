//! What a study compares, and what follows from a run's records without being measured apart.

use results::measure::Measure;
use results::model::{Run, Study};
use serde::{Serialize, Serializer};
use stats::compare::Direction;

/// The quantity that is compared: the metric of the study's design.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity(&'static Measure);

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Quantity {
    /// The quantity of a study.
    pub fn of(study: &Study) -> Self {
        Self(Measure::of_study(study).interned())
    }

    /// The quantity that a measure is.
    pub fn of_measure(measure: Measure) -> Self {
        Self(measure.interned())
    }

    /// The run's value; `None` when the run did not measure it.
    pub fn value(self, run: &Run) -> Option<f64> {
        self.0.value(run)
    }

    /// Name as in docs/lab/metrics.md.
    pub fn name(self) -> &'static str {
        &self.0.name
    }

    /// Unit of the values.
    pub fn unit(self) -> &'static str {
        &self.0.unit
    }

    /// A written value with its unit: `12.3 ms`; the value alone where there is no unit.
    pub fn with_unit(self, written: &str) -> String {
        format!("{written} {}", self.unit()).trim_end().to_owned()
    }

    /// Name in words, for titles and sentences.
    pub fn words(self) -> &'static str {
        &self.0.words
    }

    /// Which way it improves.
    pub fn direction(self) -> Direction {
        if self.0.is_smaller_better { Direction::SmallerIsBetter } else { Direction::LargerIsBetter }
    }

    /// What a value costs: itself where smaller is better, else its inverse (the time per row of a rate). Ratios of costs
    /// above 1 are improvements for every quantity.
    pub fn cost_of(self, value: f64) -> f64 {
        if self.0.is_smaller_better { value } else { 1.0 / value }
    }

    /// Is it a time, or a rate of the work? A ratio then means "times as fast".
    pub fn is_speed(self) -> bool {
        self.0.is_speed()
    }

    /// Is it a rate, whose cost is a time per piece of work?
    pub fn is_rate(self) -> bool {
        self.is_speed() && !self.0.is_smaller_better
    }

    /// The piece of work whose time a rate stands for: `row`, `transaction`; `None` where the rate does not say.
    pub fn piece(self) -> Option<&'static str> {
        match self.name() {
            "rows_per_s" => Some("row"),
            "transactions_per_s" | "tps" | "tpm" => Some("transaction"),
            _ => None,
        }
    }

    /// Behind a time that is that of one piece of work: ` per row`; else empty.
    pub fn per_piece(self) -> &'static str {
        match self.piece().filter(|_| self.is_rate()) {
            Some("row") => " per row",
            Some(_) => " per transaction",
            None => "",
        }
    }

    /// Candidate over reference, of a ratio of costs (`speed_up`).
    pub fn ratio_of(self, speed_up: f64) -> f64 {
        if self.0.is_smaller_better { 1.0 / speed_up } else { speed_up }
    }

    /// What is shown of a ratio of costs: "times as fast" of a speed, candidate over reference of anything else.
    pub fn shown_factor(self, speed_up: f64) -> f64 {
        if self.is_speed() { speed_up } else { self.ratio_of(speed_up) }
    }

    /// Is `left` better than `right`?
    pub fn is_better(self, left: f64, right: f64) -> bool {
        self.0.is_better(left, right)
    }
}

/// Seconds from the release of the barrier to the end of the last client.
pub fn elapsed_s(run: &Run) -> f64 {
    run.elapsed_ns as f64 / 1e9
}

/// Rows acknowledged per second of elapsed time, or transactions where a workload has no rows; 0 when no time passed.
pub fn rows_per_s(run: &Run) -> f64 {
    let work = if run.rows() > 0 { run.rows() } else { run.transactions() };
    per_second(work, run)
}

/// Numbers that follow from the records of the clients, each with name and unit; in the order of docs/lab/metrics.md. An
/// imported run has those that its tool says.
pub fn derived(run: &Run) -> Vec<(&'static str, f64, &'static str)> {
    let mut numbers = Vec::new();
    let is_timed = run.elapsed_ns > 0;
    if is_timed {
        numbers.push(("elapsed_s", elapsed_s(run), "s"));
    }
    if is_timed && !run.clients.is_empty() {
        // Scripts have transactions; what a row is, only their user knows.
        if run.scripts.is_empty() {
            numbers.push(("rows_per_s", rows_per_s(run), "rows/s"));
        }
        numbers.push(("transactions_per_s", per_second(run.transactions(), run), "transactions/s"));
    }
    let seconds = |ns: u64| ns as f64 / 1e9;
    numbers.extend(run.first_client_end_ns().map(|ns| ("first_client_s", seconds(ns), "s")));
    numbers.extend(run.last_client_end_ns().map(|ns| ("last_client_s", seconds(ns), "s")));
    numbers
}

fn per_second(count: u64, run: &Run) -> f64 {
    if run.elapsed_ns == 0 { 0.0 } else { count as f64 / elapsed_s(run) }
}
