//! Bad days: what is killed, interrupted, broken or full.

use crate::bench::{Bench, signal, state, text, until_met, wait_for};

/// Rows enough that a study is still under way when it is looked at.
const SLOW: [&str; 6] = ["run", "quick.toml", "--set", "rows_total=3000", "--repetitions", "8"];

/// Has the process heard SIGSTOP? `false` when it had ended before.
fn is_stopped(child: &std::process::Child) -> bool {
    wait_for("the process to stop or to end", || match state(child) {
        'T' => Some(true),
        'Z' => Some(false),
        _ => None,
    })
}

#[test]
fn kill_9_at_any_moment_loses_at_most_the_run_in_flight_and_the_next_call_goes_on() {
    for finished in [0, 1, 3, 6] {
        let bench = Bench::new();
        let mut child = bench.start(&SLOW);
        wait_for("a finished run", || (bench.counting() >= finished).then_some(()));
        signal(&child, "KILL");
        child.wait().unwrap();
        let kept = bench.counting();
        assert!(kept >= finished);
        let (_, err) = bench.finish(&SLOW);
        if kept > 0 {
            assert!(err.contains(&format!("{kept} of them already completed")), "{err}");
        }
        assert_eq!(bench.counting(), 16);
        assert!(!bench.results().join("work").exists(), "what the crash left is cleaned");
    }
}

#[test]
fn ctrl_c_ends_in_order_and_the_same_command_goes_on() {
    for name in ["INT", "TERM", "HUP"] {
        let (bench, output) = until_met("a signal before the end of the study", || {
            let bench = Bench::new();
            let child = bench.start(&SLOW);
            wait_for("a finished run", || (bench.counting() >= 2).then_some(()));
            signal(&child, name);
            let output = child.wait_with_output().unwrap();
            (bench.counting() < 16).then_some((bench, output))
        });
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("this command resumes the study:"));
        assert!(!bench.results().join("work").exists());
        bench.finish(&SLOW);
        assert_eq!(bench.counting(), 16);
    }
}

/// The same command would start another study: the printed one must go on with this one.
#[test]
fn after_ctrl_c_with_again_the_printed_command_resumes_the_study() {
    let (bench, output) = until_met("a signal before the end of the study", || {
        let bench = Bench::new();
        bench.finish(&["run", "quick.toml"]);
        let first = bench.stored().study.key;
        let child = bench.start(&[&SLOW[..], &["--again"]].concat());
        wait_for("a finished run", || {
            (bench.stored().study.key != first && bench.counting() >= 2).then_some(())
        });
        signal(&child, "INT");
        let output = child.wait_with_output().unwrap();
        (bench.counting() < 16).then_some((bench, output))
    });
    let err = text(&output.stderr);
    let command =
        err.lines().find_map(|line| line.strip_prefix("  fathom run ")).unwrap_or_else(|| panic!("{err}"));
    assert!(!command.contains("--again") && command.contains("--seed "), "{command}");
    let study = bench.stored().study.key;
    let output = bench.shell(&format!("fathom run {command}"));
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", text(&output.stderr));
    assert_eq!((bench.stored().study.key, bench.counting()), (study, 16));
}

#[test]
fn a_second_program_on_the_same_results_is_refused() {
    let (bench, mut child) = until_met("a program that is stopped in the middle of its study", || {
        let bench = Bench::new();
        let mut child = bench.start(&SLOW);
        wait_for("a finished run", || (bench.counting() >= 1).then_some(()));
        // It cannot end before the second program has asked.
        signal(&child, "STOP");
        if is_stopped(&child) {
            return Some((bench, child));
        }
        child.wait().unwrap();
        None
    });
    let (_, err) = bench.expect(2, &["run", "quick.toml"]);
    assert!(err.contains("in use"), "{err}");
    signal(&child, "KILL");
    child.wait().unwrap();
}

#[test]
fn a_results_file_of_a_newer_version_is_left_alone() {
    let bench = Bench::new();
    bench.expect(0, &["run", "quick.toml"]);
    let path = bench.results().join("results.db");
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    for words in [&["run", "quick.toml"][..], &["report"], &["export"]] {
        let (_, err) = bench.expect(2, words);
        assert!(err.contains("version 99"), "{words:?}: {err}");
    }
}

#[test]
fn a_file_that_is_not_ours_is_never_taken_for_results() {
    let bench = Bench::new();
    std::fs::create_dir(bench.results()).unwrap();
    std::fs::write(bench.results().join("results.db"), "dear diary, today I am not a database").unwrap();
    let (_, err) = bench.expect(2, &["run", "quick.toml"]);
    assert!(err.contains("not a fathom results file"), "{err}");
    let text = std::fs::read_to_string(bench.results().join("results.db")).unwrap();
    assert!(text.starts_with("dear diary"));
}

#[test]
fn nobody_need_read_what_a_study_says_while_it_runs() {
    let bench = Bench::new();
    let mut child = bench.start(&["run", "quick.toml"]);
    drop(child.stderr.take());
    let output = child.wait_with_output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", text(&output.stdout));
    assert_eq!(bench.counting(), 6);
}

/// Whatever is written, a reader that went away ends it quietly, with the status that shells give a closed pipe: 0 would
/// say of a check that nothing was found.
#[test]
fn a_reader_that_goes_away_ends_every_command_quietly() {
    let bench = Bench::new();
    bench.expect(0, &["run", "quick.toml"]);
    rusqlite::Connection::open(bench.path().join("app.db"))
        .unwrap()
        .execute_batch("CREATE TABLE t (a)")
        .unwrap();
    bench.expect(0, &["check", "app.db"]);
    for words in [
        &["list"][..],
        &["list", "--studies"],
        &["list", "--runs"],
        &["list", "--checks"],
        &["completions", "bash"],
        &["completions", "zsh"],
        &["man"],
        &["show", "populate-batch"],
        &["explain", "batch_size"],
        &["report"],
        &["report", "--json"],
        &["report", "--run", "1"],
        &["report", "--check", "1"],
        &["report", "--format", "html", "-o", "-"],
        &["compare", "1", "1"],
        &["history"],
        &["export"],
        &["export", "--format", "jsonl"],
        &["check", "app.db", "--json"],
        &["structure", "app.db"],
        &["decode", "sqlite:1"],
        &["inventory", "--json"],
        &["run", "quick.toml", "--dry-run"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = bench.command(words).stdout(writer).output().unwrap();
        let err = text(&output.stderr);
        assert!(!err.contains("panic") && !err.contains("error"), "{words:?}: {err}");
        assert_eq!(output.status.code(), Some(141), "{words:?}: {err}");
    }
}
