//! Makes a large SQL Server data file whose maps and catalog are true, and times checks of it, levels interleaved.
//!
//! usage: `bench_sqlserver BASE FILE MEBIBYTES [ROUNDS [ROWS]]`. BASE is northwnd-2008-checksum.mdf; FILE is made when it
//! is not there, from 70 MiB up. ROWS is a part of the names of the rows that are measured, `read` always among them.
//! Each check must be silent and account for all pages. Prints medians in Markdown.
#![allow(clippy::unwrap_used)]

#[path = "../tests/sqlserver/large.rs"]
#[expect(dead_code, reason = "a second file is for the tests alone")]
mod large;

use std::path::PathBuf;

use check::options::Options;
use check::progress::Silent;
use results::check::CheckLevel;

/// Name, level, workers, whether reads go past the page cache.
type Row = (&'static str, CheckLevel, usize, bool);

const ROWS: [Row; 8] = [
    ("read, direct, 1 worker (the ceiling)", CheckLevel::Read, 1, true),
    ("page, direct, 1 worker", CheckLevel::Page, 1, true),
    ("structure, direct, 1 worker", CheckLevel::Structure, 1, true),
    ("full, direct, 1 worker", CheckLevel::Full, 1, true),
    ("read, direct, 2 workers (the ceiling)", CheckLevel::Read, 2, true),
    ("page, direct, 2 workers", CheckLevel::Page, 2, true),
    ("structure, direct, 2 workers", CheckLevel::Structure, 2, true),
    ("full, direct, 2 workers", CheckLevel::Full, 2, true),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (base, file) = (PathBuf::from(&arguments[0]), PathBuf::from(&arguments[1]));
    let mebibytes: u32 = arguments[2].parse().unwrap();
    let round_count = arguments.get(3).and_then(|text| text.parse().ok()).unwrap_or(3);
    if !file.exists() {
        large::write(&base, &file, mebibytes * 128, 0..0).unwrap();
    }
    let mut times: Vec<Vec<(f64, f64)>> = vec![Vec::new(); ROWS.len()];
    let mut bytes = 0;
    let wanted = arguments.get(4).map_or("", String::as_str);
    for _ in 0..round_count {
        for (place, (name, level, worker_count, want_direct)) in ROWS.into_iter().enumerate() {
            if !name.contains(wanted) && level != CheckLevel::Read {
                continue;
            }
            let options = Options { level, worker_count, want_direct, ..Options::default() };
            let report = check_sqlserver::check(std::slice::from_ref(&file), &options, &mut Silent).unwrap();
            assert!(report.findings.is_empty() && report.accounting.is_balanced(), "{:?}", report.findings);
            bytes = report.accounting.bytes_read;
            let counters = report.counters;
            let (wall, cpu) = (counters.elapsed_ns as f64 / 1e9, counters.worker_cpu_ns as f64 / 1e9);
            let pass = counters.pass_ns as f64 / 1e9;
            eprintln!("{name}: {wall:.3} s, {pass:.3} s of it reading, {cpu:.3} CPU s, {}", counters.reader);
            times[place].push((wall, cpu));
        }
    }
    print(&times, bytes);
}

fn print(times: &[Vec<(f64, f64)>], bytes: u64) {
    let median = |rounds: &[(f64, f64)], pick: fn(&(f64, f64)) -> f64| {
        let mut values: Vec<f64> = rounds.iter().map(pick).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let gigabytes = bytes as f64 / 1e9;
    println!("{bytes} bytes; wall and CPU seconds are medians\n");
    println!("| what | wall s | GB/s | share of the read rate | CPU s per GB | wall s, all rounds |");
    println!("|---|---|---|---|---|---|");
    for (place, rounds) in times.iter().enumerate().filter(|(_, rounds)| !rounds.is_empty()) {
        let wall = median(rounds, |round| round.0);
        // Rounds are interleaved: each is compared with the read beside it.
        let reads = &times[place / 4 * 4];
        let shares: Vec<(f64, f64)> =
            rounds.iter().zip(reads).map(|(round, read)| (read.0 / round.0, 0.0)).collect();
        let share = median(&shares, |share| share.0);
        let per_gb = median(rounds, |round| round.1) / gigabytes;
        let all: Vec<String> = rounds.iter().map(|round| format!("{:.2}", round.0)).collect();
        let rate = gigabytes / wall;
        println!(
            "| {} | {wall:.2} | {rate:.2} | {share:.2} | {per_gb:.2} | {} |",
            ROWS[place].0,
            all.join(" ")
        );
    }
}
