//! What the user may type wrongly.

use crate::bench::Bench;

fn refused(words: &[&str], phrases: &[&str]) {
    let (out, err) = Bench::new().expect(2, words);
    assert_eq!(out, "", "an error is not a result");
    for phrase in phrases {
        assert!(err.contains(phrase), "{words:?} does not say \"{phrase}\":\n{err}");
    }
}

#[test]
fn a_name_that_no_experiment_has_gets_the_nearest_one() {
    refused(&["run", "populate-bach"], &["populate-bach", "populate-batch"]);
    refused(&["show", "a_a"], &["a-a"]);
}

#[test]
fn a_parameter_or_level_that_cannot_be_is_named_with_its_value() {
    refused(&["run", "a-a", "--mini", "--set", "batchsize=3"], &["batchsize", "batch_size"]);
    refused(&["run", "a-a", "--mini", "--set", "batch_size=many"], &["batch_size", "many", "whole number"]);
    refused(&["run", "a-a", "--mini", "--set", "batch_size"], &["no value"]);
    refused(&["run", "a-a", "--mini", "-c", "0"], &["connections", "0"]);
}

#[test]
fn an_unknown_key_in_a_spec_is_shown_with_its_line() {
    let bench = Bench::new();
    bench.write("odd.toml", "name = \"odd\"\ntitel = \"x\"\n");
    let (_, err) = bench.expect(2, &["run", "odd.toml"]);
    assert!(err.contains("titel") && err.contains("`title`") && err.contains("odd.toml:2"), "{err}");
}

#[test]
fn a_target_that_is_not_known_or_not_installed_is_refused() {
    refused(&["run", "a-a", "--mini", "-t", "oracle"], &["oracle", "sqlite"]);
    refused(&["run", "a-a", "--mini", "-t", "mysql://u:hidden-word@h/d"], &["postgres://"]);
    refused(&["run", "a-a", "--mini", "-t", "postgres", "--pg-bin", "/nonexistent"], &["/nonexistent"]);
    refused(&["run", "a-a", "--mini", "--pg-bin", "/usr"], &["--target postgres"]);
    refused(&["run", "a-a", "--mini", "-t", "postgres://u@nowhere/d", "--data", "/x"], &["--data and --log"]);
}

#[test]
fn what_sqlite_cannot_do_is_said_before_anything_runs() {
    let bench = Bench::new();
    let (_, err) = bench.expect(2, &["run", "multi-file", "--mini"]);
    assert!(err.contains("data_files") && err.contains("one file"), "{err}");
    assert_eq!(bench.counting(), 0);
    let (out, _) = bench.expect(0, &["run", "multi-file", "--mini", "--dry-run"]);
    assert!(out.contains("cannot run data_files=2"), "{out}");
}

#[test]
fn a_directory_that_cannot_be_used_is_named() {
    refused(&["run", "quick.toml", "--data", "/proc/fathom"], &["/proc/fathom"]);
    refused(&["run", "quick.toml", "--results", "/proc/fathom"], &["/proc/fathom"]);
    refused(&["report", "--results", "/nonexistent"], &["/nonexistent"]);
}

#[test]
fn a_study_that_does_not_fit_on_the_disk_is_refused_with_both_figures() {
    refused(&["run", "populate-batch"], &["populate-batch", "does not fit", "TiB", "--ignore-space"]);
}

#[test]
fn help_the_manual_and_completions_come_from_the_same_definitions() {
    let bench = Bench::new();
    for words in [&["run", "--help"][..], &["man"], &["completions", "bash"]] {
        let (out, _) = bench.expect(0, words);
        assert!(out.contains("repeat-until") || out.contains("repeat\\-until"), "{words:?}");
    }
}

#[test]
fn explain_knows_parameters_gates_metrics_and_experiments() {
    let bench = Bench::new();
    for (word, phrase) in [
        ("batch_size", "transaction"),
        ("rows_match", "rows"),
        ("log_flushes", "flush"),
        ("populate-batch", "log"),
        ("start_skew", "start"),
        ("p99", "histogram"),
        ("p-value", "chance"),
        ("response_time", "intended"),
        ("No difference shown", "enough runs"),
        ("rho", "spearman"),
        ("session time", "added up"),
    ] {
        let (out, _) = bench.expect(0, &["explain", word]);
        assert!(out.to_lowercase().contains(phrase), "{word}: {out}");
    }
    let (_, err) = bench.expect(2, &["explain", " "]);
    assert!(err.contains("no name"), "{err}");
    let (_, err) = bench.expect(2, &["explain", "log_flushs"]);
    assert!(err.contains("log_flushes"), "{err}");
}
