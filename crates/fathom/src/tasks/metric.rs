//! A metric of a task.

use results::model::Metric;

/// A value with its unit and source.
pub(super) fn metric(name: &str, value: f64, unit: &str, source: &str) -> Metric {
    Metric { name: name.to_owned(), value, unit: unit.to_owned(), source: source.to_owned() }
}
