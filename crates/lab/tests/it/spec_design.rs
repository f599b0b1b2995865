//! What a spec compares: metric, direction, secondary metrics, contrasts, and what the command line puts in their place.

use lab::spec::{Experiment, Request, Resolved, SpecError, Wanted, shipped};
use results::model::{Design, Scale};
use stats::design::preview::{Preview, SPREADS};
use stats::design::reach::Design as Blocks;

const SPEC: &str = r#"name = "night"
title = "A night"
question = "What happens?"
metric = "response_time_p99_ms"
secondary = ["rows_per_s", "log_bytes_per_transaction"]
against = ["each-level-of(connections)", "previous(connections)"]
[factors]
batch_size = [1, 10]
connections = [1, 2, 4]
[parameters]
workload = "populate"
rows_total = 8000
[miniature]
against = "reference"
[miniature.factors]
connections = [1, 2]
[miniature.parameters]
batch_size = 1
"#;

fn resolved(text: &str, scale: Scale, wanted: Wanted) -> Result<Resolved, SpecError> {
    let request = Request { wanted, ..Request::plain(scale, crate::engine("postgres")) };
    Experiment::parse("night.toml", text)?.resolve(&request)
}

/// The message of a spec in which some text has another in its place, and its line.
fn refused(from: &str, to: &str) -> (String, Option<usize>) {
    assert!(SPEC.contains(from), "{from}");
    let error = resolved(&SPEC.replace(from, to), Scale::Full, Wanted::default()).unwrap_err();
    (error.to_string(), error.line())
}

fn wanted(metric: Option<&str>, against: &[&str]) -> Wanted {
    Wanted {
        metric: metric.map(str::to_owned),
        against: against.iter().map(|text| (*text).to_owned()).collect(),
    }
}

#[test]
fn a_spec_says_what_is_compared_and_its_resolved_text_says_the_same() {
    let full = resolved(SPEC, Scale::Full, Wanted::default()).unwrap();
    let design = Design {
        metric: Some("response_time_p99_ms".to_owned()),
        is_smaller_better: None,
        secondary: vec!["rows_per_s".to_owned(), "log_bytes_per_transaction".to_owned()],
        against: vec!["each-level-of(connections)".to_owned(), "previous(connections)".to_owned()],
        looks: None,
    };
    assert_eq!(full.design, design);
    let again = resolved(&full.spec_toml, Scale::Full, Wanted::default()).unwrap();
    assert_eq!((again.design, again.spec_toml), (design, full.spec_toml));
    let miniature = resolved(SPEC, Scale::Miniature, Wanted::default()).unwrap();
    assert_eq!(miniature.design.against, ["reference"]);
    assert_eq!(miniature.design.metric.as_deref(), Some("response_time_p99_ms"));
}

#[test]
fn the_command_line_names_another_metric_and_other_contrasts() {
    let text = SPEC.replace("secondary", "better = \"larger\"\nsecondary");
    let kept = resolved(&text, Scale::Full, Wanted::default()).unwrap().design;
    assert_eq!(kept.is_smaller_better, Some(false));
    let other = wanted(Some("elapsed_s"), &["pairs(batch_size: 1, 10)"]);
    let design = resolved(&text, Scale::Full, other).unwrap().design;
    // The direction was that of the other metric.
    assert_eq!((design.metric.as_deref(), design.is_smaller_better), (Some("elapsed_s"), None));
    assert_eq!(design.against, ["pairs(batch_size: 1, 10)"]);
    for (wanted, phrase) in [
        (wanted(Some("speed"), &[]), "`speed` is not a metric of a run"),
        (wanted(None, &["pairs(batch_size: 1, 7)"]), "levels: 1, 10"),
        (wanted(None, &["next"]), "contrast 'next' is not valid"),
    ] {
        let message = resolved(SPEC, Scale::Full, wanted).unwrap_err().to_string();
        assert!(message.contains(phrase), "{message}");
    }
}

#[test]
fn each_mistake_is_shown_at_its_place_with_what_is_known() {
    for (from, to, line, phrase) in [
        ("response_time_p99_ms", "responce_time_p99_ms", 4, "did you mean `response_time_p99_ms`?"),
        ("response_time_p99_ms", "plan_hash", 4, "`plan_hash` is not a metric of a run"),
        ("\"rows_per_s\"", "\"rows\"", 5, "is not a metric of a run"),
        ("\"rows_per_s\", \"log_bytes_per_transaction\"", "", 5, "has 0 elements"),
        ("each-level-of(connections)", "each-level-of(connection)", 6, "factors: batch_size, connections"),
        ("previous(connections)", "pairs(connections: 1, 3)", 6, "levels: 1, 2, 4"),
        ("previous(connections)", "earlier", 6, "write reference, previous"),
        ("secondary", "better = \"up\"\nsecondary", 5, "one of smaller, larger"),
    ] {
        let (message, found) = refused(from, to);
        assert!(message.contains(phrase), "{message}");
        assert_eq!(found, Some(line), "{message}");
    }
}

#[test]
fn contrasts_of_a_factor_that_the_command_line_fixes_fall_away() {
    let overrides = vec![("connections".to_owned(), "4".to_owned())];
    let request = Request { overrides, ..Request::plain(Scale::Full, crate::engine("postgres")) };
    let resolved = Experiment::parse("night.toml", SPEC).unwrap().resolve(&request).unwrap();
    assert_eq!(resolved.design.against, Vec::<String>::new());
    // What the command line itself asks for is not passed over.
    let request = Request { wanted: wanted(None, &["previous(connections)"]), ..request };
    let message = Experiment::parse("night.toml", SPEC).unwrap().resolve(&request).unwrap_err().to_string();
    assert!(message.contains("factor 'connections' is not in the experiment"), "{message}");
}

#[test]
fn every_shipped_experiment_can_decide_at_every_scale() {
    let mut faults = Vec::new();
    for shipped in shipped() {
        let experiment = Experiment::parse(shipped.name, shipped.text).unwrap();
        for scale in experiment.scales() {
            for engine in ["postgres", "sqlite"] {
                let Ok(resolved) = experiment.resolve(&Request::plain(scale, crate::engine(engine))) else {
                    continue;
                };
                let count = resolved.pairs().len();
                if count == 0 {
                    continue;
                }
                let preview =
                    Preview::of(Blocks::of(resolved.repetitions, count as u32), &SPREADS, 0.05).unwrap();
                let at_5_percent = preview.smallest[1].1;
                if !preview.reach.can_decide || at_5_percent.is_none_or(|smallest| smallest > 0.2) {
                    let name = shipped.name;
                    faults.push(format!("{name} ({scale:?}, {engine}): {count} comparisons, {preview:?}"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
