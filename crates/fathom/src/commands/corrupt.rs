//! `fathom corrupt`: damage in a copy, to practise detection and restore.

use std::fmt::Write;

use anyhow::bail;
use check::sqlite::drill::{CLASSES, damage};

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

fn list() -> anyhow::Result<Verdict> {
    let width = CLASSES.iter().map(|class| class.name.len()).max().unwrap_or(0);
    let mut text = String::from("classes of damage (SQLite):\n");
    for class in CLASSES {
        let _ = writeln!(text, "  {:width$}  {}", class.name, class.what);
    }
    text.push_str("fathom corrupt FILE --class CLASS --copy-to COPY makes one in a copy\n");
    print(&text)?;
    Ok(Verdict::Clean)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}
