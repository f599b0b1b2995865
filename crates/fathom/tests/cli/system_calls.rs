//! What the kernel was really asked for, by strace, beside what the results say.

use std::process::Command;

use skips::{Capability, skip};

use crate::bench::{Bench, text};

/// Lines of strace about files of the run's database; `None` where the program is missing or must not trace.
fn traced(bench: &Bench, calls: &str, words: &[&str]) -> Option<Vec<String>> {
    let trace = bench.path().join("trace");
    let mut command = Command::new("strace");
    command.args(["-f", "-y", "-e", &format!("trace={calls}"), "-o"]).arg(&trace);
    command.arg(env!("CARGO_BIN_EXE_fathom")).args(words).current_dir(bench.path());
    let output = command.env_remove("FATHOM_RESULTS").output().ok();
    let Some(output) = output.filter(|output| output.status.success()) else {
        skip(Capability::Strace, "strace is not installed, or may not trace");
        return None;
    };
    let lines = text(&std::fs::read(&trace).unwrap());
    assert!(!text(&output.stdout).is_empty());
    Some(lines.lines().filter(|line| line.contains("/run.db")).map(str::to_owned).collect())
}

#[test]
fn sqlite_makes_the_flushes_that_are_counted_and_by_the_call_that_is_recorded() {
    let bench = Bench::new();
    let experiment = bench.lenient("populate-batch");
    let mut words = vec!["run", &experiment, "--mini", "-t", "sqlite", "--repetitions", "1"];
    words.extend(["--ceilings", "never", "-s", "batch_size=10", "-s", "rows_total=1000"]);
    let Some(lines) = traced(&bench, "fsync,fdatasync", &words) else { return };
    let run = &bench.stored().runs[0].run;
    let call = run.environment.engine["sync_call"].as_str().unwrap().to_owned();
    assert_eq!(call, lab_sqlite::sync_call().name());
    let of = |call: &str, file: &str| {
        let (call, file) = (format!(" {call}("), format!("{file}>"));
        lines.iter().filter(|line| line.contains(&call) && line.contains(&file)).count() as f64
    };
    let other = if call == "fsync" { "fdatasync" } else { "fsync" };
    for file in ["/run.db", "/run.db-wal"] {
        assert_eq!(of(other, file), 0.0, "{file} is flushed by {call} alone");
    }
    // Before and after the measured part the database is made and looked at.
    let (seen, counted) = (of(&call, "/run.db-wal"), run.metric("log_flushes").unwrap());
    assert!(counted >= 100.0 && (counted..=counted + 4.0).contains(&seen), "{counted} counted, {seen} seen");
    let (seen, counted) = (of(&call, "/run.db"), run.metric("data_flushes").unwrap());
    assert!((counted..=counted + 4.0).contains(&seen), "{counted} counted, {seen} seen");
}
