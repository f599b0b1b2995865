//! Prices the VFS that times SQLite's calls: throughput and CPU with and without it, in turn.
//!
//! usage: bench_vfs [PAIRS [SECONDS [DIRECTORY]]]      (default: 15 pairs of 1 s in the temporary directory)
//!
//! Each pair runs the same work through SQLite's own VFS and through the timed one, which of them first alternating
//! from pair to pair. A row shows the medians, and the median and quartiles of the pairs' ratios timed / plain: below
//! 1 in transactions and above 1 in CPU is what timing costs. Give a directory in memory to see the engine alone.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use lab::engine::{Layout, Target};
use lab::gates::Limits;
use lab::run::{Course, RunRequest, execute};
use lab::work::{Amount, Durability, KeyOrder, LoopSide, Placement, WarmUp, Work, Workload};
use lab_sqlite::SqliteTarget;
use results::model::{RunKey, RunState};

type AnyError = Box<dyn std::error::Error>;

/// What one run measured.
#[derive(Clone, Copy)]
struct Figure {
    per_s: f64,
    cpu_us: f64,
    stated_cpu_s: f64,
    elapsed_s: f64,
}

fn main() -> Result<(), AnyError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default: u32| arguments.get(index).map_or(Ok(default), |text| text.parse());
    let (pairs, seconds) = (number(0, 15)?, number(1, 1)?);
    let directory = arguments.get(2).map_or_else(std::env::temp_dir, PathBuf::from);
    let mut target = SqliteTarget::new(&Layout::default(), &directory)?;
    println!("{pairs} pairs of {seconds} s in \"{}\", medians [quartiles]\n", directory.display());
    println!("| work | tx/s plain | tx/s timed | ratio | CPU µs/tx plain | timed | ratio | stated cost |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    let time = Duration::from_secs(u64::from(seconds));
    for (name, work) in works(time) {
        let (mut plain, mut timed) = (Vec::new(), Vec::new());
        for pair in 0..pairs {
            for turn in 0..2 {
                if (pair + turn) % 2 == 0 {
                    plain.push(run(&mut target, &work, "plain")?);
                } else {
                    timed.push(run(&mut target, &work, "timed")?);
                }
            }
        }
        print_row(name, &plain, &timed);
    }
    target.stop(false)?;
    Ok(())
}

fn works(time: Duration) -> Vec<(&'static str, Work)> {
    let base = Work {
        workload: Workload::RandomInsert,
        loop_side: LoopSide::Client,
        amount: Amount::Time(time),
        warm_up: WarmUp::None,
        connections: 1,
        jobs: None,
        batch_size: 1,
        key: KeyOrder::Random,
        secondary_indexes: 0,
        data_files: 1,
        durability: Durability::None,
        rate_per_s: None,
        placement: Placement::Together,
        buffer_pool_mib: Some(64),
        log_size_mib: None,
        manual_checkpoint_every: None,
        settings: BTreeMap::new(),
        subject: lab::work::SubjectParameters::default(),
        own: None,
        label: String::new(),
        seed: 1,
    };
    vec![
        ("1 row, no flush", base.clone()),
        ("10 rows, no flush", Work { batch_size: 10, ..base.clone() }),
        ("100 rows, no flush", Work { batch_size: 100, ..base.clone() }),
        (
            "1 row per page, no flush",
            Work { workload: Workload::Populate, key: KeyOrder::Sequential, ..base.clone() },
        ),
        ("1 row, 4 clients, no flush", Work { connections: 4, ..base.clone() }),
        ("1 row, durable", Work { durability: Durability::Full, ..base }),
    ]
}

fn run(target: &mut SqliteTarget, work: &Work, vfs: &str) -> Result<Figure, AnyError> {
    let mut work = work.clone();
    work.settings.insert("vfs".to_owned(), vfs.to_owned());
    let key = RunKey { block_index: 0, cell_index: 0, attempt: 0 };
    let request = RunRequest { work: &work, key, position: 0, limits: Limits::default(), samplers: &[] };
    let run = execute(target, request, &mut |_| Course::Continue)?;
    if run.state != RunState::Valid {
        return Err(format!("a run is not valid: {:?}", run.gates).into());
    }
    let transactions = run.transactions() as f64;
    let elapsed_s = run.elapsed_ns as f64 / 1e9;
    let vfs = run.observations.samplers.iter().find(|sampler| sampler.name == "sqlite_vfs");
    Ok(Figure {
        per_s: transactions / elapsed_s,
        cpu_us: run.metric("client_cpu_s").unwrap_or(f64::NAN) * 1e6 / transactions,
        stated_cpu_s: vfs.map_or(0.0, |sampler| sampler.cpu_s),
        elapsed_s,
    })
}

fn print_row(name: &str, plain: &[Figure], timed: &[Figure]) {
    let median_of =
        |figures: &[Figure], of: fn(&Figure) -> f64| quartiles(figures.iter().map(of).collect())[1];
    let ratio = |of: fn(&Figure) -> f64| {
        let [low, median, high] =
            quartiles(plain.iter().zip(timed).map(|(plain, timed)| of(timed) / of(plain)).collect());
        format!("{median:.3} [{low:.3}, {high:.3}]")
    };
    println!(
        "| {name} | {:.0} | {:.0} | {} | {:.2} | {:.2} | {} | {:.2} % |",
        median_of(plain, |figure| figure.per_s),
        median_of(timed, |figure| figure.per_s),
        ratio(|figure| figure.per_s),
        median_of(plain, |figure| figure.cpu_us),
        median_of(timed, |figure| figure.cpu_us),
        ratio(|figure| figure.cpu_us),
        100.0 * median_of(timed, |figure| figure.stated_cpu_s / figure.elapsed_s),
    );
}

fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    let last = values.len() - 1;
    [values[last / 4], values[last / 2], values[last * 3 / 4]]
}
