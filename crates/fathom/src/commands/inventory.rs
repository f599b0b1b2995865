//! `fathom inventory`: which machines and servers there are.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::bail;
use report::plain::{cell, plain};

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
    match (arguments.json, arguments.format) {
        (true, _) | (_, InventoryFormat::Json) => {
            print_json(&format!("{}\n", serde_json::to_string_pretty(&rows)?))?;
        }
        (_, InventoryFormat::Csv) => print_document(&lab::inventory::csv(&rows))?,
        (_, InventoryFormat::Text) => print(&lab::inventory::text(&rows))?,
    }
    // One server that cannot be asked does not hide the others, and is not passed over in silence either.
    Ok(if rows.iter().any(|row| row.problem.is_some()) { ExitStatus::Stopped } else { ExitStatus::Clean })
}

/// What the files of one SQL Server database, or a backup, say about it.
fn of_files(files: &[PathBuf], arguments: &InventoryArguments) -> anyhow::Result<ExitStatus> {
    let inventory = engines::files::inventory(files)?;
    if let Some(problem) = &inventory.problem {
        bail!(
            "cannot list what is in \"{}\": {problem}",
            files.first().map_or("", |file| file.to_str().unwrap_or(""))
        );
    }
    let mut text = String::new();
    // Writing to a String cannot fail.
    match (arguments.json, arguments.format) {
        (true, _) | (_, InventoryFormat::Json) => {
            let tables: Vec<_> = inventory
                .tables
                .iter()
                .map(|table| {
                    serde_json::json!({
                        "table": table.name, "rows": table.row_count, "pages": table.page_count,
                        "nonclustered_indexes": table.index_count, "heap": table.is_heap,
                    })
                })
                .collect();
            let value = serde_json::json!({ "facts": inventory.facts, "tables": tables });
            let _ = writeln!(text, "{}", serde_json::to_string_pretty(&value)?);
        }
        (_, InventoryFormat::Csv) => {
            let _ = writeln!(text, "table,rows,pages,nonclustered_indexes,heap");
            for table in &inventory.tables {
                let name = cell(&table.name).replace('"', "\"\"");
                let figures = (table.row_count, table.page_count, table.index_count, table.is_heap);
                let _ = writeln!(text, "\"{name}\",{},{},{},{}", figures.0, figures.1, figures.2, figures.3);
            }
        }
        (_, InventoryFormat::Text) => {
            for (name, value) in &inventory.facts {
                let _ = writeln!(text, "{name}: {}", plain(value));
            }
            let width = inventory.tables.iter().map(|table| table.name.len()).max().unwrap_or(5).max(5);
            let _ = writeln!(text, "{:width$}  {:>12}  {:>10}  {:>7}", "table", "rows", "pages", "indexes");
            for table in &inventory.tables {
                let (rows, pages, indexes) = (table.row_count, table.page_count, table.index_count);
                let _ =
                    writeln!(text, "{:width$}  {rows:>12}  {pages:>10}  {indexes:>7}", plain(&table.name));
            }
            text.push_str("row and page counts as stored by the server\n");
        }
    }
    match (arguments.json, arguments.format) {
        (false, InventoryFormat::Text) => print(&text)?,
        (false, InventoryFormat::Csv) => print_document(&text)?,
        _ => print_json(&text)?,
    }
    Ok(ExitStatus::Clean)
}
