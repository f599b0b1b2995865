//! `fathom inventory`: which machines and servers there are.

use std::path::PathBuf;

use anyhow::bail;
use lab::inventory::{COLUMNS, InventoryRow};
use report::inventory::{servers_csv, servers_text};

use crate::arguments::{InventoryArguments, InventoryFormat};
use crate::cli::terminal::{print, print_document, print_json};
use crate::engines;
use crate::exit_status::ExitStatus;

pub(crate) fn run(arguments: &InventoryArguments) -> anyhow::Result<ExitStatus> {
    let files: Vec<PathBuf> =
        arguments.urls.iter().map(PathBuf::from).filter(|path| path.is_file()).collect();
    if !files.is_empty() {
        if files.len() < arguments.urls.len() {
            bail!("cannot list files and servers together\nhint: name the files of one database, or servers");
        }
        return of_files(&files, arguments);
    }
    let rows = lab::inventory::inventory(&engines::DRIVERS, &arguments.urls);
    let cells: Vec<_> = rows.iter().map(InventoryRow::cells).collect();
    match (arguments.json, arguments.format) {
        (true, _) | (_, InventoryFormat::Json) => {
            print_json(&format!("{}\n", serde_json::to_string_pretty(&rows)?))?;
        }
        (_, InventoryFormat::Csv) => print_document(&servers_csv(&COLUMNS, &cells))?,
        (_, InventoryFormat::Text) => print(&servers_text(&COLUMNS, &cells))?,
    }
    // One server that cannot be asked does not hide the others, and is not passed over in silence either.
    Ok(if rows.iter().any(|row| row.problem.is_some()) { ExitStatus::Stopped } else { ExitStatus::Clean })
}

/// What the files of one database, or a backup, say about it.
fn of_files(files: &[PathBuf], arguments: &InventoryArguments) -> anyhow::Result<ExitStatus> {
    let inventory = engines::files::inventory(files)?;
    match (arguments.json, arguments.format) {
        (true, _) | (_, InventoryFormat::Json) => print_json(&inventory.json())?,
        (_, InventoryFormat::Csv) => print_document(&inventory.csv())?,
        (_, InventoryFormat::Text) => print(&inventory.text())?,
    }
    Ok(ExitStatus::Clean)
}
