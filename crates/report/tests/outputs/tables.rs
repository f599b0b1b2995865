//! Tables as a user sees them.

use insta::assert_snapshot;
use report::summary::{ExpectationOutcome, ExpectationState};
use report::{markdown, text};
use results::model::{GateOutcome, GateResult, Metric, RunState};

use crate::made_up::{self, Adding, summarise};

fn expectations() -> Vec<ExpectationOutcome> {
    vec![
        ExpectationOutcome {
            claim: "batch 10 is faster than batch 1".to_owned(),
            state: ExpectationState::Held,
            detail: "elapsed_s 0.998 < 4.02".to_owned(),
        },
        ExpectationOutcome {
            claim: "elapsed falls from 16 to 256 connections".to_owned(),
            state: ExpectationState::NotChecked,
            detail: "claimed at full scale only".to_owned(),
        },
    ]
}

#[test]
fn one_factor_with_an_invalid_run_and_a_correction() {
    assert_snapshot!(text::study(&summarise(&made_up::batch(), &expectations())));
}

#[test]
fn one_factor_in_markdown() {
    assert_snapshot!(markdown::study(&summarise(&made_up::batch(), &expectations())));
}

#[test]
fn two_factors_as_matrices() {
    assert_snapshot!(text::results(&summarise(&made_up::matrix(), &[])));
}

#[test]
fn runs_bound_by_time_compare_rates() {
    assert_snapshot!(text::results(&summarise(&made_up::rates(), &[])));
}

#[test]
fn one_run_in_detail() {
    let mut results = made_up::batch();
    let stored = &mut results.runs[3];
    stored.run.clients[0].service_time = made_up::latencies(1..=100);
    stored.run.gates.push(GateResult {
        gate: "pages_as_designed".to_owned(),
        outcome: GateOutcome::NotApplicable,
        expected: "rows per page as the workload is designed".to_owned(),
        found: "this workload or engine has no fixed number of pages".to_owned(),
    });
    assert_snapshot!(text::run_detail(stored, "study 1: populate-batch on sqlite, batch_size=1"));
    assert!(markdown::run_detail(stored, "study 1").contains("| no\\_errors | FAILED |"));
}

#[test]
fn invalid_runs_come_before_any_number() {
    let summary = summarise(&made_up::batch(), &[]);
    for output in [text::results(&summary), markdown::study(&summary)] {
        let place = |word: &str| output.find(word).unwrap_or_else(|| panic!("no {word} in {output}"));
        assert!(
            place("Invalid runs") < place("Verdict") && place("Verdict") < place("Elapsed time in seconds")
        );
    }
}

#[test]
fn no_line_is_wider_than_the_terminal_however_many_metrics_there_are() {
    let mut results = made_up::matrix();
    for stored in &mut results.runs {
        for number in 0..30 {
            let mut metric = stored.run.metrics[0].clone();
            metric.name = format!("a_metric_with_a_long_name_{number}_bytes");
            stored.run.metrics.push(metric);
        }
        stored.run.gates[0].outcome = GateOutcome::Failed;
        stored.run.gates[0].found = "a sentence of many words ".repeat(20);
    }
    results.runs[0].run.state = RunState::Invalid;
    let output = text::study(&summarise(&results, &expectations()));
    let widest = output.lines().max_by_key(|line| line.chars().count()).unwrap();
    assert!(widest.chars().count() <= text::WIDTH, "{widest}");
    assert!((0..30).all(|number| output.contains(&format!("a_metric_with_a_long_name_{number}_bytes"))));
}

#[test]
fn metrics_that_tell_most_come_first_and_those_that_never_differ_are_one_line() {
    let mut results = made_up::a_a();
    for (number, stored) in (0_u32..).zip(&mut results.runs) {
        let mut add = |name: &str, value: f64, unit: &str| {
            stored.run.metrics.push(Metric {
                name: name.to_owned(),
                value,
                unit: unit.to_owned(),
                source: "made up".to_owned(),
            });
        };
        add("table_rows", 600.0, "1");
        add("device_writes.vda", 10.0 + f64::from(number), "1");
        add("checkpoints", 0.0, "1");
        add("database_bytes", 4096.0, "bytes");
        add("log_flush_s", 1.0 + f64::from(number), "s");
    }
    let output = text::results(&summarise(&results, &[]));
    let lines: String = output.replace('\n', " ");
    assert!(
        lines.contains("The same in every configuration: ")
            && lines.contains("checkpoints 0, ")
            && lines.contains("table_rows 600, database_bytes 4096 bytes."),
        "{output}"
    );
    let header = output.lines().find(|line| line.contains("log_flush_s")).unwrap();
    assert!(header.find("log_flush_s") < header.find("device_writes.vda"), "{header}");
    assert!(!header.contains("table_rows"), "{header}");
}

#[test]
fn a_single_configuration_leaves_out_only_zeros() {
    let mut results = made_up::study("x", Vec::new(), 1);
    results.add(made_up::run(0, 0, 1.5));
    for (name, value) in [("checkpoints", 0.0), ("table_rows", 600.0)] {
        results.runs[0].run.metrics.push(Metric {
            name: name.to_owned(),
            value,
            unit: "1".to_owned(),
            source: "made up".to_owned(),
        });
    }
    let output = text::results(&summarise(&results, &[]));
    assert!(output.contains("Zero: checkpoints 0."), "{output}");
    assert!(!output.contains("table_rows 600"), "a single configuration still shows its figures: {output}");
}

#[test]
fn facts_that_differ_between_runs_are_all_told() {
    let mut results = made_up::a_a();
    results.runs[4].run.environment.engine = serde_json::json!({"version": "3.51.0"});
    results.runs[2].run.warnings.clear();
    let output = text::record(&summarise(&results, &[]));
    assert!(output.contains("version: 3.50.4 | 3.51.0 (differs between runs)"), "{output}");
    assert!(output.contains("(9 of 10 runs)"), "{output}");
}

#[test]
fn every_role_has_its_device_scheduler_and_mount_options() {
    let mut results = made_up::a_a();
    let output = text::record(&summarise(&results, &[]));
    let role = |name: &str| output.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    for line in [role("data 1"), role("log")] {
        let words: Vec<&str> = line.split("  ").map(str::trim).filter(|word| !word.is_empty()).collect();
        assert_eq!(words[1..], ["/dev/vda", "none", "ext4", "rw, noatime", "/data/fathom"]);
    }
    for stored in &mut results.runs {
        stored.run.environment.layout = serde_json::json!({"somewhere": {"else": 1}});
    }
    assert!(text::record(&summarise(&results, &[])).contains("somewhere.else: 1"));
}

#[test]
fn a_number_stands_under_its_own_header() {
    let mut results = made_up::study("x", Vec::new(), 1);
    results.add(made_up::run(0, 0, 1.5));
    results.runs[0].run_id = 77;
    results.runs[0].run.clients[0].errors = 3;
    let table = markdown::study(&summarise(&results, &[]));
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let start = table.find("| run | block |").unwrap();
    let mut lines = table[start..].lines();
    let (header, _, row) = (cells(lines.next().unwrap()), lines.next(), cells(lines.next().unwrap()));
    let under = |name: &str| row[header.iter().position(|cell| cell == name).unwrap()].as_str();
    assert_eq!((under("run"), under("block"), under("rows"), under("errors")), ("77", "1", "2000", "3"));
    assert_eq!((under("elapsed s"), under("first client s"), under("state")), ("1.500", "1.470", "valid"));
}

#[test]
fn a_study_without_runs_has_tables_and_no_numbers() {
    let empty = made_up::study("populate-batch", vec![made_up::factor("batch_size", [1_i64, 10])], 3);
    let output = text::study(&summarise(&empty, &[]));
    assert!(output.contains("Runs: 0 of 6 planned runs count"), "{output}");
    assert!(output.contains("No run counts"), "{output}");
    let mut running = empty;
    let mut run = made_up::run(0, 0, 1.0);
    run.state = RunState::Running;
    run.clients.clear();
    running.add(run);
    assert!(text::study(&summarise(&running, &[])).contains("1 running"));
}

#[test]
fn a_plan_is_no_quantity_runs_are_equal_in_it_or_not() {
    let with_plans = |hash: fn(u32, u32) -> f64| {
        let mut results = made_up::study("plans", vec![made_up::factor("batch_size", [1_i64, 10])], 2);
        made_up::fill(&mut results, &[4.0, 1.0]);
        for stored in &mut results.runs {
            let key = stored.run.key;
            stored.run.metrics.push(results::model::Metric {
                name: "plan_hash".to_owned(),
                value: hash(key.cell_index, key.block_index),
                unit: "1".to_owned(),
                source: "SHA-256".to_owned(),
            });
        }
        results
    };
    let words = |results: &results::store::StudyResults| {
        let summary = summarise(results, &[]);
        assert!(summary.metrics.iter().all(|metric| metric.name != "plan_hash"), "nothing is averaged");
        summary.identities[0].words()
    };
    assert_eq!(words(&with_plans(|_, _| 255.0)), "plan_hash equal in all runs (0000000000ff)");
    assert_eq!(
        words(&with_plans(|cell, _| f64::from(cell))),
        "plan_hash equal within each configuration, differs between configurations (2 values)"
    );
    assert_eq!(
        words(&with_plans(|cell, block| f64::from(cell * block))),
        "plan_hash differs between runs of the same configuration (1 of 2)"
    );
    let results = with_plans(|_, _| 255.0);
    let text = report::text::study(&summarise(&results, &[]));
    assert!(text.contains("plan_hash equal in all runs (0000000000ff)."), "{text}");
    assert!(!report::export::go_benchmark(&results).contains("plan_hash"));
}

/// What the values hold for stands before the first of them, in every form.
#[test]
fn environment_and_cautions_come_before_the_values() {
    let results = made_up::batch();
    let summary = summarise(&results, &[]);
    let caution = "data and log are on the same device (vda)";
    let page = report::html::page(&report::html::Page {
        summary: &summary,
        results: &results,
        runs: &results.runs,
        baselines: &[],
        structures: &[],
        is_live: false,
    });
    for (form, output, value) in [
        ("text", report::text::study(&summary), "mean elapsed time"),
        ("end of a run", report::text::brief(&summary), "95 % interval"),
        ("markdown", report::markdown::study(&summary), "mean elapsed time"),
        // On a page they are in the box of the answer, before every chart and table.
        ("page", page, "<section id=\"factors\">"),
    ] {
        let words = output.replace("\n  ", " ");
        let at = |text: &str| words.find(text).unwrap_or_else(|| panic!("{form}: no {text} in {words}"));
        assert!(at("engine: SQLite 3.50.4") < at(value), "{form}");
        assert!(at(caution) < at(value), "{form}");
        assert!(at("/dev/vda, ext4") < at(value), "{form}");
    }
}
