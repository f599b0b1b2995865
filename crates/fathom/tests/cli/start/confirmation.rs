//! A study that is long or large is confirmed on a terminal, which util-linux's `script` makes; a script is not asked.

use crate::bench::{Bench, QUICK, text};

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
    let output = bench.shell(&format!("printf '{answer}' | script -qec '{line}' /dev/null"));
    (output.status.code(), text(&output.stdout).replace('\r', ""))
}

/// Starts a study and interrupts it when its first run has begun.
fn until_it_runs(line: &str) -> String {
    format!("timeout --signal=INT 3 {line}")
}

#[test]
fn a_long_study_is_confirmed_on_a_terminal_with_time_and_space() {
    let bench = bench();
    let (status, shown) = on_terminal(&bench, LONG, "n\\n");
    assert!(
        shown.contains("long takes an estimated 6.0 h to ")
            && shown.contains("of disk space. Start it? [y/N]"),
        "{shown}"
    );
    assert!(status == Some(2) && shown.contains("long was not started"), "{status:?} {shown}");
    assert!(shown.contains("hint: ") && shown.contains("--yes"), "{shown}");
    // No answer at all is no.
    let (status, shown) = on_terminal(&bench, LONG, "\\n");
    assert!(status == Some(2) && shown.contains("long was not started"), "{status:?} {shown}");
    assert!(!bench.results().join(results::store::RESULTS_FILE).exists());
    let (_, shown) = on_terminal(&bench, &until_it_runs(LONG), "yes\\n");
    assert!(shown.contains("[y/N]") && !shown.contains("was not started"), "{shown}");
    // Started once, it resumes without the question.
    let (_, shown) = on_terminal(&bench, &until_it_runs(LONG), "");
    assert!(!shown.contains("[y/N]") && !shown.contains("was not started"), "{shown}");
}

#[test]
fn yes_and_short_studies_ask_nothing() {
    let bench = bench();
    let (_, shown) = on_terminal(&bench, &until_it_runs(&format!("{LONG} --yes")), "");
    assert!(!shown.contains("[y/N]") && !shown.contains("was not started"), "{shown}");
    let (status, shown) = on_terminal(&bench, "fathom run quick.toml --repetitions 4 --ceilings never", "");
    assert!(!shown.contains("[y/N]") && matches!(status, Some(0 | 1)), "{shown}");
}

#[test]
fn a_script_is_not_asked_and_told_so() {
    let bench = bench();
    let output = bench.shell(&until_it_runs(LONG));
    let err = text(&output.stderr);
    assert!(err.contains("note: long takes an estimated 6.0 h") && err.contains("no terminal"), "{err}");
    assert!(
        !err.contains("was not started") && bench.results().join(results::store::RESULTS_FILE).exists(),
        "{err}"
    );
}
