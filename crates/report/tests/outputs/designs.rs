//! Designs that do not compare everything with one reference: what the words, the tables and the answer say of them.

use report::outcome::Answer;
use report::summary::{StudySummary, Verdict};
use results::model::{Design, Level};
use results::store::StudyResults;

use crate::made_up::{self, factor, summarise};

fn designed(results: &mut StudyResults, metric: Option<&str>, against: &[&str]) {
    results.study.design = Design {
        metric: metric.map(str::to_owned),
        against: against.iter().map(|text| (*text).to_owned()).collect(),
        ..Design::default()
    };
}

/// Elapsed times of the cells, six blocks.
fn study(factors: Vec<results::model::Factor>, means: &[f64], against: &[&str]) -> StudySummary {
    let mut results = made_up::study("night", factors, 6);
    made_up::fill(&mut results, means);
    designed(&mut results, None, against);
    summarise(&results, &[])
}

#[test]
fn the_headline_of_levels_against_the_one_before_says_where_gains_stop() {
    let summary =
        study(vec![factor("batch_size", [1_i64, 10, 100, 1000])], &[8.0, 4.0, 4.01, 4.0], &["previous"]);
    let answer = Answer::of(&summary);
    assert!(
        answer
            .headline
            .starts_with("Gains stop at batch_size=10: batch_size=100 is not shown to be faster (p"),
        "{answer:?}"
    );
    assert!(answer.certainty.contains("3 comparisons decided together"), "{answer:?}");
    let later = study(vec![factor("batch_size", [1_i64, 10, 100])], &[4.0, 4.0, 2.0], &["previous"]);
    let headline = Answer::of(&later).headline;
    assert!(
        headline.starts_with("No gain from batch_size=1 on is shown: batch_size=10 is not"),
        "{headline}"
    );
    assert!(headline.contains("but batch_size=100 is faster than batch_size=10"), "{headline}");
    let all = study(vec![factor("batch_size", [1_i64, 10, 100])], &[8.0, 4.0, 2.0], &["previous"]);
    assert!(Answer::of(&all).headline.starts_with("Gains continue up to batch_size=100"));
    let worse = study(vec![factor("secondary_indexes", [0_i64, 1, 2])], &[2.0, 4.0, 8.0], &["previous"]);
    let headline = Answer::of(&worse).headline;
    assert_eq!(headline, "Each level up to secondary_indexes=2 is slower than the one before.");
}

#[test]
fn each_combination_of_the_other_factors_has_its_own_end() {
    let factors = vec![factor("connections", [1_i64, 8]), factor("batch_size", [1_i64, 10, 100])];
    let summary = study(factors, &[8.0, 4.0, 2.0, 8.0, 4.0, 4.01], &["previous(batch_size)"]);
    let headline = Answer::of(&summary).headline;
    assert!(headline.contains("connections=1") && headline.contains("connections=8"), "{headline}");
    assert!(headline.contains("gains stop at batch_size=10"), "{headline}");
    let equal = vec![factor("connections", [1_i64, 8]), factor("batch_size", [1_i64, 10])];
    let headline = Answer::of(&study(equal, &[8.0, 4.0, 8.0, 4.0], &["previous(batch_size)"])).headline;
    assert!(headline.contains("in all 2 combinations"), "{headline}");
}

#[test]
fn one_level_against_another_is_a_range_of_factors_over_the_others() {
    let factors = vec![factor("workers", [1_i64, 2]), factor("check_level", ["read", "page"])];
    let summary = study(factors, &[2.0, 4.0, 2.0, 3.0], &["pairs(check_level: read, page)"]);
    let answer = Answer::of(&summary);
    assert!(
        answer.headline.starts_with("check_level=page is 0.5")
            && answer.headline.contains("times as fast as check_level=read"),
        "{answer:?}"
    );
    assert!(answer.headline.contains("shown in 2 of 2 comparisons"), "{answer:?}");
    assert!(
        summary
            .cells
            .iter()
            .all(|cell| cell.is_reference || cell.comparison.is_none() || cell.cell_index == 1)
    );
}

#[test]
fn the_best_of_each_level_is_named_with_its_level() {
    let factors = vec![factor("connections", [1_i64, 8]), factor("batch_size", [1_i64, 10])];
    let summary = study(factors, &[8.0, 4.0, 2.0, 2.0], &["each-level-of(connections)"]);
    let headline = Answer::of(&summary).headline;
    assert!(headline.contains("At connections=1 batch_size=10 is 2.0"), "{headline}");
    assert!(
        headline.contains("at connections=8 nothing is shown to be faster than batch_size=1"),
        "{headline}"
    );
}

#[test]
fn a_metric_that_is_no_speed_is_higher_or_lower() {
    let mut results = made_up::study("log", vec![factor("secondary_indexes", [0_i64, 4])], 6);
    made_up::fill(&mut results, &[1.0, 1.0]);
    for stored in &mut results.runs {
        let value = if stored.run.key.cell_index == 0 { 1000.0 } else { 1400.0 }
            + f64::from(stored.run.key.block_index);
        stored.run.metrics = vec![results::model::Metric {
            name: "log_size_bytes".to_owned(),
            value,
            unit: "bytes".to_owned(),
            source: "test".to_owned(),
        }];
    }
    designed(&mut results, Some("log_size_bytes"), &[]);
    let summary = summarise(&results, &[]);
    assert_eq!(summary.comparisons[0].comparison.unwrap().verdict, Verdict::Worse);
    let words = summary.verdict.join(" ");
    assert!(!words.contains("times as fast") && !words.contains("less time"), "{words}");
    designed(&mut results, Some("log_size_bytes"), &["previous"]);
    let summary = summarise(&results, &[]);
    let text = report::text::study(&summary);
    assert!(text.contains("Comparisons of the experiment") && text.contains("1.40"), "{text}");
    assert!(!text.contains("times as fast"), "{text}");
}

#[test]
fn a_gain_that_is_paid_with_durability_is_never_reported_without_saying_so() {
    let factors = || vec![factor("durability", ["full", "relaxed", "none"])];
    for against in [&["previous"][..], &[], &["pairs(durability: none, full)"]] {
        let answer = Answer::of(&study(factors(), &[8.0, 4.0, 2.0], against));
        assert!(answer.headline.contains("less safe"), "{answer:?}");
        assert!(answer.headline.contains("may"), "{answer:?}");
    }
    let equal = Answer::of(&study(factors(), &[4.0, 4.0, 4.0], &[]));
    assert!(!equal.headline.contains("less safe"), "{equal:?}");
    let other = Answer::of(&study(vec![factor("batch_size", [1_i64, 10])], &[8.0, 4.0], &[]));
    assert!(!other.headline.contains("less safe"), "{other:?}");
}

#[test]
fn a_value_of_zero_is_not_compared_and_spoils_no_other_comparison() {
    let mut results = made_up::study("zero", vec![factor("batch_size", [1_i64, 10, 100])], 6);
    made_up::fill(&mut results, &[8.0, 4.0, 2.0]);
    for stored in results.runs.iter_mut().filter(|stored| stored.run.key.cell_index == 2) {
        stored.run.elapsed_ns = 0;
    }
    designed(&mut results, None, &["previous"]);
    let summary = summarise(&results, &[]);
    assert_eq!(summary.comparisons[0].comparison.unwrap().verdict, Verdict::Better);
    assert!(summary.comparisons[1].comparison.is_none());
    assert!(summary.comparisons[1].why_not.as_deref().unwrap().contains("no ratio exists"));
    assert!(summary.verdict.join(" ").contains("Not compared: 1 of 2 pairs"), "{:?}", summary.verdict);
}

#[test]
fn contrasts_of_another_version_are_passed_over() {
    let summary =
        study(vec![factor("batch_size", [1_i64, 10])], &[8.0, 4.0], &["against-the-moon(batch_size)"]);
    assert_eq!(summary.comparisons.len(), 1);
    assert_eq!(summary.comparisons[0].asked, "reference");
    assert_eq!(summary.comparisons[0].of_candidate.0, [("batch_size".to_owned(), Level::Integer(10))]);
}

#[test]
fn secondary_metrics_stand_beside_the_compared_one_without_a_verdict() {
    let mut results = made_up::study("two", vec![factor("batch_size", [1_i64, 10])], 6);
    made_up::fill(&mut results, &[8.0, 4.0]);
    for stored in &mut results.runs {
        let of_cell = [("log_bytes", 8000.0), ("log_bytes", 4000.0)][stored.run.key.cell_index as usize];
        stored.run.metrics = vec![results::model::Metric {
            name: of_cell.0.to_owned(),
            value: of_cell.1,
            unit: "bytes".to_owned(),
            source: "test".to_owned(),
        }];
    }
    results.study.design.secondary = vec!["log_bytes_per_row".to_owned(), "checkpoints".to_owned()];
    let summary = summarise(&results, &[]);
    let names: Vec<&str> = summary.secondary.iter().map(|metric| metric.measure.name.as_str()).collect();
    // What no run measured has no column.
    assert_eq!(names, ["log_bytes_per_row"]);
    let text = report::text::study(&summary);
    assert!(text.contains("Secondary metrics") && text.contains("log_bytes_per_row"), "{text}");
    assert!(text.contains("[bytes/row]"), "{text}");
}

#[test]
fn a_best_case_that_is_less_safe_says_so() {
    let factors = vec![factor("batch_size", [1_i64, 10]), factor("durability", ["full", "relaxed"])];
    let text = report::text::study(&study(factors, &[8.0, 4.0, 4.0, 2.0], &["previous(batch_size)"]));
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("Less safe than others: durability=relaxed: a crash may lose"), "{text}");
}

/// Values of a metric that is no speed, by level.
fn bytes(means: &[f64]) -> String {
    let levels: Vec<i64> = (0..).take(means.len()).collect();
    let mut results = made_up::study("sizes", vec![factor("connections", levels)], 6);
    made_up::fill(&mut results, &vec![1.0; means.len()]);
    for stored in &mut results.runs {
        let mean = means[stored.run.key.cell_index as usize];
        stored.run.metrics = vec![results::model::Metric {
            name: "log_size_bytes".to_owned(),
            value: mean
                * (1.0
                    + 0.01 * f64::from((stored.run.key.block_index * 7 + stored.run.key.cell_index * 3) % 5)),
            unit: "bytes".to_owned(),
            source: "test".to_owned(),
        }];
    }
    designed(&mut results, Some("log_size_bytes"), &["previous"]);
    Answer::of(&summarise(&results, &[])).headline
}

#[test]
fn levels_of_what_is_no_speed_are_told_by_where_they_differ() {
    let headline = bytes(&[1000.0, 1000.0, 2000.0]);
    assert!(
        headline.starts_with(
            "Log size bytes is not shown to differ up to connections=1; at connections=2 it is higher"
        ),
        "{headline}"
    );
    let headline = bytes(&[1000.0, 2000.0, 2000.0]);
    assert!(
        headline.starts_with("Log size bytes changes with the level: at connections=1 it is higher"),
        "{headline}"
    );
    assert_eq!(bytes(&[1000.0; 3]), "No difference in log size bytes is shown from any level to the next.");
    assert_eq!(
        bytes(&[1000.0, 2000.0, 4000.0]),
        "Log size bytes is higher at each level up to connections=2 than at the one before."
    );
    assert_eq!(
        bytes(&[4000.0, 2000.0, 1000.0]),
        "Log size bytes is lower at each level up to connections=2 than at the one before."
    );
}

#[test]
fn the_first_section_of_a_page_has_the_values_and_what_became_of_the_expected() {
    let mut results = made_up::study("p99", vec![factor("rate", [100_i64, 400])], 6);
    made_up::fill(&mut results, &[0.004, 0.025]);
    let outcome = report::summary::ExpectationOutcome {
        claim: "below 10 ms at every rate".to_owned(),
        state: report::summary::ExpectationState::NotHeld,
        detail: "25 ms at rate=400".to_owned(),
    };
    let summary = summarise(&results, &[outcome]);
    let page = report::html::page(&report::html::Page {
        summary: &summary,
        results: &results,
        runs: &results.runs,
        baselines: &[],
        structures: &[],
        is_live: false,
    });
    let answer = page.split("<section id=\"factors\">").next().unwrap();
    assert!(answer.contains("Mean elapsed time: rate=100 0.004"), "{answer}");
    assert!(answer.contains("below 10 ms at every rate&quot;: did not hold (25 ms at rate=400)"), "{answer}");
}
