//! Checks one SQLite file: `check_sqlite FILE [LEVEL [WORKERS]]`. For measuring; the tool itself is `fathom check`.

use std::path::Path;
use std::process::ExitCode;

use check::options::Options;
use check::progress::Silent;
use results::check::CheckLevel;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else {
        eprintln!("usage: check_sqlite FILE [read|page|structure|full [WORKERS]]");
        return ExitCode::from(2);
    };
    let level = match arguments.next().as_deref() {
        Some("read") => CheckLevel::Read,
        Some("page") => CheckLevel::Page,
        Some("structure") => CheckLevel::Structure,
        _ => CheckLevel::Full,
    };
    let worker_count = arguments.next().and_then(|count| count.parse().ok()).unwrap_or(1);
    let options = Options { level, worker_count, ..Options::default() };
    let report = check::sqlite::check(Path::new(&path), &options, &mut Silent);
    print!("{}", check::text::text(&report));
    println!("{:#?}", report.counters);
    ExitCode::from(report.exit_code())
}
