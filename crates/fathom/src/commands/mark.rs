//! `fathom mark`: somebody distrusts a run, or trusts it again.

use report::quantity::Quantity;
use results::model::StoredRun;
use results::store::Store;

use anyhow::bail;

use super::run::counted;
use crate::Verdict;
use crate::arguments::MarkArguments;
use crate::terminal::print;

pub(crate) fn run(arguments: &MarkArguments) -> anyhow::Result<Verdict> {
    // Reading first: marking must not make a results file where there is none.
    drop(Store::open_read_only(&arguments.results.results)?);
    let mut store = super::stored::writable(&arguments.results.results)?;
    let now = jiff::Timestamp::now().to_string();
    let outcome = match &arguments.suspect {
        Some(reason) => {
            store.mark_suspect(arguments.run, reason, &now)?;
            "it is kept but no longer counts; the same `fathom run` command repeats it".to_owned()
        }
        None => match store.withdraw_marks(arguments.run, &now)? {
            0 => bail!(
                "run {} has no mark\nhint: `fathom list --runs STUDY` lists runs with their marks",
                arguments.run
            ),
            count => {
                let marks = counted(count as u64, "mark", "marks");
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
    Ok(Verdict::Clean)
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
        study.engine,
        label,
        stored.run.key.block_index + 1,
        value(Quantity::of(&study), stored)
    ))
}

/// What the study compares, of one run.
pub(super) fn value(quantity: Quantity, stored: &StoredRun) -> String {
    let value = quantity.value(&stored.run);
    if stored.run.elapsed_ns == 0 || !value.is_finite() {
        return format!("{} not measured", quantity.words());
    }
    format!("{} {} {}", quantity.words(), report::number::number(value), quantity.unit())
}

/// `suspect since 2026-11-20T12:00:00Z: backup was running`, and whether it was taken back.
pub(super) fn mark_line(mark: &results::store::StoredMark) -> String {
    let at = |moment: &str| format!("{}Z", super::checks::seconds(moment));
    let back = mark.withdrawn_at.as_deref().map(|moment| format!(" (removed {})", at(moment)));
    format!(
        "marked {}: {}{}",
        at(&mark.marked_at),
        report::plain::plain(&mark.reason),
        back.unwrap_or_default()
    )
}
