//! Exports read back as the numbers that were stored.

use insta::assert_snapshot;
use proptest::prelude::*;
use report::export;
use results::model::Level;

use crate::made_up::{self, Adding, factor, summarise};

/// Columns of a CSV text by name.
fn column(csv: &str, name: &str) -> Vec<String> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let index = reader.headers().unwrap().iter().position(|header| header == name).unwrap();
    reader.records().map(|record| record.unwrap()[index].to_owned()).collect()
}

#[test]
fn every_column_and_figure_has_a_definition() {
    let definitions = include_str!("../../../../docs/lab/metrics.md");
    let mut results = made_up::study("all", Vec::new(), 1);
    let mut run = made_up::run(0, 0, 1.0);
    run.metrics.clear();
    results.add(run);
    let mut own = crate::own::one_script();
    own.runs[0].run.metrics.clear();
    let frames = [
        export::runs(&results),
        export::clients(&results.runs),
        export::runs(&own),
        export::scripts(&own, &own.runs),
    ];
    let columns = frames.iter().flat_map(|frame| &frame.columns).map(|column| column.name.as_str());
    let figures =
        ["n", "mean", "median", "min", "max", "sd", "interval", "time_reduction_percent", "speed_up"];
    let decisions = ["p_adjusted", "verdict", "improvement_factor", "best_per_level"];
    for name in columns.chain(figures).chain(decisions) {
        assert!(definitions.contains(&format!("`{name}`")), "docs/lab/metrics.md does not define {name}");
    }
}

#[test]
fn runs_as_csv() {
    assert_snapshot!(export::runs_csv(&made_up::batch()));
}

#[test]
fn clients_as_csv() {
    let mut results = made_up::batch();
    results.runs[3].run.clients[0].service_time = made_up::latencies(1..=100);
    assert_snapshot!(export::clients_csv(&results.runs[2..5]));
}

#[test]
fn go_benchmark_text_has_the_counting_runs_only() {
    let results = made_up::batch();
    let text = export::go_benchmark(&results);
    assert_eq!(text.lines().filter(|line| line.starts_with("Benchmark")).count(), 15);
    assert_snapshot!(text);
}

#[test]
fn a_factor_named_like_a_column_gets_a_name_of_its_own() {
    let mut results = made_up::study("clash", vec![factor("rows", [5_i64]), factor("label", ["a"])], 1);
    results.add(made_up::run(0, 0, 1.0));
    results.runs[0].run.metrics[0].name = "elapsed_s".to_owned();
    let csv = export::runs_csv(&results);
    assert_eq!(column(&csv, "rows"), ["2000"]);
    assert_eq!(column(&csv, "level_rows"), ["5"]);
    assert_eq!(column(&csv, "label"), ["a"]);
    assert_eq!(column(&csv, "metric_elapsed_s"), ["8392704"]);
}

#[test]
fn every_run_is_a_json_object_with_its_clients() {
    let results = made_up::batch();
    let lines = export::json_lines(&results, &results.runs);
    let objects: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(objects.len(), 17);
    assert_eq!(objects[3]["run"]["state"], "invalid");
    assert_eq!(objects[3]["counts"], false);
    assert_eq!(objects[3]["run"]["clients"][1]["rows"], 417);
    assert_eq!(objects[3]["superseded_by"], 16);
    assert_eq!(objects[0]["levels"]["batch_size"], 1);
}

#[test]
fn the_summary_as_json_has_the_numbers_of_the_tables() {
    let summary = summarise(&made_up::batch(), &[]);
    let object: serde_json::Value = serde_json::from_str(&export::summary_json(&summary)).unwrap();
    assert_eq!(object["summary_version"], 1);
    assert_eq!(object["quantity"], "elapsed_s");
    assert_eq!(object["cells"][1]["levels"]["batch_size"], 10);
    assert_eq!(object["cells"][1]["estimate"]["n"], 5);
    assert_eq!(
        object["cells"][1]["estimate"]["mean"].as_f64(),
        summary.cells[1].estimate.map(|one| one.mean)
    );
    assert_eq!(object["cells"][2]["comparison"]["verdict"], "better");
    assert_eq!(object["invalid_runs"][0]["clients"][0], 1);
    assert_eq!(object["verdict"][0].as_str(), summary.verdict.first().map(String::as_str));
    assert_eq!(object["record"]["seed"], "18446744073709551615");
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_files_begin_and_end_as_such() {
    let results = made_up::batch();
    for bytes in [export::runs_parquet(&results).unwrap(), export::clients_parquet(&results.runs).unwrap()] {
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    }
}

proptest! {
    #[test]
    fn csv_reads_back_as_the_same_numbers(
        elapsed_ns in proptest::collection::vec(1_u64..1 << 62, 1..8),
        value in proptest::num::f64::NORMAL | proptest::num::f64::ZERO,
        level in proptest::num::f64::NORMAL,
    ) {
        let mut results = made_up::study("random", vec![factor("rate", [1_i64])], 1);
        results.cells[0].levels[0].1 = Level::Float(level);
        for &elapsed_ns in &elapsed_ns {
            let mut run = made_up::run(0, 0, 1.0);
            run.elapsed_ns = elapsed_ns;
            run.metrics[0].value = value;
            results.add(run);
        }
        let csv = export::runs_csv(&results);
        let numbers = |name: &str| -> Vec<f64> {
            column(&csv, name).iter().map(|text| text.parse().unwrap()).collect()
        };
        let nanoseconds: Vec<u64> = column(&csv, "elapsed_ns").iter().map(|text| text.parse().unwrap()).collect();
        prop_assert_eq!(&nanoseconds, &elapsed_ns);
        let seconds: Vec<f64> = elapsed_ns.iter().map(|&elapsed_ns| elapsed_ns as f64 / 1e9).collect();
        prop_assert_eq!(numbers("elapsed_s"), seconds);
        prop_assert_eq!(numbers("log_bytes"), vec![value; elapsed_ns.len()]);
        prop_assert_eq!(numbers("rate"), vec![level; elapsed_ns.len()]);
        prop_assert_eq!(numbers("rows"), vec![2000.0; elapsed_ns.len()]);
    }
}
