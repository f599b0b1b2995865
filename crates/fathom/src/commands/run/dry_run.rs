//! What a study would do, before it does it: runs, order, time, space.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use disk::space::{SpaceError, format_bytes, require_free};
use lab::assignment::Assignment;
use lab::estimate::Estimate;
use lab::schedule::Schedule;
use lab::spec::Resolved;
use results::model::Cell;
use results::store::Store;

use crate::arguments::RunArguments;
use crate::cli::permission;
use crate::cli::preview::{Preview, nearest_existing, own_workload, space_directories, sync_latency_ns};
use crate::cli::terminal::{limited, print, print_json, say};
use crate::exit_status::ExitStatus;
use crate::targets::{self, default_base};

/// Runs whose order is printed before it becomes "and so on".
const RUNS_LISTED_MAX: usize = 200;

pub(crate) fn run(assignment: &Assignment, arguments: &RunArguments) -> anyhow::Result<ExitStatus> {
    let base = nearest_existing(&default_base(&arguments.results.results)?);
    let layout = &assignment.resolved().layout;
    let store = Store::open_read_only(&arguments.results.results).ok();
    let preview = Preview::of(assignment, store.as_ref(), sync_latency_ns(layout, &base))?;
    let estimate = &preview.estimate;
    if arguments.json {
        print_json(&format!("{}\n", serde_json::to_string_pretty(&as_json(assignment, &preview))?))?;
        return Ok(ExitStatus::Clean);
    }
    let resolved = assignment.resolved();
    let cells = assignment.cells();
    print(&format!("{}: {}\n", resolved.name, resolved.question))?;
    print(&format!(
        "{} cells x {} repetitions = {} runs on {}, seed {}\n",
        cells.len(),
        resolved.repetitions,
        cells.len() * resolved.repetitions as usize,
        resolved.engine,
        assignment.seed()
    ))?;
    for line in own_workload::lines(resolved) {
        print(&format!("{line}\n"))?;
    }
    for text in left_to_server(resolved) {
        print(&format!("note: {text}\n"))?;
    }
    for line in permission::lines(&resolved.commands) {
        print(&format!("runs a command of the spec (needs --allow-commands): {line}\n"))?;
    }
    for text in limitations(assignment, arguments, &cells)? {
        print(&format!("note: {text}\n"))?;
    }
    for line in preview.design.lines() {
        print(&format!("{line}\n"))?;
    }
    print(&format!("{}\n", preview.time_line()))?;
    for (directory, bytes) in space_directories(layout, &base, &estimate.space) {
        let facts = disk::facts::storage_behind(&nearest_existing(&directory));
        let free = facts.map_or("unknown".to_owned(), |facts| format_bytes(facts.free_bytes));
        let most = estimate.space.most();
        print(&format!(
            "space: {most} {} at a time, {free} free for \"{}\"\n",
            format_bytes(bytes),
            directory.display()
        ))?;
    }
    print_order(assignment, &cells)?;
    Ok(ExitStatus::Clean)
}

/// Refuses to start what does not fit on the disk, or only says so. Directories on one file system share what is free.
pub(crate) fn require_space(
    assignment: &Assignment,
    estimate: &Estimate,
    base: &Path,
    is_ignored: bool,
) -> anyhow::Result<()> {
    let layout = &assignment.resolved().layout;
    let mut needs: Vec<(u64, PathBuf, u64)> = Vec::new();
    for (directory, bytes) in space_directories(layout, base, &estimate.space) {
        let metadata = std::fs::create_dir_all(&directory).and_then(|()| directory.metadata());
        let device = metadata
            .with_context(|| format!("could not create directory \"{}\"", directory.display()))?
            .dev();
        match needs.iter_mut().find(|(known, _, _)| *known == device) {
            Some((_, _, sum)) => *sum = sum.saturating_add(bytes),
            None => needs.push((device, directory, bytes)),
        }
    }
    for (_, directory, bytes) in needs {
        match require_free(&directory, bytes) {
            Err(error @ SpaceError::NotEnough { .. }) if is_ignored => say(&format!("warning: {error}")),
            outcome => outcome.with_context(|| {
                let bound = if estimate.space.is_bound { " (at most: rows of a run by time are not known)" } else { "" };
                format!(
                    "{} does not fit{bound}\nhint: fewer rows, --mini, --data DIR, or --ignore-space to start all the same",
                    assignment.resolved().name
                )
            })?,
        }
    }
    Ok(())
}

/// One sentence per size that a foreign server keeps as it is.
pub(super) fn left_to_server(resolved: &Resolved) -> impl Iterator<Item = String> + '_ {
    resolved.left_to_server.iter().map(|(name, level)| {
        format!("{name} = {level} is not applied: the server is not managed by fathom and keeps its size (see the settings)")
    })
}

fn print_order(assignment: &Assignment, cells: &[Cell]) -> anyhow::Result<()> {
    let schedule = Schedule::new(cells.len() as u32, assignment.seed());
    let mut number = 0;
    for block_index in 0..assignment.resolved().repetitions {
        for cell_index in schedule.block(block_index) {
            number += 1;
            if number > RUNS_LISTED_MAX {
                print("... and so on\n")?;
                return Ok(());
            }
            print(&format!(
                "{number:>4}  block {}  {}\n",
                block_index + 1,
                cells[cell_index as usize].label()
            ))?;
        }
    }
    Ok(())
}

fn limitations(
    assignment: &Assignment,
    arguments: &RunArguments,
    cells: &[Cell],
) -> anyhow::Result<Vec<String>> {
    let choice = targets::parse(arguments)?;
    let mut texts = Vec::new();
    for cell in cells {
        for limitation in choice.limitations(&assignment.resolved().layout, &assignment.work(cell, 0)) {
            let refusal =
                if limitation.refuses { format!("cannot run {}: ", cell.label()) } else { String::new() };
            let text = format!("{refusal}{}", limited(&limitation));
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
    }
    Ok(texts)
}

fn as_json(assignment: &Assignment, preview: &Preview) -> serde_json::Value {
    let estimate = &preview.estimate;
    let cells = assignment.cells();
    let schedule = Schedule::new(cells.len() as u32, assignment.seed());
    let order: Vec<_> = (0..assignment.resolved().repetitions)
        .flat_map(|block| schedule.block(block).into_iter().map(move |cell| (block, cell)))
        .map(|(block, cell)| serde_json::json!({ "block": block, "cell": cells[cell as usize].label() }))
        .collect();
    serde_json::json!({
        "experiment": assignment.resolved().name,
        "engine": assignment.resolved().engine.id.name(),
        "seed": assignment.seed(),
        "runs": estimate.runs,
        "runs_max": estimate.runs_max,
        "seconds": estimate.seconds,
        "disk_bytes": estimate.space.total,
        "disk_bytes_are_a_bound": estimate.space.is_bound,
        "disk_bytes_are_a_floor": estimate.space.is_floor,
        "data_directory_bytes": estimate.space.data,
        "log_directory_bytes": estimate.space.log,
        "basis": estimate.basis,
        "design": preview.design.as_json(),
        "own_workload": own_workload::lines(assignment.resolved()),
        "commands": permission::lines(&assignment.resolved().commands),
        "order": order,
    })
}
