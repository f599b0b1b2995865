//! What a design can show: printed before it runs, and refused where it can show nothing.

use std::process::Output;

use crate::bench::{Bench, QUICK, text};

/// Runs these words and no others; exit status, standard output, standard error.
fn strict(bench: &Bench, words: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = bench.strict_command(words).output().unwrap();
    (status.code(), text(&stdout), text(&stderr))
}

#[test]
fn a_dry_run_prints_comparisons_smallest_p_and_smallest_difference() {
    let bench = Bench::new();
    let (out, _) = bench
        .expect(0, &["run", "quick.toml", "--set", "batch_size=1,5,10", "--dry-run", "--repetitions", "6"]);
    for line in [
        "2 comparisons of elapsed_s (smaller is better): reference (batch_size 5 against 1, batch_size 10 against 1)",
        "smallest p: 0.031 with 6 repetitions (level 0.05)",
        "smallest difference at 80 % power: 5.5 % (run-to-run sd 2 %), 14 % (run-to-run sd 5 %), 30 % (run-to-run sd 10 %)",
    ] {
        assert!(out.lines().any(|found| found == line), "{line}\n{out}");
    }
    let (out, _) = bench.expect(0, &["run", "quick.toml", "--dry-run"]);
    assert!(out.contains("smallest p: 0.1 with 3 repetitions, above the level of 0.05"), "{out}");
    assert!(out.contains("6 repetitions can") && !out.contains("smallest difference"), "{out}");
}

#[test]
fn a_dry_run_as_json_has_the_design() {
    let bench = Bench::new();
    let words = ["run", "quick.toml", "--dry-run", "--json", "--metric", "rows_per_s"];
    let design = |more: &[&str]| -> serde_json::Value {
        let (out, _) = bench.expect(0, &[&words[..], more].concat());
        serde_json::from_str::<serde_json::Value>(&out).unwrap()["design"].clone()
    };
    let three = design(&[]);
    assert_eq!((&three["can_decide"], &three["repetitions_proposed"]), (&false.into(), &6.into()));
    assert_eq!((&three["metric"], &three["better"]), (&"rows_per_s".into(), &"larger".into()));
    let eight = design(&["--repetitions", "8"]);
    assert_eq!((&eight["can_decide"], &eight["labels_dealt"]), (&true.into(), &"within_blocks".into()));
    assert_eq!(eight["smallest_p"], 2.0 / 256.0);
    assert_eq!(eight["comparisons"][0]["name"], "batch_size 5 against 1");
    assert_eq!(eight["smallest_differences"][1]["run_sd"], 0.05);
    let smallest = eight["smallest_differences"][1]["difference"].as_f64().unwrap();
    assert!((0.05..0.15).contains(&smallest), "{smallest}");
}

#[test]
fn a_design_that_cannot_decide_is_refused_with_the_repetitions_that_can() {
    let bench = Bench::new();
    let (status, out, err) = strict(&bench, &["run", "quick.toml"]);
    assert_eq!((status, out.as_str()), (Some(2), ""), "{err}");
    assert!(
        err.contains(
            "quick cannot reach a verdict: with 3 repetitions the smallest p is 0.1, above the level of 0.05"
        ),
        "{err}"
    );
    assert!(err.contains("hint: --repetitions 6 can show a difference; --anyway runs it"), "{err}");
    assert!(!bench.results().join(results::store::RESULTS_FILE).exists(), "nothing was started");
    bench.finish(&["run", "quick.toml", "--repetitions", "1"]);
    // What was accepted once resumes, with any number of repetitions, and what is complete is printed.
    let (status, out, err) = strict(&bench, &["run", "quick.toml", "--repetitions", "2"]);
    assert!(matches!(status, Some(0 | 1)) && !out.is_empty(), "{err}");
    let (status, _, err) = strict(&bench, &["run", "quick.toml", "--repetitions", "2"]);
    assert!(matches!(status, Some(0 | 1)), "{err}");
    let (status, _, err) = strict(&bench, &["run", "quick.toml", "--again"]);
    assert!(status == Some(2) && err.contains("--anyway"), "{err}");
}

#[test]
fn one_configuration_has_nothing_to_decide_and_runs() {
    let bench = Bench::new();
    let (status, _, err) =
        strict(&bench, &["run", "quick.toml", "--set", "batch_size=5", "--repetitions", "1"]);
    assert!(matches!(status, Some(0 | 1)), "{err}");
    assert!(err.contains("comparisons: none: one configuration, elapsed time"), "{err}");
}

#[test]
fn the_start_of_a_study_states_the_spread_of_the_last_one() {
    let bench = Bench::new();
    let (_, err) = bench.finish(&["run", "quick.toml", "--repetitions", "6"]);
    assert!(err.contains("1 comparison of elapsed_s") && err.contains("(run-to-run sd 5 %)"), "{err}");
    assert!(err.contains("time: ") && err.contains("; space: about "), "{err}");
    let (_, err) = bench.finish(&["run", "quick.toml", "--repetitions", "6", "--seed", "2"]);
    let line =
        err.lines().find(|line| line.starts_with("smallest difference")).unwrap_or_else(|| panic!("{err}"));
    assert!(line.contains("drift between blocks") && line.contains("in the last study"), "{line}");
    assert!(!line.contains("sd 5 %"), "{line}");
}

#[test]
fn show_states_every_scale_and_leaves_the_spec_as_it_is() {
    let bench = Bench::new();
    let (out, err) = bench.expect(0, &["show", "populate-batch"]);
    assert!(lab::spec::Experiment::parse("shown.toml", &out).is_ok(), "{out}");
    for words in [
        "full scale on sqlite: 30 runs",
        "miniature (--mini) on sqlite: 18 runs",
        "4 comparisons of elapsed_s (smaller is better): previous (batch_size 10 against 1,",
        "smallest p: 0.031 with 6 repetitions",
        "time: ",
    ] {
        assert!(err.contains(words), "{words}\n{err}");
    }
    // A spec that cannot run is shown all the same.
    bench.write("broken.toml", &QUICK.replace("workload = \"populate\"", "workload = \"fly\""));
    let (out, _) = bench.expect(0, &["show", "broken.toml"]);
    assert!(out.contains("fly"), "{out}");
}
