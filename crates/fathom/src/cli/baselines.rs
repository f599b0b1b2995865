//! Stored baselines of devices, as pages take them.

use jiff::Timestamp;
use report::html::Baseline;
use results::io::IoTable;
use results::store::StoredIoTable;

/// A stored baseline with its number.
pub(crate) fn stored(stored: StoredIoTable) -> Baseline {
    measured(stored.table, Some(stored.id.0))
}

/// A baseline; `None` is the number of one that was not stored.
pub(crate) fn measured(table: IoTable, number: Option<i64>) -> Baseline {
    Baseline { number, began_at: began_at(&table), table }
}

/// When the measurement began, RFC 3339 in UTC; a dash where the stored number is no time.
pub(crate) fn began_at(table: &IoTable) -> String {
    let began = i64::try_from(table.began_unix_s).ok();
    let began = began.and_then(|seconds| Timestamp::from_second(seconds).ok());
    began.map_or_else(|| "-".to_owned(), |began| began.to_string())
}
