//! A study that is long or large is confirmed on a terminal, which util-linux's `script` makes; a script is not asked.

use results::store::Store;

use crate::bench::{Bench, QUICK, signal_id, text, wait_for};

/// Runs that take three hours together, and stop at once when they are refused.
const LONG: &str = "fathom run long.toml -t noop --ceilings never";

fn bench() -> Bench {
    let bench = Bench::new();
    let long = QUICK
        .replace("rows_total = 40", "duration = \"30min\"")
        .replace("repetitions = 3", "repetitions = 6");
    bench.write("long.toml", &long.replace("name = \"quick\"", "name = \"long\""));
    bench
}

/// What a terminal shows of a line of a shell whose input is `answer`, and the exit status.
fn on_terminal(bench: &Bench, line: &str, answer: &str) -> (Option<i32>, String) {
    let output = bench.shell(&terminal(line, answer));
    (output.status.code(), text(&output.stdout).replace('\r', ""))
}

fn terminal(line: &str, answer: &str) -> String {
    format!("printf '{answer}' | script -qec '{line}' /dev/null")
}

/// As [`on_terminal`], of a study that is interrupted when its runs begin.
fn on_terminal_until_it_runs(bench: &Bench, line: &str, answer: &str) -> String {
    until_it_runs(bench, &terminal(&noted(line), answer)).replace('\r', "")
}

/// A line of a shell that writes down which process it becomes.
fn noted(line: &str) -> String {
    format!("echo $$ >pid; exec {line}")
}

/// What a line shows whose process is interrupted when the study is stored and its runs begin. The time that this takes is
/// that of the machine.
fn until_it_runs(bench: &Bench, line: &str) -> String {
    let shown = bench.path().join("shown");
    let _ = std::fs::remove_file(bench.path().join("pid"));
    let _ = std::fs::remove_file(&shown);
    std::thread::scope(|scope| {
        let ended = scope.spawn(|| bench.shell(&format!("{{ {line}; }} >shown 2>&1")));
        let runs = wait_for("the start of the runs", || {
            let begun =
                std::fs::read(&shown).is_ok_and(|bytes| text(&bytes).contains("long on noop: 12 runs"));
            let stored = Store::open_read_only(&bench.results())
                .is_ok_and(|store| store.latest_study().is_ok_and(|study| study.is_some()));
            ((begun && stored) || ended.is_finished()).then_some(!ended.is_finished())
        });
        if runs {
            let process = std::fs::read_to_string(bench.path().join("pid")).unwrap();
            signal_id(process.trim().parse().unwrap(), "INT");
        }
    });
    text(&std::fs::read(&shown).unwrap())
}

#[test]
fn a_long_study_is_confirmed_on_a_terminal_with_time_and_space() {
    let bench = bench();
    let (status, shown) = on_terminal(&bench, LONG, "n\\n");
    assert!(
        shown.contains("long takes an estimated 6.") && shown.contains("of disk space. Start it? [y/N]"),
        "{shown}"
    );
    assert!(status == Some(2) && shown.contains("long was not started"), "{status:?} {shown}");
    assert!(shown.contains("hint: ") && shown.contains("--yes"), "{shown}");
    // No answer at all is no.
    let (status, shown) = on_terminal(&bench, LONG, "\\n");
    assert!(status == Some(2) && shown.contains("long was not started"), "{status:?} {shown}");
    assert!(!bench.results().join(results::store::RESULTS_FILE).exists());
    let shown = on_terminal_until_it_runs(&bench, LONG, "yes\\n");
    assert!(shown.contains("[y/N]") && !shown.contains("was not started"), "{shown}");
    // Started once, it resumes without the question.
    let shown = on_terminal_until_it_runs(&bench, LONG, "");
    assert!(!shown.contains("[y/N]") && !shown.contains("was not started"), "{shown}");
}

#[test]
fn yes_and_short_studies_ask_nothing() {
    let bench = bench();
    let shown = on_terminal_until_it_runs(&bench, &format!("{LONG} --yes"), "");
    assert!(!shown.contains("[y/N]") && !shown.contains("was not started"), "{shown}");
    let (status, shown) = on_terminal(&bench, "fathom run quick.toml --repetitions 4 --ceilings never", "");
    assert!(!shown.contains("[y/N]") && matches!(status, Some(0 | 1)), "{shown}");
}

#[test]
fn a_script_is_not_asked_and_told_so() {
    let bench = bench();
    let err = until_it_runs(&bench, &format!("sh -c '{}'", noted(LONG)));
    assert!(err.contains("note: long takes an estimated 6.") && err.contains("no terminal"), "{err}");
    assert!(
        !err.contains("was not started") && bench.results().join(results::store::RESULTS_FILE).exists(),
        "{err}"
    );
}
