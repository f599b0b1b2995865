//! `fathom io`: what a device can do.

mod shown;

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use disk::backend::BackendChoice;
use disk::baseline::{
    Baseline, Matrix, Pattern, Progress, Row, SyncMatrix, SyncRow, device_identity, measure, measure_sync,
    read_fio_job,
};
use disk::facts::storage_behind;
use disk::machine::{MachineFacts, machine_facts};
use disk::space::format_bytes;
use results::io::{IoRow, IoSyncRow, IoTable};

use crate::arguments::{IoArguments, IoEngine};
use crate::cli::page_file::PageFile;
use crate::cli::quantities::{bytes, bytes_per_s, time_above_zero, time_of};
use crate::cli::terminal::say;
use crate::cli::{baselines, stored};
use crate::exit_status::ExitStatus;

pub(crate) fn run(arguments: &IoArguments) -> anyhow::Result<ExitStatus> {
    if arguments.list {
        return shown::list(arguments);
    }
    if let Some(number) = arguments.show {
        return shown::show(arguments, number);
    }
    let page = PageFile::of(arguments.html.as_deref())?;
    let (matrix, path_in_job) = matrix(arguments)?;
    let path =
        arguments.path.clone().or(path_in_job).context("no path to measure\nhint: name a directory")?;
    let metadata = path.metadata().with_context(|| format!("could not open \"{}\"", path.display()))?;
    if (arguments.flushes || arguments.only_flushes) && !metadata.is_dir() {
        bail!("cannot measure flushes at \"{}\": appends need a directory", path.display());
    }
    // Before the work, so that a directory that cannot be written costs no minutes.
    let mut store = match arguments.no_store {
        true => None,
        false => Some(stored::writable(&arguments.results.results)?),
    };
    let table = measured(arguments, &matrix, &path)?;
    let stored = store.as_mut().map(|store| store.add_io_table(&table)).transpose();
    shown::print_table(&table, arguments)?;
    let stored = stored?;
    let number = stored.map(|id| id.0);
    if let Some(id) = stored {
        say(&format!("stored as baseline {}; `fathom io --show {}` prints it again", id.0, id.0));
    }
    if let Some(page) = page {
        page.write(&report::html::baseline_page(&baselines::measured(table.clone(), number)))?;
    }
    // A row with transfers that failed is no measurement.
    let is_failed = |row: &IoRow| row.flags.iter().any(|flag| flag.starts_with("error: "));
    Ok(if table.rows.iter().any(is_failed) { ExitStatus::Findings } else { ExitStatus::Clean })
}

/// Measures what the arguments ask for.
fn measured(arguments: &IoArguments, matrix: &Matrix, path: &Path) -> anyhow::Result<IoTable> {
    let began_unix_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let mut table = if arguments.only_flushes {
        let title = format!("durable appends in {}", path.display());
        IoTable { title, target: path.display().to_string(), ..IoTable::default() }
    } else {
        table_of(path, &measure(path, matrix, &mut |progress| tell(matrix, &progress))?)
    };
    table.began_unix_s = began_unix_s;
    table.machine = machine_phrase(&machine_facts());
    table.fathom_version = env!("CARGO_PKG_VERSION").to_owned();
    if !arguments.only_flushes {
        table.matrix = matrix_name(matrix, arguments);
    }
    if table.device_identity.is_empty() {
        table.device_identity =
            storage_behind(path).map_or_else(|_| String::new(), |facts| device_identity(&facts));
    }
    if arguments.flushes || arguments.only_flushes {
        table.sync_rows = flushes(path, arguments)?;
    }
    Ok(table)
}

/// What the rows are called; the published ones have the name of their experiment.
fn matrix_name(matrix: &Matrix, arguments: &IoArguments) -> String {
    let chosen = || match &arguments.job {
        Some(job) => format!("job file {}", job.display()),
        None => "chosen rows".to_owned(),
    };
    matrix.name().unwrap_or_else(chosen)
}

/// `2 processors AMD EPYC, 23.5 GiB of memory, Linux 6.1.0`.
fn machine_phrase(facts: &MachineFacts) -> String {
    let processors = &facts.processors;
    let model = processors.model.as_ref().map_or_else(String::new, |model| format!(" {model}"));
    let memory =
        facts.memory.total_bytes.map_or_else(String::new, |b| format!(", {} of memory", format_bytes(b)));
    format!("{} CPUs{model}{memory}, Linux {}", processors.online.len(), facts.kernel_release)
}

/// The matrix of the command line or of a fio job file, and the path that the job file names.
fn matrix(arguments: &IoArguments) -> anyhow::Result<(Matrix, Option<std::path::PathBuf>)> {
    let mut path = None;
    let mut matrix = if let Some(job) = &arguments.job {
        let text = disk::regular::read_to_string(job)
            .with_context(|| format!("could not read job file \"{}\"", job.display()))?;
        let job = read_fio_job(&text).with_context(|| format!("job file \"{}\"", job.display()))?;
        job.notes.iter().for_each(|note| say(&format!("note: {note}")));
        path = job.path;
        job.matrix
    } else if arguments.mini {
        Matrix::miniature()
    } else {
        Matrix::published()
    };
    if let Some(patterns) = patterns(arguments)? {
        matrix.patterns = patterns;
    }
    if let Some(size) = &arguments.size {
        matrix.size_bytes = bytes(size)?;
    }
    if let Some(time) = &arguments.runtime {
        matrix.runtime = time_above_zero("--runtime", time)?;
    }
    if let Some(time) = &arguments.ramp_time {
        matrix.ramp = time_of("--ramp-time", time)?;
    }
    if let Some(seed) = arguments.randseed {
        matrix.seed = seed;
    }
    if arguments.buffered {
        matrix.want_direct = false;
    }
    matrix.backend = match arguments.ioengine {
        IoEngine::Auto => matrix.backend,
        IoEngine::IoUring => BackendChoice::Uring,
        IoEngine::Psync => BackendChoice::Threads,
    };
    if let Some(rate) = &arguments.known_rate {
        matrix.rate_bytes_per_s_max = Some(bytes_per_s(rate)?);
    }
    if let Some(name) = &arguments.destroy_contents {
        matrix.destroy_contents = Some(name.clone());
    }
    Ok((matrix, path))
}

/// Rows from `--bs`, `--rw`, `--iodepth` and the rest; `None` when none of them is given.
fn patterns(arguments: &IoArguments) -> anyhow::Result<Option<Vec<Pattern>>> {
    let shapes = [&arguments.bs, &arguments.rw, &arguments.iodepth, &arguments.numjobs];
    if shapes.iter().all(|option| option.is_none()) {
        return Ok(None);
    }
    let words = |option: &Option<String>, default: &str| -> Vec<String> {
        option.as_deref().unwrap_or(default).split(',').map(|word| word.trim().to_owned()).collect()
    };
    let mut patterns = Vec::new();
    for mode in words(&arguments.rw, "randread") {
        let (read_percent, random_percent) = mode_of(&mode, arguments)?;
        for size in words(&arguments.bs, "8k") {
            let transfer_bytes = bytes(&size)?;
            for jobs in words(&arguments.numjobs, "1") {
                for depth in words(&arguments.iodepth, "1") {
                    patterns.push(Pattern {
                        transfer_bytes,
                        read_percent,
                        random_percent,
                        outstanding: whole("--iodepth", &depth)?,
                        jobs: whole("--numjobs", &jobs)?,
                    });
                }
            }
        }
    }
    Ok(Some(patterns))
}

/// Shares of reads and of random places, in percent.
fn mode_of(mode: &str, arguments: &IoArguments) -> anyhow::Result<(u8, u8)> {
    let mixed = arguments.rwmixread.unwrap_or(50);
    let (read_percent, random_percent) = match mode {
        "read" => (100, 0),
        "randread" => (100, 100),
        "write" => (0, 0),
        "randwrite" => (0, 100),
        "rw" | "readwrite" => (mixed, 0),
        "randrw" => (mixed, 100),
        other => {
            bail!("--rw does not take \"{other}\"\nhint: use read, randread, write, randwrite, rw or randrw")
        }
    };
    Ok((read_percent, arguments.percentage_random.unwrap_or(random_percent)))
}

fn whole(option: &str, text: &str) -> anyhow::Result<u32> {
    text.parse().with_context(|| format!("{option} takes whole numbers, found \"{text}\""))
}

fn flushes(path: &Path, arguments: &IoArguments) -> anyhow::Result<Vec<IoSyncRow>> {
    let mut matrix = SyncMatrix::default();
    if let Some(time) = &arguments.runtime {
        matrix.runtime = time_above_zero("--runtime", time)?;
    }
    let rows = measure_sync(path, &matrix, &mut |row| {
        let size = format_bytes(row.size_bytes);
        say(&format!("{} x {size} {}: {:.0} /s", row.writer_count, row.method.name(), row.appends_per_s));
    })?;
    Ok(rows.into_iter().map(sync_row_of).collect())
}

fn tell(matrix: &Matrix, progress: &Progress<'_>) {
    match progress {
        Progress::MakingFile { size_bytes } => {
            say(&format!("creating a file of {}", format_bytes(*size_bytes)))
        }
        Progress::RowStarted { .. } => {}
        Progress::RowDone { row_index, row } => say(&format!(
            "row {} of {}: {:.0} IOPS, {:.0} MiB/s",
            row_index + 1,
            matrix.patterns.len(),
            row.iops,
            row.mib_per_s
        )),
    }
}

fn table_of(path: &Path, baseline: &Baseline) -> IoTable {
    let storage = baseline.target.storage.as_ref();
    let device_only = || baseline.target.counted_device.clone().unwrap_or_default();
    IoTable {
        title: baseline.title(),
        target: path.display().to_string(),
        device: baseline.target.counted_device.clone(),
        device_identity: storage.map_or_else(device_only, device_identity),
        is_direct: baseline.target.cache.is_direct(),
        engine: baseline.backend.engine.clone(),
        seed: baseline.matrix.seed,
        rows: baseline.rows.iter().map(row_of).collect(),
        warnings: baseline.warnings.clone(),
        ..IoTable::default()
    }
}

fn row_of(row: &Row) -> IoRow {
    IoRow {
        transfer_bytes: row.pattern.transfer_bytes,
        read_percent: row.pattern.read_percent,
        random_percent: row.pattern.random_percent,
        outstanding: row.pattern.outstanding_total(),
        jobs: row.pattern.jobs,
        iops: row.iops,
        mib_per_s: row.mib_per_s,
        latency_ns_mean: row.latency_ns_mean,
        latency_ns_max: row.latency_ns_max,
        latency_ns_p50: row.latency_ns_p50,
        latency_ns_p99: row.latency_ns_p99,
        latency_ns_p999: row.latency_ns_p999,
        cpu_percent: row.cpu_percent,
        own_cpu_percent: row.own_cpu_percent,
        own_cpu_ns_per_transfer: row.own_cpu_ns_per_transfer,
        transfer_count: row.transfer_count,
        transferred_bytes: row.transferred_bytes,
        device_read_bytes: row.device_read_bytes,
        device_write_bytes: row.device_write_bytes,
        measured_ns: row.measured_ns,
        warm_up_ns: row.warm_up_ns,
        is_steady: row.steadiness.is_steady,
        flags: row.flags.iter().map(ToString::to_string).collect(),
    }
}

fn sync_row_of(row: SyncRow) -> IoSyncRow {
    IoSyncRow {
        size_bytes: row.size_bytes,
        method: row.method.name().to_owned(),
        writer_count: row.writer_count,
        append_count: row.append_count,
        appends_per_s: row.appends_per_s,
        mib_per_s: row.mib_per_s,
        latency_ns_mean: row.latency_ns_mean,
        latency_ns_p50: row.latency_ns_p50,
        latency_ns_p99: row.latency_ns_p99,
        latency_ns_max: row.latency_ns_max,
        cpu_percent: row.cpu_percent,
        own_cpu_percent: row.own_cpu_percent,
        device_flush_count: row.device_flush_count,
        measured_ns: row.measured_ns,
        flags: row.flags,
    }
}
