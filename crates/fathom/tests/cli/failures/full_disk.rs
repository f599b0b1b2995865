//! No room for the results, and errors when they are written: the runs stored before are kept, and the message says so.

use std::process::Command;

use results::model::RunState;
use results::store::Store;
use skips::{Capability, skip};

use crate::bench::{Bench, text};

const STUDY: &str = "run quick.toml --set rows_total=20 --repetitions 80 --ceilings never --results";

/// Runs a script with the program as $FATHOM; returns its output and what it said.
fn script(bench: &Bench, program: &[&str], lines: &str) -> (String, String) {
    let mut command = Command::new(program[0]);
    command.args(&program[1..]).args(["sh", "-c", lines]).current_dir(bench.path());
    let output =
        command.env("FATHOM", env!("CARGO_BIN_EXE_fathom")).env_remove("FATHOM_RESULTS").output().unwrap();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_full_tmpfs_or_a_limit_of_file_sizes_where_nothing_may_be_mounted_ends_a_study_with_its_runs_kept() {
    let bench = Bench::new();
    let namespace = ["unshare", "--user", "--map-root-user", "--mount"];
    let mount = "mkdir small && mount -t tmpfs -o size=768k none small";
    let (may_mount, _) =
        script(&bench, &namespace, &format!("{mount} && echo mounted; umount small; rmdir small"));
    if !may_mount.contains("mounted") {
        skip(Capability::Mount, "a limit of file sizes takes the place of a full tmpfs");
        return limited(&Bench::new());
    }
    // The data is elsewhere: only the results have no room.
    let lines = format!(
        "{mount}; mkdir data; $FATHOM {STUDY} small --data data; echo status $?; \
         $FATHOM list --runs --results small; echo listed $?; \
         mount -o remount,size=64m small; $FATHOM {STUDY} small --data data; echo resumed $?"
    );
    let (out, err) = script(&bench, &namespace, &lines);
    assert!(out.contains("status 2") && out.contains("listed 0"), "{out}\n{err}");
    assert!(err.contains("no space left for results file") && err.contains("hint: free space"), "{err}");
    assert!(!err.contains("panicked"), "{err}");
    let kept = out.split("listed 0").next().unwrap().matches("  valid").count();
    assert!(kept > 0, "{out}");
    assert!(out.contains("resumed 0") || out.contains("resumed 1"), "{out}\n{err}");
    assert!(err.contains("of them already completed"), "{err}");
}

#[test]
fn an_error_of_writing_the_results_by_a_limit_of_file_sizes_keeps_the_runs_before() {
    limited(&Bench::new());
}

/// A write beyond the limit fails with EFBIG, an I/O error for SQLite.
fn limited(bench: &Bench) {
    // 1 MiB: the file of results with some runs, and its log.
    let lines = format!("ulimit -f 1024; $FATHOM {STUDY} results; echo status $?");
    let (out, err) = script(bench, &["env"], &lines);
    assert!(out.contains("status 2"), "{out}\n{err}");
    assert!(err.contains("could not write results file") && err.contains("are kept"), "{err}");
    assert!(!err.contains("panicked"), "{err}");
    let store = Store::open_read_only(&bench.path().join("results")).unwrap();
    let study = store.latest_study().unwrap().unwrap();
    let valid = store.runs(study.id).unwrap().iter().filter(|run| run.run.state == RunState::Valid).count();
    assert!(valid > 0);
}

#[test]
fn a_results_file_that_lost_its_end_is_an_error_that_names_it() {
    let bench = Bench::new();
    bench.finish(&["run", "quick.toml", "--ceilings", "never"]);
    let path = bench.results().join("results.db");
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    drop(connection);
    let length = std::fs::metadata(&path).unwrap().len();
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(length / 2 / 4096 * 4096).unwrap();
    for words in [&["report"][..], &["list", "--studies"], &["export"], &["run", "quick.toml"]] {
        let output = bench.run(words);
        let err = text(&output.stderr);
        assert!(!err.contains("panicked"), "{words:?}\n{err}");
        if output.status.code() != Some(0) {
            assert_eq!(output.status.code(), Some(2), "{words:?}\n{err}");
            assert!(err.contains("results.db"), "{words:?}\n{err}");
        }
    }
}
