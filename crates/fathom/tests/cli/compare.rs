//! Two studies, or two configurations of one, held against each other; one figure over all studies.

use crate::bench::Bench;

fn with_two_studies() -> Bench {
    let bench = Bench::new();
    bench.expect(0, &["run", "quick.toml"]);
    bench.expect(0, &["run", "quick.toml", "--again", "--set", "durability=relaxed"]);
    bench
}

/// Another number of rows is other work: a "regression" between the two would say nothing.
#[test]
fn studies_that_do_different_work_are_refused_and_forced_without_a_verdict() {
    let bench = Bench::new();
    bench.expect(0, &["run", "quick.toml", "--repetitions", "6"]);
    bench.expect(0, &["run", "quick.toml", "--repetitions", "6", "--set", "rows_total=12000"]);
    bench.write("other.toml", &crate::bench::QUICK.replace("name = \"quick\"", "name = \"other\""));
    bench.expect(0, &["run", "other.toml"]);
    for (words, differs) in [
        (["compare", "1", "2"], "rows_total 40 against 12000"),
        (["compare", "1", "3"], "experiment quick against other"),
        (
            ["compare", "2/batch_size=1", "3/batch_size=5"],
            "experiment quick against other; rows_total 12000 against 40",
        ),
    ] {
        let (out, err) = bench.expect(2, &words);
        assert!(out.is_empty() && err.contains(differs) && err.contains("--force"), "{words:?}: {err}");
    }
    let (out, _) = bench.expect(0, &["compare", "1", "2", "--force"]);
    assert!(out.contains("No verdict: the sides do different work: rows_total 40 against 12000."), "{out}");
    assert!(!out.contains("Regression") && !out.contains("worse "), "{out}");
    let (out, _) = bench.expect(0, &["compare", "1", "2", "--force", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(value["other_work"][0]["name"], "rows_total");
    assert!(
        value["pairs"][0]["verdict"].is_null() && value["pairs"][0]["difference_percent"].as_f64().is_some()
    );
}

#[test]
fn studies_are_compared_with_what_changed_and_the_same_study_is_no_regression() {
    let bench = with_two_studies();
    let (out, _) = bench.expect(0, &["compare", "quick", "1"]);
    assert!(out.contains("durability"), "{out}");
    let (out, _) = bench.expect(0, &["compare", "1", "1"]);
    assert!(out.contains("No recorded difference"), "{out}");
    assert!(
        out.contains("Query plans: not recorded at 2 of 2 pairs; runs that only write have no plan."),
        "{out}"
    );
    let (out, _) =
        bench.expect(0, &["compare", "quick~1", "quick", "--json", "--metric", "service_time_p99_ms"]);
    let value: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(value["baseline"]["study_id"], 1);
    assert_eq!(value["candidate"]["study_id"], 2);
    assert!(value["pairs"][0]["baseline"]["mean"].as_f64().unwrap() > 0.0);
    let (out, _) = bench.expect(0, &["compare", "1/batch_size=1", "2/batch_size=5", "--format", "markdown"]);
    assert!(out.contains("batch\\_size=5 vs batch\\_size=1"), "{out}");
    let other = format!("{}:1", bench.results().display());
    bench.expect(0, &["compare", &other, "2"]);
}

#[test]
fn more_than_two_studies_are_one_table_with_the_best_cases() {
    let bench = with_two_studies();
    let (out, _) = bench.expect(0, &["compare", "1", "1", "1"]);
    for wanted in
        ["over 3 studies", "Times as fast as 1", "Best case of each study", "too few runs at 2 of 2"]
    {
        assert!(out.contains(wanted), "{wanted}: {out}");
    }
    let (out, _) = bench.expect(0, &["compare", "1", "1", "1", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(value["studies"].as_array().unwrap().len(), 3);
    let (_, err) = bench.expect(2, &["compare", "1", "1", "99"]);
    assert!(err.contains("99"), "{err}");
    let page = bench.path().join("many.html");
    bench.expect(0, &["compare", "1", "1", "1", "-o", page.to_str().unwrap()]);
    assert!(std::fs::read_to_string(&page).unwrap().contains("Best case per level"));
}

#[test]
fn pictures_for_slides_are_written_beside_pages() {
    let bench = with_two_studies();
    for words in [vec!["compare", "1", "2"], vec!["history", "quick"]] {
        for (ending, begin) in [("svg", "<svg"), ("html", "<!doctype html>")] {
            let path = bench.path().join(format!("{}.{ending}", words[0]));
            bench.expect(0, &[words.as_slice(), &["-o", path.to_str().unwrap()]].concat());
            assert!(std::fs::read_to_string(&path).unwrap().starts_with(begin));
        }
        let (out, _) = bench.expect(0, &[words.as_slice(), &["--format", "svg"]].concat());
        assert!(out.contains("width=\"1280\"") && out.contains("<svg x="), "{out}");
    }
}

#[test]
fn a_worsening_that_is_shown_ends_with_status_1() {
    let bench = Bench::new();
    // The same rows in five times as many transactions: five times the flushes, whatever else the machine does.
    let run = ["run", "quick.toml", "--repetitions", "6", "--set", "durability=full", "--set"];
    bench.expect(0, &[&run[..], &["batch_size=5"]].concat());
    bench.expect(0, &[&run[..], &["batch_size=1"]].concat());
    let flushes = ["--metric", "log_flushes"];
    let (out, _) = bench.expect(1, &[&["compare", "1", "2", "--threshold", "50%"][..], &flushes].concat());
    assert!(out.contains("Regression: log_flushes is worse by more than 50.0 %"), "{out}");
    bench.expect(0, &[&["compare", "2", "1"][..], &flushes].concat());
    bench.expect(0, &[&["compare", "1", "2", "--better", "larger"][..], &flushes].concat());
}

#[test]
fn what_cannot_be_compared_is_refused_with_the_reason() {
    let bench = with_two_studies();
    for (words, reason) in [
        (["compare", "1", "9"], "no study 9"),
        (["compare", "nothing", "1"], "has no study of \"nothing\""),
        (["compare", "quick~7", "1"], "further than the 2 matching studies"),
        (["compare", "1/connections", "1"], "is not a level"),
        (["compare", "1/batch_size=7", "1"], "there are 1, 5"),
        (["compare", "1/colour=red", "1"], "its factors: batch_size"),
        (["compare", "quick@1999-01-01", "1"], "further than the 0 matching studies"),
    ] {
        let (_, err) = bench.expect(2, &words);
        assert!(err.contains(reason), "{words:?}: {err}");
    }
    let (_, err) = bench.expect(2, &["compare", "1", "2", "--metric", "nonsense"]);
    assert!(err.contains("measured nonsense"), "{err}");
    let (_, err) = bench.expect(2, &["compare", "1", "2", "--threshold", "much"]);
    assert!(err.contains("is not a percentage"), "{err}");
}

#[test]
fn a_history_follows_each_configuration_over_the_studies() {
    let bench = with_two_studies();
    let (out, _) = bench.expect(0, &["history"]);
    assert!(out.contains("elapsed_s of quick over 2 studies"), "{out}");
    assert!(out.contains("Too few studies for change points"), "{out}");
    let (out, _) = bench.expect(0, &["history", "quick", "--only", "batch_size=5", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&out).unwrap();
    let labels: Vec<_> = value["series"].as_array().unwrap().iter().map(|series| &series["label"]).collect();
    assert_eq!(labels, ["durability=none", "durability=relaxed"]);
    let (_, err) = bench.expect(2, &["history", "nothing"]);
    assert!(err.contains("has no study of \"nothing\""), "{err}");
    bench.expect(2, &["history", "quick", "--metric", "nonsense"]);
}
