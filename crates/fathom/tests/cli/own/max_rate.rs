//! `fathom run --find-max-rate`.

use crate::bench::{Bench, QUICK};

/// One configuration, bound by time.
fn bench() -> Bench {
    let bench = Bench::new();
    let spec = QUICK.replace("batch_size = [1, 5]", "").replace("[factors]\n", "");
    let spec = spec.replace("rows_total = 40", "duration = \"200ms\"").replace("repetitions = 3\n", "");
    bench.write("one.toml", &spec);
    bench
}

fn search<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["run", "one.toml", "--find-max-rate", "--ceilings", "never", "--json"];
    words.extend(more);
    words
}

fn json(bench: &Bench, more: &[&str]) -> serde_json::Value {
    let (out, _) = bench.expect(0, &search(more));
    serde_json::from_str(&out).unwrap()
}

#[test]
fn an_objective_that_nothing_holds_halves_the_rate_and_the_next_search_goes_on_from_there() {
    let bench = bench();
    let slo = ["--slo", "max<1ns", "--repetitions", "2", "--rates-max"];
    let first = json(&bench, &[&slo[..], &["2"]].concat());
    let rates = |found: &serde_json::Value| -> Vec<f64> {
        let rates = found["rates"].as_array().unwrap();
        rates.iter().map(|rate| rate["rate_per_s"].as_f64().unwrap()).collect()
    };
    let closed = first["closed_loop_per_s"].as_f64().unwrap();
    let tried = rates(&first);
    assert_eq!(tried.len(), 2);
    assert!((tried[0] / closed - 0.5).abs() < 0.01 && (tried[1] / closed - 0.25).abs() < 0.01, "{first}");
    assert_eq!(first["highest_holding_per_s"], serde_json::Value::Null);
    assert_eq!(first["lowest_failing_per_s"].as_f64(), Some(tried[1]));
    assert!(first["rates"][0]["runs"][1]["failure"].is_string(), "{first}");
    let second = json(&bench, &[&slo[..], &["3"]].concat());
    assert_eq!(rates(&second)[..2], tried);
    assert_eq!(second["rates"][1]["study"], first["rates"][1]["study"], "what is stored is not run again");
    assert_eq!(second["closed_loop_study"], first["closed_loop_study"]);
    // One closed loop and three rates.
    let studies = bench.expect(0, &["list", "--studies"]).0;
    assert_eq!(studies.lines().filter(|line| line.starts_with("study ")).count(), 4, "{studies}");
}

#[test]
fn what_is_found_lies_between_a_rate_that_holds_and_one_that_fails() {
    let bench = bench();
    let found = json(
        &bench,
        &["--slo", "p50<50ms", "--slo", "within 1h >= 1%", "--repetitions", "1", "--rates-max", "5"],
    );
    let (holds, fails) = (found["highest_holding_per_s"].as_f64(), found["lowest_failing_per_s"].as_f64());
    for rate in found["rates"].as_array().unwrap() {
        let value = rate["rate_per_s"].as_f64().unwrap();
        let is_held = rate["holds"].as_bool().unwrap();
        assert!(!is_held || holds >= Some(value) || fails < Some(value), "{found}");
        assert!(is_held || fails.is_some_and(|fails| fails <= value), "{found}");
    }
    if let (Some(holds), Some(fails)) = (holds, fails) {
        assert!(holds < fails, "{found}");
        let end = |name: &str| found[name].as_f64().unwrap();
        assert!(end("threshold_low_per_s") <= end("threshold_per_s"), "{found}");
        assert!(end("threshold_per_s") <= end("threshold_high_per_s"), "{found}");
    }
}

#[test]
fn the_search_says_before_what_it_takes_and_a_rate_of_the_spec_is_where_it_begins() {
    let bench = bench();
    let (out, _) = bench.expect(0, &["run", "one.toml", "--find-max-rate", "--slo", "p99<1s", "--dry-run"]);
    assert!(out.contains("a run in a closed loop, then rates with 3 runs each"), "{out}");
    assert!(out.contains("expected: 19 runs") && out.contains("at most 46 runs"), "{out}");
    assert!(!bench.results().exists());
    let found =
        json(&bench, &["--slo", "max<1ns", "--set", "rate=64", "--rates-max", "1", "--repetitions", "1"]);
    assert_eq!(found["rates"][0]["rate_per_s"], 64.0);
    assert_eq!(found["closed_loop_study"], serde_json::Value::Null);
}

#[test]
fn a_search_without_an_objective_or_with_several_configurations_is_refused() {
    let bench = bench();
    for (words, phrase) in [
        (&["run", "one.toml", "--find-max-rate"][..], "--slo"),
        (&["run", "one.toml", "--slo", "p99<1s"], "--find-max-rate"),
        (&["run", "one.toml", "--find-max-rate", "--slo", "fast"], "write p99<10ms"),
        (&["run", "one.toml", "--find-max-rate", "--slo", "p99<1s", "-R", "5"], "--rate"),
        (&["run", "one.toml", "--find-max-rate", "--slo", "p99<1s", "-c", "1,2"], "2 configurations"),
        (
            &["run", "one.toml", "--find-max-rate", "--slo", "p99<1s", "--rate-precision", "0"],
            "--rate-precision",
        ),
    ] {
        let (out, err) = bench.expect(2, words);
        assert!(out.is_empty() && err.contains(phrase), "{words:?}: {err}");
    }
}
