//! Workloads of the user's own: transactions in place of rows, scripts and statements in every output, own names.

use insta::{assert_json_snapshot, assert_snapshot};
use report::comparison::{Options, Side, compare};
use report::history::history;
use report::html::{Page, page};
use report::{export, markdown, text};
use results::histogram::LatencyHistogram;
use results::measure::Measure;
use results::model::{Design, Factor, Level, Metric, Run};
use results::observations::WaitProfile;
use results::scripts::{CellScripts, FailureCount, FailureKind, ScriptRecord, StatementRecord};
use results::store::{CellLatency, StudyResults};

use crate::made_up::{self, Adding, factor, summarise};

const REPETITIONS: u32 = 5;

fn times(count: u64, typical_us: u64) -> LatencyHistogram {
    let mut histogram = LatencyHistogram::new();
    (1..=count).for_each(|step| histogram.record(typical_us * 1_000 * (50 + step % 100) / 100));
    histogram
}

fn failures(kinds: &[(FailureKind, u64)]) -> Vec<FailureCount> {
    kinds.iter().map(|&(kind, count)| FailureCount { kind, count }).collect()
}

fn statement(line: u32, text: &str, latency: LatencyHistogram) -> StatementRecord {
    StatementRecord {
        line,
        text: text.to_owned(),
        executions: latency.count(),
        failures: Vec::new(),
        first_failure: None,
        latency,
    }
}

/// An order and a look-up: with `key` the insertion into the index takes `insert_us`.
pub(crate) fn scripts(key: &str, insert_us: u64) -> Vec<ScriptRecord> {
    let insert = format!("INSERT INTO orders (id, customer)\n  VALUES (gen_{key}(), :customer)");
    let mut insert = statement(4, &insert, times(910, insert_us));
    insert.failures = failures(&[(FailureKind::Serialization, 12), (FailureKind::Constraint, 1)]);
    insert.first_failure = Some(
        "new-order.sql:4: ERROR 23505: duplicate key value violates unique constraint \"orders_pkey\""
            .to_owned(),
    );
    let order = ScriptRecord {
        file: "new-order.sql".to_owned(),
        weight: 9,
        transactions: 897,
        failures: failures(&[(FailureKind::Serialization, 2), (FailureKind::Constraint, 1)]),
        retried: 9,
        retries: 10,
        latency: times(897, insert_us + 350),
        statements: vec![statement(3, "BEGIN", times(910, 40)), insert, statement(6, "END", times(897, 210))],
    };
    let read = "SELECT * FROM orders WHERE customer = :customer ORDER BY created DESC LIMIT 10";
    let read = ScriptRecord {
        file: "read-order.sql".to_owned(),
        weight: 1,
        transactions: 100,
        failures: Vec::new(),
        retried: 0,
        retries: 0,
        latency: times(100, 120),
        statements: vec![statement(2, read, times(100, 110)), statement(5, "SELECT 1", times(0, 0))],
    };
    vec![order, read]
}

fn of_own(name: &str, factors: Vec<Factor>, metric: Option<&str>) -> StudyResults {
    let mut results = made_up::study(name, factors, REPETITIONS);
    results.study.fixed.push(("workload".to_owned(), Level::Text("own".to_owned())));
    results.study.fixed.push(("duration".to_owned(), Level::Text("10s".to_owned())));
    results.study.design = Design { metric: metric.map(str::to_owned), ..Design::default() };
    results
}

/// A run of ten seconds that did so much of the usual work.
fn run(block_index: u32, cell_index: u32, share: f64, scripts: Vec<ScriptRecord>) -> Run {
    let mut run = made_up::run(block_index, cell_index, 10.0);
    for client in &mut run.clients {
        client.transactions = (1000.0 * share) as u64;
        client.rows = client.transactions;
    }
    run.scripts = scripts;
    run.metrics.push(Metric::new("orders_bytes", 4e6 / share, "bytes", "after.sql"));
    for (name, value) in [
        ("within_limit_percent", 99.0 * share),
        ("failed_transactions_percent", 0.3 * f64::from(cell_index)),
        ("retried_transactions_percent", 0.9),
    ] {
        run.metrics.push(Metric::new(name, value, "%", "counted by the clients"));
    }
    run
}

pub(crate) fn sum_scripts(results: &mut StudyResults) {
    for cell in &results.cells {
        let latency_ms = 3 + 5 * u64::from(cell.index);
        results.latencies.push(CellLatency {
            cell_index: cell.index,
            service_time: made_up::latencies((1..=1000).map(|step| 1 + step % latency_ms)),
            response_time: None,
        });
        let mut sum = CellScripts::new(cell.index);
        for stored in results.runs.iter().filter(|stored| stored.run.key.cell_index == cell.index) {
            sum.add(stored.run.elapsed_ns, stored.run.scripts.clone());
        }
        results.scripts.push(sum);
    }
}

fn filled(name: &str, metric: Option<&str>) -> StudyResults {
    let keys = ["bigint", "uuidv4"];
    let mut results = of_own(name, vec![factor("key", keys)], metric);
    for block in 0..REPETITIONS {
        let spread = 1.0 - 0.01 * f64::from(block % 3);
        results.add(run(block, 0, spread, scripts(keys[0], 300)));
        results.add(run(block, 1, 0.7 * spread, scripts(keys[1], 900)));
    }
    sum_scripts(&mut results);
    results
}

/// Two types of keys; the one with the slower insertions does less.
fn two_keys() -> StudyResults {
    filled("key-choice", None)
}

/// One script in one configuration, as `fathom run my.sql` makes it.
pub(crate) fn one_script() -> StudyResults {
    let mut results = of_own("my", Vec::new(), None);
    results.study.repetitions = 1;
    let mut all = scripts("random_uuid", 300);
    all.truncate(1);
    results.add(run(0, 0, 1.0, all));
    sum_scripts(&mut results);
    results
}

fn html(results: &StudyResults) -> String {
    let summary = summarise(results, &[]);
    page(&Page {
        summary: &summary,
        results,
        runs: &results.runs,
        baselines: &[],
        structures: &[],
        is_live: false,
    })
}

#[test]
fn scripts_and_statements_of_two_configurations() {
    assert_snapshot!(text::study(&summarise(&two_keys(), &[])));
}

#[test]
fn the_end_of_a_run_of_one_script() {
    assert_snapshot!(text::brief(&summarise(&one_script(), &[])));
}

#[test]
fn scripts_in_markdown() {
    let markdown = markdown::study(&summarise(&two_keys(), &[]));
    let from = markdown.find("## Scripts").unwrap();
    let to = markdown[from..].find("\n## Verdict").map_or(markdown.len(), |end| from + end);
    let sections: Vec<&str> = markdown[from..to].split("\n## ").take(4).collect();
    assert_snapshot!(sections.join("\n## "));
}

#[test]
fn scripts_in_json() {
    let summary: serde_json::Value =
        serde_json::from_str(&export::summary_json(&summarise(&two_keys(), &[]))).unwrap();
    assert_json_snapshot!(summary["scripts"][1]["scripts"][0]);
}

#[test]
fn scripts_as_csv() {
    let results = two_keys();
    assert_snapshot!(export::scripts_csv(&results, &results.runs[..1]));
    let header = export::runs_csv(&results).lines().next().unwrap().to_owned();
    assert!(
        header.contains(",rows,transactions,") && header.contains("failed_transactions_percent"),
        "{header}"
    );
    let lines = export::json_lines(&results, &results.runs);
    let first: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(first["run"]["scripts"][0]["statements"][1]["failures"][0]["kind"], "serialization");
    assert_eq!(first["script_latencies"][0]["statements"][1]["count"], 910);
    assert_eq!(first["script_latencies"][1]["statements"][1], serde_json::Value::Null);
}

#[test]
fn a_table_of_scripts_is_readable_in_80_columns() {
    let text = text::Form::of_width(80).study(&summarise(&two_keys(), &[]));
    let long: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(long.is_empty(), "{long:#?}");
    assert_snapshot!(text[text.find("Scripts,").unwrap()..].split("\nReasons").next().unwrap().to_owned());
}

#[test]
fn the_work_of_own_workloads_is_transactions_in_every_output() {
    for results in [two_keys(), one_script()] {
        let summary = summarise(&results, &[]);
        let outputs = [
            text::study(&summary),
            text::brief(&summary),
            markdown::study(&summary),
            text::run_detail(&results.runs[0], "study 1"),
        ];
        for output in &outputs {
            assert!(output.contains("transactions"), "{output}");
            let of_rows: Vec<&str> = output
                .lines()
                .filter(|line| line.contains("row") && !line.contains("workload=own"))
                .collect();
            assert!(of_rows.is_empty(), "{of_rows:#?}");
        }
        let html = html(&results);
        assert!(html.contains("<section id=\"scripts\">"));
        assert!(!html.contains("rows per second") && !html.contains("Rows per second"));
    }
    let answer = report::outcome::Answer::of(&summarise(&two_keys(), &[]));
    assert_snapshot!([answer.headline, answer.certainty, answer.values].join("\n"));
}

#[test]
fn any_metric_of_a_run_can_be_what_a_study_compares() {
    for (metric, is_smaller_better) in [
        ("orders_bytes", true),
        ("orders_bytes", false),
        ("within_limit_percent", false),
        ("failed_transactions_percent", true),
    ] {
        let mut results = filled("key-choice", Some(metric));
        results.study.design.is_smaller_better = Some(is_smaller_better);
        let summary = summarise(&results, &[]);
        let shown = text::study(&summary);
        assert!(shown.contains(metric) && !shown.contains("NaN") && !shown.contains("inf"), "{shown}");
        let verdict = summary.comparisons[0].comparison.map(|comparison| comparison.verdict);
        if metric == "orders_bytes" {
            // The second key is larger on disk.
            let expected = if is_smaller_better { "Worse" } else { "Better" };
            assert_eq!(format!("{:?}", verdict.unwrap()), expected, "{shown}");
        }
        let html = html(&results);
        assert!(!html.split("<script").next().unwrap().contains("NaN"), "{metric}");
    }
}

#[test]
fn a_metric_of_the_user_may_be_zero_or_below_and_is_shown_without_a_ratio() {
    let mut results = filled("key-choice", Some("balance"));
    results.study.design.is_smaller_better = Some(false);
    results.study.design.secondary = vec!["drift_s".to_owned()];
    for (place, run) in results.runs.iter_mut().map(|stored| &mut stored.run).enumerate() {
        run.metrics.push(Metric::new("balance", place as f64 - 20.0, "1", "after.sql"));
        run.metrics.push(Metric::new("drift_s", -0.5 - place as f64, "s", "after.sql"));
    }
    let summary = summarise(&results, &[]);
    let interval = summary.cells[0].estimate.unwrap().interval.unwrap();
    assert!(interval.low < interval.high && interval.high < 0.0, "{interval:?}");
    let shown = text::study(&summary);
    assert!(shown.contains("of which no ratio exists") && !shown.contains("NaN"), "{shown}");
    assert!(!html(&results).split("<script").next().unwrap().contains("NaN"));
}

#[test]
fn a_metric_improves_as_its_study_says() {
    let mut study = two_keys().study;
    study.design.metric = Some("fill_factor".to_owned());
    study.design.is_smaller_better = Some(false);
    assert!(!Measure::in_study("fill_factor", &study).is_smaller_better);
    assert!(Measure::in_study("orders_bytes", &study).is_smaller_better);
    assert_eq!(Measure::of_study(&two_keys().study).name, "transactions_per_s");
}

#[test]
fn own_factors_keep_their_names_whatever_other_workloads_call_so() {
    let factors = vec![factor("rows", ["few", "many"]), factor("batch_size", ["better", "worse"])];
    let mut results = of_own("names", factors, None);
    for block in 0..REPETITIONS {
        for cell in 0..4 {
            let all = scripts("random_uuid", 300 + u64::from(cell));
            results.add(run(block, cell, 1.0 - 0.1 * f64::from(cell), all));
        }
    }
    sum_scripts(&mut results);
    let html = html(&results);
    assert!(html.contains("<th class=\"r\">rows</th>"), "not the definition of the column rows");
    assert!(html.contains("<td class=\"r\">worse</td>"), "a level is no verdict");
    assert!(text::study(&summarise(&results, &[])).contains("rows=many batch_size=worse"));
}

#[test]
fn two_studies_of_own_workloads_are_compared_by_rate_and_say_which_sql_changed() {
    let script = |text: &str| {
        format!("[[workload.scripts]]\nweight = 9\nfile = \"new-order.sql\"\nsql = \"{text}\"\n")
    };
    let side = |study_id: i64, text: &str, own: i64, share: f64| {
        let mut results = two_keys();
        results.study.spec_toml = script(text);
        // Named by the user, whatever amount of work a parameter of other workloads is.
        results.study.fixed.push(("table_rows".to_owned(), Level::Integer(own)));
        for client in results.runs.iter_mut().flat_map(|stored| &mut stored.run.clients) {
            client.transactions = (client.transactions as f64 * share) as u64;
        }
        Side { name: study_id.to_string(), study_id, results }
    };
    let options = Options { threshold_percent: 5.0, measure: None };
    let (one, two) = (side(1, "SELECT 1", 10, 1.0), side(2, "SELECT 2", 20, 0.8));
    let summary = compare(&one, &two, &options);
    assert_eq!(
        (summary.measure.name.as_str(), summary.other_work.as_slice()),
        ("transactions_per_s", &[][..])
    );
    assert_eq!(summary.regression_count(), 2, "{:?}", summary.sentences);
    let shown = text::comparison(&summary);
    for words in ["script new-order.sql", "SELECT 1", "SELECT 2", "table_rows", "transactions_per_s"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(!shown.contains("per row") && !shown.contains("rows/s"), "{shown}");
    let history = history(&[one, two], &Measure::named("orders_bytes"));
    assert!(text::history(&history).contains("orders_bytes"));
}

#[test]
fn a_headline_of_several_factors_names_all_levels_of_both_sides() {
    let factors = vec![factor("key", ["uuidv4", "bigint"]), factor("fillfactor", [70_i64, 100])];
    let mut results = of_own("sizes", factors, Some("orders_bytes"));
    for block in 0..REPETITIONS {
        for cell in 0..4 {
            let share = 1.0 + 0.2 * f64::from(cell) + 0.01 * f64::from(block);
            results.add(run(block, cell, share, scripts("key", 300)));
        }
    }
    sum_scripts(&mut results);
    let headline = report::outcome::Answer::of(&summarise(&results, &[])).headline;
    assert!(
        headline.starts_with(
            "key=bigint fillfactor=100 has 37.0 % lower orders bytes than key=uuidv4 fillfactor=70"
        ),
        "{headline}"
    );
}

#[test]
fn a_factor_of_one_level_makes_no_matrix_and_no_best_level() {
    let factors = vec![factor("key", ["bigint", "uuidv4"]), factor("indexes", [3_i64])];
    let mut results = of_own("one-level", factors, None);
    for block in 0..REPETITIONS {
        (0..2).for_each(|cell| {
            results.add(run(block, cell, 1.0 - 0.3 * f64::from(cell), scripts("key", 300)));
        });
    }
    sum_scripts(&mut results);
    let summary = summarise(&results, &[]);
    assert!(
        summary.means.is_empty()
            && summary.improvement_factors.is_empty()
            && summary.best_per_level.is_empty()
    );
    assert!(text::study(&summary).contains("key=uuidv4 indexes=3"));
}

#[test]
fn transactions_that_were_skipped_and_those_that_failed_are_part_of_the_offered_rate() {
    let mut results = two_keys();
    results.study.fixed.push(("rate".to_owned(), Level::Integer(300)));
    for run in results.runs.iter_mut().map(|stored| &mut stored.run) {
        run.metrics.push(Metric::new("skipped_transactions", 997.0, "1", "counted by the clients"));
        run.clients[0].arrivals_unserved = 997;
        run.observations.waits.push(WaitProfile {
            group: "clients".to_owned(),
            session_count: 2,
            session_s: 20.0,
            on_cpu_s: Some(1.0),
            run_delay_s: None,
            rows: Vec::new(),
        });
    }
    let reasons = summarise(&results, &[]).reasons;
    let sentence = &reasons[0].sentences[0];
    let expected = "298.4 transactions/s offered, 198.4 achieved (66.5 %); 4985 transactions were skipped as later than the \
                    latency limit, or not started by the end";
    assert!(sentence.contains(expected), "{sentence}");
}
