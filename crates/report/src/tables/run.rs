//! One run in detail: why it does or does not count, its gates, its clients, its numbers.

use results::model::{ClientRecord, GateOutcome, Metric, Run, RunState, StoredRun};
use results::scripts::CellScripts;

use crate::layout::{Align, Block, Grid, Section};
use crate::number::{Decimals, counted_from_one, number};
use crate::quantity::derived;
use crate::summary::{CellScriptsSummary, identity};
use crate::tables::{moment, or_dash, scripts};
use crate::timeline;
use crate::waits_text;

/// Lays out one run; latencies appear when the run was read with its histograms. `belongs_to` names its study and
/// its configuration.
pub(crate) fn run_sections(stored: &StoredRun, belongs_to: &str) -> Vec<Section> {
    let mut sections = vec![head(stored, belongs_to)];
    sections.extend(gates(stored));
    sections.extend(clients(&stored.run));
    sections.extend(scripts_of(&stored.run));
    sections.extend(numbers(stored));
    sections.extend(waits_text::run_sections(&stored.run));
    sections.extend(timeline::section(&stored.run));
    sections.extend(timeline::samplers(&stored.run));
    sections.extend(remarks(stored));
    sections
}

fn head(stored: &StoredRun, belongs_to: &str) -> Section {
    let run = &stored.run;
    let state = match run.state {
        RunState::Running => "running, or stopped without a record",
        RunState::Valid if run.is_imported() => "imported: another tool measured it, no gate was evaluated",
        RunState::Valid => "valid",
        RunState::Invalid => "invalid: kept, excluded from means",
        RunState::Interrupted => "interrupted",
    };
    let mut lines = vec![
        format!("state: {state}"),
        belongs_to.to_owned(),
        format!(
            "block {}, attempt {}; number {} in the order of the study",
            counted_from_one(run.key.block_index),
            counted_from_one(run.key.attempt),
            counted_from_one(run.position)
        ),
        match run.started_at.as_str() {
            "" => "started at a time that is not known".to_owned(),
            at => format!("started {}", moment(at)),
        },
    ];
    if let Some(mark) = &stored.suspect {
        lines.push(format!("suspect since {}: {}", moment(&mark.marked_at), mark.reason));
    }
    if let Some(run_id) = stored.superseded_by {
        lines.push(format!("superseded by run {run_id}"));
    }
    Section::new(format!("Run {}", stored.run_id), vec![Block::Items(lines)])
}

fn gates(stored: &StoredRun) -> Option<Section> {
    if stored.run.gates.is_empty() {
        return None;
    }
    let mut grid = Grid::named_by([("gate".to_owned(), Align::Left)]).with([
        ("outcome", Align::Left),
        ("expected", Align::Wrapped),
        ("found", Align::Wrapped),
    ]);
    // Failed ones first; the order among equals stays.
    let mut gates: Vec<_> = stored.run.gates.iter().collect();
    gates.sort_by_key(|gate| gate.outcome != GateOutcome::Failed);
    for gate in gates {
        let outcome = match gate.outcome {
            GateOutcome::Passed => "passed",
            GateOutcome::Failed => "FAILED",
            GateOutcome::NotApplicable => "not applicable",
        };
        grid.push(vec![gate.gate.clone(), outcome.to_owned(), gate.expected.clone(), gate.found.clone()]);
    }
    Some(Section::new("Gates", vec![Block::Grid(grid)]))
}

type Count = fn(&ClientRecord) -> u64;

/// What the scripts of the run did; latencies where it was read with its histograms.
fn scripts_of(run: &Run) -> Vec<Section> {
    if run.scripts.is_empty() {
        return Vec::new();
    }
    let mut sum = CellScripts::new(run.key.cell_index);
    sum.add(run.elapsed_ns, run.scripts.clone());
    let shown = [CellScriptsSummary::of(&sum, String::new())];
    [scripts::scripts(&shown), scripts::failures(&shown), scripts::statements(&shown)]
        .into_iter()
        .flatten()
        .collect()
}

fn clients(run: &Run) -> Option<Section> {
    let clients = &run.clients;
    if clients.is_empty() {
        return None;
    }
    // What a row is, only the user of scripts knows.
    let rows: Option<(&str, Count)> = run.scripts.is_empty().then_some(("rows", |client| client.rows));
    // Columns that say zero for every client would only push the others off the line.
    let rare: [(&str, Count); 3] = [
        ("warm-up rows", |client| client.warm_up_rows),
        ("retries", |client| client.retries),
        ("unserved", |client| client.arrivals_unserved),
    ];
    let rare: Vec<_> =
        rare.into_iter().filter(|(_, count)| clients.iter().any(|client| count(client) > 0)).collect();
    let mut grid = Grid::named_by([("client".to_owned(), Align::Right)])
        .with([("start ms", Align::Right), ("end s", Align::Right)])
        .with(rows.iter().map(|(name, _)| (*name, Align::Right)))
        .with([("transactions", Align::Right), ("errors", Align::Right)])
        .with(rare.iter().map(|(name, _)| (*name, Align::Right)))
        .with([("p50 ms", Align::Right), ("p99 ms", Align::Right), ("max ms", Align::Right)]);
    let seconds = |ns: u64| ns as f64 / 1e9;
    let milliseconds = |ns: u64| format!("{:.3}", ns as f64 / 1e6);
    let decimals = Decimals::for_values(clients.iter().filter_map(|client| client.end_ns).map(seconds));
    for client in clients {
        let latency = client.response_time.as_ref().unwrap_or(&client.service_time);
        let at =
            |quantile| or_dash((latency.count() > 0).then(|| latency.quantile_ns(quantile)), milliseconds);
        let mut row = vec![
            client.client_index.to_string(),
            or_dash(client.start_ns, milliseconds),
            decimals.write_or_dash(client.end_ns.map(seconds)),
        ];
        row.extend(rows.iter().map(|(_, count)| count(client).to_string()));
        row.extend([client.transactions.to_string(), client.errors.to_string()]);
        row.extend(rare.iter().map(|(_, count)| count(client).to_string()));
        row.extend([at(0.5), at(0.99)]);
        row.push(or_dash((latency.count() > 0).then(|| latency.max_ns()), milliseconds));
        grid.push(row);
    }
    let error = |client: &ClientRecord| {
        client.error.as_ref().map(|error| format!("client {}: {error}", client.client_index))
    };
    let errors: Vec<String> = clients.iter().filter_map(error).collect();
    let mut blocks = vec![Block::Grid(grid)];
    if !errors.is_empty() {
        blocks.push(Block::Paragraph("First error of each client:".to_owned()));
        blocks.push(Block::Items(errors));
    }
    let title = if clients.iter().any(|client| client.response_time.is_some()) {
        "Clients (latency from the intended start)"
    } else {
        "Clients (latency from sending to the answer)"
    };
    Some(Section::new(title, blocks))
}

fn numbers(stored: &StoredRun) -> Option<Section> {
    let mut grid = Grid::named_by([("metric".to_owned(), Align::Left)]).with([
        ("value", Align::Right),
        ("unit", Align::Left),
        ("source", Align::Wrapped),
    ]);
    if stored.run.elapsed_ns > 0 {
        for (name, value, unit) in derived(&stored.run) {
            grid.push(vec![name.to_owned(), number(value), unit.to_owned(), "client records".to_owned()]);
        }
    }
    for metric in &stored.run.metrics {
        grid.push(vec![
            metric.name.clone(),
            if Metric::is_identity(&metric.name) { identity(metric.value) } else { number(metric.value) },
            metric.unit.clone(),
            metric.source.clone(),
        ]);
    }
    (!grid.rows.is_empty()).then(|| Section::new("Metrics", vec![Block::Grid(grid)]))
}

fn remarks(stored: &StoredRun) -> Vec<Section> {
    let run = &stored.run;
    let warnings: Vec<String> =
        run.warnings.iter().map(|warning| format!("{}: {}", warning.code, warning.text)).collect();
    let events: Vec<String> = run
        .events
        .iter()
        .map(|event| {
            format!("{:.3} s {} {}", event.at_ns as f64 / 1e9, event.kind, event.text).trim_end().to_owned()
        })
        .collect();
    let sections = [("Warnings", warnings), ("Events, in seconds since the start barrier", events)];
    sections
        .into_iter()
        .filter(|(_, lines)| !lines.is_empty())
        .map(|(title, lines)| Section::new(title, vec![Block::Items(lines)]))
        .collect()
}
