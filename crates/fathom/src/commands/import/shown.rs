//! What an import says: what each column was taken as, what the arithmetic came to, and where the study is.

use std::fmt::Write;

use report::plain::one_line;
use results::wording::counted;
use serde_json::{Value, json};

use super::prepared::{Prepared, Stored};
use crate::cli::terminal::{print, print_json};

/// Most contradictions that are listed; the rest is counted.
const CONTRADICTIONS_MAX: usize = 20;

pub(super) fn print_all(done: &[(Prepared, Stored)], is_json: bool) -> anyhow::Result<()> {
    if is_json {
        let list: Vec<Value> = done.iter().map(|(prepared, stored)| of(prepared, stored)).collect();
        print_json(&format!("{}\n", serde_json::to_string_pretty(&list)?))?;
        return Ok(());
    }
    for (prepared, stored) in done {
        print(&text(prepared, stored))?;
    }
    Ok(())
}

fn text(prepared: &Prepared, stored: &Stored) -> String {
    let Prepared { study, origin, matrix } = prepared;
    let mut text = format!("{}: {}\n", one_line(&study.experiment), one_line(&origin.words()));
    for (name, taken_as) in &origin.columns {
        let _ = writeln!(text, "  {}: {}", one_line(name), one_line(taken_as));
    }
    for identity in &origin.identities {
        let _ = writeln!(text, "  {}", one_line(identity));
    }
    for contradiction in origin.contradictions.iter().take(CONTRADICTIONS_MAX) {
        let _ = writeln!(text, "  contradiction: {}", one_line(contradiction));
    }
    if let Some(more) = origin.contradictions.len().checked_sub(CONTRADICTIONS_MAX).filter(|more| *more > 0) {
        let _ = writeln!(text, "  and {more} more");
    }
    let runs = counted(matrix.runs.len() as u64, "run");
    let cells = counted(matrix.cells.len() as u64, "configuration");
    let metric = study.design.metric.as_deref().unwrap_or("elapsed_s");
    let suspect = matrix.runs.iter().filter(|(_, doubt)| doubt.is_some()).count();
    let suspect = match suspect {
        0 => String::new(),
        count => format!(", {count} of them suspect: kept, and excluded from means"),
    };
    let _ = writeln!(text, "  {runs} of {cells}, compared by {}{suspect}", one_line(metric));
    let name = one_line(&study.experiment);
    let _ = match stored {
        Stored::No => writeln!(text, "  nothing was stored (--dry-run)"),
        Stored::New(id) => writeln!(text, "stored as study {}: `fathom report {}` shows it", id.0, id.0),
        Stored::Known(id) => {
            writeln!(text, "nothing was added: study {} of \"{name}\" has the same content", id.0)
        }
    };
    text
}

fn of(prepared: &Prepared, stored: &Stored) -> Value {
    let Prepared { study, origin, matrix } = prepared;
    let doubts = matrix.runs.iter().filter_map(|(run, doubt)| {
        let found = run.gates.first().map(|gate| gate.found.as_str());
        doubt.as_ref().map(|reason| json!({ "run": run.position + 1, "origin": found, "reason": reason }))
    });
    let (id, is_new) = match stored {
        Stored::No => (None, false),
        Stored::New(id) => (Some(id.0), true),
        Stored::Known(id) => (Some(id.0), false),
    };
    json!({
        "study_id": id,
        "is_new": is_new,
        "name": study.experiment,
        "metric": study.design.metric,
        "is_smaller_better": study.design.is_smaller_better,
        "factors": study.factors,
        "fixed": study.fixed,
        "configurations": matrix.cells.len(),
        "runs": matrix.runs.len(),
        "suspect": doubts.collect::<Vec<_>>(),
        "imported": origin,
    })
}
