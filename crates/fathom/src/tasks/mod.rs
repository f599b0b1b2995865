//! What experiments do to files and servers as a whole: the laboratory asks, the checker and the reader do it here.

mod backup;
mod metric;
mod verify;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use check::engine::Source;
use check::options::Options;
use check::progress::Silent;
use disk::baseline::{Matrix, Pattern, Row, measure};
use lab::inventory::inventory;
use lab::task::{EngineLocation, Task, TaskOrder, TaskOutcome};
use lab::work::{SubjectParameters, Workload};
use results::check::CheckReport;
use results::model::Metric;
use results::structure::{LevelStructure, ObjectStructure, StorageKind, StructureReport};

use metric::metric;
use verify::{check, require_clean};

use crate::engines;

/// Points of the strip map that a run stores.
const STRIP_POINTS: usize = 1000;

/// Everything that a workload without statements does.
#[derive(Debug)]
pub(crate) struct Tasks {
    /// The user wants to stop.
    pub(crate) stop: Arc<AtomicBool>,
}

impl Task for Tasks {
    fn perform(&self, order: &TaskOrder) -> Result<TaskOutcome, String> {
        match order.work.workload {
            Workload::Check => self.check(order),
            Workload::Structure => self.structure(order, None),
            Workload::Backup => backup::there_and_back(order),
            Workload::RawRead => raw_read(order),
            Workload::Inventory => Ok(inventory_of(&order.place)),
            other => Err(format!("{other:?} is no task")),
        }
    }

    fn inspect(&self, order: &TaskOrder) -> Result<TaskOutcome, String> {
        self.structure(order, Some("fathom_rows"))
    }
}

impl Tasks {
    fn check(&self, order: &TaskOrder) -> Result<TaskOutcome, String> {
        let subject = &order.work.subject;
        let options = Options { stop: Some(Arc::clone(&self.stop)), ..options_of(subject) };
        let report = check(&order.place.path, order.place.engine, &options)?;
        require_clean(&report)?;
        Ok(TaskOutcome { metrics: check_metrics(&report, subject), structures: Vec::new() })
    }

    fn structure(&self, order: &TaskOrder, table: Option<&str>) -> Result<TaskOutcome, String> {
        let options = check::structure::Options {
            table: table.map(str::to_owned),
            worker_count: order.work.subject.workers.max(1) as usize,
            strip_points_max: STRIP_POINTS,
            stop: Some(Arc::clone(&self.stop)),
            ..check::structure::Options::default()
        };
        let engine = engines::checker(order.place.engine).map_err(|error| error.to_string())?;
        let paths = [order.place.path.clone()];
        let report = (engine.structure)(&Source::Files(&paths), &options, &mut Silent)
            .map_err(|error| error.to_string())?;
        if let Some(reason) = &report.unfinished {
            return Err(reason.clone());
        }
        Ok(TaskOutcome { metrics: structure_metrics(&report), structures: vec![report] })
    }
}

fn options_of(subject: &SubjectParameters) -> Options {
    Options {
        level: subject.depth,
        worker_count: subject.workers.max(1) as usize,
        page_batch: subject.page_batch.map(|pages| pages as usize),
        object_batch: subject.object_batch.map(|objects| objects as usize),
        ..Options::default()
    }
}

fn check_metrics(report: &CheckReport, subject: &SubjectParameters) -> Vec<Metric> {
    let counters = &report.counters;
    let seconds = |ns: u64| ns as f64 / 1e9;
    let pass_s = seconds(counters.pass_ns);
    let source = format!("fathom check, level {}", subject.depth.name());
    let metric = |name: &str, value: f64, unit: &str| metric(name, value, unit, &source);
    let rate = report.accounting.bytes_read as f64 / pass_s.max(1e-9);
    let worker_s = pass_s * counters.worker_count as f64;
    let bytes_read = report.accounting.bytes_read as f64;
    // The size that was asked for is a parameter; the ends of files make claims smaller.
    let per_claim = (counters.claim_count > 0).then(|| bytes_read / counters.claim_count as f64);
    let mut metrics = vec![
        metric("task_read_bytes", report.accounting.bytes_read as f64, "bytes"),
        metric("check_pages", report.accounting.page_count as f64, "1"),
        metric("check_rows", counters.row_count as f64, "1"),
        metric("check_entries", counters.entry_count as f64, "1"),
        metric("check_claims", counters.claim_count as f64, "1"),
        metric("check_claim_wait_s", seconds(counters.claim_wait_ns), "s"),
        metric("check_extra_reads", counters.extra_read_count as f64, "1"),
        metric("check_second_pass_objects", counters.second_pass_object_count as f64, "1"),
        metric("check_memory_bytes", counters.memory_bytes_max as f64, "bytes"),
        metric("check_temporary_bytes", counters.temporary_bytes as f64, "bytes"),
        metric("check_pass_s", pass_s, "s"),
        metric("check_worker_cpu_s", seconds(counters.worker_cpu_ns), "s"),
        metric("check_worker_wait_s", (worker_s - seconds(counters.worker_cpu_ns)).max(0.0), "s"),
        metric("check_read_bytes_per_s", rate, "bytes/s"),
    ];
    metrics.extend(per_claim.map(|bytes| metric("check_bytes_per_claim", bytes, "bytes")));
    metrics
}

/// The figures of the tree of the keys, and whether the identities of the published table hold on every level.
fn structure_metrics(report: &StructureReport) -> Vec<Metric> {
    let source = format!("fathom structure, {}", report.mode.name());
    let metric = |name: &str, value: f64, unit: &str| metric(name, value, unit, &source);
    let broken: usize = report.objects.iter().map(broken_identities).sum();
    let mut metrics = vec![
        metric("structure_objects", report.objects.len() as f64, "1"),
        metric("structure_broken_identities", broken as f64, "1"),
        metric("task_read_bytes", report.accounting.bytes_read as f64, "bytes"),
    ];
    let by_key = |object: &&ObjectStructure| {
        matches!(object.kind, StorageKind::IndexTree | StorageKind::ClusteredTree)
    };
    let Some(tree) = report.objects.iter().filter(by_key).find(|object| !object.levels.is_empty()) else {
        return metrics;
    };
    let Some(leaves) = tree.levels.first() else { return metrics };
    let inner: u64 = tree.levels.iter().skip(1).map(|level| level.page_count).sum();
    metrics.extend([
        metric("key_tree_depth", f64::from(tree.index_depth), "1"),
        metric("key_tree_leaf_pages", leaves.page_count as f64, "1"),
        metric("key_tree_inner_pages", inner as f64, "1"),
        metric("key_tree_fragmentation_pct", leaves.avg_fragmentation_pct, "%"),
        metric("key_tree_fragments", leaves.fragment_count as f64, "1"),
    ]);
    metrics.extend(leaves.avg_page_space_used_pct.map(|fill| metric("key_tree_fill_pct", fill, "%")));
    metrics
}

/// Levels on which a published identity does not hold: as many records as pages below, pages over fragments.
fn broken_identities(object: &ObjectStructure) -> usize {
    let pairs = object.levels.iter().zip(object.levels.iter().skip(1));
    let records =
        pairs.filter(|(below, level)| level.record_count.is_some_and(|count| count != below.page_count));
    let is_off = |level: &&LevelStructure| {
        let size = level.page_count as f64 / (level.fragment_count as f64).max(1.0);
        (size - level.avg_fragment_size_pages).abs() > 1e-6 * size
    };
    records.count() + object.levels.iter().filter(is_off).count()
}

fn raw_read(order: &TaskOrder) -> Result<TaskOutcome, String> {
    let raw = order.work.subject.raw;
    let pattern = Pattern {
        transfer_bytes: raw.transfer_bytes,
        read_percent: 100,
        random_percent: raw.random_percent,
        outstanding: raw.outstanding,
        jobs: 1,
    };
    let mut matrix = Matrix::of(vec![pattern], raw.file_bytes);
    matrix.runtime = raw.time;
    matrix.ramp = raw.time / 10;
    std::fs::create_dir_all(&order.place.scratch).map_err(|error| {
        format!("could not create directory \"{}\": {error}", order.place.scratch.display())
    })?;
    let baseline = measure(&order.place.scratch, &matrix, &mut |_| {}).map_err(|error| error.to_string())?;
    let row = baseline.rows.first().ok_or("the reader gave no row")?;
    if let Some(error) = row.error() {
        return Err(error.to_string());
    }
    let title = baseline.title();
    let metric = |name: &str, value: f64, unit: &str| metric(name, value, unit, &title);
    Ok(TaskOutcome {
        metrics: raw_figures(row).map(|(name, value, unit)| metric(name, value, unit)).to_vec(),
        structures: Vec::new(),
    })
}

/// The published columns of a row.
fn raw_figures(row: &Row) -> [(&'static str, f64, &'static str); 7] {
    let ms = |ns: f64| ns / 1e6;
    [
        ("raw_iops", row.iops, "1/s"),
        ("raw_mib_per_s", row.mib_per_s, "MiB/s"),
        ("raw_latency_ms", ms(row.latency_ns_mean), "ms"),
        ("raw_latency_ms_max", ms(row.latency_ns_max as f64), "ms"),
        ("raw_latency_ms_p99", ms(row.latency_ns_p99 as f64), "ms"),
        ("raw_unit_off_pct", row.unit_off_percent(), "%"),
        ("raw_little_off_pct", row.little_off_percent(), "%"),
    ]
}

/// What the survey asks, of the machine and of the server under test.
fn inventory_of(place: &EngineLocation) -> TaskOutcome {
    let url = place.server.as_ref().map(|server| server.url.clone());
    // The servers first, what is embedded last.
    let rows = inventory(&crate::engines::DRIVERS, url.as_slice());
    let Some(row) = (if url.is_some() { rows.first() } else { rows.last() }) else {
        return TaskOutcome::default();
    };
    let figures = [
        ("inventory_cores", row.cores, "1"),
        ("inventory_numa_nodes", row.numa_nodes, "1"),
        ("inventory_memory_bytes", row.memory_bytes, "bytes"),
        ("inventory_workers_per_query", row.workers_per_query, "1"),
        ("inventory_workers_total", row.workers_total, "1"),
        ("inventory_worker_processes", row.worker_processes, "1"),
    ];
    let known = figures.into_iter().filter_map(|(name, value, unit)| Some((name, value?, unit)));
    let metrics =
        known.map(|(name, value, unit)| metric(name, value as f64, unit, "fathom inventory")).collect();
    TaskOutcome { metrics, structures: Vec::new() }
}
