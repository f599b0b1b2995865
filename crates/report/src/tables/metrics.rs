//! The other numbers of a study: what tells most first, what never differs in one line.

use super::levels::{level_cells, level_columns};
use crate::layout::{Align, Block, Section};
use crate::number::{Decimals, number};
use crate::summary::{IdentitySummary, MetricSummary, StudySummary};

/// Metrics in the order in which a reader asks for them: work done, the log, checkpoints, data, devices, processors,
/// what was left. What is not named here comes last, as it was measured.
const ORDER: [&str; 61] = [
    "rows_per_s",
    "transactions_per_s",
    "within_limit_percent",
    "failed_transactions_percent",
    "retried_transactions_percent",
    "late_transactions",
    "skipped_transactions",
    "failed_transactions",
    "log_flushes",
    "log_flush_s",
    "log_bytes",
    "log_writes",
    "log_write_s",
    "sync_latency_s",
    "log_records",
    "log_full_pages",
    "log_buffers_full",
    "log_frames",
    "log_starts",
    "log_size_bytes",
    "log_size_bytes_max",
    "log_growths",
    "log_growth_bytes",
    "log_growth_s",
    "journal_bytes",
    "checkpoints",
    "manual_checkpoints",
    "checkpoint_pages",
    "checkpoint_s",
    "log_checkpoint_flushes",
    "engine_written_bytes",
    "engine_write_calls",
    "engine_device_write_bytes",
    "data_written_bytes",
    "data_writes",
    "data_write_calls",
    "data_write_s",
    "data_flushes",
    "data_flush_s",
    "data_extended_bytes",
    "data_extends",
    "data_extend_calls",
    "data_extend_s",
    "data_read_bytes",
    "data_reads",
    "data_read_calls",
    "data_read_s",
    "pages_allocated",
    "busy_waits",
    "busy_wait_s",
    "device_busy_s",
    "device_flushes",
    "device_flush_s",
    "device_write_bytes",
    "device_writes",
    "device_write_s",
    "device_read_bytes",
    "device_reads",
    "device_read_s",
    "server_cpu_s",
    "client_cpu_s",
];

/// What workloads that read, or that are about files as a whole, are run for: one list per question, in the order in
/// which it is asked. The elapsed time alone answers none of them.
const KEY_FIGURES: [&[&str]; 6] = [
    &[
        "key_tree_leaf_pages",
        "table_pages",
        "tree_pages",
        "key_tree_depth",
        "key_tree_fragmentation_pct",
        "key_tree_fragments",
        "key_tree_fill_pct",
        "structure_broken_identities",
    ],
    &[
        "logical_reads",
        "physical_reads",
        "read_ahead_reads",
        "look_up_rows",
        "look_up_cpu_ms",
        "look_up_elapsed_ms",
    ],
    &[
        "check_pass_s",
        "check_pages",
        "check_read_bytes_per_s",
        "check_worker_cpu_s",
        "check_worker_wait_s",
        "check_claims",
        "check_bytes_per_claim",
        "check_claim_wait_s",
    ],
    &["backup_s", "restore_s", "task_read_bytes", "backup_bytes_per_s", "restore_bytes_per_s"],
    &[
        "raw_iops",
        "raw_mib_per_s",
        "raw_latency_ms",
        "raw_latency_ms_p99",
        "raw_latency_ms_max",
        "raw_unit_off_pct",
        "raw_little_off_pct",
    ],
    &[
        "inventory_cores",
        "inventory_numa_nodes",
        "inventory_memory_bytes",
        "inventory_workers_per_query",
        "inventory_workers_total",
        "inventory_worker_processes",
    ],
];

/// Lays out what the experiment is about; nothing where that is the time alone. The first name of a list tells whether
/// the list is meant.
pub(crate) fn key_figures(summary: &StudySummary) -> Option<Section> {
    let known = |name: &&str| {
        summary
            .metrics
            .iter()
            .find(|metric| metric.name == **name && metric.cells.iter().any(Option::is_some))
    };
    let list = KEY_FIGURES.iter().find(|list| list.first().is_some_and(|first| known(first).is_some()))?;
    let shown: Vec<&MetricSummary> = list.iter().filter_map(known).collect();
    let explained =
        "`fathom explain NAME` defines each; `fathom report` has all metrics and their sources.".to_owned();
    let mut blocks = vec![grid(summary, &shown)];
    blocks.extend(identities(summary).map(Block::Paragraph));
    blocks.push(Block::Paragraph(explained));
    Some(Section::new("Key metrics, mean per run", blocks))
}

/// Lays out the plans of look-ups as text; configurations with the same plan share it.
pub(crate) fn plans(summary: &StudySummary) -> Option<Section> {
    let blocks: Vec<Block> = summary
        .plans
        .iter()
        .flat_map(|plan| {
            let lines = plan.text.lines().map(indented).collect();
            [Block::Paragraph(format!("{}:", plan.labels.join("; "))), Block::Items(lines)]
        })
        .collect();
    (!blocks.is_empty()).then(|| Section::new("Plans", blocks))
}

/// Dots instead of leading spaces, which no form of output would keep.
fn indented(line: &str) -> String {
    let words = line.trim_start();
    format!("{}{words}", "· ".repeat((line.len() - words.len()) / 2))
}

/// Lays out the table; metrics with the same mean in every configuration are a line below it.
pub(crate) fn section(summary: &StudySummary) -> Option<Section> {
    let known = ordered(summary);
    if known.is_empty() {
        return None;
    }
    let (same, shown): (Vec<&MetricSummary>, Vec<&MetricSummary>) =
        known.iter().partition(|metric| constant(metric).is_some());
    let mut blocks = Vec::new();
    if !shown.is_empty() {
        blocks.push(grid(summary, &shown));
    }
    blocks.extend(same_everywhere(summary, &same).map(Block::Paragraph));
    blocks.extend(identities(summary).map(Block::Paragraph));
    blocks.push(Block::Paragraph(sources(&known)));
    Some(Section::new("Other metrics, mean per run", blocks))
}

/// The metrics that some configuration has, in the order in which a reader asks for them.
pub(crate) fn ordered(summary: &StudySummary) -> Vec<&MetricSummary> {
    let mut known: Vec<&MetricSummary> =
        summary.metrics.iter().filter(|metric| metric.cells.iter().any(Option::is_some)).collect();
    known.sort_by_key(|metric| place(&metric.name));
    known
}

/// Whether the runs agree in what is no quantity, in one sentence.
fn identities(summary: &StudySummary) -> Option<String> {
    let words: Vec<String> = summary.identities.iter().map(IdentitySummary::words).collect();
    (!words.is_empty()).then(|| format!("{}.", words.join("; ")))
}

/// What never differs, in one sentence.
fn same_everywhere(summary: &StudySummary, same: &[&MetricSummary]) -> Option<String> {
    let values: Vec<String> = same
        .iter()
        .filter_map(|metric| Some(format!("{} {}", metric.name, written(constant(metric)?, &metric.unit))))
        .collect();
    let everywhere = if summary.cells.len() > 1 { "The same in every configuration" } else { "Zero" };
    (!values.is_empty()).then(|| format!("{everywhere}: {}.", values.join(", ")))
}

/// Place in the order; the part after a dot names a device.
fn place(name: &str) -> usize {
    let stem = name.split('.').next().unwrap_or(name);
    ORDER.iter().position(|known| *known == stem).unwrap_or(ORDER.len())
}

/// The value that a metric has in all runs of all configurations; of a single configuration only zero says nothing.
pub(crate) fn constant(metric: &MetricSummary) -> Option<f64> {
    let first = (*metric.cells.first()?)?;
    let is_same = metric
        .cells
        .iter()
        .all(|cell| cell.is_some_and(|estimate| estimate.min == first.min && estimate.max == first.min));
    (is_same && (metric.cells.len() > 1 || first.mean == 0.0)).then_some(first.min)
}

fn written(value: f64, unit: &str) -> String {
    if unit == "1" { number(value) } else { format!("{} {unit}", number(value)) }
}

fn grid(summary: &StudySummary, shown: &[&MetricSummary]) -> Block {
    let headers: Vec<String> =
        shown.iter().map(|metric| format!("{} [{}]", metric.name, metric.unit)).collect();
    let mut grid = level_columns(summary).with(headers.iter().map(|header| (header.as_str(), Align::Right)));
    let decimals: Vec<Decimals> =
        shown.iter().map(|metric| Decimals::for_column(metric_means(metric))).collect();
    for (index, cell) in summary.cells.iter().enumerate() {
        let mut row = level_cells(&cell.levels);
        let mean = |metric: &MetricSummary| metric.cells[index].map(|estimate| estimate.mean);
        row.extend(
            shown.iter().zip(&decimals).map(|(metric, decimals)| decimals.write_or_dash(mean(metric))),
        );
        grid.push(row);
    }
    Block::Grid(grid)
}

fn metric_means(metric: &MetricSummary) -> impl Iterator<Item = f64> + Clone {
    metric.cells.iter().flatten().map(|estimate| estimate.mean)
}

/// Names each source once, with the metrics that it gave.
fn sources(metrics: &[&MetricSummary]) -> String {
    let mut sources: Vec<(String, Vec<&str>)> = Vec::new();
    for metric in metrics {
        let source = metric.sources.join(", ");
        match sources.iter_mut().find(|(known, _)| *known == source) {
            Some((_, names)) => names.push(&metric.name),
            None => sources.push((source, vec![&metric.name])),
        }
    }
    let parts: Vec<String> =
        sources.iter().map(|(source, names)| format!("{source} ({})", names.join(", "))).collect();
    format!("Sources: {}.", parts.join("; "))
}
