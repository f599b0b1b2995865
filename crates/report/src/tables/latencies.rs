//! Latencies per transaction of each configuration.

use super::levels::{level_cells, level_columns};
use crate::layout::{Align, Block, Grid, Section};
use crate::number::ABSENT;
use crate::summary::{Estimate, LatencyKind, LatencySummary, StudySummary};
use crate::tables::or_dash;

/// Fewer transactions of a configuration have no distribution: tasks, whose latency is their elapsed time.
const TRANSACTIONS_MIN: u64 = 20;

/// Has some configuration transactions enough for percentiles to say more than the elapsed time does?
pub(crate) fn is_told(summary: &StudySummary) -> bool {
    summary.latencies.iter().any(|latency| latency.count >= TRANSACTIONS_MIN)
}

/// All percentiles; of an open loop those of service and of response times.
pub(crate) fn section(summary: &StudySummary) -> Option<Section> {
    let is_open = is_open(summary);
    let mut keys = vec![("configuration".to_owned(), Align::Left)];
    keys.extend(is_open.then(|| ("kind".to_owned(), Align::Left)));
    let mut grid = Grid::named_by(keys).with([
        ("transactions", Align::Right),
        ("mean", Align::Right),
        ("p50", Align::Right),
        ("p90", Align::Right),
        ("p99", Align::Right),
        ("p99.9", Align::Right),
        ("max", Align::Right),
    ]);
    let within = within(summary);
    grid = grid.with(within.map(|_| (WITHIN, Align::Right)));
    for latency in &summary.latencies {
        let figures = [
            latency.mean_ms,
            latency.p50_ms,
            latency.p90_ms,
            latency.p99_ms,
            latency.p999_ms,
            latency.max_ms,
        ];
        let mut row = vec![latency.label.clone()];
        row.extend(is_open.then(|| latency.kind.words().to_owned()));
        row.push(latency.count.to_string());
        row.extend(figures.map(milliseconds));
        // The limit of an open loop is one of response times.
        let is_limited = !is_open || latency.kind == LatencyKind::ResponseTime;
        row.extend(within.map(|within| match is_limited {
            true => share(summary, within, latency.cell_index),
            false => ABSENT.to_owned(),
        }));
        grid.push(row);
    }
    let kind = if is_open { "Latency" } else { "Service time" };
    let title = format!("{kind} per transaction in milliseconds, over all counting runs");
    (!grid.rows.is_empty()).then(|| Section::new(title, vec![Block::Grid(grid)]))
}

/// Were arrivals planned, so that a response time is more than its service time?
fn is_open(summary: &StudySummary) -> bool {
    summary.latencies.iter().any(|latency| latency.kind == LatencyKind::ResponseTime)
}

/// What a client waits, in as few columns as the end of a run has room for.
pub(crate) fn brief(summary: &StudySummary) -> Option<Section> {
    if !is_told(summary) {
        return None;
    }
    let is_open = is_open(summary);
    let kind = if is_open { LatencyKind::ResponseTime } else { LatencyKind::ServiceTime };
    let within = within(summary);
    let mut grid = level_columns(summary)
        .with([
            ("transactions", Align::Right),
            ("p50", Align::Right),
            ("p99", Align::Right),
            ("max", Align::Right),
        ])
        .with(within.map(|_| (WITHIN, Align::Right)));
    for cell in &summary.cells {
        let is_meant =
            |latency: &&LatencySummary| latency.cell_index == cell.cell_index && latency.kind == kind;
        let Some(latency) = summary.latencies.iter().find(is_meant) else { continue };
        let mut row = level_cells(&cell.levels);
        row.push(latency.count.to_string());
        row.extend([latency.p50_ms, latency.p99_ms, latency.max_ms].map(milliseconds));
        row.extend(within.map(|within| share(summary, within, cell.cell_index)));
        grid.push(row);
    }
    let from = if is_open { ", from the intended start" } else { "" };
    let title = format!("Latency per transaction in milliseconds{from}");
    (!grid.rows.is_empty()).then(|| Section::new(title, vec![Block::Grid(grid)]))
}

/// Column of the share within the latency limit.
const WITHIN: &str = "% within limit";

/// The share of each cell's transactions within the latency limit, mean per run; `None` where no run has a limit.
fn within(summary: &StudySummary) -> Option<&[Option<Estimate>]> {
    let name = "within_limit_percent";
    let metric = summary.metrics.iter().find(|metric| metric.name == name);
    metric.map(|metric| metric.cells.as_slice()).filter(|cells| cells.iter().any(Option::is_some))
}

fn share(summary: &StudySummary, within: &[Option<Estimate>], cell_index: u32) -> String {
    let place = summary.cells.iter().position(|cell| cell.cell_index == cell_index);
    let estimate = place.and_then(|place| *within.get(place)?);
    or_dash(estimate, |estimate| format!("{:.2}", estimate.mean))
}

fn milliseconds(value: f64) -> String {
    format!("{value:.3}")
}
