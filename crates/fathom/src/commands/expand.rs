//! `fathom expand`: a sample or a database grown to a wanted size, in files or a database of its own.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::bail;
use disk::space::{format_bytes, require_free};
use lab::expand::{Grown, Wish};
use lab_postgres::{NewDatabase, SourceDatabase, expand_database};
use lab_sqlite::{Source, expand_file};
use report::plain::plain;
use results::EngineId;
use results::redaction::redacted;

use crate::arguments::ExpandArguments;
use crate::cli::progress::ByteProgress;
use crate::cli::quantities::bytes;
use crate::cli::stopping::{self, Ending};
use crate::cli::terminal::{print, print_json};
use crate::engines;
use crate::exit_status::ExitStatus;

pub(crate) fn run(arguments: &ExpandArguments) -> anyhow::Result<ExitStatus> {
    let wish = Wish { size_bytes: bytes(&arguments.size)?, files: arguments.files, seed: arguments.seed };
    if wish.size_bytes == 0 {
        bail!("--size must be above 0");
    }
    let plan = plan(arguments)?;
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
    let grown = match &plan {
        Plan::Files(source, to) => expand_file(source, to, &wish, &mut on_copy),
        Plan::Database { url, source, name } => {
            let new = NewDatabase { name, directories: &arguments.directory };
            expand_database(url, source, new, &wish, &mut on_copy)
        }
    };
    progress.finish();
    let grown = grown?;
    if arguments.json {
        print_json(&format!("{:#}\n", json(&grown)))?;
    } else {
        print(&text(&grown))?;
    }
    Ok(ExitStatus::Clean)
}

/// Which engine, from where and where to.
enum Plan {
    Files(Source, PathBuf),
    Database { url: String, source: SourceDatabase, name: String },
}

fn plan(arguments: &ExpandArguments) -> anyhow::Result<Plan> {
    let is_url = crate::engines::is_url;
    let (source, destination) = (&arguments.source, &arguments.destination);
    // A name that is not UTF-8 is that of a file.
    let (from, to) = (source.to_str().unwrap_or_default(), destination.to_str().unwrap_or_default());
    // A slip in the address of a server must not become the name of a file.
    if [from, to].iter().any(|word| !is_url(word) && redacted(word) != *word) {
        bail!(
            "the server address is invalid\nhint: write postgres://user@host/database, or the path of a file"
        );
    }
    match (from, is_url(from), is_url(to)) {
        ("sample", _, true) => {
            Ok(Plan::Database { url: to.to_owned(), source: SourceDatabase::Sample, name: database_of(to)? })
        }
        ("sample", _, false) => Ok(Plan::Files(Source::Sample, destination.clone())),
        (_, true, true) => {
            bail!(
                "a database can only be expanded on its own server\nhint: name the new database without a URL"
            )
        }
        (_, true, false) if to.contains('/') || to.is_empty() => {
            bail!(
                "\"{}\" is not a database name\nhint: name the new database without a path",
                destination.display()
            )
        }
        (_, true, false) => {
            let source = SourceDatabase::Named(database_of(from)?);
            Ok(Plan::Database { url: from.to_owned(), source, name: to.to_owned() })
        }
        (_, false, true) => {
            bail!("rows of a file cannot be copied to a server\nhint: give a file as the destination")
        }
        // Not quoted: a URL may hold a password.
        (word, false, false) if word.contains("://") => {
            bail!("the URL of the source has an unknown scheme\nhint: use postgres://user@host/database")
        }
        (_, false, false) => {
            let is_sqlite = |engine: &check::Engine| engine.id() == EngineId::Sqlite;
            if !engines::recognise(source)?.1.is_some_and(is_sqlite) {
                bail!(
                    "\"{}\" is not a SQLite database\nhint: give one, or `sample` for the schema that fathom ships",
                    source.display()
                );
            }
            Ok(Plan::Files(Source::File(source.clone()), destination.clone()))
        }
    }
}

/// The database that a URL names.
fn database_of(url: &str) -> anyhow::Result<String> {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let path = rest.split(['?', '#']).next().and_then(|rest| rest.rsplit_once('/')).map(|(_, path)| path);
    match path.filter(|path| !path.is_empty() && !path.contains('%')) {
        Some(name) => Ok(name.to_owned()),
        None => bail!("the URL names no database\nhint: write postgres://user@host/database"),
    }
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
