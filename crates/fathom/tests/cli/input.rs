//! What the user may type wrongly.

use skips::{Capability, skip};

use crate::bench::{Bench, text};

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
fn sizes_have_units_in_specs_as_on_the_command_line() {
    let plan = |size| ["run", "a-a", "--mini", "--dry-run", "--set", size];
    let bench = Bench::new();
    for size in ["buffer_pool_mib=64", "buffer_pool_mib=64MiB", "buffer_pool_mib=1GiB"] {
        bench.expect(0, &plan(size));
    }
    refused(&plan("buffer_pool_mib=64MB"), &["buffer_pool_mib", "64MB", "64MiB (2^20 bytes)"]);
    bench.write(
        "sized.toml",
        &crate::bench::QUICK.replace("rows_total = 40", "rows_total = 40\nbuffer_pool_mib = \"64MiB\""),
    );
    bench.expect(0, &["run", "sized.toml", "--dry-run"]);
}

#[test]
fn a_url_in_the_place_of_an_experiment_is_not_quoted() {
    for command in ["run", "show"] {
        let (_, err) = Bench::new().expect(2, &[command, "postgres://user:secret-word@host/db"]);
        assert!(err.contains("a URL is not an experiment") && !err.contains("secret-word"), "{err}");
    }
}

#[test]
fn more_than_the_disk_holds_is_not_begun() {
    let (_, err) = Bench::new().expect(2, &["expand", "sample", "new.db", "--size", "15000000TiB"]);
    assert!(err.contains("free"), "{err}");
}

/// The width is that of `COLUMNS`, on a terminal that util-linux's `script` makes.
#[test]
fn lines_are_no_wider_than_the_terminal() {
    let bench = Bench::new();
    bench.finish(&["run", "quick.toml", "--ceilings", "never"]);
    for words in ["show quick.toml", "show populate-batch"] {
        let as_it_is = text(&bench.shell(&format!("fathom {words}")).stdout);
        let shown = bench.shell(&format!("COLUMNS=60 script -qec 'fathom {words} 2>/dev/null' /dev/null"));
        assert!(shown.stdout.is_empty() || text(&shown.stdout).replace('\r', "") == as_it_is, "{words}");
    }
    for words in [
        "report",
        "history",
        "compare 1 1",
        "list",
        "list --studies",
        "run quick.toml --dry-run",
        "inventory",
    ] {
        for columns in [60, 90] {
            let line = format!("COLUMNS={columns} script -qec 'fathom {words}' /dev/null");
            let output = bench.shell(&line);
            if output.stdout.is_empty() {
                return skip(Capability::Script, "no terminal can be made here: script is not installed");
            }
            for line in text(&output.stdout).replace('\r', "").lines() {
                let is_one_word = line.split_whitespace().any(|word| word.chars().count() > columns - 20);
                assert!(line.chars().count() <= columns || is_one_word, "{words} at {columns}: {line}");
            }
        }
    }
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
    // The most rows that can be asked for, 2 EiB of pages: no file system has room for them, and nothing is started.
    let words = ["run", "populate-batch", "--set", "rows_total=281474976710656"];
    refused(&words, &["populate-batch", "does not fit", "2.0 EiB needed", "--ignore-space"]);
}

#[test]
fn help_the_manual_and_completions_come_from_the_same_definitions() {
    let bench = Bench::new();
    let (help, _) = bench.expect(0, &["run", "--help"]);
    // Every long option of the help, not one that somebody remembered.
    let options: Vec<&str> = help
        .lines()
        .filter_map(|line| line.trim_start().split_once("--").filter(|(before, _)| before.len() <= 4))
        .map(|(_, rest)| rest.split(|end: char| end != '-' && !end.is_alphanumeric()).next().unwrap())
        .collect();
    assert!(options.len() > 25 && options.contains(&"repeat-until"), "{options:?}");
    let (manual, _) = bench.expect(0, &["man"]);
    let (completions, _) = bench.expect(0, &["completions", "bash"]);
    for option in options {
        assert!(manual.contains(&format!("\\-\\-{}", option.replace('-', "\\-"))), "--{option} in man");
        assert!(completions.contains(&format!("--{option}")), "--{option} in completions");
    }
}

#[test]
fn help_is_printed_as_it_is_written_on_standard_output() {
    let bench = Bench::new();
    let (commands, _) = bench.expect(0, &["--help"]);
    let names = commands.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1);
    let names = names.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    let names: Vec<&str> = names.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() > 20, "{names:?}");
    for name in names.into_iter().filter(|name| *name != "help") {
        let (help, err) = bench.expect(0, &[name, "--help"]);
        assert!(help.contains("Usage: fathom") && err.is_empty(), "{name}: {err}");
        // Examples of labels and addresses are not taken for passwords.
        assert!(!help.contains("***"), "{name}: {help}");
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
