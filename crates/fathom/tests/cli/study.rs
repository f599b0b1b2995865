//! A study from the command line to tables and exports.

use results::model::RunState;
use results::store::{Store, StudyResults};

use crate::bench::Bench;

const HARNESS: &str = r#"
name = "harness"
title = "harness"
question = "what does a transaction cost without an engine?"
kind = "own"
repetitions = 3
[parameters]
workload = "select-one"
duration = "1s"
# A busy machine is no fault of what is tested here.
[validity]
start_skew = "100%"
client_cpu = "100%"
samples_present = "0%"
"#;

#[test]
fn a_study_runs_prints_its_tables_and_can_be_read_again() {
    let bench = Bench::new();
    let (out, err) = bench.expect(0, &["run", "quick.toml"]);
    for phrase in ["batch_size", "95 % interval", "fathom-results/results.db"] {
        assert!(out.contains(phrase), "no \"{phrase}\" in\n{out}");
    }
    assert!(err.contains("6 runs"), "{err}");
    let (again, _) = bench.expect(0, &["report"]);
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    for phrase in ["batch_size", "95 % interval", kernel.trim()] {
        assert!(again.contains(phrase), "no \"{phrase}\" in\n{again}");
    }
    assert!(!bench.results().join("work").exists(), "the engine's directory stays behind");
}

#[test]
fn the_same_command_reuses_every_run_and_again_makes_a_new_study() {
    let bench = Bench::new();
    bench.expect(0, &["run", "quick.toml"]);
    let (_, err) = bench.expect(0, &["run", "quick.toml"]);
    assert!(err.contains("6 of them already completed"), "{err}");
    bench.expect(0, &["run", "quick.toml", "--again"]);
    let (out, _) = bench.expect(0, &["list", "--studies"]);
    assert_eq!(out.lines().count(), 2, "{out}");
}

#[test]
fn a_dry_run_prints_runs_order_time_and_space_and_makes_nothing() {
    let bench = Bench::new();
    let words = ["run", "quick.toml", "--set", "connections=1,2,4", "--dry-run"];
    let (out, _) = bench.expect(0, &words);
    assert!(out.contains("6 cells x 3 repetitions = 18 runs"), "{out}");
    assert!(out.contains("time:") && out.contains("space:"), "{out}");
    let order = |text: &str| -> Vec<String> {
        text.lines().filter(|line| line.contains("  block ")).map(str::to_owned).collect()
    };
    assert_eq!(order(&out).len(), 18, "{out}");
    assert_eq!(order(&bench.expect(0, &words).0), order(&out), "the same seed gives the same plan");
    assert!(!bench.results().exists());
}

#[test]
fn json_on_standard_output_is_one_document() {
    let bench = Bench::new();
    let (out, _) = bench.expect(0, &["run", "quick.toml", "--json"]);
    let summary: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(summary["experiment"], "quick");
    assert_eq!(summary["cells"].as_array().unwrap().len(), 2);
    let (out, _) = bench.expect(0, &["list", "--json"]);
    assert!(serde_json::from_str::<serde_json::Value>(&out).unwrap().as_array().unwrap().len() >= 11);
}

#[test]
fn every_export_holds_every_run() {
    let bench = Bench::new();
    bench.expect(0, &["run", "quick.toml"]);
    let (csv, _) = bench.expect(0, &["export", "--format", "csv"]);
    assert_eq!(csv.lines().count(), 1 + 6);
    let (clients, _) = bench.expect(0, &["export", "--format", "clients-csv"]);
    assert_eq!(clients.lines().count(), 1 + 12);
    let (lines, _) = bench.expect(0, &["export", "--format", "jsonl"]);
    assert_eq!(
        lines.lines().filter(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()).count(),
        6
    );
    let (benchmark, _) = bench.expect(0, &["export", "--format", "gobench"]);
    assert_eq!(benchmark.lines().filter(|line| line.starts_with("Benchmark")).count(), 6, "{benchmark}");
    bench.expect(0, &["export", "--output", "runs.csv"]);
    let (_, err) = bench.expect(2, &["export", "--output", "runs.csv"]);
    assert!(err.contains("runs.csv"), "an existing file is not overwritten: {err}");
}

#[test]
fn a_marked_run_is_made_again_and_both_values_are_reported() {
    let bench = Bench::new();
    bench.expect(0, &["run", "quick.toml"]);
    bench.expect(0, &["mark", "3", "--suspect", "a backup ran"]);
    bench.expect(0, &["run", "quick.toml"]);
    let stored = bench.stored();
    assert_eq!(stored.runs.len(), 7);
    assert!(stored.runs.iter().all(|run| run.run.state == RunState::Valid));
    let (out, _) = bench.expect(0, &["report"]);
    assert!(out.contains("a backup ran"), "{out}");
    let (_, err) = bench.expect(2, &["mark", "99", "--suspect", "x"]);
    assert!(err.contains("99"), "{err}");
}

/// Stores the runs of a study once more, each as long as `seconds` says of its block and its cell.
fn as_long_as(bench: &Bench, stored: &StudyResults, seconds: impl Fn(u32, u32) -> f64) {
    let mut store = Store::open_or_create(&bench.results()).unwrap();
    let study = store.begin_study(&stored.study).unwrap();
    store.put_cells(study, &stored.cells).unwrap();
    for stored in &stored.runs {
        let mut run = stored.run.clone();
        run.elapsed_ns = (seconds(run.key.block_index, run.key.cell_index) * 1e9) as u64;
        for client in &mut run.clients {
            (client.start_ns, client.end_ns) = (Some(0), Some(run.elapsed_ns));
        }
        let id = store.begin_run(study, run.key, run.position, &run.started_at).unwrap();
        store.finish_run(id, &run).unwrap();
    }
}

/// Five of a hundred real pairs end with a difference: the runs are real, their times are made up.
#[test]
fn an_a_a_pair_ends_without_a_winner_and_with_one_when_the_second_takes_twice_as_long() {
    let bench = Bench::new();
    let experiment = bench.lenient("a-a");
    let words = ["run", &experiment, "--mini", "--set", "rows_total=400", "--set", "durability=none"];
    let (out, _) = bench.expect(0, &words);
    assert!(out.contains("no difference is shown between a and b"), "{out}");
    let stored = bench.stored();
    // The same times in another order.
    let pair = Bench::new();
    as_long_as(&pair, &stored, |block, cell| 1.0 + 0.1 * f64::from((block + 2 * cell) % 5));
    let (out, _) = pair.expect(0, &["report"]);
    assert!(out.contains("No difference shown (n=6)"), "{out}");
    assert!(out.contains("held     no difference is shown between a and b"), "{out}");
    let unequal = Bench::new();
    as_long_as(&unequal, &stored, |block, cell| (1.0 + 0.1 * f64::from(block)) * f64::from(1 + cell));
    let (out, _) = unequal.expect(0, &["report"]);
    assert!(!out.contains("No difference shown") && out.contains("did not hold"), "{out}");
}

#[test]
fn the_harness_alone_can_be_measured() {
    let bench = Bench::new();
    bench.write("harness.toml", HARNESS);
    bench.expect(0, &["run", "harness.toml", "-t", "noop", "-T", "300ms", "-c", "1,4"]);
    assert_eq!(bench.counting(), 6);
}

#[test]
fn marks_name_their_run_keep_every_reason_and_can_be_taken_back() {
    let bench = Bench::new();
    bench.expect(0, &["run", "quick.toml"]);
    let (out, _) = bench.expect(0, &["mark", "3", "--suspect", "a backup ran"]);
    let echo = "run 3: study 1, quick on sqlite, batch_size=";
    assert!(
        out.starts_with(echo) && out.contains(", repetition ") && out.contains(", elapsed time "),
        "{out}"
    );
    let (out, _) = bench.expect(0, &["mark", "3", "--suspect", "and the fan was loud"]);
    assert!(out.contains(": a backup ran\n") && out.contains(": and the fan was loud\n"), "{out}");
    let (report, _) = bench.expect(0, &["report"]);
    assert!(report.contains("a backup ran; and the fan was loud"), "{report}");
    let (list, _) = bench.expect(0, &["list", "--runs", "quick"]);
    assert_eq!(list.lines().filter(|line| line.starts_with("run ")).count(), 6, "{list}");
    assert_eq!(list.lines().filter(|line| line.starts_with("  marked ")).count(), 2, "{list}");
    assert!(list.contains("valid, suspect"), "{list}");
    let (out, _) = bench.expect(0, &["mark", "3", "--undo"]);
    assert!(out.contains("2 marks removed; it counts again"), "{out}");
    assert_eq!(bench.counting(), 6);
    let (list, _) = bench.expect(0, &["list", "--runs", "1", "--json"]);
    let runs: serde_json::Value = serde_json::from_str(&list).unwrap();
    assert_eq!((&runs[2]["run_id"], &runs[2]["counts"]), (&3.into(), &true.into()));
    assert!(runs[2]["marks"][1]["withdrawn_at"].is_string(), "{list}");
    let (detail, _) = bench.expect(0, &["report", "--run", "3"]);
    assert!(detail.contains("a backup ran (removed "), "{detail}");
    let (_, err) = bench.expect(2, &["mark", "3", "--undo"]);
    assert!(err.contains("run 3 has no mark"), "{err}");
    bench.expect(2, &["mark", "3"]);
}
