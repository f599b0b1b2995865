//! `fathom corrupt`: damage in a copy, to practise detection and restore.

use std::fmt::Write;

use anyhow::bail;
use check::drill::Drill;
use check::postgres::drill;
use check::sqlite::drill::{CLASSES, damage};
use check::sqlserver::drill as sqlserver;
use check::subject::{Subject, recognise};

use crate::Verdict;
use crate::arguments::CorruptArguments;
use crate::terminal::print;

pub(crate) fn run(arguments: &CorruptArguments) -> anyhow::Result<Verdict> {
    let (Some(file), Some(class)) = (&arguments.file, &arguments.class) else {
        return list();
    };
    let Some(copy_to) = &arguments.copy_to else {
        bail!(
            "will not damage \"{}\" itself\nhint: name a file for the damaged copy with --copy-to",
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
            if change.after.is_empty() { "cut off".to_owned() } else { hex(&change.after) }
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

fn list() -> anyhow::Result<Verdict> {
    let sqlite: Vec<_> = CLASSES.iter().map(|class| (class.name, class.what)).collect();
    let postgres: Vec<_> = drill::CLASSES.iter().map(|class| (class.name, class.what)).collect();
    let data_files: Vec<_> = sqlserver::CLASSES.iter().map(|class| (class.name, class.what)).collect();
    let width =
        sqlite.iter().chain(&postgres).chain(&data_files).map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (engine, classes) in [("SQLite", sqlite), ("PostgreSQL", postgres), ("SQL Server", data_files)] {
        let _ = writeln!(text, "classes of damage ({engine}):");
        for (name, what) in classes {
            let _ = writeln!(text, "  {name:width$}  {what}");
        }
    }
    text.push_str(
        "fathom corrupt FILE|DIRECTORY --class CLASS --copy-to COPY makes one in a copy of a database file or of a \
         data directory\n",
    );
    print(&text)?;
    Ok(Verdict::Clean)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}
