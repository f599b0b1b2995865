//! Side by side with fio: same file, same engine, same minute, in turns. Prints Markdown tables.
//!
//! ```text
//! cargo run --release -p disk --example bench-io -- DIRECTORY|DEVICE [--rounds N] [--seconds N] [--mib N] [--overwrite] [--only TEXT] [--huge]
//! ```
//!
//! `--huge` gives fio huge pages (`--mem=mmaphuge`; the machine must have some reserved, `vm.nr_hugepages`), which
//! fathom asks for by itself.
//!
//! In a directory a file is made and removed. A block device is only read, unless `--overwrite` allows the row that
//! writes; use it on a device that is made for this. Without fio the rows show fathom alone and say so.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use disk::backend::BackendChoice;
use disk::baseline::{Matrix, Pattern, measure};
use disk::buffer::fill_incompressible;
use disk::counters::{machine_cpu, process_cpu_ns};
use disk::scan::{Extent, ScanFile, ScanOptions, scan};
use disk::space::format_bytes;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The shapes of the comparison: name, pattern.
const CASES: [(&str, Pattern); 7] = [
    ("8 KiB random read, depth 1", Pattern::read(8 << 10, 100, 1)),
    ("8 KiB random read, depth 32", Pattern::read(8 << 10, 100, 32)),
    ("8 KiB random read, depth 64", Pattern::read(8 << 10, 100, 64)),
    ("64 KiB random read, depth 32", Pattern::read(64 << 10, 100, 32)),
    ("256 KiB random read, depth 32", Pattern::read(256 << 10, 100, 32)),
    ("1 MiB sequential read, depth 8", Pattern::read(1 << 20, 0, 8)),
    ("8 KiB random write, depth 32", Pattern::write(8 << 10, 100, 32)),
];

/// The pause before each run. The start of fio takes as long again.
const PAUSE: Duration = Duration::from_millis(500);

/// The first argument of the process that scans once.
const SCAN_ONCE: &str = "--scan-once";

struct Options {
    target: PathBuf,
    rounds: usize,
    seconds: u64,
    mib: u64,
    overwrite: bool,
    /// Only the lines whose name contains this.
    only: String,
    huge: bool,
}

/// What one tool gave in one round.
#[derive(Clone, Copy, Debug, Default)]
struct Figure {
    /// Transfers, or MiB, per second.
    rate: f64,
    /// The tool's own processor time per transfer, or per MiB, in microseconds.
    own_us: f64,
    /// The busy time of all processors per transfer, or per MiB, in microseconds: the work of kernel threads too.
    machine_us: f64,
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some(SCAN_ONCE) {
        return scan_once(arguments);
    }
    let options = options()?;
    let has_fio = Command::new("fio").arg("--version").output().is_ok_and(|output| output.status.success());
    if !has_fio {
        println!("fio is not installed: the columns of fio are empty.\n");
    }
    let data = Data::prepare(&options)?;
    println!(
        "{} rounds of {} s each, {}.\n",
        options.rounds,
        options.seconds,
        format_bytes(options.mib << 20)
    );
    println!(
        "| pattern | fathom IOPS | fio IOPS | ratio (min-max) | own CPU us/IO | fio | machine CPU us/IO | fio |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (name, pattern) in CASES {
        if !name.contains(&options.only) || pattern.writes() && !data.may_write {
            continue;
        }
        let fathom = || fathom_row(&data.path, &pattern, &options);
        let fio = || fio_row(&data.path, &pattern, &options);
        print_line(name, &in_turns(options.rounds, has_fio, fathom, fio)?);
    }
    println!(
        "\n| scan of the whole file | fathom MiB/s | fio MiB/s | ratio (min-max) | own CPU us/MiB | fio | machine CPU us/MiB | fio |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (name, bs, depth) in
        [("1 MiB at 8", "1m", 8), ("1 MiB at 32", "1m", 32), ("256 KiB at 32", "256k", 32)]
    {
        if !"scan".contains(&options.only) {
            continue;
        }
        let fathom = || fathom_scan(&data.path, (1, 8), &options);
        let fio = || fio_scan(&data.path, bs, depth, &options);
        print_line(&format!("fio reads {name}"), &in_turns(options.rounds, has_fio, fathom, fio)?);
    }
    if "workers and depths of the scan".contains(&options.only) {
        print_workers(&data.path, &options)?;
    }
    Ok(())
}

/// The scan with several numbers of workers and depths, in turns; ratios to the first.
fn print_workers(path: &Path, options: &Options) -> Result<()> {
    let shapes = [(1, 8), (2, 8), (1, 16), (1, 32)];
    let mut figures = vec![Vec::new(); shapes.len()];
    for round in 0..options.rounds {
        for step in 0..shapes.len() {
            // Another one begins in each round.
            let index = (round + step) % shapes.len();
            std::thread::sleep(PAUSE);
            figures[index].push(fathom_scan(path, shapes[index], options)?);
        }
    }
    println!(
        "\n| scan: workers, depth of each | MiB/s | ratio to the first (min-max) | CPU-seconds per GiB |"
    );
    println!("|---|---|---|---|");
    for ((worker_count, depth), column) in shapes.into_iter().zip(&figures) {
        let ratios = column.iter().zip(&figures[0]).map(|(figure, first)| figure.rate / first.rate);
        let mut ratios: Vec<f64> = ratios.collect();
        ratios.sort_by(f64::total_cmp);
        println!(
            "| {worker_count}, {depth} | {:.0} | {:.3} ({:.3}-{:.3}) | {:.3} |",
            median(column.iter().map(|figure| figure.rate).collect()),
            median(ratios.clone()),
            ratios[0],
            ratios[ratios.len() - 1],
            median(column.iter().map(|figure| figure.own_us * 1024.0 / 1e6).collect()),
        );
    }
    Ok(())
}

fn options() -> Result<Options> {
    let usage = "bench-io TARGET [--rounds N] [--seconds N] [--mib N] [--overwrite] [--only TEXT] [--huge]";
    let mut arguments = std::env::args().skip(1);
    let target = arguments.next().ok_or(usage)?.into();
    let mut options = Options {
        target,
        rounds: 5,
        seconds: 3,
        mib: 2048,
        overwrite: false,
        only: String::new(),
        huge: false,
    };
    while let Some(argument) = arguments.next() {
        if argument == "--only" {
            options.only = arguments.next().ok_or(usage)?;
            continue;
        }
        let mut number = || -> Result<u64> { Ok(arguments.next().ok_or(usage)?.parse()?) };
        match argument.as_str() {
            "--rounds" => options.rounds = number()?.max(1) as usize,
            "--seconds" => options.seconds = number()?.max(1),
            "--mib" => options.mib = number()?.max(64),
            "--huge" => options.huge = true,
            "--overwrite" => options.overwrite = true,
            _ => return Err(usage.into()),
        }
    }
    Ok(options)
}

/// The file or device that both tools use.
struct Data {
    path: PathBuf,
    may_write: bool,
    is_made: bool,
}

impl Data {
    fn prepare(options: &Options) -> Result<Self> {
        if !options.target.is_dir() {
            return Ok(Data { path: options.target.clone(), may_write: options.overwrite, is_made: false });
        }
        let path = options.target.join(format!("bench-io-{}.data", std::process::id()));
        let data = Data { path, may_write: true, is_made: true };
        let file = std::fs::OpenOptions::new().write(true).create_new(true).open(&data.path)?;
        let mut content = vec![0; 1 << 20];
        for index in 0..options.mib {
            fill_incompressible(&mut content, index);
            std::os::unix::fs::FileExt::write_all_at(&file, &content, index << 20)?;
        }
        file.sync_all()?;
        Ok(data)
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        if self.is_made {
            let _unremoved = std::fs::remove_file(&self.path);
        }
    }
}

/// Runs both in turns, the other one first in every second round.
fn in_turns(
    rounds: usize,
    has_fio: bool,
    fathom: impl Fn() -> Result<Figure>,
    fio: impl Fn() -> Result<Figure>,
) -> Result<(Vec<Figure>, Vec<Figure>)> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    // A throttled device saves up for those who come after a pause, so everybody comes after the same one.
    let fathom = || {
        std::thread::sleep(PAUSE);
        fathom()
    };
    let fio = || {
        std::thread::sleep(PAUSE);
        fio()
    };
    for round in 0..rounds {
        if has_fio && round % 2 == 1 {
            theirs.push(fio()?);
        }
        ours.push(fathom()?);
        if has_fio && round % 2 == 0 {
            theirs.push(fio()?);
        }
    }
    Ok((ours, theirs))
}

fn fathom_row(path: &Path, pattern: &Pattern, options: &Options) -> Result<Figure> {
    let name = path.to_string_lossy().into_owned();
    let matrix = Matrix {
        runtime: Duration::from_secs(options.seconds),
        backend: BackendChoice::Uring,
        poll: false,
        destroy_contents: pattern.writes().then_some(name),
        seed: std::process::id().into(),
        ..Matrix::of(vec![*pattern], options.mib << 20)
    };
    let baseline = measure(path, &matrix, &mut |_| ())?;
    let row = &baseline.rows[0];
    for flag in &row.flags {
        eprintln!("fathom, {} bytes at {}: {flag}", pattern.transfer_bytes, pattern.outstanding);
    }
    let processors = std::thread::available_parallelism()?.get() as f64;
    let busy_us = row.cpu_percent / 100.0 * processors * row.measured_ns as f64 / 1e3;
    Ok(Figure {
        rate: row.iops,
        own_us: row.own_cpu_ns_per_transfer / 1e3,
        machine_us: busy_us / row.transfer_count.max(1) as f64,
    })
}

fn fio_row(path: &Path, pattern: &Pattern, options: &Options) -> Result<Figure> {
    let rw = match (pattern.random_percent, pattern.read_percent) {
        (100, 100) => "randread",
        (0, 100) => "read",
        _ => "randwrite",
    };
    let mut command = fio_command(path, options);
    command.args(["--time_based", "--norandommap", "--randrepeat=0", "--ramp_time=500ms"]);
    command.arg(format!("--runtime={}", options.seconds));
    command.arg(format!("--rw={rw}")).arg(format!("--bs={}", pattern.transfer_bytes));
    command.arg(format!("--iodepth={}", pattern.outstanding));
    let before = machine_cpu()?;
    let job = run_fio(command)?;
    let busy_us = machine_cpu()?.since(&before).busy_ns() as f64 / 1e3;
    let direction = if pattern.writes() { "write" } else { "read" };
    let iops = job[direction]["iops"].as_f64().ok_or("fio gave no iops")?;
    let count = job[direction]["total_ios"].as_f64().ok_or("fio gave no total_ios")?;
    let runtime_us = job["job_runtime"].as_f64().ok_or("fio gave no job_runtime")? * 1e3;
    let own_percent = job["usr_cpu"].as_f64().unwrap_or(0.0) + job["sys_cpu"].as_f64().unwrap_or(0.0);
    // The ramp keeps the processors busy too.
    let count_with_ramp = count * (options.seconds as f64 + 0.5) / options.seconds as f64;
    Ok(Figure {
        rate: iops,
        own_us: own_percent / 100.0 * runtime_us / count,
        machine_us: busy_us / count_with_ramp,
    })
}

/// Scans in a process of its own, as the checker does: making the buffers is part of the time. That of fio begins
/// when everything is made.
fn fathom_scan(path: &Path, (worker_count, depth): (usize, usize), options: &Options) -> Result<Figure> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(SCAN_ONCE).arg(path);
    command.args([options.mib, worker_count as u64, depth as u64].map(|number| number.to_string()));
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text.split_whitespace().flat_map(str::parse).collect();
    match numbers[..] {
        [rate, own_us, machine_us] => Ok(Figure { rate, own_us, machine_us }),
        _ => Err(format!("the scan gave no figures: {}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

/// The process of one scan: prints MiB per second, and its own and the machine's processor time per MiB.
fn scan_once(mut arguments: impl Iterator<Item = String>) -> Result<()> {
    let path: PathBuf = arguments.next().ok_or(SCAN_ONCE)?.into();
    let mut number = || -> Result<u64> { Ok(arguments.next().ok_or(SCAN_ONCE)?.parse()?) };
    let (mib, worker_count, depth) = (number()?, number()? as usize, number()? as usize);
    // That of the thread that brings memory in as well.
    let (own_before, before) = (process_cpu_ns(), machine_cpu()?);
    let files = [ScanFile::part(path, 0..mib << 20)];
    let backend = BackendChoice::Uring;
    let scan_options = ScanOptions { backend, worker_count, depth, ..ScanOptions::default() };
    let look = |offset_bytes: &mut u64, extent: Extent<'_>| *offset_bytes = extent.offset_bytes;
    let outcome = scan(&files, &scan_options, |_| 0, look)?;
    let mib = outcome.read_bytes() as f64 / f64::from(1 << 20);
    let busy_us = machine_cpu()?.since(&before).busy_ns() as f64 / 1e3;
    println!(
        "{} {} {}",
        mib / (outcome.elapsed_ns as f64 / 1e9),
        (process_cpu_ns() - own_before) as f64 / 1e3 / mib,
        busy_us / mib
    );
    Ok(())
}

fn fio_scan(path: &Path, bs: &str, depth: u32, options: &Options) -> Result<Figure> {
    let mut command = fio_command(path, options);
    command.arg("--rw=read").arg(format!("--bs={bs}")).arg(format!("--iodepth={depth}"));
    let before = machine_cpu()?;
    let job = run_fio(command)?;
    let busy_us = machine_cpu()?.since(&before).busy_ns() as f64 / 1e3;
    let bytes_per_s = job["read"]["bw_bytes"].as_f64().ok_or("fio gave no bw_bytes")?;
    let mib = job["read"]["io_bytes"].as_f64().ok_or("fio gave no io_bytes")? / f64::from(1 << 20);
    let runtime_us = job["job_runtime"].as_f64().ok_or("fio gave no job_runtime")? * 1e3;
    let own_percent = job["usr_cpu"].as_f64().unwrap_or(0.0) + job["sys_cpu"].as_f64().unwrap_or(0.0);
    Ok(Figure {
        rate: bytes_per_s / f64::from(1 << 20),
        own_us: own_percent / 100.0 * runtime_us / mib,
        machine_us: busy_us / mib,
    })
}

fn fio_command(path: &Path, options: &Options) -> Command {
    let mut command = Command::new("fio");
    command.args(["--name=bench", "--output-format=json", "--ioengine=io_uring", "--direct=1", "--thread"]);
    command.args(["--fixedbufs=1", "--registerfiles=1", "--invalidate=0", "--group_reporting"]);
    if options.huge {
        command.arg("--mem=mmaphuge");
    }
    command.arg(format!("--filename={}", path.display())).arg(format!("--size={}m", options.mib));
    command
}

fn run_fio(mut command: Command) -> Result<serde_json::Value> {
    let output = command.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let text = String::from_utf8(output.stdout)?;
    let start = text.find('{').ok_or("fio printed no JSON")?;
    let value: serde_json::Value = serde_json::from_str(&text[start..])?;
    Ok(value["jobs"][0].clone())
}

fn print_line(name: &str, (ours, theirs): &(Vec<Figure>, Vec<Figure>)) {
    let column = |figures: &[Figure], get: fn(&Figure) -> f64| median(figures.iter().map(get).collect());
    let mut ratios: Vec<f64> =
        ours.iter().zip(theirs).map(|(ours, theirs)| ours.rate / theirs.rate).collect();
    ratios.sort_by(f64::total_cmp);
    let spread = match (ratios.first(), ratios.last()) {
        (Some(first), Some(last)) => format!("{:.3} ({first:.3}-{last:.3})", median(ratios.clone())),
        _ => "-".to_owned(),
    };
    let show = |value: f64, decimals: usize| {
        if value.is_nan() { "-".to_owned() } else { format!("{value:.decimals$}") }
    };
    println!(
        "| {name} | {} | {} | {spread} | {} | {} | {} | {} |",
        show(column(ours, |f| f.rate), 0),
        show(column(theirs, |f| f.rate), 0),
        show(column(ours, |f| f.own_us), 2),
        show(column(theirs, |f| f.own_us), 2),
        show(column(ours, |f| f.machine_us), 2),
        show(column(theirs, |f| f.machine_us), 2),
    );
}

/// The middle value; not a number without any.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => values[odd / 2],
        even => f64::midpoint(values[even / 2 - 1], values[even / 2]),
    }
}
