//! Times checks of a PostgreSQL data directory beside `pg_checksums` and `pg_amcheck`, in one run.
//!
//! usage: `bench_postgres DATA BINDIR [ROUNDS]`. The cluster must be shut down; it is started for `pg_amcheck`, as the
//! user who owns it, with extension amcheck in database postgres. Prints medians in Markdown.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use check::options::Options;
use check::progress::Silent;
use check_postgres::check_cluster;
use results::check::CheckLevel;

/// What was measured: wall and processor seconds of each round, in the order of the table.
#[derive(Default)]
struct Times {
    rows: BTreeMap<(usize, String), Vec<(f64, f64)>>,
}

impl Times {
    fn add(&mut self, place: usize, name: &str, wall_s: f64, cpu_s: f64) {
        eprintln!("{name}: {wall_s:.2} s, {cpu_s:.2} CPU s");
        self.rows.entry((place, name.to_owned())).or_default().push((wall_s, cpu_s));
    }

    fn print(&self, bytes: u64) {
        println!(
            "| what | wall s | GB/s | CPU s | CPU s per GB | wall s, all rounds |\n|---|---|---|---|---|---|"
        );
        for ((_, name), rounds) in &self.rows {
            let median = |pick: fn(&(f64, f64)) -> f64| {
                let mut values: Vec<f64> = rounds.iter().map(pick).collect();
                values.sort_by(f64::total_cmp);
                values[values.len() / 2]
            };
            let (wall, cpu) = (median(|round| round.0), median(|round| round.1));
            let gigabytes = bytes as f64 / 1e9;
            let all: Vec<String> = rounds.iter().map(|round| format!("{:.2}", round.0)).collect();
            let (rate, per_gb) = (gigabytes / wall, cpu / gigabytes);
            println!("| {name} | {wall:.2} | {rate:.2} | {cpu:.2} | {per_gb:.2} | {} |", all.join(" "));
        }
    }
}

struct Peer {
    data: PathBuf,
    bin: PathBuf,
    uid: u32,
    gid: u32,
}

impl Peer {
    fn run(&self, name: &str, arguments: &[&str]) -> f64 {
        let start = Instant::now();
        let mut command = Command::new(self.bin.join(name));
        if rustix::process::geteuid().is_root() {
            command.uid(self.uid).gid(self.gid);
        }
        let status = command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        assert!(status.success(), "{name} {arguments:?}: {status}");
        start.elapsed().as_secs_f64()
    }

    fn postmaster(&self) -> String {
        let text = std::fs::read_to_string(self.data.join("postmaster.pid")).unwrap();
        text.lines().next().unwrap().trim().to_owned()
    }
}

/// Processor seconds of children that ended: fields 16 and 17 of `/proc/PID/stat`, in hundredths.
fn children_cpu_s(pid: &str) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let after_name = text.rsplit(')').next().unwrap();
    let fields: Vec<f64> = after_name.split_whitespace().map(|field| field.parse().unwrap_or(0.0)).collect();
    (fields[13] + fields[14]) / 100.0
}

/// Takes the files out of the page cache, as far as they are written.
fn evict(directory: &Path) {
    let mut directories = vec![directory.to_path_buf()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            if entry.metadata().unwrap().is_dir() {
                directories.push(entry.path());
            } else if let Ok(file) = std::fs::File::open(entry.path()) {
                let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed);
            }
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (data, bin) = (PathBuf::from(&arguments[0]), PathBuf::from(&arguments[1]));
    let rounds = arguments.get(2).and_then(|text| text.parse().ok()).unwrap_or(3);
    let owner = std::fs::metadata(&data).unwrap();
    let peer = Peer { data: data.clone(), bin, uid: owner.uid(), gid: owner.gid() };
    let mut times = Times::default();
    let mut bytes = 0;
    for _ in 0..rounds {
        evict(&data);
        let fathom: [(&str, CheckLevel, usize, bool); 12] = [
            ("fathom read, direct, 1 worker (the ceiling)", CheckLevel::Read, 1, true),
            ("fathom read, direct, 2 workers", CheckLevel::Read, 2, true),
            ("fathom page, direct, 1 worker", CheckLevel::Page, 1, true),
            ("fathom page, direct, 2 workers", CheckLevel::Page, 2, true),
            ("fathom structure, direct, 1 worker", CheckLevel::Structure, 1, true),
            ("fathom structure, direct, 2 workers", CheckLevel::Structure, 2, true),
            ("fathom full, direct, 1 worker", CheckLevel::Full, 1, true),
            ("fathom full, direct, 2 workers", CheckLevel::Full, 2, true),
            ("fathom structure, page cache warm, 1 worker", CheckLevel::Structure, 1, false),
            ("fathom structure, page cache warm, 2 workers", CheckLevel::Structure, 2, false),
            ("fathom full, page cache warm, 1 worker", CheckLevel::Full, 1, false),
            ("fathom full, page cache warm, 2 workers", CheckLevel::Full, 2, false),
        ];
        for (place, (name, level, worker_count, want_direct)) in fathom.into_iter().enumerate() {
            let options = Options { level, worker_count, want_direct, ..Options::default() };
            if !want_direct && worker_count == 1 {
                check_cluster(&data, &options, &mut Silent).unwrap();
            }
            let report = check_cluster(&data, &options, &mut Silent).unwrap();
            assert!(report.findings.is_empty(), "{:?}", report.findings);
            bytes = report.accounting.bytes_read;
            let counters = report.counters;
            times.add(place, name, counters.elapsed_ns as f64 / 1e9, counters.worker_cpu_ns as f64 / 1e9);
        }
        let directory = data.to_str().unwrap();
        let own = "self";
        evict(&data);
        for (place, name) in [(20, "pg_checksums, cold"), (21, "pg_checksums, warm")] {
            let before = children_cpu_s(own);
            let wall = peer.run("pg_checksums", &["--check", "-D", directory]);
            times.add(place, name, wall, children_cpu_s(own) - before);
        }
        let settings = "-c listen_addresses='' -c unix_socket_directories=/tmp -c port=55432";
        peer.run("pg_ctl", &["-D", directory, "-l", "/dev/null", "-w", "-o", settings, "start"]);
        let postmaster = peer.postmaster();
        let base = ["-h", "/tmp", "-p", "55432", "-U", "postgres", "-d", "postgres", "-j", "2"];
        let all = [&base[..], &["--heapallindexed", "--parent-check", "--rootdescend"]].concat();
        for (place, name, arguments) in
            [(22, "pg_amcheck -j 2, warm", &base[..]), (23, "pg_amcheck -j 2, all options, warm", &all[..])]
        {
            let before = children_cpu_s(&postmaster);
            let wall = peer.run("pg_amcheck", arguments);
            // The postmaster counts a backend when it has seen it end.
            std::thread::sleep(Duration::from_secs(2));
            times.add(place, name, wall, children_cpu_s(&postmaster) - before);
        }
        peer.run("pg_ctl", &["-D", directory, "-m", "fast", "-w", "stop"]);
    }
    times.print(bytes);
}
