//! Marks of runs, and the value of a run, in words.

use report::quantity::Quantity;
use results::model::StoredRun;

use super::stored::seconds;

/// What the study compares, of one run.
pub(crate) fn value(quantity: Quantity, stored: &StoredRun) -> String {
    let value = quantity.value(&stored.run).filter(|value| stored.run.has_values() && value.is_finite());
    let Some(value) = value else { return format!("{} not measured", quantity.words()) };
    format!("{} {} {}", quantity.words(), report::number::number(value), quantity.unit())
}

/// `suspect since 2026-11-20T12:00:00Z: backup was running`, and whether it was taken back.
pub(crate) fn mark_line(mark: &results::store::StoredMark) -> String {
    let at = |moment: &str| format!("{}Z", seconds(moment));
    let back = mark.withdrawn_at.as_deref().map(|moment| format!(" (removed {})", at(moment)));
    format!(
        "marked {}: {}{}",
        at(&mark.marked_at),
        report::plain::one_line(&mark.reason),
        back.unwrap_or_default()
    )
}
