//! Checks one SQLite file: `check_sqlite FILE [LEVEL [WORKERS [cached]]]`, and tells when each phase began. For
//! measuring; the tool itself is `fathom check`.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use check::options::Options;
use check::progress::{Phase, Progress};
use results::check::CheckLevel;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else {
        eprintln!("usage: check_sqlite FILE [read|page|structure|full [WORKERS [cached]]]");
        return ExitCode::from(2);
    };
    let level = match arguments.next().as_deref() {
        Some("read") => CheckLevel::Read,
        Some("page") => CheckLevel::Page,
        Some("structure") => CheckLevel::Structure,
        _ => CheckLevel::Full,
    };
    let worker_count = arguments.next().and_then(|count| count.parse().ok()).unwrap_or(1);
    let want_direct = arguments.next().as_deref() != Some("cached");
    let options = Options { level, worker_count, want_direct, ..Options::default() };
    let mut phases = Phases { started: Instant::now(), latest: None };
    let report = check_sqlite::check(Path::new(&path), &options, &mut phases);
    eprintln!("{:8.2} ms: end", phases.started.elapsed().as_secs_f64() * 1e3);
    print!("{}", report::findings::text(&report, &check_sqlite::RULES));
    println!("{:#?}", report.counters);
    ExitCode::from(report.exit_code())
}

/// Tells when each phase began.
struct Phases {
    started: Instant,
    latest: Option<Phase>,
}

impl Progress for Phases {
    fn advance(&mut self, phase: Phase, _bytes_done: u64, _bytes_total: u64) {
        if self.latest != Some(phase) {
            let cpu_ms = disk::counters::process_cpu_ns() as f64 / 1e6;
            let elapsed_ms = self.started.elapsed().as_secs_f64() * 1e3;
            eprintln!("{elapsed_ms:8.2} ms, {cpu_ms:8.2} of processors: {phase:?}");
            self.latest = Some(phase);
        }
    }
}
