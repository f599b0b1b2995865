//! What a study would do, before it does it: runs, order, time, space.

use std::path::{Path, PathBuf};

use anyhow::Context;
use disk::space::{SpaceError, format_bytes, require_free};
use lab::assignment::Assignment;
use lab::estimate::{Estimate, estimate};
use lab::plan::Plan;
use lab::target::Layout;
use results::model::Cell;
use results::store::Store;

use super::permission;
use crate::Verdict;
use crate::arguments::RunArguments;
use crate::targets::{TargetChoice, default_base};
use crate::terminal::{limited, print, print_json, say};

/// Runs whose order is printed before it becomes "and so on".
const RUNS_LISTED_MAX: usize = 200;
/// Appends with a flush that the estimate is based on.
const FLUSHES_TRIED: u32 = 15;
/// One log page of the engines under test.
const FLUSH_SIZE_BYTES: usize = 8192;

pub(crate) fn run(assignment: &Assignment, arguments: &RunArguments) -> anyhow::Result<Verdict> {
    let base = nearest_existing(&default_base(&arguments.results.results)?);
    let layout = &assignment.resolved().layout;
    let flush_directory = nearest_existing(layout.log.as_ref().or(layout.data.first()).unwrap_or(&base));
    let sync_latency_ns = disk::probe::sync_latency(&flush_directory, FLUSHES_TRIED, FLUSH_SIZE_BYTES)
        .map(|latency| latency.median_ns)
        .ok();
    let estimate = estimate_with_history(assignment, sync_latency_ns, &arguments.results.results);
    if arguments.json {
        print_json(&format!("{}\n", serde_json::to_string_pretty(&as_json(assignment, &estimate))?))?;
        return Ok(Verdict::Clean);
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
    for text in super::run::left_to_server(resolved) {
        print(&format!("note: {text}\n"))?;
    }
    for line in permission::lines(&resolved.commands) {
        print(&format!("runs a command of the spec (needs --allow-commands): {line}\n"))?;
    }
    for text in limitations(assignment, arguments, &cells)? {
        print(&format!("note: {text}\n"))?;
    }
    print(&format!("{}\n", time_line(&estimate)))?;
    for directory in space_directories(layout, &base) {
        let facts = disk::facts::storage_behind(&nearest_existing(&directory));
        let free = facts.map_or("unknown".to_owned(), |facts| format_bytes(facts.free_bytes));
        print(&format!(
            "space: at most {} at a time, {free} free for \"{}\"\n",
            format_bytes(estimate.disk_bytes),
            directory.display()
        ))?;
    }
    print_order(assignment, &cells)?;
    Ok(Verdict::Clean)
}

/// Refuses to start what does not fit on the disk, or only says so.
pub(crate) fn require_space(
    assignment: &Assignment,
    layout: &Layout,
    base: &Path,
    is_ignored: bool,
) -> anyhow::Result<()> {
    let estimate = estimate(assignment.resolved(), None, &|_| None);
    for directory in space_directories(layout, base) {
        std::fs::create_dir_all(&directory)
            .with_context(|| format!("could not create directory \"{}\"", directory.display()))?;
        match require_free(&directory, estimate.disk_bytes) {
            Err(error @ SpaceError::NotEnough { .. }) if is_ignored => say(&format!("warning: {error}")),
            outcome => outcome.with_context(|| {
                format!(
                    "{} does not fit\nhint: fewer rows, --mini, --data DIR, or --ignore-space to start all the same",
                    assignment.resolved().name
                )
            })?,
        }
    }
    Ok(())
}

fn print_order(assignment: &Assignment, cells: &[Cell]) -> anyhow::Result<()> {
    let plan = Plan::new(cells.len() as u32, assignment.seed());
    let mut number = 0;
    for block_index in 0..assignment.resolved().repetitions {
        for cell_index in plan.block(block_index) {
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
    let choice = TargetChoice::parse(arguments)?;
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

fn estimate_with_history(assignment: &Assignment, sync_latency_ns: Option<u64>, results: &Path) -> Estimate {
    let history = Store::open_read_only(results).ok().and_then(|store| {
        let study = store.find_study(&assignment.key()).ok()??;
        store.runs(study).ok()
    });
    let measured = |cell: &Cell| {
        let seconds: Vec<f64> = history
            .iter()
            .flatten()
            .filter(|stored| stored.counts() && stored.run.key.cell_index == cell.index)
            .map(|stored| stored.run.elapsed_ns as f64 / 1e9)
            .collect();
        (!seconds.is_empty()).then(|| seconds.iter().sum::<f64>() / seconds.len() as f64)
    };
    estimate(assignment.resolved(), sync_latency_ns, &measured)
}

fn time_line(estimate: &Estimate) -> String {
    match estimate.seconds {
        Some((low, high)) => format!("time: {} to {} ({})", time_text(low), time_text(high), estimate.basis),
        None => format!("time: not known ({})", estimate.basis),
    }
}

fn time_text(seconds: f64) -> String {
    match seconds {
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.1} days", s / 86_400.0),
    }
}

fn as_json(assignment: &Assignment, estimate: &Estimate) -> serde_json::Value {
    let cells = assignment.cells();
    let plan = Plan::new(cells.len() as u32, assignment.seed());
    let order: Vec<_> = (0..assignment.resolved().repetitions)
        .flat_map(|block| plan.block(block).into_iter().map(move |cell| (block, cell)))
        .map(|(block, cell)| serde_json::json!({ "block": block, "cell": cells[cell as usize].label() }))
        .collect();
    serde_json::json!({
        "experiment": assignment.resolved().name,
        "engine": assignment.resolved().engine,
        "seed": assignment.seed(),
        "runs": estimate.runs,
        "runs_max": estimate.runs_max,
        "seconds": estimate.seconds,
        "disk_bytes": estimate.disk_bytes,
        "basis": estimate.basis,
        "commands": permission::lines(&assignment.resolved().commands),
        "order": order,
    })
}

fn space_directories(layout: &Layout, base: &Path) -> Vec<PathBuf> {
    let mut directories = layout.data.clone();
    if directories.is_empty() {
        directories.push(base.to_owned());
    }
    directories.extend(layout.log.clone());
    directories
}

/// The directory itself, or the nearest parent that exists: what a run would create lies on the same device.
fn nearest_existing(path: &Path) -> PathBuf {
    path.ancestors().find(|ancestor| ancestor.is_dir()).unwrap_or(Path::new("/")).to_owned()
}
