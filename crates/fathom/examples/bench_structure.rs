//! Times `structure` in the mode detailed beside a plain read of the same files by the same reader, and beside dbstat
//! or pgstattuple with pgstatindex on a cold cache, in turn.
//!
//! usage: `bench_structure sqlite FILE [ROUNDS]` or `bench_structure postgres DATA BINDIR [ROUNDS]`. The cluster must be
//! shut down, with extension pgstattuple in database postgres; it is started and stopped for each round as the user who
//! owns it. Prints medians in Markdown.
#![allow(clippy::unwrap_used)]

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use check::progress::Silent;
use check::structure::Options;
use disk::scan::{ScanFile, ScanOptions, scan};
use rustix::fs::{Advice, fadvise};

/// What asks the server for the figures of all tables and indexes of the schema public.
const THEIRS: &str = "select count(pgstattuple(c.oid)) from pg_class c join pg_namespace n on n.oid = relnamespace \
                      where nspname = 'public' and relkind = 'r'; \
                      select count(pgstatindex(c.oid)) from pg_class c join pg_namespace n on n.oid = relnamespace \
                      where nspname = 'public' and relkind = 'i'";

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let rounds = |place: usize| words.get(place).map_or(3, |rounds| rounds.parse().unwrap());
    match words.first().map(String::as_str) {
        Some("sqlite") => sqlite(Path::new(&words[1]), rounds(2)),
        Some("postgres") => postgres(Path::new(&words[1]), Path::new(&words[2]), rounds(3)),
        _ => panic!("usage: bench_structure sqlite FILE [ROUNDS] | postgres DATA BINDIR [ROUNDS]"),
    }
}

fn sqlite(path: &Path, rounds: usize) {
    let mut times = [const { Vec::new() }; 3];
    let files = [path.to_path_buf()];
    for _ in 0..rounds {
        // Everything from the device, and nothing of it still on its way there.
        forget(&files);
        times[0].push(plain_read(&files));
        forget(&files);
        times[1].push(timed(|| {
            let report = check_sqlite::structure(path, &options(), &mut Silent);
            assert_eq!(report.exit_code(), 0);
        }));
        forget(&files);
        times[2].push(timed(|| {
            let sql =
                "SELECT name, count(*), sum(unused), sum(ncell), max(mx_payload) FROM dbstat GROUP BY name";
            let mut shell = Command::new("sqlite3");
            let done = shell.arg("-readonly").arg(path).arg(sql).stdout(Stdio::null()).status().unwrap();
            assert!(done.success());
        }));
    }
    print(&["plain read", "structure, detailed", "dbstat (sqlite3), cold"], &times, bytes(&files));
}

fn postgres(data: &Path, bin: &Path, rounds: usize) {
    let owner = std::fs::metadata(data).unwrap();
    let run = |name: &str, arguments: &[&str]| {
        let mut command = Command::new(bin.join(name));
        command.args(arguments).current_dir(data).stdout(Stdio::null());
        if rustix::process::geteuid().is_root() {
            command.uid(owner.uid()).gid(owner.gid());
        }
        assert!(command.status().unwrap().success(), "{name}");
    };
    let (place, options_of) = (data.to_str().unwrap(), format!("-k {} -c listen_addresses=", data.display()));
    let mut files = Vec::new();
    for entry in std::fs::read_dir(data.join("base")).unwrap() {
        files.extend(std::fs::read_dir(entry.unwrap().path()).unwrap().map(|file| file.unwrap().path()));
    }
    // The tables that are measured, and no catalog: those have numbers below 16384.
    let is_ours = |file: &PathBuf| {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        name.split('.').next().unwrap().parse::<u32>().is_ok_and(|number| number >= 16384)
    };
    files.retain(is_ours);
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..rounds {
        forget(&files);
        times[0].push(plain_read(&files));
        forget(&files);
        times[1].push(timed(|| {
            let report = check_postgres::structure_cluster(data, &options(), &mut Silent).unwrap();
            assert_eq!(report.exit_code(), 0);
        }));
        forget(&files);
        run("pg_ctl", &["-D", place, "-w", "-s", "-l", "/dev/null", "-o", &options_of, "start"]);
        times[2]
            .push(timed(|| run("psql", &["-h", place, "-d", "postgres", "-U", "postgres", "-qAtc", THEIRS])));
        run("pg_ctl", &["-D", place, "-w", "-s", "-m", "fast", "stop"]);
    }
    let names = ["plain read", "structure, detailed, with catalogs", "pgstattuple + pgstatindex, cold"];
    print(&names, &times, bytes(&files));
}

fn options() -> Options {
    Options { worker_count: workers(), ..Options::default() }
}

fn workers() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn timed(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

/// Reads everything with the reader of `structure`, and looks at nothing.
fn plain_read(files: &[PathBuf]) -> f64 {
    let files: Vec<ScanFile> = files.iter().map(ScanFile::whole).collect();
    let options = ScanOptions { worker_count: workers(), ..ScanOptions::default() };
    timed(|| assert!(scan(&files, &options, |_| (), |(), _| ()).unwrap().is_complete()))
}

/// Takes the files out of the page cache.
fn forget(files: &[PathBuf]) {
    for path in files {
        let file = File::open(path).unwrap();
        file.sync_all().unwrap();
        fadvise(&file, 0, None, Advice::DontNeed).unwrap();
    }
}

fn bytes(files: &[PathBuf]) -> u64 {
    files.iter().map(|path| std::fs::metadata(path).unwrap().len()).sum()
}

fn print(names: &[&str; 3], times: &[Vec<f64>; 3], bytes: u64) {
    let median = |times: &Vec<f64>| {
        let mut sorted = times.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    };
    let ours = median(&times[1]);
    println!(
        "{} MiB\n\n| what | wall s | MiB/s | structure is | wall s, all rounds |\n|---|---|---|---|---|",
        bytes >> 20
    );
    for (name, times) in names.iter().zip(times) {
        let wall = median(times);
        let all: Vec<String> = times.iter().map(|time| format!("{time:.3}")).collect();
        let rate = (bytes >> 20) as f64 / wall;
        println!("| {name} | {wall:.3} | {rate:.0} | {:.2} times as fast | {} |", wall / ours, all.join(" "));
    }
}
