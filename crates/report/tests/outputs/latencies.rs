//! Latencies in every form: percentiles, distributions, the course over time, the end of a run.

use report::html::{Page, page};
use report::text;
use results::histogram::LatencyHistogram;
use results::observations::{Series, SeriesKind};
use results::store::{CellLatency, StudyResults};

use crate::made_up::{self, factor, summarise};

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

/// The latency section alone.
fn section(results: &StudyResults) -> String {
    let html = html(results);
    let from = html.find("<section id=\"latency\">").expect("there is a section");
    html[from..].split("</section>").next().unwrap().to_owned()
}

/// `count` latencies, the last of them slow.
fn histogram(count: u64, slow_ms: u64) -> LatencyHistogram {
    made_up::latencies((1..=count).map(|place| if place == count { slow_ms } else { 2 }))
}

/// An open loop at three rates over two placements.
fn rates(response: bool) -> StudyResults {
    let factors = vec![factor("rate", [400_i64, 100, 200]), factor("placement", ["near", "far"])];
    let mut results = made_up::study("rates", factors, 3);
    made_up::fill(&mut results, &[2.0, 2.0, 8.0, 8.0, 4.0, 4.0]);
    results.latencies = (0..6)
        .map(|cell_index| CellLatency {
            cell_index,
            service_time: histogram(2000, 50),
            response_time: response.then(|| histogram(50, 900)),
        })
        .collect();
    results
}

#[test]
fn percentiles_are_drawn_over_the_factor_and_those_of_too_few_transactions_are_left_out() {
    let section = section(&rates(false));
    assert!(section.contains("service time") && section.contains("from sending to the answer"));
    // One chart per placement: p50, p90, p99, p99.9 and the maximum at each of three rates.
    let marks = |section: &str, words: &str| section.matches(&format!(": {words} ")).count();
    assert_eq!(marks(&section, "p99.9"), 6, "{section}");
    assert!(section.contains("<title>rate=400 placement=near: p50 2"), "{section}");
    assert!(section.contains("max 50"));
    // Of 50 transactions p99 is the largest, which tells nothing of p99.
    let few = self::section(&rates(true));
    assert!(few.contains("from the intended start to the answer"));
    assert_eq!((marks(&few, "p99.9"), marks(&few, "p99")), (0, 0), "{few}");
    assert!(few.contains("max 900"));
}

#[test]
fn distributions_and_latency_at_a_throughput_are_drawn_in_the_order_of_the_rates() {
    let section = section(&rates(false));
    assert_eq!(section.matches("aria-label=\"Transactions no slower [%] over latency [ms]\"").count(), 2);
    let chart = "aria-label=\"Latency at the throughput reached [ms] over transactions/s\"";
    assert_eq!(section.matches(chart).count(), 2);
    let drawn = section.split(chart).nth(1).unwrap();
    let places = ["rate=100: ", "rate=200: ", "rate=400: "].map(|words| drawn.find(words).unwrap());
    assert!(places.is_sorted(), "{places:?}");
    // 2000 rows in 8 s, ten a transaction.
    assert!(drawn.contains("rate=100: 25"), "{drawn}");
}

#[test]
fn latency_over_time_is_drawn_where_two_seconds_of_a_run_have_one() {
    let mut results = rates(false);
    assert!(!section(&results).contains("Latency over time"));
    let series = |name: &str, values: &[Option<f64>]| Series {
        name: name.to_owned(),
        unit: "ms".to_owned(),
        source: "client records".to_owned(),
        kind: SeriesKind::Gauge,
        at_ns: (1..=values.len() as i64).map(|second| second * 1_000_000_000).collect(),
        values: values.to_vec(),
    };
    results.runs[0].run.observations.series = vec![
        series("latency_p50_ms", &[Some(2.0), None, Some(3.0), Some(2.5)]),
        series("latency_p99_ms", &[Some(9.0), None, Some(30.0), Some(8.0)]),
    ];
    let section = section(&results);
    assert!(section.contains("<h3>Latency over time</h3>"));
    let chart = section.split("<h3>Latency over time</h3>").nth(1).unwrap();
    // A second without a transaction cuts both lines.
    assert_eq!(chart.matches("class=\"line l0\"").count(), 2, "{chart}");
    assert_eq!(chart.matches("class=\"line l1\"").count(), 2);
}

#[test]
fn the_end_of_a_run_has_median_p99_and_maximum_of_every_configuration() {
    let brief = |response| text::brief(&summarise(&rates(response), &[]));
    let closed = brief(false);
    assert!(
        closed.contains("Latency per transaction in milliseconds\n=====") && closed.contains("p99"),
        "{closed}"
    );
    let row = closed.lines().find(|line| line.contains("near") && line.contains("50.0")).unwrap();
    let words: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(words[..3], ["400", "near", "2000"]);
    assert!(
        words[3].starts_with("2.0") && words[4].starts_with("2.0") && words[5].starts_with("50.0"),
        "{row}"
    );
    assert!(closed.lines().all(|line| line.chars().count() <= 100));
    assert!(brief(true).contains("Latency per transaction in milliseconds, from the intended start"));
    // A task is a single transaction: its latency is its elapsed time, and has no distribution.
    let mut task = rates(false);
    task.latencies.iter_mut().for_each(|latency| latency.service_time = histogram(6, 50));
    assert!(!text::brief(&summarise(&task, &[])).contains("Latency per transaction"));
    assert!(!html(&task).contains("id=\"latency\""));
    // Without a measured latency there is neither table nor section.
    let without = made_up::matrix();
    assert!(!text::brief(&summarise(&without, &[])).contains("Latency per transaction"));
    assert!(!html(&without).contains("id=\"latency\""));
}
