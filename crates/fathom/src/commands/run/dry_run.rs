//! What a study would do, before it does it: runs, order, time, space.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use disk::space::{SpaceError, format_bytes, require_free};
use lab::assignment::Assignment;
use lab::engine::Layout;
use lab::estimate::{Earlier, Estimate, Space, estimate};
use lab::schedule::Schedule;
use lab::spec::Resolved;
use results::model::{Cell, Level};
use results::store::Store;

use crate::arguments::RunArguments;
use crate::cli::permission;
use crate::cli::terminal::{limited, print, print_json, say};
use crate::exit_status::ExitStatus;
use crate::targets::{self, default_base};

/// Runs whose order is printed before it becomes "and so on".
const RUNS_LISTED_MAX: usize = 200;
/// Appends with a flush that the estimate is based on.
const FLUSHES_TRIED: u32 = 15;
/// One log page of the engines under test.
const FLUSH_SIZE_BYTES: usize = 8192;

pub(crate) fn run(assignment: &Assignment, arguments: &RunArguments) -> anyhow::Result<ExitStatus> {
    let base = nearest_existing(&default_base(&arguments.results.results)?);
    let layout = &assignment.resolved().layout;
    let flush_directory = nearest_existing(layout.log.as_ref().or(layout.data.first()).unwrap_or(&base));
    let sync_latency_ns = disk::probe::sync_latency(&flush_directory, FLUSHES_TRIED, FLUSH_SIZE_BYTES)
        .map(|latency| latency.median_ns)
        .ok();
    let estimate = estimate_with_history(
        assignment,
        sync_latency_ns,
        Store::open_read_only(&arguments.results.results).ok().as_ref(),
    );
    if arguments.json {
        print_json(&format!("{}\n", serde_json::to_string_pretty(&as_json(assignment, &estimate))?))?;
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
    for text in left_to_server(resolved) {
        print(&format!("note: {text}\n"))?;
    }
    for line in permission::lines(&resolved.commands) {
        print(&format!("runs a command of the spec (needs --allow-commands): {line}\n"))?;
    }
    for text in limitations(assignment, arguments, &cells)? {
        print(&format!("note: {text}\n"))?;
    }
    print(&format!("{}\n", time_line(&estimate)))?;
    for (directory, bytes) in space_directories(layout, &base, &estimate.space) {
        let facts = disk::facts::storage_behind(&nearest_existing(&directory));
        let free = facts.map_or("unknown".to_owned(), |facts| format_bytes(facts.free_bytes));
        // How many rows a run by time inserts is known only after one.
        let most = if estimate.space.is_bound { "at most" } else { "about" };
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
    store: &Store,
    layout: &Layout,
    base: &Path,
    is_ignored: bool,
) -> anyhow::Result<()> {
    let estimate = estimate_with_history(assignment, None, Some(store));
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

/// The estimate, with the times of earlier runs of the study and the rates of those of the experiment.
fn estimate_with_history(
    assignment: &Assignment,
    sync_latency_ns: Option<u64>,
    store: Option<&Store>,
) -> Estimate {
    let of_study = store.and_then(|store| {
        let study = store.find_study(&assignment.key()).ok()??;
        store.runs(study).ok()
    });
    let rates = store.map(|store| rates(store, assignment)).unwrap_or_default();
    let earlier = |cell: &Cell| {
        let seconds: Vec<f64> = of_study
            .iter()
            .flatten()
            .filter(|stored| stored.counts() && stored.run.key.cell_index == cell.index)
            .map(|stored| stored.run.elapsed_ns as f64 / 1e9)
            .collect();
        let rows_per_s = rates.iter().filter(|(levels, _)| *levels == cell.levels).map(|(_, rate)| *rate);
        Earlier {
            seconds: (!seconds.is_empty()).then(|| seconds.iter().sum::<f64>() / seconds.len() as f64),
            rows_per_s: rows_per_s.reduce(f64::max),
        }
    };
    estimate(assignment.resolved(), sync_latency_ns, &earlier)
}

/// Rows per second of counting runs of the same experiment on the same engine, with the levels of their cells. Studies
/// that fix other parameters, but for how long and how often they run, are left out.
fn rates(store: &Store, assignment: &Assignment) -> Vec<(Vec<(String, Level)>, f64)> {
    const AMOUNTS: [&str; 5] = ["duration", "rows_total", "rows_per_client", "warm_up", "warm_up_rows"];
    let resolved = assignment.resolved();
    let fixed = |fixed: &[(String, Level)]| -> Vec<(String, Level)> {
        fixed.iter().filter(|(name, _)| !AMOUNTS.contains(&name.as_str())).cloned().collect()
    };
    let wanted = fixed(&resolved.fixed);
    let mut rates = Vec::new();
    for stored in store.studies().unwrap_or_default() {
        let study = &stored.study;
        let is_same = study.experiment == resolved.name && study.engine == resolved.engine.id;
        if !is_same || fixed(&study.fixed) != wanted {
            continue;
        }
        let cells = store.cells(stored.id).unwrap_or_default();
        for run in store.runs(stored.id).unwrap_or_default().iter().filter(|run| run.counts()) {
            let cell = cells.iter().find(|cell| cell.index == run.run.key.cell_index);
            let seconds = run.run.elapsed_ns as f64 / 1e9;
            rates.extend(cell.map(|cell| (cell.levels.clone(), run.run.rows() as f64 / seconds)));
        }
    }
    rates
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
        "data_directory_bytes": estimate.space.data,
        "log_directory_bytes": estimate.space.log,
        "basis": estimate.basis,
        "commands": permission::lines(&assignment.resolved().commands),
        "order": order,
    })
}

/// The directories of the study with the bytes that each needs.
fn space_directories(layout: &Layout, base: &Path, space: &Space) -> Vec<(PathBuf, u64)> {
    let data = if layout.data.is_empty() { vec![base.to_owned()] } else { layout.data.clone() };
    let needed = space.data.iter().copied().chain(std::iter::repeat(0));
    let data = data.into_iter().zip(needed);
    data.chain(layout.log.clone().map(|log| (log, space.log))).collect()
}

/// The directory itself, or the nearest parent that exists: what a run would create lies on the same device.
fn nearest_existing(path: &Path) -> PathBuf {
    path.ancestors().find(|ancestor| ancestor.is_dir()).unwrap_or(Path::new("/")).to_owned()
}
