//! The row of the embedded library in an inventory.

use lab::inventory::InventoryRow;
use rusqlite::Connection;

use super::ENGINE;

/// The embedded library with its own defaults, which are not those of an experiment.
pub(super) fn row() -> InventoryRow {
    let row = InventoryRow {
        server: "here".to_owned(),
        engine: ENGINE.id.into(),
        version: Some(rusqlite::version().to_owned()),
        ..InventoryRow::default()
    };
    let connection = match Connection::open_in_memory() {
        Ok(connection) => connection,
        Err(error) => return InventoryRow { problem: Some(error.to_string()), ..row },
    };
    let pragma =
        |name: &str| connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0)).ok();
    let synchronous = pragma("synchronous").map(|level| match level {
        0 => "off",
        1 => "normal",
        2 => "full",
        _ => "extra",
    });
    // Negative: so many KiB; positive: so many pages.
    let cache = pragma("cache_size")
        .map(|size| if size < 0 { format!("{} kB", size.unsigned_abs()) } else { format!("{size} pages") });
    InventoryRow {
        workers_per_query: pragma("threads").and_then(|count| u64::try_from(count).ok()),
        buffer_pool: cache,
        log_size: pragma("wal_autocheckpoint").map(|pages| format!("{pages} pages")),
        durability: synchronous.map(|level| format!("synchronous={level}")),
        ..row
    }
}
