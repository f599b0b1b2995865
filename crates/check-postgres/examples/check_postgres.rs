//! Checks a PostgreSQL data directory or relation file and prints the report.
//!
//! usage: `check_postgres PATH [read|page|structure|full] [WORKERS] [cached]`; exit as `fathom check`

use std::path::PathBuf;
use std::process::ExitCode;

use check::options::Options;
use check::progress::Silent;
use results::check::CheckLevel;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next().map(PathBuf::from) else {
        eprintln!("usage: check_postgres PATH [read|page|structure|full] [WORKERS] [cached]");
        return ExitCode::from(2);
    };
    let level = match arguments.next().as_deref() {
        Some("read") => CheckLevel::Read,
        Some("page") => CheckLevel::Page,
        Some("structure") => CheckLevel::Structure,
        _ => CheckLevel::Full,
    };
    let worker_count = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1);
    let want_direct = arguments.next().is_none();
    let options = Options { level, worker_count, want_direct, ..Options::default() };
    let check = if path.is_dir() { check_postgres::check_cluster } else { check_postgres::check_file };
    match check(&path, &options, &mut Silent) {
        Ok(report) => {
            print!("{}", report::findings::text(&report, &check_postgres::RULES));
            ExitCode::from(report.exit_code())
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
