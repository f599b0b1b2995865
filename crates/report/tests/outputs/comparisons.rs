//! Two sides held against each other, and one figure over many studies.

use report::comparison::{Options, Part, PlanState, Side, compare, restrict};
use report::history::history;
use report::summary::Verdict;
use report::{export, html, markdown, text};
use results::measure::Measure;
use results::model::{Event, Level, Metric, RunState};
use results::observations::{How, WaitProfile, WaitRow};
use results::store::StudyResults;

use crate::made_up::{a_a, factor, fill, matrix, spoil, study, with_caches};

const OPTIONS: Options = Options { measure: None, threshold_percent: 5.0 };

fn side(study_id: i64, results: StudyResults) -> Side {
    Side { name: study_id.to_string(), study_id, results }
}

/// Three batch sizes, six blocks.
fn batches(seconds: [f64; 3]) -> StudyResults {
    let mut results = study("populate-batch", vec![factor("batch_size", [1_i64, 10, 100])], 6);
    fill(&mut results, &seconds);
    results
}

fn later(seconds: [f64; 3]) -> StudyResults {
    let mut results = batches(seconds);
    results.study.created_at = "2026-11-21T10:00:00Z".to_owned();
    results
}

#[test]
fn a_shown_worsening_beyond_the_threshold_is_a_regression_and_a_smaller_one_is_not() {
    let (one, two) = (side(1, batches([4.0, 1.0, 0.5])), side(2, later([4.8, 1.04, 0.4])));
    let summary = compare(&one, &two, &OPTIONS);
    let verdicts: Vec<_> = summary.pairs.iter().map(|pair| (pair.verdict, pair.is_regression)).collect();
    let expected = [(Verdict::Worse, true), (Verdict::Worse, false), (Verdict::Better, false)];
    assert_eq!(verdicts, expected.map(|(verdict, is_regression)| (Some(verdict), is_regression)));
    assert_eq!((summary.regression_count(), summary.lost_count()), (1, 0));
    let by = summary.pairs[0].difference_percent.unwrap();
    assert!((by - 20.0).abs() < 0.5, "{by}");
    let tight = compare(&one, &two, &Options { threshold_percent: 25.0, ..OPTIONS });
    assert_eq!(tight.regression_count(), 0);
    insta::assert_snapshot!(text::comparison(&summary));
}

#[test]
fn the_page_of_a_comparison_has_the_names_as_title_and_the_verdict_before_what_differs() {
    let mut candidate = later([2.0, 0.5, 0.25]);
    let parameters = |study: &mut StudyResults, value: &str| {
        study.study.fixed.push(("durability".to_owned(), Level::Text(value.to_owned())));
    };
    let mut baseline = batches([4.0, 1.0, 0.5]);
    parameters(&mut baseline, "full");
    parameters(&mut candidate, "relaxed");
    let summary = compare(&side(1, baseline), &side(2, candidate), &OPTIONS);
    let page = html::comparison(&summary);
    assert!(page.contains("<title>populate-batch: study 2 against study 1</title>"), "{page}");
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}"));
    let order = [
        "<h2>Verdict</h2>",
        "<p class=\"headline\">Better: ",
        "<h2>Pairs</h2>",
        "<h2>What changed",
        "<h2>Sides",
    ];
    assert!(order.map(place).is_sorted());
    assert!(place("the sides differ in durability") < place("<p class=\"headline\">"));
    // A gain that is paid with durability says so, in every output.
    let risk = "durability=relaxed is less safe than durability=full";
    for output in [&page, &text::comparison(&summary), &export::comparison_json(&summary)] {
        let words: Vec<&str> = output.split_whitespace().collect();
        assert!(words.join(" ").contains(risk), "{output}");
    }
    // The other way round the baseline is the faster and less safe side.
    let mut safe = later([4.0, 1.0, 0.5]);
    parameters(&mut safe, "full");
    let mut fast = batches([2.0, 0.5, 0.25]);
    parameters(&mut fast, "relaxed");
    let reverse = compare(&side(1, fast), &side(2, safe), &OPTIONS);
    assert!(reverse.sentences.iter().any(|sentence| sentence.contains(risk)), "{:?}", reverse.sentences);
}

#[test]
fn rates_are_worse_when_smaller() {
    let measure = Some(Measure::named("rows_per_s"));
    let (one, two) = (side(1, batches([1.0; 3])), side(2, later([1.5; 3])));
    let summary = compare(&one, &two, &Options { measure, ..OPTIONS });
    assert_eq!(summary.regression_count(), 3);
    assert!(summary.pairs[0].difference_percent.unwrap() < -30.0);
}

#[test]
fn the_same_numbers_show_no_difference() {
    let summary = compare(&side(1, batches([4.0, 1.0, 0.5])), &side(2, later([4.0, 1.0, 0.5])), &OPTIONS);
    assert!(summary.pairs.iter().all(|pair| pair.verdict == Some(Verdict::NoDifferenceShown)));
    assert!(summary.changes.is_empty(), "{:?}", summary.changes);
    assert_eq!(summary.regression_count(), 0);
}

#[test]
fn what_changed_around_the_runs_is_listed_first() {
    let mut candidate = later([4.0, 1.0, 0.5]);
    candidate.study.fixed[0].1 = Level::Integer(4000);
    candidate.study.fathom_version = "0.2.0".to_owned();
    for stored in &mut candidate.runs {
        stored.run.settings[0].value = "NORMAL".to_owned();
        stored.run.environment.machine["kernel"] = "6.13.0".into();
        stored.run.environment.engine["version"] = "3.51.0".into();
        stored.run.environment.layout[0]["storage"]["directory"] = "/data/fathom-sqlite-7".into();
    }
    let mut baseline = batches([4.0, 1.0, 0.5]);
    for stored in &mut baseline.runs {
        stored.run.environment.layout[0]["storage"]["directory"] = "/data/fathom-sqlite-1".into();
    }
    let summary = compare(&side(1, baseline), &side(2, candidate), &OPTIONS);
    let parts: Vec<(Part, &str)> =
        summary.changes.iter().map(|changed| (changed.part, changed.name.as_str())).collect();
    let expected = [
        (Part::Parameter, "rows_total"),
        (Part::Setting, "synchronous"),
        (Part::Engine, "version"),
        (Part::Machine, "kernel"),
        (Part::Fathom, "version"),
    ];
    assert_eq!(parts, expected, "the name that fathom gave its own directory is no change");
    let text = text::comparison(&summary);
    let place = |words: &str| text.find(words).unwrap();
    assert!(place("What changed around the runs") < place("Verdict"));
}

#[test]
fn one_configuration_of_a_study_is_held_against_another_within_its_blocks() {
    let whole = a_a();
    let part = |label: &str| side(1, restrict(&whole, &[("label".to_owned(), label.to_owned())]).unwrap());
    let summary = compare(&part("A"), &part("B"), &OPTIONS);
    assert!(summary.is_within_study);
    assert_eq!(summary.pairs.len(), 1);
    assert_eq!(summary.pairs[0].verdict, Some(Verdict::NoDifferenceShown));
    assert_eq!(summary.changes[0].name, "label");
}

#[test]
fn configurations_answer_to_each_other_by_the_parameters_that_both_know() {
    // Of the matrix (batch_size x connections) the cells with 4 connections, against a study with fixed connections.
    let mut candidate = batches([1.0, 1.0, 1.0]);
    candidate.study.fixed.push(("connections".to_owned(), Level::Integer(4)));
    let summary = compare(&side(1, matrix()), &side(2, candidate), &OPTIONS);
    let labels: Vec<_> = summary.pairs.iter().map(|pair| pair.baseline_label.as_str()).collect();
    assert_eq!(labels, ["batch_size=1 connections=4", "batch_size=10 connections=4"]);
    assert_eq!(summary.only_candidate, ["batch_size=100"]);
    assert_eq!(summary.only_baseline.len(), 4);
}

#[test]
fn a_configuration_that_lost_all_its_runs_is_told() {
    let mut candidate = later([4.0, 1.0, 0.5]);
    for index in (0..candidate.runs.len()).filter(|index| index % 3 == 0) {
        spoil(&mut candidate, index);
    }
    let summary = compare(&side(1, batches([4.0, 1.0, 0.5])), &side(2, candidate), &OPTIONS);
    assert_eq!(summary.lost_count(), 1);
    assert_eq!(summary.pairs[0].why_not.as_deref(), Some("no run of the candidate counts"));
    assert_eq!(summary.pairs[0].candidate_invalid, 6);
    assert!(text::comparison(&summary).contains("no run of the candidate counts"));
}

#[test]
fn the_shares_of_the_clients_time_stand_side_by_side() {
    let with_waits = |mut results: StudyResults, sync_s: f64| {
        for stored in &mut results.runs {
            stored.run.observations.waits = vec![profile(sync_s)];
        }
        results
    };
    let one = side(1, with_waits(batches([4.0, 1.0, 0.5]), 2.0));
    let two = side(2, with_waits(later([6.0, 1.0, 0.5]), 6.0));
    let summary = compare(&one, &two, &OPTIONS);
    let first = &summary.pairs[0].waits[0];
    let shares = [first.baseline_percent, first.candidate_percent].map(|share| share.unwrap().round());
    assert_eq!((first.wait_type.as_str(), shares), ("vfs:WalSync", [20.0, 60.0]));
}

/// Ten seconds of two sessions, so many of them in one wait.
fn profile(sync_s: f64) -> WaitProfile {
    WaitProfile {
        group: "clients".to_owned(),
        session_count: 2,
        session_s: 10.0,
        rows: vec![WaitRow {
            class: "vfs".to_owned(),
            name: "WalSync".to_owned(),
            is_idle: false,
            wait_s: sync_s,
            resource_s: Some(sync_s),
            signal_s: Some(0.0),
            count: Some(100),
            how: How::Exact,
        }],
        on_cpu_s: None,
        run_delay_s: None,
    }
}

/// Gives the runs of a cell a plan, as look-ups keep it.
fn with_plan(mut results: StudyResults, cell_index: u32, hash: f64, text: &str) -> StudyResults {
    for stored in results.runs.iter_mut().filter(|stored| stored.run.key.cell_index == cell_index) {
        let metric = |name: &str, value| Metric {
            name: name.to_owned(),
            value,
            unit: "1".to_owned(),
            source: String::new(),
        };
        stored.run.metrics.push(metric("plan_hash", hash));
        stored.run.events.push(Event { at_ns: 0, kind: Event::PLAN.to_owned(), text: text.to_owned() });
    }
    results
}

#[test]
fn a_changed_plan_is_listed_and_said_beside_the_verdict() {
    const INDEX: &str = "Aggregate Plain\n  Index Scan Forward k";
    const SCAN: &str = "Aggregate Plain\n  Seq Scan t";
    let seconds = [4.0, 1.0, 0.5];
    let one = with_plan(with_plan(batches(seconds), 0, 10.0, INDEX), 1, 10.0, INDEX);
    let two = with_plan(with_plan(later([4.8, 1.0, 0.5]), 0, 10.0, INDEX), 1, 255.0, SCAN);
    let summary = compare(&side(1, one.clone()), &side(2, two), &OPTIONS);
    assert_eq!(
        summary.pairs.iter().map(|pair| pair.plan).collect::<Vec<_>>(),
        [PlanState::Unchanged, PlanState::Changed, PlanState::NotRecorded]
    );
    assert_eq!(summary.invalid_count(), 1);
    let plans: Vec<_> = summary.changes.iter().filter(|changed| changed.part == Part::Plan).collect();
    assert_eq!((plans.len(), plans[0].name.as_str()), (1, "batch_size=10"));
    assert_eq!(plans[0].baseline.as_deref(), Some("Index Scan Forward k (plan 00000000000a)"));
    assert_eq!(plans[0].candidate.as_deref(), Some("Seq Scan t (plan 0000000000ff)"));
    assert_eq!((summary.pairs[1].verdict, summary.pairs[1].p_value), (None, None));
    assert_eq!(summary.pairs[1].difference_percent.map(f64::round), Some(0.0));
    let said = "Plan changed at 1 of 3 pairs (batch_size=10)";
    assert!(summary.sentences.iter().any(|sentence| sentence.starts_with(said)), "{:?}", summary.sentences);
    for output in [text::comparison(&summary), markdown::comparison(&summary), html::comparison(&summary)] {
        assert!(output.contains("invalid: plan changed"), "{output}");
        assert!(output.contains("regression") && !output.contains("regression: plan changed"), "{output}");
        let counts = "changed at 1 of 3 pairs, unchanged at 1 of 3 pairs, not recorded at 1 of 3 pairs";
        assert!(output.contains(counts), "{output}");
    }

    let same = compare(&side(1, one.clone()), &side(2, one.clone()), &OPTIONS);
    assert!(same.changes.is_empty() && !same.sentences.iter().any(|sentence| sentence.contains("Plan")));
    assert!(text::comparison(&same).contains("unchanged at 2 of 3 pairs, not recorded at 1 of 3 pairs"));
    // Two configurations have plans of their own: that is what is compared.
    let part = |level: &str| {
        let wanted = [("batch_size".to_owned(), level.to_owned())];
        let both = with_plan(one.clone(), 2, 255.0, SCAN);
        side(1, restrict(&both, &wanted).unwrap())
    };
    let two_kinds = compare(&part("1"), &part("100"), &OPTIONS);
    assert_eq!((two_kinds.invalid_count(), two_kinds.pairs[0].plan), (0, PlanState::Changed));
    assert!(two_kinds.pairs[0].verdict.is_some());
    // A side that kept no plan is listed, and not claimed to have another.
    let silent = compare(&side(1, one), &side(2, later(seconds)), &OPTIONS);
    assert!(silent.pairs.iter().all(|pair| pair.plan != PlanState::Changed));
    assert_eq!(silent.changes.iter().filter(|changed| changed.part == Part::Plan).count(), 2);
    assert!(silent.changes.iter().all(|changed| changed.candidate.is_none()));
}

#[test]
fn each_side_says_what_its_caches_were() {
    let one = with_caches(batches([4.0, 1.0, 0.5]), |_| Some("cold, verified"));
    let summary = compare(&side(1, one), &side(2, later([4.0, 1.0, 0.5])), &OPTIONS);
    assert_eq!((summary.baseline.caches.len(), summary.candidate.caches.len()), (1, 0));
    assert!(text::comparison(&summary).contains("cache: cold, verified"));
}

/// Ten studies of one spec; from the sixth on slower, with another kernel.
fn ten_studies() -> Vec<Side> {
    let one = |day: i64| {
        let spread = 1.0 + 0.004 * ((day * 7 % 5) as f64 - 2.0);
        let level = if day < 6 { 2.0 } else { 2.6 };
        let mut results = batches([level * spread, 1.0 * spread, 0.5 * spread]);
        results.study.created_at = format!("2026-11-{day:02}T10:00:00Z");
        for stored in results.runs.iter_mut().filter(|_| day >= 6) {
            stored.run.environment.machine["kernel"] = "6.13.0".into();
        }
        side(day, results)
    };
    (1..=10).map(one).collect()
}

#[test]
fn a_change_of_the_level_is_marked_once_where_it_is_with_what_changed() {
    let history = history(&ten_studies(), &Measure::named("elapsed_s"));
    assert_eq!(history.change_count(), 1);
    let series = &history.series[0];
    assert_eq!(series.label, "batch_size=1");
    let point = series.points.iter().find(|point| point.change.is_some()).unwrap();
    let change = point.change.as_ref().unwrap();
    assert_eq!((point.study_id, change.is_better, change.changes[0].name.as_str()), (6, false, "kernel"));
    assert!((change.difference_percent - 30.0).abs() < 1.0);
    assert_eq!(point.vs_previous, Some(Verdict::Worse));
    let page = html::history(&history);
    assert!(page.contains("<h1>populate-batch: elapsed_s over 10 studies</h1>"), "{page}");
    assert!(page.contains("<p class=\"headline\">batch_size=1: worse by 30.0 % since study 6"));
    // Bars of characters are for terminals.
    assert!(!page.contains('█') && page.contains("<details id=\"series-1\""));
    insta::assert_snapshot!(text::history(&history));
}

#[test]
fn percentages_of_a_history_follow_from_the_means_that_it_shows() {
    // A run three times as long as the others parts the arithmetic mean from the geometric one.
    let mut sides = ten_studies();
    for side in sides.iter_mut().step_by(2) {
        side.results.runs[0].run.elapsed_ns *= 3;
    }
    let history = history(&sides, &Measure::named("elapsed_s"));
    for series in &history.series {
        for pair in series.points.windows(2) {
            let expected = 100.0 * (pair[1].geometric_mean / pair[0].geometric_mean - 1.0);
            assert!((pair[1].vs_previous_percent.unwrap() - expected).abs() < 1e-9);
            let interval = pair[1].geometric_mean_interval.unwrap();
            assert!(interval.low < pair[1].geometric_mean && pair[1].geometric_mean < interval.high);
        }
    }
    let text = report::text::history(&history);
    assert!(text.contains("Means and percentages are of geometric means"), "{text}");
    let page = report::html::history(&history);
    let mean = report::number::number(history.series[0].points[0].geometric_mean);
    assert!(page.contains(&format!("geometric mean {mean}, n = ")), "{mean}");
}

#[test]
fn studies_with_other_parameters_are_other_series() {
    let mut studies = ten_studies();
    for side in &mut studies[5..] {
        side.results.study.fixed[0].1 = Level::Integer(4000);
    }
    let history = history(&studies, &Measure::named("elapsed_s"));
    assert_eq!((history.series.len(), history.change_count()), (6, 0));
    assert_eq!(history.series[0].label, "batch_size=1 rows_total=2000");
    assert!(text::history(&history).contains("Too few studies"));
}

#[test]
fn names_from_outside_do_no_harm() {
    const HOSTILE: &str = "\u{1b}[2J<script>alert(1)</script>|`x`";
    let mut candidate = later([5.0, 1.0, 0.5]);
    candidate.study.experiment = HOSTILE.to_owned();
    for stored in &mut candidate.runs {
        stored.run.state = RunState::Valid;
        stored.run.settings[0].value = HOSTILE.to_owned();
    }
    let summary = compare(&side(1, batches([4.0, 1.0, 0.5])), &side(2, candidate), &OPTIONS);
    let text = text::comparison(&summary);
    assert!(!text.contains('\u{1b}'));
    let markdown = markdown::comparison(&summary);
    assert!(!markdown.contains("<script>") && !markdown.contains('\u{1b}'));
    let value: serde_json::Value = serde_json::from_str(&export::comparison_json(&summary)).unwrap();
    assert_eq!(value["comparison_version"], 2);
}
