//! What an own workload is made of, before a study of it.

use lab::own::{Load, OwnWorkload};
use lab::spec::Resolved;
use results::wording::{counted, thousands};

/// Lines on the workload of the first cell and its own factors; none for other workloads.
pub(crate) fn lines(resolved: &Resolved) -> Vec<String> {
    let first = resolved.cells().first().map(|cell| resolved.work(cell, 0));
    let Some(own) = first.and_then(|work| work.own) else { return Vec::new() };
    let mut lines = Vec::new();
    let parts: Vec<String> = [
        own.schema.as_ref().map(|sql| part("schema", &sql.file)),
        own.load.as_ref().map(load),
        own.after.as_ref().map(|sql| part("after", &sql.file)),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !parts.is_empty() {
        lines.push(format!("own workload: {}", parts.join("; ")));
    }
    lines.push(format!("scripts: {}", scripts(&own)));
    let factors: Vec<String> = resolved
        .own_factors()
        .map(|factor| {
            let levels: Vec<String> = factor.levels.iter().map(ToString::to_string).collect();
            format!("{} ({})", factor.name, levels.join(", "))
        })
        .collect();
    if !factors.is_empty() {
        lines.push(format!("own factors: {}", factors.join("; ")));
    }
    lines
}

/// A part with its file; a text in the spec has the name of the part.
fn part(name: &str, file: &str) -> String {
    if file == name { name.to_owned() } else { format!("{name} {file}") }
}

fn load(load: &Load) -> String {
    match load {
        Load::Script { sql, rows, batch, connections } => {
            let executions = rows.div_ceil((*batch).max(1));
            format!(
                "{}, {} in {} on {}",
                part("load", &sql.file),
                counted(*rows, "row"),
                counted(executions, "execution"),
                counted(u64::from(*connections), "connection")
            )
        }
        Load::Copy { path, table, .. } => format!("load of \"{}\" into {table}", path.display()),
        Load::Columns { table, rows, connections, .. } => format!(
            "load of {} into {table} on {}",
            counted(*rows, "generated row"),
            counted(u64::from(*connections), "connection")
        ),
    }
}

fn scripts(own: &OwnWorkload) -> String {
    let total: u64 = own.scripts.iter().map(|script| u64::from(script.weight)).sum();
    let one = |file: &str, weight: u32| match own.scripts.len() {
        1 => file.to_owned(),
        _ => format!("{file} ({} of {})", thousands(u64::from(weight)), thousands(total)),
    };
    let scripts: Vec<String> =
        own.scripts.iter().map(|script| one(&script.sql.file, script.weight)).collect();
    scripts.join(", ")
}
