//! `fathom mark`: excludes a run as suspect, or lets it count again.

use anyhow::bail;
use report::quantity::Quantity;
use results::model::StoredRun;
use results::store::Store;
use results::wording::counted;

use crate::arguments::MarkArguments;
use crate::cli::marks::{mark_line, value};
use crate::cli::stored;
use crate::cli::terminal::print;
use crate::exit_status::ExitStatus;

pub(crate) fn run(arguments: &MarkArguments) -> anyhow::Result<ExitStatus> {
    // Reading first: marking must not make a results file where there is none.
    drop(Store::open_read_only(&arguments.results.results)?);
    let mut store = stored::writable(&arguments.results.results)?;
    let now = jiff::Timestamp::now().to_string();
    let outcome = match &arguments.suspect {
        Some(reason) => {
            store.mark_suspect(arguments.run, reason, &now)?;
            match store.run(arguments.run)?.run.is_imported() {
                true => "it is kept but no longer counts".to_owned(),
                false => {
                    "it is kept but no longer counts; the same `fathom run` command repeats it".to_owned()
                }
            }
        }
        None => match store.withdraw_marks(arguments.run, &now)? {
            0 => bail!(
                "run {} has no mark\nhint: `fathom list --runs STUDY` lists runs with their marks",
                arguments.run
            ),
            count => {
                let marks = counted(count as u64, "mark");
                let stored = store.run(arguments.run)?;
                match stored.superseded_by {
                    Some(run) => format!("{marks} removed; it does not count: run {run} replaced it"),
                    None if stored.counts() => format!("{marks} removed; it counts again"),
                    None => format!("{marks} removed; it does not count: it is not valid"),
                }
            }
        },
    };
    let mut text = format!("{}\n", described(&store, &store.run(arguments.run)?)?);
    for mark in store.marks(arguments.run)? {
        text.push_str(&format!("  {}\n", mark_line(&mark)));
    }
    print(&format!("{text}{outcome}\n"))?;
    Ok(ExitStatus::Clean)
}

/// `run 17: study 3, quick on sqlite, batch_size=10, repetition 2, elapsed time 0.02842 s`.
fn described(store: &Store, stored: &StoredRun) -> anyhow::Result<String> {
    let id = store.study_of_run(stored.run_id)?;
    let study = store.study(id)?;
    let cells = store.cells(id)?;
    let cell = cells.iter().find(|cell| cell.index == stored.run.key.cell_index);
    let label = cell.map_or_else(|| format!("cell {}", stored.run.key.cell_index), |cell| cell.label());
    Ok(format!(
        "run {}: study {}, {} on {}, {}, repetition {}, {}",
        stored.run_id,
        id.0,
        study.experiment,
        study.target_words(),
        label,
        stored.run.key.block_index + 1,
        value(Quantity::of(&study), stored)
    ))
}
