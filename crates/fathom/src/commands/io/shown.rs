//! `fathom io --list` and `--show`: baselines that were measured before.

use report::io_table;
use results::io::IoTable;
use results::store::{IoTableId, Store, StoredIoTable};

use crate::arguments::{IoArguments, IoFormat};
use crate::cli::baselines;
use crate::cli::page_file::PageFile;
use crate::cli::terminal::{form as text_form, print, print_document, print_json, say};
use crate::exit_status::ExitStatus;

pub(crate) fn list(arguments: &IoArguments) -> anyhow::Result<ExitStatus> {
    let store = Store::open_read_only(&arguments.results.results)?;
    let tables = store.io_tables()?;
    match form(arguments) {
        IoFormat::Json => print_json(&format!("{}\n", serde_json::to_string_pretty(&tables)?))?,
        IoFormat::Csv => print_document(&io_table::list_csv(&tables))?,
        IoFormat::Text => {
            for stored in &tables {
                print(&line(stored))?;
            }
            if tables.is_empty() {
                print(&format!("\"{}\" has no baseline\n", store.path().display()))?;
            }
        }
    }
    Ok(ExitStatus::Clean)
}

pub(crate) fn show(arguments: &IoArguments, number: Option<i64>) -> anyhow::Result<ExitStatus> {
    let page = PageFile::of(arguments.html.as_deref())?;
    let store = Store::open_read_only(&arguments.results.results)?;
    let stored = store.io_table(number.map(IoTableId))?;
    print_table(&stored.table, arguments)?;
    if let Some(page) = page {
        page.write(&report::html::baseline_page(&baselines::stored(stored)))?;
    }
    Ok(ExitStatus::Clean)
}

/// Prints a table in the form that was asked for.
pub(crate) fn print_table(table: &IoTable, arguments: &IoArguments) -> anyhow::Result<()> {
    match form(arguments) {
        IoFormat::Json => print_json(&io_table::json(table))?,
        IoFormat::Csv if arguments.only_flushes || table.rows.is_empty() => {
            print_document(&io_table::sync_csv(table))?
        }
        IoFormat::Csv => {
            print_document(&io_table::csv(table))?;
            if !table.sync_rows.is_empty() {
                say("CSV holds one table: `--show --only-flushes --format csv` prints the durable appends");
            }
        }
        IoFormat::Text => print(&text_form(None).io(table))?,
    }
    let is_doubtful = table.rows.iter().any(|row| !row.flags.is_empty())
        || table.sync_rows.iter().any(|row| !row.flags.is_empty());
    if is_doubtful {
        say("some rows are flagged, see notes");
    }
    Ok(())
}

fn form(arguments: &IoArguments) -> IoFormat {
    if arguments.json { IoFormat::Json } else { arguments.format }
}

fn line(stored: &StoredIoTable) -> String {
    io_table::list_line(stored, &baselines::began_at(&stored.table))
}
