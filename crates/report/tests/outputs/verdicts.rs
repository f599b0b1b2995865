//! What the words say, and that they say no more than the numbers.

use insta::assert_snapshot;
use report::summary::Verdict;
use results::model::RunState;
use results::store::StudyResults;

use crate::made_up::{self, factor, summarise};

fn verdict(results: &StudyResults) -> String {
    summarise(results, &[]).verdict.join("\n")
}

#[test]
fn the_best_configuration_is_named_with_gain_certainty_and_what_was_not_shown() {
    assert_snapshot!(verdict(&made_up::batch()));
}

#[test]
fn an_a_a_pair_has_no_winner() {
    let results = made_up::a_a();
    assert_eq!(summarise(&results, &[]).cells[1].comparison.unwrap().verdict, Verdict::NoDifferenceShown);
    let words = verdict(&results);
    assert!(words.contains("No difference shown (n=5)") && words.contains("there is no winner"));
    assert_snapshot!(words);
}

#[test]
fn too_few_runs_say_how_many_would_do() {
    let mut results = made_up::study("few", vec![factor("batch_size", [1_i64, 10])], 2);
    made_up::fill(&mut results, &[4.0, 1.0]);
    assert_snapshot!(verdict(&results));
}

#[test]
fn a_reference_that_nothing_beats_is_said_to_be_so() {
    let mut results = made_up::study("worse", vec![factor("secondary_indexes", [0_i64, 1, 4])], 5);
    made_up::fill(&mut results, &[1.0, 1.001, 3.0]);
    assert_snapshot!(verdict(&results));
}

#[test]
fn rates_are_better_when_larger() {
    let summary = summarise(&made_up::rates(), &[]);
    let cell = &summary.cells[1];
    assert_eq!(cell.comparison.unwrap().verdict, Verdict::Better);
    let change = cell.vs_reference.unwrap();
    // 2.0 times the rate is half the time per row.
    assert!((change.speed_up - 2.01).abs() < 0.02, "{change:?}");
    assert!((change.time_reduction_percent - 50.2).abs() < 0.5, "{change:?}");
    assert_snapshot!(summary.verdict.join("\n"));
}

#[test]
fn one_configuration_is_described_and_not_compared() {
    let mut results = made_up::study("repeat-ten", Vec::new(), 10);
    made_up::fill(&mut results, &[1.0]);
    assert_snapshot!(verdict(&results));
}

#[test]
fn nothing_is_concluded_from_invalid_runs() {
    let mut results = made_up::a_a();
    results.runs.iter_mut().for_each(|stored| stored.run.state = RunState::Invalid);
    assert_snapshot!(verdict(&results));
}

#[test]
fn missing_runs_are_said_to_be_missing() {
    let mut results = made_up::a_a();
    results.runs.truncate(9);
    assert!(verdict(&results).contains("9 of 10 planned runs count"));
}

#[test]
fn two_factors_are_compared_with_the_first_level_of_both() {
    assert_snapshot!(verdict(&made_up::matrix()));
}

#[test]
fn the_previous_level_is_that_of_the_last_factor() {
    let summary = summarise(&made_up::matrix(), &[]);
    let previous: Vec<bool> = summary.cells.iter().map(|cell| cell.vs_previous.is_some()).collect();
    assert_eq!(previous, [false, true, true, false, true, true]);
    let change = summary.cells[4].vs_previous.unwrap();
    let means = (summary.cells[4].geometric_mean.unwrap(), summary.cells[3].geometric_mean.unwrap());
    assert_eq!(change.speed_up, means.1 / means.0);
    // Improvement factors: first connections level over the others, per batch size.
    let factors = &summary.improvement_factors[0].values;
    assert_eq!((factors[0][0], factors[1][0]), (Some(1.0), Some(1.0)));
    assert_eq!(factors[1][1], Some(change.speed_up));
}

#[test]
fn every_configuration_with_a_verdict_is_named() {
    let mut results = made_up::study("x", vec![made_up::factor("batch_size", [1_i64, 10, 100, 1000])], 6);
    made_up::fill(&mut results, &[8.0, 4.0, 2.0, 8.01]);
    let verdict = summarise(&results, &[]).verdict.join(" ");
    assert!(verdict.contains("batch_size=100 was better"), "{verdict}");
    assert!(verdict.contains("Also better than batch_size=1: batch_size=10."), "{verdict}");
    assert!(verdict.contains("no significant difference from the reference: batch_size=1000"), "{verdict}");
}

/// One definition: the percentage, the factor and the test of a cell are about the same ratio.
#[test]
fn percentages_factors_and_intervals_are_of_one_ratio() {
    let mut results = made_up::study("x", vec![made_up::factor("batch_size", [1_i64, 10, 100])], 6);
    made_up::fill(&mut results, &[8.0, 4.0, 2.0]);
    // One run that took very long moves the arithmetic mean more than the geometric one.
    results.runs[0].run.elapsed_ns *= 20;
    let summary = summarise(&results, &[]);
    for cell in summary.cells.iter().filter(|cell| !cell.is_reference) {
        let (change, comparison) = (cell.vs_reference.unwrap(), cell.comparison.unwrap());
        let (factor, tested) = (change.speed_up, comparison.speed_up.unwrap());
        assert!((factor / tested - 1.0).abs() < 1e-9, "{factor} beside {tested}");
        assert!((change.time_reduction_percent - 100.0 * (1.0 - 1.0 / tested)).abs() < 1e-6);
        let interval = comparison.speed_up_interval.unwrap();
        assert!(interval.low <= factor && factor <= interval.high, "{factor} outside {interval:?}");
    }
}

/// The printed interval leaves 1 out exactly where the verdict is better or worse, also where Holm's correction for the
/// table denies what the comparison shows alone.
#[test]
fn intervals_agree_with_the_verdicts_of_their_table() {
    let mut results = made_up::study("agree", vec![factor("batch_size", [1_i64, 2, 3, 4, 5, 6, 7])], 6);
    made_up::fill(&mut results, &[1.0, 0.985, 0.98, 0.99, 1.02, 1.5, 0.97]);
    let summary = summarise(&results, &[]);
    let compared: Vec<_> = summary.cells.iter().filter_map(|cell| cell.comparison).collect();
    assert_eq!(compared.len(), 6);
    for comparison in compared {
        let interval = comparison.speed_up_interval.unwrap();
        let leaves_out = interval.low > 1.0 || interval.high < 1.0;
        let is_shown = matches!(comparison.verdict, Verdict::Better | Verdict::Worse);
        assert_eq!(leaves_out, is_shown, "{comparison:?}");
    }
}

/// Only pairs with the reference are tested: of another pair nothing is said to be shown or not shown.
#[test]
fn a_pair_that_was_not_tested_is_not_said_to_be_not_shown() {
    let words = verdict(&made_up::batch());
    assert!(!words.contains("Not shown"), "{words}");
    assert!(words.contains("not compared with"), "{words}");
}
