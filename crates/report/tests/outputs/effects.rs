//! What each factor does over the others, as data and on the page.

use report::html::{Page, page};
use report::quantity::Quantity;
use report::summary::{Effects, Verdict, effects};
use results::store::StudyResults;

use crate::made_up::{self, factor, summarise};

fn of(results: &StudyResults) -> Effects {
    effects(results, Quantity::of(&results.study))
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

/// Rows per commit in a descending order, and durability: the times of each cell in the order of the spec.
fn commits(blocks: u32, seconds: [f64; 6]) -> StudyResults {
    let factors = vec![factor("batch_size", [100_i64, 10, 1]), factor("durability", ["full", "relaxed"])];
    let mut results = made_up::study("commit-size", factors, blocks);
    made_up::fill(&mut results, &seconds);
    results
}

#[test]
fn numbers_are_compared_with_the_next_smaller_level_and_words_with_the_first() {
    let found = of(&commits(5, [0.5, 0.25, 1.0, 0.5, 4.0, 2.0])).effects;
    let pairs: Vec<String> = found
        .iter()
        .map(|effect| format!("{} {} {}", effect.factor, effect.reference, effect.candidate))
        .collect();
    assert_eq!(pairs, ["batch_size 1 10", "batch_size 10 100", "durability full relaxed"]);
    assert_eq!(found.iter().map(|effect| effect.combinations).collect::<Vec<_>>(), [2, 2, 3]);
    for (effect, percent) in found.iter().zip([-75.0, -50.0, -50.0]) {
        assert!((effect.percent().unwrap() - percent).abs() < 2.0, "{effect:?}");
        let interval = effect.ratio_interval.unwrap();
        assert!(interval.low < effect.ratio.unwrap() && effect.ratio.unwrap() < interval.high, "{effect:?}");
        assert_eq!(effect.verdict, Verdict::Better);
        assert!(effect.p_adjusted.unwrap() < 0.05);
    }
}

#[test]
fn an_interaction_is_stated_with_both_effects_and_too_few_blocks_are_said() {
    let unlike = [0.5, 0.9, 1.0, 0.95, 4.0, 1.0];
    let found = of(&commits(8, unlike));
    let first = &found.interactions[0];
    assert_eq!(first.factors, ["batch_size", "durability"]);
    assert!(first.ratios[0] < 0.2 && first.ratios[1] > 0.85, "{first:?}");
    assert!(html(&commits(8, unlike)).contains("batch_size and durability interact: "));
    let few = of(&commits(3, unlike));
    assert!(few.interactions.is_empty() && !few.can_show_interactions);
    assert!(html(&commits(3, unlike)).contains("Too few blocks to show whether factors interact."));
    let alike = commits(8, [0.5, 0.25, 1.0, 0.5, 4.0, 2.0]);
    assert!(html(&alike).contains("No interaction of two factors is shown."));
}

#[test]
fn the_page_draws_effects_with_intervals_over_the_numeric_factor_and_no_gain_bars() {
    let html = html(&commits(5, [0.5, 0.25, 1.0, 0.5, 4.0, 2.0]));
    assert!(html.contains("aria-label=\"Effect of batch_size on elapsed time\""));
    assert!(html.contains("aria-label=\"Elapsed time [s] over batch_size\""));
    assert!(!html.contains("Gain over"));
    assert!(html.contains("the large mark is the mean, the line its 95 %"));
    let words = made_up::study("words", vec![factor("durability", ["full", "relaxed"])], 3);
    let mut words = words;
    made_up::fill(&mut words, &[2.0, 1.0]);
    assert!(self::html(&words).contains("the bar is the mean, the line its 95 %"));
}

#[test]
fn nothing_is_computed_without_factors_or_from_values_that_have_no_logarithm() {
    let mut alone = made_up::study("alone", Vec::new(), 3);
    made_up::fill(&mut alone, &[2.0]);
    assert_eq!(of(&alone), Effects::default());
    let mut zero = commits(3, [0.5, 0.25, 1.0, 0.5, 4.0, 2.0]);
    zero.runs[0].run.elapsed_ns = 0;
    assert_eq!(of(&zero), Effects::default());
    assert!(html(&zero).contains("By factor"));
}
