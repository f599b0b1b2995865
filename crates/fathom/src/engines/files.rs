//! What files say about their database without a check: of one engine so far.

use std::path::PathBuf;

use check_sqlserver::Inventory;

/// Facts and tables of the files of one SQL Server database, or of a backup.
///
/// # Errors
/// The files cannot be read.
pub(crate) fn inventory(files: &[PathBuf]) -> anyhow::Result<Inventory> {
    Ok(check_sqlserver::inventory(files)?)
}
