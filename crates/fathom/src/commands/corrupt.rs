//! `fathom corrupt`: damage in a copy, to practise detection and restore.

use std::fmt::Write;

use anyhow::bail;
use check::drill::Drill;
use results::EngineId;

use crate::arguments::CorruptArguments;
use crate::cli::terminal::{fitted, print};
use crate::engines;
use crate::exit_status::ExitStatus;

pub(crate) fn run(arguments: &CorruptArguments) -> anyhow::Result<ExitStatus> {
    engines::require_checkers()?;
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
    let (_, engine) = engines::recognise(file)?;
    // What is of no engine is refused in the words of the first.
    let engine = engine.unwrap_or(engines::CHECKERS[0]);
    let drill = (engine.damage)(file, copy_to, class, arguments.seed)?;
    print(&text(&drill))?;
    Ok(ExitStatus::Clean)
}

/// What was done to the copy.
fn text(drill: &Drill) -> String {
    let mut text = format!("{}: {}\n", drill.class, drill.what);
    for change in &drill.changes {
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "  \"{}\" byte {}: {} -> {}",
            drill.file.display(),
            change.offset_bytes,
            hex(&change.before),
            if change.after.is_empty() { "removed".to_owned() } else { hex(&change.after) }
        );
    }
    if drill.changes.is_empty() {
        let object = drill.object.as_deref().map(|object| format!(" of {object}")).unwrap_or_default();
        let page = drill.page.map(|page| format!(", page {page}")).unwrap_or_default();
        let _ = writeln!(
            text,
            "  \"{}\"{object}{page}: {} bytes from byte {} on",
            drill.file.display(),
            drill.changed_bytes,
            drill.offset_bytes
        );
    }
    let _ = writeln!(text, "find it with: {}", drill.command);
    text
}

fn list(engine: Option<EngineId>) -> anyhow::Result<ExitStatus> {
    print(&fitted(&format!(
        "{}fathom corrupt FILE|DIRECTORY --class CLASS --copy-to COPY damages a copy of a database file or data \
         directory\n",
        engines::drill_classes(engine)
    )))?;
    Ok(ExitStatus::Clean)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}
