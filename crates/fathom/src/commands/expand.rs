//! `fathom expand`: a sample or a database grown to a wanted size, in files or a database of its own.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::bail;
use disk::space::{format_bytes, require_free};
use lab::expand::{Grown, GrowthRequest};
use report::plain::plain;

use crate::arguments::ExpandArguments;
use crate::cli::progress::ByteProgress;
use crate::cli::quantities::bytes;
use crate::cli::stopping::{self, Ending};
use crate::cli::terminal::{print, print_json};
use crate::engines::growth::{Plan, plan};
use crate::exit_status::ExitStatus;

pub(crate) fn run(arguments: &ExpandArguments) -> anyhow::Result<ExitStatus> {
    let wish =
        GrowthRequest { size_bytes: bytes(&arguments.size)?, files: arguments.files, seed: arguments.seed };
    if wish.size_bytes == 0 {
        bail!("--size must be above 0");
    }
    let plan = plan(&arguments.source, &arguments.destination)?;
    if matches!(plan, Plan::Files(..)) && !arguments.directory.is_empty() {
        bail!(
            "a SQLite database is one file and has no tablespaces\nhint: --files N makes several databases"
        );
    }
    if let Plan::Files(_, to) = &plan {
        let directory = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        require_free(directory, wish.size_bytes)?;
    }
    let stop = Arc::clone(&stopping::on_signals(Ending::WaitsFor(
        "the current copy statement; the copy is then removed",
    ))?);
    let mut progress = ByteProgress::new();
    let mut on_copy = |bytes: u64| {
        progress.advance("copying rows", bytes.min(wish.size_bytes), wish.size_bytes);
        !stop.load(Ordering::Relaxed)
    };
    let grown = plan.grow(&arguments.directory, &wish, &mut on_copy);
    progress.finish();
    let grown = grown?;
    if arguments.json {
        print_json(&format!("{:#}\n", json(&grown)))?;
    } else {
        print(&text(&grown))?;
    }
    Ok(ExitStatus::Clean)
}

fn text(grown: &Grown) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let size = format_bytes(grown.size_bytes);
    let counted = |count: u64, word: &str, words: &str| match count {
        1 => format!("1 {word}"),
        count => format!("{count} {words}"),
    };
    let mut copies = counted(grown.copies, "copy of all rows", "copies of all rows");
    if grown.partial_copies > 0 {
        copies += &format!(" and {}", counted(grown.partial_copies, "partial copy", "partial copies"));
    }
    let _ = match grown.files.len() {
        0 => writeln!(text, "{copies}, {size}"),
        files => writeln!(text, "{copies}, {size} in {}", counted(files as u64, "file", "files")),
    };
    let width = grown.rows.iter().map(|(table, _)| plain(table).chars().count()).max().unwrap_or(0);
    for (table, rows) in &grown.rows {
        let _ = writeln!(text, "  {:width$}  {rows} rows", plain(table));
    }
    for (directory, bytes) in &grown.directories {
        let _ = writeln!(text, "{} in \"{}\"", format_bytes(*bytes), directory.display());
    }
    for file in &grown.files {
        let _ = writeln!(text, "made \"{}\"", file.display());
    }
    text
}

fn json(grown: &Grown) -> serde_json::Value {
    let rows: serde_json::Map<String, serde_json::Value> =
        grown.rows.iter().map(|(table, rows)| (table.clone(), (*rows).into())).collect();
    serde_json::json!({
        "copies": grown.copies,
        "partial_copies": grown.partial_copies,
        "size_bytes": grown.size_bytes,
        "rows": rows,
        "files": grown.files,
        "directories": grown.directories.iter()
            .map(|(path, bytes)| serde_json::json!({ "path": path, "size_bytes": bytes }))
            .collect::<Vec<_>>(),
    })
}
