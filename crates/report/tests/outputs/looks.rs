//! Studies that may end early are judged at the level of the look at which they did.

use report::outcome::Answer;
use report::summary::{StudySummary, Verdict};
use results::model::{Design, Looks};
use stats::design::sequential::level_after;

use crate::made_up::{self, factor, summarise};

/// A study that may end after each block from the sixth on, and has these blocks.
fn looked(means: &[f64], blocks: u32, margin: Option<f64>) -> StudySummary {
    let mut results = made_up::study("night", vec![factor("batch_size", [1_i64, 10, 100])], blocks);
    made_up::fill(&mut results, means);
    results.study.repetitions = 6;
    results.study.design = Design {
        against: vec!["previous".to_owned()],
        looks: Some(Looks { blocks_min: 6, blocks_max: 12, margin }),
        ..Design::default()
    };
    summarise(&results, &[])
}

#[test]
fn a_study_that_ended_at_a_look_is_judged_at_the_level_of_that_look() {
    let level = |blocks| level_after(blocks, 6, 12, 0.05).unwrap().unwrap();
    for blocks in [6, 8, 12] {
        let summary = looked(&[4.0, 2.0, 1.0], blocks, None);
        assert_eq!(summary.alpha, level(blocks), "{blocks}");
        let found = summary.looked.unwrap();
        assert_eq!((found.blocks, found.blocks_max), (blocks, 12));
        let verdicts: Vec<Verdict> =
            summary.comparisons.iter().map(|contrast| contrast.comparison.unwrap().verdict).collect();
        assert_eq!(verdicts, [Verdict::Better; 2], "{blocks}");
    }
    // A look of its own before the first one costs less than that.
    assert!(looked(&[4.0, 2.0, 1.0], 3, None).alpha < level(6));
    let text = report::text::study(&looked(&[4.0, 2.0, 1.0], 8, None));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("is at most 5 % over all looks; the level after 8 of at most 12 blocks is"),
        "{text}"
    );
}

#[test]
fn a_ratio_that_is_shown_to_lie_within_the_margin_is_stated() {
    let summary = looked(&[4.0, 4.0, 1.0], 10, Some(0.2));
    let within: Vec<Option<f64>> =
        summary.comparisons.iter().map(|contrast| contrast.comparison.unwrap().within).collect();
    assert_eq!(within, [Some(0.2), None]);
    let text = report::text::study(&summary);
    assert!(text.contains("no difference shown; within 20 %"), "{text}");
    let answer = Answer::of(&looked(&[4.0, 4.0, 4.0], 10, Some(0.2)));
    let said = format!("{answer:?}");
    assert!(said.contains("within 20 %") || said.contains("not shown"), "{said}");
    assert_eq!(looked(&[4.0, 4.0, 1.0], 10, None).comparisons[0].comparison.unwrap().within, None);
}

#[test]
fn a_metric_that_no_run_measured_is_named() {
    let mut results = made_up::study("night", vec![factor("batch_size", [1_i64, 10])], 6);
    made_up::fill(&mut results, &[4.0, 2.0]);
    results.study.design = Design { metric: Some("raw_iops".to_owned()), ..Design::default() };
    let text = report::text::study(&summarise(&results, &[]));
    assert!(text.contains("None of the 12 counting runs measured raw_iops"), "{text}");
}
