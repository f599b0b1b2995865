//! Scripts beside `pgbench -n -f` with the same script, without its start; the memory of connections that execute scripts.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use lab::client::ClientPool;
use lab::engine::{DynConnector, Layout, OwnDatabases, Target};
use lab::own::{OwnWorkload, Part, Plan, Protocol, SqlText, WeightedScript};
use lab::work::{Amount, Work, Workload};
use lab_postgres::{ManagedOptions, ManagedPostgres, require_servers};
use results::EngineId;

use super::{AnyError, Figure, fathom, median, price_pgbench, side_by_side, work};

/// Scale of the tables of tpcb-like.
const SCALE: u64 = 20;

/// Connections whose memory is measured.
const MEMORY_CONNECTIONS: [u32; 2] = [500, 1000];

const SCHEMA: &str = "CREATE TABLE pgbench_branches(bid int PRIMARY KEY, bbalance int, filler char(88)) WITH (fillfactor = 100);
    CREATE TABLE pgbench_tellers(tid int PRIMARY KEY, bid int, tbalance int, filler char(84)) WITH (fillfactor = 100);
    CREATE TABLE pgbench_accounts(aid int PRIMARY KEY, bid int, abalance int, filler char(84)) WITH (fillfactor = 100);
    CREATE TABLE pgbench_history(tid int, bid int, aid int, delta int, mtime timestamp, filler char(22));
    INSERT INTO pgbench_branches SELECT i, 0, '' FROM generate_series(1, :scale) AS i;
    INSERT INTO pgbench_tellers SELECT i, 1 + i / 10, 0, '' FROM generate_series(1, 10 * :scale) AS i;
    INSERT INTO pgbench_accounts SELECT i, 1 + i / 100000, 0, '' FROM generate_series(1, 100000 * :scale) AS i;";

/// Prints one line for each script, protocol and number of connections.
pub(super) fn compare_scripts(
    target: &mut ManagedPostgres,
    pgbench: &PathBuf,
    rounds: u32,
    seconds: u32,
) -> Result<(), AnyError> {
    let time = Duration::from_secs(u64::from(seconds));
    let tpcb = script::BUILTINS.iter().find(|builtin| builtin.name == "tpcb-like").ok_or("no tpcb-like")?;
    println!("\nScripts, tpcb-like at scale {SCALE}, beside `pgbench -n -f` with the same script\n");
    println!(
        "| script | protocol | connections | fathom µs/tx | pgbench µs/tx | ratio | fathom tx/s | pgbench tx/s | ratio |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    let first = own_work("SELECT 1;", Protocol::Simple, 64, time);
    provide(target, &first)?;
    for (name, script) in [("SELECT 1", "SELECT 1;\n"), ("tpcb-like", tpcb.script)] {
        let file = tempfile::NamedTempFile::new()?;
        std::fs::write(file.path(), script)?;
        for protocol in [Protocol::Simple, Protocol::Prepared] {
            for connections in [1, 16, 64] {
                let work = own_work(script, protocol, connections, time);
                let connector = connector(target, &work, Part::Scripts)?;
                let (mut ours, mut theirs) = (Vec::new(), Vec::new());
                for round in 0..rounds {
                    for turn in 0..2 {
                        if (round + turn) % 2 == 0 {
                            ours.push(fathom(&connector, &work)?);
                        } else {
                            theirs.push(run_pgbench(target, &work, protocol, pgbench, file.path())?);
                        }
                    }
                }
                let (ours, theirs) = (median(ours), median(theirs));
                println!(
                    "| {name} | {} | {connections} | {} |",
                    word(protocol),
                    side_by_side(&ours, &theirs)
                );
            }
        }
    }
    target.clean()?;
    Ok(())
}

/// Prints the resident memory of this process by connection that has executed tpcb-like's statements, histograms included.
pub(super) fn memory() -> Result<(), AnyError> {
    let server = require_servers(&[])?.remove(0);
    let options =
        ManagedOptions { server, base: std::env::temp_dir(), layout: Layout::default(), port: None };
    let mut target = ManagedPostgres::create(&options)?;
    let script = "\\set id random(1, 100000)\nSELECT :id, :id + 1;\nSELECT :client_id;\n";
    println!(
        "\n| connections that executed scripts | resident memory | by connection |\n| --- | --- | --- |"
    );
    for connections in MEMORY_CONNECTIONS {
        let work = own_work(script, Protocol::Prepared, connections, Duration::from_secs(3));
        provide(&mut target, &own_work("SELECT 1;", Protocol::Simple, connections, Duration::from_secs(1)))?;
        let connector = connector(&mut target, &work, Part::Scripts)?;
        let before_kib = resident_kib()?;
        let mut pool = ClientPool::assemble(&connector, &work, 1)?;
        pool.release();
        let mut most_kib = 0;
        pool.wait(&mut |_| most_kib = most_kib.max(resident_kib().unwrap_or_default()));
        pool.dismiss();
        let grown_kib = most_kib.saturating_sub(before_kib);
        let each_kib = grown_kib as f64 / f64::from(connections);
        println!("| {connections} | {:.1} MiB | {each_kib:.1} KiB |", grown_kib as f64 / 1024.0);
    }
    target.stop(false)?;
    Ok(())
}

fn resident_kib() -> Result<u64, AnyError> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.split_whitespace().next().ok_or("no number")?.parse()?)
}

/// An empty database of the run with the tables of tpcb-like.
fn provide(target: &mut ManagedPostgres, work: &Work) -> Result<(), AnyError> {
    target.prepare(work)?;
    target.make_empty()?;
    let schema = Work { connections: 1, amount: Amount::Rows(1), ..work.clone() };
    let connector = connector(target, &schema, Part::Schema)?;
    fathom(&connector, &schema)?;
    target.keep("bench")?;
    target.restore("bench")?;
    Ok(())
}

fn connector(
    target: &mut ManagedPostgres,
    work: &Work,
    part: Part,
) -> Result<Arc<dyn DynConnector>, AnyError> {
    let own = work.own.as_ref().ok_or("the work has no scripts")?;
    let plan = Plan::new(own, part, EngineId::Postgres, work)?.ok_or("the part has no scripts")?;
    Ok(OwnDatabases::connector(target, Arc::new(plan)))
}

fn own_work(script: &str, protocol: Protocol, connections: u32, time: Duration) -> Work {
    let sql = |text: &str| SqlText { file: "bench.sql".to_owned(), text: text.to_owned() };
    let own = OwnWorkload {
        schema: Some(sql(SCHEMA)),
        scripts: vec![WeightedScript { sql: sql(script), weight: 1 }],
        scale: SCALE,
        protocol,
        max_tries: 1,
        ..OwnWorkload::default()
    };
    Work { own: Some(Arc::new(own)), ..work(Workload::Own, connections, time) }
}

fn word(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Simple => "simple",
        Protocol::Extended => "extended",
        Protocol::Prepared => "prepared",
    }
}

fn run_pgbench(
    target: &ManagedPostgres,
    work: &Work,
    protocol: Protocol,
    pgbench: &PathBuf,
    script: &std::path::Path,
) -> Result<Figure, AnyError> {
    let Amount::Time(time) = work.amount else { return Err("the bench is bounded by time".into()) };
    let cluster = target.cluster();
    let run = |amount: [&str; 2]| {
        let mut command = Command::new(pgbench);
        command
            .args(["-n", "-M", word(protocol), "-j", "1", "-U", "fathom_own", "-s", &SCALE.to_string()])
            .args(["-c", &work.connections.to_string()])
            .args(amount)
            .args(["-p", &cluster.port().to_string(), "-h"])
            .arg(cluster.socket_directory())
            .arg("-f")
            .arg(script)
            .arg("fathom_own");
        price_pgbench(&mut command)
    };
    // Of fathom the measured part alone is counted: what pgbench takes to start and to connect is taken off.
    let connections = f64::from(work.connections);
    let start_us = run(["-t", "1"])?.cpu_us * connections;
    let figure = run(["-T", &time.as_secs().to_string()])?;
    let transactions = figure.per_s * time.as_secs_f64();
    Ok(Figure { cpu_us: figure.cpu_us - start_us / transactions, ..figure })
}
