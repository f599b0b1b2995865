//! `fathom corrupt`: damage in a copy, to practise detection and restore.

use std::fmt::Write;

use anyhow::bail;
use check::drill::Drill;
use check::postgres::drill;
use check::sqlite::drill::{CLASSES, damage};
use check::sqlserver::drill as sqlserver;
use check::subject::{Subject, recognise};

use crate::Verdict;
use crate::arguments::{CorruptArguments, EngineWord};
use crate::terminal::{fitted, print};

pub(crate) fn run(arguments: &CorruptArguments) -> anyhow::Result<Verdict> {
    if let Some(engine) = arguments.list {
        return list(engine);
    }
    let (Some(file), Some(class)) = (&arguments.file, &arguments.class) else {
        return list(None);
    };
    let Some(copy_to) = &arguments.copy_to else {
        bail!(
            "cannot damage \"{}\" in place\nhint: give a path for the damaged copy with --copy-to",
            file.display()
        );
    };
    match recognise(file)? {
        Subject::Directory => {
            return say_done(&drill::damage(file, copy_to, class, arguments.seed)?);
        }
        Subject::SqlServer => {
            return say_done(&sqlserver::damage(file, copy_to, class, arguments.seed)?);
        }
        Subject::Archive | Subject::Sqlite | Subject::Innodb | Subject::Empty | Subject::Other => {}
    }
    let drill = damage(file, copy_to, class, arguments.seed)?;
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{}: {}", drill.class, drill.what);
    for change in &drill.changes {
        let _ = writeln!(
            text,
            "  \"{}\" byte {}: {} -> {}",
            copy_to.display(),
            change.offset_bytes,
            hex(&change.before),
            if change.after.is_empty() { "removed".to_owned() } else { hex(&change.after) }
        );
    }
    let _ = writeln!(text, "find it with: {}", drill.command);
    print(&text)?;
    Ok(Verdict::Clean)
}

/// Says what was done to the copy of a cluster or of a data file.
fn say_done(drill: &Drill) -> anyhow::Result<Verdict> {
    let object = drill.object.as_deref().map(|object| format!(" of {object}")).unwrap_or_default();
    let page = drill.page.map(|page| format!(", page {page}")).unwrap_or_default();
    print(&format!(
        "{}: {}\n  \"{}\"{object}{page}: {} bytes from byte {} on\nfind it with: {}\n",
        drill.class,
        drill.what,
        drill.file.display(),
        drill.changed_bytes,
        drill.offset_bytes,
        drill.command
    ))?;
    Ok(Verdict::Clean)
}

/// Names of classes with what each damages.
type Classes = Vec<(&'static str, &'static str)>;

/// The classes of an engine, or of all, with what each damages.
pub(crate) fn classes(engine: Option<EngineWord>) -> String {
    let sqlite = || CLASSES.iter().map(|class| (class.name, class.what)).collect();
    let postgres = || drill::CLASSES.iter().map(|class| (class.name, class.what)).collect();
    let data_files = || sqlserver::CLASSES.iter().map(|class| (class.name, class.what)).collect();
    let engines: [(EngineWord, &str, Classes); 3] = [
        (EngineWord::Sqlite, "SQLite", sqlite()),
        (EngineWord::Postgres, "PostgreSQL", postgres()),
        (EngineWord::Sqlserver, "SQL Server", data_files()),
    ];
    let shown = engines.iter().filter(|(word, ..)| engine.is_none_or(|engine| engine == *word));
    let width =
        shown.clone().flat_map(|(.., classes)| classes).map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (_, name, classes) in shown {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "classes of damage ({name}):");
        for (class, what) in classes {
            let _ = writeln!(text, "  {class:width$}  {what}");
        }
    }
    text
}

fn list(engine: Option<EngineWord>) -> anyhow::Result<Verdict> {
    print(&fitted(&format!(
        "{}fathom corrupt FILE|DIRECTORY --class CLASS --copy-to COPY damages a copy of a database file or data \
         directory\n",
        classes(engine)
    )))?;
    Ok(Verdict::Clean)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}
