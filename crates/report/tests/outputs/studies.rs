//! Several studies as one table, with the factors and best cases of the published tables.

use report::comparison::{Options, Side, StudiesSummary, studies};
use report::summary::Verdict;
use report::{export, html, markdown, text};
use results::model::Level;
use results::store::StudyResults;

use crate::made_up::{factor, fill, study};

const OPTIONS: Options = Options { measure: None, threshold_percent: 5.0 };

fn arrays(name: &str, seconds: &[f64]) -> Side {
    let mut results = study("files-x-arrays", vec![factor("data_files", [1_i64, 2, 4, 8, 16])], 6);
    fill(&mut results, seconds);
    results.study.created_at = format!("2026-11-20T10:00:00Z of {name}");
    Side { name: name.to_owned(), study_id: 1, results }
}

/// Times whose factors are those that were published for 1 to 16 files: SSD against SCSI.
fn published() -> StudiesSummary {
    let disks = [1600.0, 1500.0, 1700.0, 1800.0, 1900.0];
    let factors = [7.25, 4.74, 6.81, 7.64, 9.03];
    let flash: Vec<f64> = disks.iter().zip(factors).map(|(disk, factor)| disk / factor).collect();
    let same = arrays("scsi-again", &disks);
    studies(&arrays("scsi", &disks), &[arrays("ssd", &flash), same], &OPTIONS)
}

#[test]
fn factors_over_studies_are_those_of_the_published_table() {
    let summary = published();
    let of_flash: Vec<f64> =
        summary.rows.iter().map(|row| row.studies[1].as_ref().unwrap().factor.unwrap()).collect();
    for (found, published) in of_flash.iter().zip([7.25, 4.74, 6.81, 7.64, 9.03]) {
        assert!((found / published - 1.0).abs() < 0.005, "{found} in place of {published}");
    }
    for row in &summary.rows {
        let (flash, again) = (row.studies[1].as_ref().unwrap(), row.studies[2].as_ref().unwrap());
        assert_eq!((flash.verdict, again.verdict), (Some(Verdict::Better), Some(Verdict::NoDifferenceShown)));
        let interval = flash.factor_interval.unwrap();
        assert!(interval.low < flash.factor.unwrap() && flash.factor.unwrap() < interval.high);
        assert_eq!(row.studies[0].as_ref().unwrap().factor, None);
    }
    assert!(summary.sentences[0].contains("better at 5 of 5 configurations (4.7"), "{:?}", summary.sentences);
    assert!(summary.sentences[1].contains("no difference shown at 5 of 5"), "{:?}", summary.sentences);
}

#[test]
fn the_best_case_of_each_study_and_level_is_named_with_its_improvement() {
    let summary = published();
    let of_flash = &summary.best_of_studies[1];
    assert_eq!(of_flash.label, "data_files=16");
    let expected = 1500.0 / (1900.0 / 9.03);
    assert!((of_flash.improvement.unwrap() / expected - 1.0).abs() < 0.01, "{of_flash:?}");
    assert_eq!(summary.best_of_studies[0].improvement, None);
    assert_eq!(summary.best_per_level.len(), 5);
    assert!(summary.best_per_level.iter().all(|best| best.study == 1), "{:?}", summary.best_per_level);
}

#[test]
fn rates_have_factors_above_one_when_they_are_larger() {
    let summary = {
        let (mut slow, mut fast) = (arrays("slow", &[4.0; 5]), arrays("fast", &[2.0; 5]));
        for side in [&mut slow, &mut fast] {
            side.results.study.design.metric = Some("rows_per_s".to_owned());
        }
        studies(&slow, &[fast.clone(), fast], &OPTIONS)
    };
    let factor = summary.rows[0].studies[1].as_ref().unwrap().factor.unwrap();
    assert!((factor - 2.0).abs() < 0.02, "{factor}");
    assert!(summary.sentences[0].contains("times as fast"), "{:?}", summary.sentences);
}

#[test]
fn what_one_study_lacks_is_a_dash_and_other_work_gets_no_verdict() {
    let mut few = arrays("few", &[4.0; 5]);
    few.results.cells.truncate(2);
    let mut other = arrays("other", &[4.0; 5]);
    other.results.study.experiment = "something-else".to_owned();
    let summary = studies(&arrays("all", &[4.0; 5]), &[few, other], &OPTIONS);
    assert_eq!(summary.rows[4].studies[1], None);
    assert!(summary.rows[0].studies[1].is_some());
    assert!(
        summary.sentences[1].contains("no verdict, other work than all: experiment"),
        "{:?}",
        summary.sentences
    );
    assert_eq!(summary.rows[0].studies[2].as_ref().unwrap().verdict, None);
}

#[test]
fn every_form_shows_the_table() {
    let summary = published();
    let text = text::Form::default().studies(&summary);
    for wanted in
        ["Comparison of elapsed_s over 3 studies", "Times as fast as scsi", "7.25 [", "Best case per level"]
    {
        assert!(text.contains(wanted), "{wanted} is not in\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(markdown::studies(&summary).contains("| data\\_files=16 |"));
    let page = html::studies(&summary);
    assert!(
        page.starts_with("<!doctype html>") && page.contains("<h1>Comparison of scsi, ssd, scsi-again</h1>")
    );
    assert!(html::studies_svg(&summary).starts_with("<svg"));
    let value: serde_json::Value = serde_json::from_str(&export::studies_json(&summary)).unwrap();
    assert_eq!(value["studies"][2]["name"], "scsi-again");
    assert_eq!(value["rows"][0]["studies"][1]["verdict"], "better");
}

/// 60 A/A comparisons of 5 configurations: the chance of a false difference is that of the family.
#[test]
fn studies_that_do_not_differ_rarely_seem_to() {
    let false_alarms = (0..60_u32).filter(|number| {
        let noisy = |side: u32| {
            let mut side_of = arrays("a", &[1.0; 5]);
            spread(&mut side_of.results, u64::from(3 * number + side));
            side_of
        };
        let summary = studies(&noisy(0), &[noisy(1), noisy(2)], &OPTIONS);
        let mut all = summary.rows.iter().flat_map(|row| row.studies.iter().skip(1).flatten());
        all.any(|of| matches!(of.verdict, Some(Verdict::Better | Verdict::Worse)))
    });
    // 5 % of 60 are 3; more than 9 come with a chance below 0.2 %.
    let count = false_alarms.count();
    assert!(count <= 9, "{count} of 60");
}

/// Gives each run a time of its own, from the seed.
fn spread(results: &mut StudyResults, seed: u64) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678;
    for stored in &mut results.runs {
        let mut sum = 0.0;
        for _ in 0..4 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            sum += (state >> 11) as f64 / (1_u64 << 53) as f64;
        }
        stored.run.elapsed_ns = (1e9 * (1.0 + 0.05 * (sum - 2.0))) as u64;
    }
}

#[test]
fn a_study_that_is_faster_and_less_safe_says_so() {
    let with = |name: &str, seconds: f64, durability: &str| {
        let mut side = arrays(name, &[seconds; 5]);
        side.results.study.fixed.push(("durability".to_owned(), Level::Text(durability.to_owned())));
        side
    };
    let others = [with("relaxed", 2.0, "relaxed"), with("full-again", 4.0, "full")];
    let summary = studies(&with("full", 4.0, "full"), &others, &OPTIONS);
    assert!(
        summary.sentences[0].contains("durability=relaxed is less safe than durability=full"),
        "{:?}",
        summary.sentences
    );
    assert!(!summary.sentences[1].contains("less safe"), "{:?}", summary.sentences);
}
