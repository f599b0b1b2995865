//! Prices scripts of the user's own: CPU time of a transaction beside that of a built-in workload and of a bare loop.
//!
//! usage: bench_scripts [ROUNDS [SECONDS [DIRECTORY]]]      (default: 9 rounds of 1 s in the temporary directory)
//!
//! Rounds go through all rows in turn; a row shows the median. CPU time is that of the clients' threads, so that other
//! programs disturb it little.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use disk::counters::thread_cpu_ns;
use lab::engine::{Layout, Target};
use lab::gates::Limits;
use lab::own::{OwnWorkload, Protocol, SqlText, WeightedScript};
use lab::run::{Course, RunRequest, execute};
use lab::work::{Amount, Work, Workload};
use lab_sqlite::SqliteTarget;
use results::model::RunKey;
use rusqlite::Connection;

type AnyError = Box<dyn std::error::Error>;

const SCHEMA: &str = "CREATE TABLE accounts (aid INTEGER PRIMARY KEY, abalance INT, filler TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
INSERT INTO accounts SELECT i, 0, printf('%84s', '') FROM n;";
const SELECT_ONLY: &str = "\\set aid random(1, 100000)\nSELECT abalance FROM accounts WHERE aid = :aid;";

fn main() -> Result<(), AnyError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default: u32| arguments.get(index).map_or(Ok(default), |text| text.parse());
    let (rounds, seconds) = (number(0, 9)?, number(1, 1)?);
    let directory = arguments.get(2).map_or_else(std::env::temp_dir, PathBuf::from);
    let mut target = SqliteTarget::new(&Layout::default(), &directory)?;
    let time = Duration::from_secs(u64::from(seconds));
    let mut figures: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for _ in 0..rounds {
        for connections in [1, 4] {
            let work = Work { connections, amount: Amount::Time(time), batch_size: 1, ..Work::example() };
            let built_in = Work { workload: Workload::SelectOne, ..work.clone() };
            let mut add = |name: &str, cpu_us: f64| {
                figures.entry(format!("{connections} | {name}")).or_default().push(cpu_us);
            };
            add("SELECT 1, built in", cost(&mut target, &built_in)?);
            for protocol in [Protocol::Simple, Protocol::Extended, Protocol::Prepared] {
                for (name, script) in [("SELECT 1", "SELECT 1;"), ("select-only", SELECT_ONLY)] {
                    let own = Work {
                        workload: Workload::Own,
                        own: Some(Arc::new(own(script, protocol))),
                        ..work.clone()
                    };
                    add(&format!("{name}, {protocol:?}"), cost(&mut target, &own)?);
                }
            }
        }
        figures
            .entry("1 | select-only, bare loop".to_owned())
            .or_default()
            .push(bare_loop(&directory, time)?);
    }
    target.stop(false)?;
    println!("{rounds} rounds of {seconds} s in \"{}\", medians\n", directory.display());
    println!("| clients | work | CPU µs/tx |\n| --- | --- | --- |");
    for (name, mut values) in figures {
        values.sort_by(f64::total_cmp);
        println!("| {name} | {:.3} |", values[values.len() / 2]);
    }
    Ok(())
}

fn own(script: &str, protocol: Protocol) -> OwnWorkload {
    let text = |text: &str| SqlText { file: "bench.sql".to_owned(), text: text.to_owned() };
    OwnWorkload {
        schema: Some(text(SCHEMA)),
        scripts: vec![WeightedScript { sql: text(script), weight: 1 }],
        scale: 1,
        max_tries: 1,
        protocol,
        ..OwnWorkload::default()
    }
}

/// CPU time of one transaction in microseconds.
fn cost(target: &mut SqliteTarget, work: &Work) -> Result<f64, AnyError> {
    let key = RunKey { block_index: 0, cell_index: 0, attempt: 0 };
    let request = RunRequest { work, key, position: 0, limits: Limits::default(), samplers: &[] };
    let run = execute(target, request, &mut |_| Course::Continue)?;
    let transactions: u64 = run.clients.iter().map(|client| client.transactions).sum();
    Ok(run.metric("client_cpu_s").unwrap_or(f64::NAN) * 1e6 / transactions as f64)
}

fn bare_loop(directory: &std::path::Path, time: Duration) -> Result<f64, AnyError> {
    let path = directory.join("bench_scripts.db");
    let connection = Connection::open(&path)?;
    connection.execute_batch(&format!("PRAGMA journal_mode=wal; DROP TABLE IF EXISTS accounts; {SCHEMA}"))?;
    let mut statement = connection.prepare("SELECT abalance FROM accounts WHERE aid = ?1")?;
    let (began, cpu_ns) = (Instant::now(), thread_cpu_ns());
    let mut count = 0_u64;
    while began.elapsed() < time {
        let mut rows = statement.query([(count * 7919) as i64 % 100_000 + 1])?;
        while rows.next()?.is_some() {}
        count += 1;
    }
    let cost = (thread_cpu_ns() - cpu_ns) as f64 / 1e3 / count as f64;
    drop(statement);
    drop(connection);
    for end in ["", "-wal", "-shm"] {
        // Files that are left disturb nobody.
        let _ = std::fs::remove_file(format!("{}{end}", path.display()));
    }
    Ok(cost)
}
