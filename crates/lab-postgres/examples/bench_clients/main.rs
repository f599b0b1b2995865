//! Prices fathom's clients against pgbench: CPU per transaction and throughput, on one server, in turn.
//!
//! usage: bench_clients [ROUNDS [SECONDS]]      (default: 7 rounds of 3 s; BENCH_ONLY=scripts: scripts alone)
//!
//! Needs server binaries and pgbench. For each statement and number of connections fathom and pgbench run
//! one after the other, which of them first alternating from round to round; medians are printed as a
//! Markdown table. CPU is user plus system time of the client side alone, divided by transactions. The same follows
//! for scripts (`own`), the price of the harness without an engine, and the memory of connections.

mod own;

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use lab::client::ClientPool;
use lab::engine::noop::NoopTarget;
use lab::engine::{DynConnector, Layout, Target};
use lab::work::{Amount, Durability, Work, Workload};
use lab_postgres::{ManagedOptions, ManagedPostgres, require_servers};

type AnyError = Box<dyn std::error::Error>;

/// What one round measured.
#[derive(Clone, Copy)]
struct Figure {
    cpu_us: f64,
    per_s: f64,
}

fn main() -> Result<(), AnyError> {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<u32>());
    let rounds = numbers.next().transpose()?.unwrap_or(7);
    let seconds = numbers.next().transpose()?.unwrap_or(3);
    let pgbench = find_pgbench()?;
    let server = require_servers(&[])?.remove(0);
    println!(
        "PostgreSQL {}, Unix socket, fsync off, {rounds} rounds of {seconds} s, medians\n",
        server.version
    );
    let base = std::env::temp_dir();
    let options = ManagedOptions { server, base, layout: Layout::default(), port: None };
    let mut target = ManagedPostgres::create(&options)?;
    if std::env::var_os("BENCH_ONLY").is_some_and(|part| part == "scripts") {
        own::compare_scripts(&mut target, &pgbench, rounds, seconds)?;
        target.stop(false)?;
        return own::memory();
    }
    println!(
        "| statement | connections | fathom µs/tx | pgbench µs/tx | ratio | fathom tx/s | pgbench tx/s | ratio |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for workload in [Workload::SelectOne, Workload::RandomInsert] {
        for connections in [1, 16, 64] {
            let work = work(workload, connections, Duration::from_secs(u64::from(seconds)));
            compare(&mut target, &work, &pgbench, rounds)?;
        }
    }
    own::compare_scripts(&mut target, &pgbench, rounds, seconds)?;
    target.stop(false)?;
    harness(rounds)?;
    memory()?;
    own::memory()?;
    Ok(())
}

fn compare(
    target: &mut ManagedPostgres,
    work: &Work,
    pgbench: &PathBuf,
    rounds: u32,
) -> Result<(), AnyError> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    target.prepare(work)?;
    for round in 0..rounds {
        for turn in 0..2 {
            if (round + turn) % 2 == 0 {
                ours.push(fathom(&target.connector(), work)?);
            } else {
                theirs.push(run_pgbench(target, work, pgbench)?);
            }
        }
    }
    target.clean()?;
    let (ours, theirs) = (median(ours), median(theirs));
    println!(
        "| {} | {} | {} |",
        if work.workload == Workload::SelectOne { "SELECT 1" } else { "INSERT, one row" },
        work.connections,
        side_by_side(&ours, &theirs)
    );
    Ok(())
}

fn fathom(connector: &Arc<dyn DynConnector>, work: &Work) -> Result<Figure, AnyError> {
    let mut pool = ClientPool::assemble(connector, work, 1)?;
    pool.release();
    pool.wait(&mut |_| {});
    let done = pool.dismiss();
    if let Some(error) = done.clients.iter().find_map(|client| client.error.clone()) {
        return Err(error.into());
    }
    let transactions: u64 = done.clients.iter().map(|client| client.transactions).sum();
    let cpu_ns: u64 = done.workers.iter().map(|worker| worker.cpu_ns).sum();
    let elapsed_ns = done.clients.iter().filter_map(|client| client.end_ns).max().unwrap_or(1);
    Ok(Figure {
        cpu_us: cpu_ns as f64 / 1e3 / transactions as f64,
        per_s: transactions as f64 / (elapsed_ns as f64 / 1e9),
    })
}

fn run_pgbench(target: &ManagedPostgres, work: &Work, pgbench: &PathBuf) -> Result<Figure, AnyError> {
    let statement = match work.workload {
        Workload::SelectOne => "SELECT 1;\n",
        _ => "INSERT INTO fathom_rows DEFAULT VALUES;\n",
    };
    let script = tempfile::NamedTempFile::new()?;
    std::fs::write(script.path(), statement)?;
    let Amount::Time(time) = work.amount else { return Err("the bench is bounded by time".into()) };
    let cluster = target.cluster();
    let mut command = Command::new(pgbench);
    command
        .args(["-n", "-M", "prepared", "-j", "1", "-U", "fathom", "-c", &work.connections.to_string()])
        .args(["-T", &time.as_secs().to_string(), "-p", &cluster.port().to_string()])
        .arg("-h")
        .arg(cluster.socket_directory())
        .arg("-f")
        .arg(script.path())
        .arg("postgres");
    price_pgbench(&mut command)
}

/// Runs pgbench and reads what it says.
fn price_pgbench(command: &mut Command) -> Result<Figure, AnyError> {
    let children_cpu_ns = || -> Result<u64, AnyError> {
        let cpu = disk::counters::process_cpu(std::process::id())?;
        Ok(cpu.children_user_ns + cpu.children_system_ns)
    };
    let before = children_cpu_ns()?;
    let output = command.stdin(Stdio::null()).output()?;
    let cpu_ns = children_cpu_ns()? - before;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let number = |label: &str| -> Result<f64, AnyError> {
        let line = text.lines().find_map(|line| line.strip_prefix(label));
        let word = line.and_then(|rest| rest.split([' ', '/', '\n']).next());
        word.and_then(|word| word.parse().ok()).ok_or_else(|| {
            format!(
                "pgbench says nothing about \"{label}\": {text}{}",
                String::from_utf8_lossy(&output.stderr)
            )
            .into()
        })
    };
    let transactions = number("number of transactions actually processed: ")?;
    Ok(Figure { cpu_us: cpu_ns as f64 / 1e3 / transactions, per_s: number("tps = ")? })
}

/// The harness without an engine: time of one thread per operation.
fn harness(rounds: u32) -> Result<(), AnyError> {
    println!("\n| clients on one thread, no engine | ns CPU per operation |\n| --- | --- |");
    for connections in [1, 16, 64, 256] {
        let work = work(Workload::SelectOne, connections, Duration::from_secs(1));
        let figures: Result<Vec<Figure>, AnyError> =
            (0..rounds).map(|_| fathom(&NoopTarget.connector(), &work)).collect();
        println!("| {connections} | {:.0} |", 1e3 * median(figures?).cpu_us);
    }
    Ok(())
}

/// Resident memory at its peak, after a run with 256 connections to a server, histograms included.
fn memory() -> Result<(), AnyError> {
    let server = require_servers(&[])?.remove(0);
    let options =
        ManagedOptions { server, base: std::env::temp_dir(), layout: Layout::default(), port: None };
    let mut target = ManagedPostgres::create(&options)?;
    let work = work(Workload::RandomInsert, 256, Duration::from_secs(3));
    target.prepare(&work)?;
    fathom(&target.connector(), &work)?;
    target.stop(false)?;
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("unknown").trim().to_owned();
    println!("\npeak memory of this whole bench, 256 connections included: {peak}");
    Ok(())
}

fn work(workload: Workload, connections: u32, time: Duration) -> Work {
    Work {
        workload,
        amount: Amount::Time(time),
        connections,
        jobs: Some(1),
        batch_size: 1,
        durability: Durability::None,
        ..Work::example()
    }
}

/// Both figures and their ratios, as the last cells of a row.
fn side_by_side(ours: &Figure, theirs: &Figure) -> String {
    format!(
        "{:.2} | {:.2} | {:.2} | {:.0} | {:.0} | {:.2}",
        ours.cpu_us,
        theirs.cpu_us,
        ours.cpu_us / theirs.cpu_us,
        ours.per_s,
        theirs.per_s,
        ours.per_s / theirs.per_s
    )
}

fn median(figures: Vec<Figure>) -> Figure {
    let middle = |field: fn(&Figure) -> f64| {
        let mut values: Vec<f64> = figures.iter().map(field).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    Figure { cpu_us: middle(|figure| figure.cpu_us), per_s: middle(|figure| figure.per_s) }
}

/// The program itself: what stands in the path may be a script that costs as much as thousands of transactions.
fn find_pgbench() -> Result<PathBuf, AnyError> {
    let installed = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().filter_map(Result::ok);
    let mut installed: Vec<PathBuf> = installed.map(|entry| entry.path().join("bin/pgbench")).collect();
    installed.sort();
    let path = std::env::var_os("PATH");
    let in_path = path.iter().flat_map(std::env::split_paths).map(|directory| directory.join("pgbench"));
    installed
        .into_iter()
        .rev()
        .chain(in_path)
        .find(|path| path.is_file())
        .ok_or_else(|| "pgbench is not installed\nhint: install postgresql-contrib or postgresql".into())
}
