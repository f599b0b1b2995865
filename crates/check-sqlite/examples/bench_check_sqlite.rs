//! Measures the checker beside quick_check and integrity_check, in one run, interleaved:
//! `bench_check_sqlite DIRECTORY [ROWS [ROUNDS]]`. Makes `DIRECTORY/bench-check.db` when it is not there; 4,000,000
//! rows give about 2.3 GB. Prints a table in Markdown. Cold means: out of the page cache by fadvise(DONTNEED).

use std::error::Error;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Instant;

use check::options::Options;
use check::progress::Silent;
use results::check::CheckLevel;
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{Advice, fadvise};

/// One thing that is measured.
#[derive(Clone, Copy)]
enum Subject {
    Ours(CheckLevel, usize),
    Pragma(&'static str),
}

const SUBJECTS: [Subject; 10] = [
    Subject::Ours(CheckLevel::Read, 1),
    Subject::Ours(CheckLevel::Read, 2),
    Subject::Ours(CheckLevel::Page, 1),
    Subject::Ours(CheckLevel::Page, 2),
    Subject::Ours(CheckLevel::Structure, 1),
    Subject::Ours(CheckLevel::Structure, 2),
    Subject::Ours(CheckLevel::Full, 1),
    Subject::Ours(CheckLevel::Full, 2),
    Subject::Pragma("quick_check"),
    Subject::Pragma("integrity_check"),
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory =
        PathBuf::from(arguments.next().ok_or("usage: bench_check_sqlite DIRECTORY [ROWS [ROUNDS]]")?);
    let row_count: u64 = arguments.next().map_or(Ok(4_000_000), |text| text.parse())?;
    let round_count: usize = arguments.next().map_or(Ok(3), |text| text.parse())?;
    let path = directory.join("bench-check.db");
    if !path.exists() {
        make(&path, row_count)?;
    }
    File::open(&path)?.sync_all()?;
    // Seconds by subject, cold and warm; processor seconds of the last run.
    let mut seconds = vec![[Vec::new(), Vec::new()]; SUBJECTS.len()];
    let mut processor = vec![0.0; SUBJECTS.len()];
    for round in 0..round_count {
        for (index, subject) in SUBJECTS.iter().enumerate() {
            for (cache, times) in seconds[index].iter_mut().enumerate() {
                prepare(&path, cache == 0)?;
                let before = processor_seconds()?;
                let started = Instant::now();
                run(&path, *subject)?;
                times.push(started.elapsed().as_secs_f64());
                processor[index] = processor_seconds()? - before;
                eprintln!(
                    "round {round}, {}, {}: {:.2} s",
                    name(*subject),
                    ["cold", "warm"][cache],
                    times[round]
                );
            }
        }
    }
    print_table(&path, &seconds, &processor)
}

fn make(path: &Path, row_count: u64) -> rusqlite::Result<()> {
    const BATCH: u64 = 100_000;
    let mut connection = Connection::open(path)?;
    connection.execute_batch(
        "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-1000000;
         CREATE TABLE r(id INTEGER PRIMARY KEY, k BLOB, v INT, pad TEXT); CREATE INDEX r_k ON r(k);
         CREATE INDEX r_v ON r(v, k); CREATE TABLE w(id INTEGER PRIMARY KEY, payload TEXT);",
    )?;
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for batch in 0..row_count.div_ceil(BATCH) {
        let transaction = connection.transaction()?;
        {
            let mut rows = transaction.prepare("INSERT INTO r(k, v, pad) VALUES (?1, ?2, ?3)")?;
            let pad = "x".repeat(60);
            for _ in 0..BATCH {
                let key = [random().to_le_bytes(), random().to_le_bytes()].concat();
                rows.execute((key, (random() >> 24) as i64, &pad))?;
            }
            let mut wide = transaction.prepare("INSERT INTO w(payload) VALUES (?1)")?;
            let payload = "y".repeat(1500);
            for _ in 0..BATCH / 5 {
                wide.execute([&payload])?;
            }
        }
        transaction.commit()?;
        eprintln!("made {} of {row_count} rows", (batch + 1) * BATCH);
    }
    Ok(())
}

fn prepare(path: &Path, is_cold: bool) -> std::io::Result<()> {
    let mut file = File::open(path)?;
    if is_cold {
        fadvise(&file, 0, None, Advice::DontNeed)?;
    } else {
        std::io::copy(&mut file, &mut std::io::sink())?;
    }
    Ok(())
}

fn run(path: &Path, subject: Subject) -> Result<(), Box<dyn Error>> {
    match subject {
        Subject::Ours(level, worker_count) => {
            let options = Options { level, worker_count, ..Options::default() };
            let report = check_sqlite::check(path, &options, &mut Silent);
            if report.exit_code() != 0 {
                return Err(report::findings::text(&report, &check_sqlite::RULES).into());
            }
        }
        Subject::Pragma(pragma) => {
            let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
            let verdict: String = connection.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0))?;
            if verdict != "ok" {
                return Err(verdict.into());
            }
        }
    }
    Ok(())
}

/// Processor time of this process so far, user and system.
fn processor_seconds() -> Result<f64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/self/schedstat")?;
    let own: f64 = text.split(' ').next().ok_or("no number in /proc/self/schedstat")?.parse()?;
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> =
        stat.rsplit(')').next().ok_or("no fields in /proc/self/stat")?.split_whitespace().collect();
    let ticks: f64 = fields[11].parse::<f64>()? + fields[12].parse::<f64>()?;
    // Ticks hold all threads, also those that have ended; the scheduler's number only the first.
    Ok((ticks / 100.0).max(own / 1e9))
}

fn name(subject: Subject) -> String {
    match subject {
        Subject::Ours(level, workers) => {
            format!("fathom, {}, {workers} worker{}", level.name(), if workers == 1 { "" } else { "s" })
        }
        Subject::Pragma(pragma) => format!("SQLite, {pragma}"),
    }
}

fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn print_table(path: &Path, seconds: &[[Vec<f64>; 2]], processor: &[f64]) -> Result<(), Box<dyn Error>> {
    let gigabytes = std::fs::metadata(path)?.len() as f64 / 1e9;
    println!("{gigabytes:.2} GB, {} rounds, SQLite {}", seconds[0][0].len(), rusqlite::version());
    println!(
        "\n| subject | cold s | cold min-max | warm s | warm min-max | GB/s cold | processor s per GB (warm) |\n|---|---|---|---|---|---|---|"
    );
    for (index, subject) in SUBJECTS.iter().enumerate() {
        let [cold, warm] = &seconds[index];
        let range = |times: &[f64]| {
            let low = times.iter().copied().fold(f64::INFINITY, f64::min);
            let high = times.iter().copied().fold(0.0, f64::max);
            format!("{low:.2}-{high:.2}")
        };
        println!(
            "| {} | {:.2} | {} | {:.2} | {} | {:.2} | {:.2} |",
            name(*subject),
            median(cold),
            range(cold),
            median(warm),
            range(warm),
            gigabytes / median(cold),
            processor[index] / gigabytes
        );
    }
    Ok(())
}
