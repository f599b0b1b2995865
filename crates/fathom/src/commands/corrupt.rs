//! `fathom corrupt`: damage in a copy, to practise detection and restore.

use std::fmt::Write;

use anyhow::bail;
use check::drill::{Drill, DrillClass};
use results::EngineId;

use crate::Verdict;
use crate::arguments::CorruptArguments;
use crate::engines;
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
    let (_, engine) = engines::recognise(file)?;
    // What is of no engine is refused in the words of the first.
    let engine = engine.unwrap_or(engines::CHECKERS[0]);
    let drill = (engine.damage)(file, copy_to, class, arguments.seed)?;
    print(&text(&drill))?;
    Ok(Verdict::Clean)
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

/// The classes of an engine, or of all, with what each damages.
pub(crate) fn classes(engine: Option<EngineId>) -> String {
    let all = engines::CHECKERS.iter().map(|checker| (checker.id(), (checker.drills)()));
    let shown: Vec<_> = all
        .filter(|(id, classes)| !classes.is_empty() && engine.is_none_or(|engine| engine == *id))
        .collect();
    let width =
        shown.iter().flat_map(|(_, classes)| classes).map(|class| class.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (id, classes) in shown {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "classes of damage ({}):", id.title());
        for DrillClass { name, what } in classes {
            let _ = writeln!(text, "  {name:width$}  {what}");
        }
    }
    text
}

fn list(engine: Option<EngineId>) -> anyhow::Result<Verdict> {
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
