//! What files say about their database without a check: of one engine so far.

use std::path::PathBuf;

use report::inventory::FileInventory;

/// Facts and tables of the files of one SQL Server database, or of a backup.
///
/// # Errors
/// The files cannot be read, or not all of what they say can.
#[cfg(feature = "checkers")]
pub(crate) fn inventory(files: &[PathBuf]) -> anyhow::Result<FileInventory> {
    use anyhow::bail;
    use report::inventory::FileTable;

    let inventory = check_sqlserver::inventory(files)?;
    if let Some(problem) = &inventory.problem {
        let file = files.first().map(|file| file.display().to_string()).unwrap_or_default();
        bail!("cannot list what is in \"{file}\": {problem}");
    }
    let tables = inventory.tables.into_iter().map(|table| FileTable {
        name: table.name,
        row_count: table.row_count,
        page_count: table.page_count,
        index_count: table.index_count,
        is_heap: table.is_heap,
    });
    Ok(FileInventory { facts: inventory.facts, tables: tables.collect() })
}

/// Refuses, in a build without the feature `checkers`.
#[cfg(not(feature = "checkers"))]
pub(crate) fn inventory(_: &[PathBuf]) -> anyhow::Result<FileInventory> {
    Err(super::list::without_checkers())
}
