//! `--repeat-until decision`: a study that ends when its comparisons are decided.

use results::model::Looks;

use crate::bench::Bench;

#[test]
fn a_study_ends_when_it_is_decided_and_its_report_says_at_which_level() {
    let bench = Bench::new();
    // 800 rows in transactions of 1 or 400: their times differ by a factor on any machine.
    let words = [
        "run",
        "quick.toml",
        "--set",
        "batch_size=1,400",
        "--set",
        "rows_total=800",
        "--set",
        "durability=full",
        "--repetitions",
        "6",
        "--repeat-until",
        "decision",
        "--repeat-max",
        "14",
        "--margin",
        "2",
        "--ceilings",
        "never",
        "--json",
    ];
    let (out, err) = bench.finish(&words);
    assert!(err.contains("looks from block 6 on, 0.05 over all"), "{err}");
    let stored = bench.stored();
    assert_eq!(stored.study.design.looks, Some(Looks { blocks_min: 6, blocks_max: 14, margin: Some(0.02) }));
    let summary: serde_json::Value = serde_json::from_str(&out).unwrap();
    let counting = stored.runs.iter().filter(|run| run.counts()).count() as u64;
    assert_eq!(summary["looked"]["blocks"].as_u64(), Some(counting / 2), "{out}");
    assert_eq!(summary["alpha"], summary["looked"]["level"]);
    assert!(summary["alpha"].as_f64().unwrap() < 0.05);
    let is_early = counting / 2 < 14;
    assert!(!is_early || summary["comparisons"][0]["comparison"]["verdict"] == "better", "{out}");
}

#[test]
fn words_that_are_no_condition_are_refused() {
    let bench = Bench::new();
    fn dry<'a>(more: &[&'a str]) -> Vec<&'a str> {
        [&["run", "quick.toml", "--dry-run", "--repetitions", "6"], more].concat()
    }
    let (_, err) = bench.expect(2, &dry(&["--repeat-until", "soon"]));
    assert!(err.contains("\"soon\" is neither a percentage nor `decision`"), "{err}");
    let (_, err) = bench.expect(2, &dry(&["--repeat-until", "2", "--margin", "5"]));
    assert!(err.contains("--repeat-until decision --margin 5"), "{err}");
    let (_, err) = bench.expect(2, &dry(&["--repeat-until", "decision", "--margin", "0"]));
    assert!(err.contains("a margin of 0 %"), "{err}");
    let (out, _) = bench.expect(0, &dry(&["--repeat-until", "2%,decision"]));
    assert!(out.contains("with 30 repetitions (level 0.03"), "{out}");
    bench.expect(0, &dry(&["--repeat-until", "2"]));
}
