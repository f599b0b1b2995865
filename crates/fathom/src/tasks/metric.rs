//! A metric of a task.

use results::model::Metric;

/// A value with its unit and source.
pub(super) fn metric(name: &str, value: f64, unit: &str, source: &str) -> Metric {
    Metric::new(name, value, unit, source)
}
