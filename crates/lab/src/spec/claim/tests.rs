#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use super::*;

/// Means by metric and cell label.
#[derive(Default)]
struct Made(BTreeMap<(String, String), f64>, Option<Difference>);

impl Made {
    fn with(mut self, metric: &str, cell: &str, value: f64) -> Self {
        self.0.insert((metric.to_owned(), cell.to_owned()), value);
        self
    }
}

impl Figures for Made {
    fn mean(&self, metric: &str, cell: &Cell) -> Option<f64> {
        self.0.get(&(metric.to_owned(), cell.label())).copied()
    }

    fn difference(&self, _metric: &str, _cell: &Cell, _other: &Cell) -> Option<Difference> {
        self.1
    }
}

fn factor(name: &str, levels: &[i64]) -> Factor {
    Factor { name: name.to_owned(), levels: levels.iter().copied().map(Level::Integer).collect() }
}

fn cells(factors: &[Factor]) -> Vec<Cell> {
    let mut cells = vec![Vec::new()];
    for factor in factors {
        cells = cells
            .into_iter()
            .flat_map(|levels: Vec<(String, Level)>| {
                factor.levels.iter().map(move |level| {
                    levels.iter().cloned().chain([(factor.name.clone(), level.clone())]).collect()
                })
            })
            .collect();
    }
    cells.into_iter().zip(0..).map(|(levels, index)| Cell { index, levels }).collect()
}

fn evaluate(text: &str, factors: &[Factor], figures: &Made) -> ClaimOutcome {
    Claim::parse(text).unwrap().evaluate(factors, &cells(factors), figures)
}

fn two_by_two() -> Vec<Factor> {
    vec![factor("connections", &[1, 4]), factor("batch_size", &[1, 10])]
}

fn holds(found: &str) -> ClaimOutcome {
    ClaimOutcome::Holds { found: found.to_owned() }
}

#[test]
fn a_claim_over_one_level_alone_is_not_shown() {
    let factors = [factor("batch_size", &[1])];
    let figures = Made::default().with("log_bytes", "batch_size=1", 1.0);
    let outcome = evaluate("strictly_increasing(log_bytes, batch_size)", &factors, &figures);
    assert!(matches!(outcome, ClaimOutcome::NotShown { .. }), "{outcome:?}");
}

#[test]
fn a_comparison_must_hold_at_every_level_that_it_does_not_name() {
    let figures = Made::default()
        .with("elapsed_s", "connections=1 batch_size=1", 4.0)
        .with("elapsed_s", "connections=1 batch_size=10", 2.0)
        .with("elapsed_s", "connections=4 batch_size=1", 3.0)
        .with("elapsed_s", "connections=4 batch_size=10", 3.5);
    let outcome = evaluate("elapsed_s[batch_size=10] < elapsed_s[batch_size=1]", &two_by_two(), &figures);
    let found = "elapsed_s is 3.500 at connections=4 batch_size=10 and 3 at connections=4 batch_size=1";
    assert_eq!(outcome, ClaimOutcome::Broken { found: found.to_owned() });
    let narrower = "elapsed_s[connections=1, batch_size=10] < elapsed_s[connections=1, batch_size=1]";
    let found = "elapsed_s is 2 at connections=1 batch_size=10 and 4 at connections=1 batch_size=1";
    assert_eq!(evaluate(narrower, &two_by_two(), &figures), holds(found));
}

#[test]
fn the_right_side_may_be_scaled_or_a_number() {
    let factors = [factor("batch_size", &[1, 10])];
    let figures = Made::default().with("log_flushes", "batch_size=1", 4000.0).with(
        "log_flushes",
        "batch_size=10",
        800.0,
    );
    for (text, holds) in [
        ("log_flushes[batch_size=10] <= 0.2 * log_flushes[batch_size=1]", true),
        ("log_flushes[batch_size=10] <= 0.19*log_flushes[batch_size=1]", false),
        ("log_flushes[batch_size=10] == 800", true),
        ("log_flushes > 799.5", true),
        ("log_flushes >= 801", false),
    ] {
        let outcome = evaluate(text, &factors, &figures);
        assert_eq!(matches!(outcome, ClaimOutcome::Holds { .. }), holds, "{text}");
    }
}

#[test]
fn equal_means_the_same_in_all_cells() {
    let factors = [factor("batch_size", &[1, 10])];
    let figures = Made::default().with("rows", "batch_size=1", 600.0).with("rows", "batch_size=10", 600.0);
    assert_eq!(evaluate("rows equal", &factors, &figures), holds("rows is 600 at all 2 configurations"));
    let sizes = Made::default().with("log_bytes", "batch_size=1", 5_768_669.5).with(
        "log_bytes",
        "batch_size=10",
        5_768_669.5,
    );
    let found = "log_bytes is 5.501 MiB at all 2 configurations";
    assert_eq!(evaluate("log_bytes equal", &factors, &sizes), holds(found));
    let figures = figures.with("rows", "batch_size=10", 601.0);
    assert!(matches!(evaluate("rows equal", &factors, &figures), ClaimOutcome::Broken { .. }));
}

#[test]
fn a_strict_order_follows_the_levels_at_each_level_of_the_others() {
    let factors = two_by_two();
    let mut figures = Made::default();
    for (index, cell) in cells(&factors).iter().enumerate() {
        figures = figures.with("log_bytes", &cell.label(), index as f64);
    }
    let found = "log_bytes is 2 bytes at connections=4 batch_size=1 and 3 bytes at connections=4 batch_size=10, the closest of 2";
    assert_eq!(evaluate("strictly_increasing(log_bytes, batch_size)", &factors, &figures), holds(found));
    let falling = evaluate("strictly_decreasing(log_bytes, connections)", &factors, &figures);
    assert!(matches!(falling, ClaimOutcome::Broken { .. }));
}

#[test]
fn no_difference_follows_the_verdict() {
    let factors = [factor("label", &[1, 2])];
    let mut figures = Made::default().with("elapsed_s", "label=1", 1.0).with("elapsed_s", "label=2", 2.0);
    let text = "no_difference(elapsed_s, label)";
    assert!(matches!(evaluate(text, &factors, &figures), ClaimOutcome::NotShown { .. }));
    figures.1 = Some(Difference::NotShown);
    assert_eq!(evaluate(text, &factors, &figures), holds("elapsed_s is 1 at label=1 and 2 at label=2"));
    figures.1 = Some(Difference::Shown);
    assert!(matches!(evaluate(text, &factors, &figures), ClaimOutcome::Broken { .. }));
    figures.1 = Some(Difference::TooFewRuns);
    let ClaimOutcome::NotShown { reason } = evaluate(text, &factors, &figures) else { panic!() };
    assert!(reason.contains("too few runs"), "{reason}");
}

#[test]
fn what_was_not_measured_is_said_and_not_taken_for_a_failure() {
    let factors = [factor("batch_size", &[1, 10])];
    let outcome =
        evaluate("log_flushes[batch_size=10] < log_flushes[batch_size=1]", &factors, &Made::default());
    let reason = "log_flushes was not measured at batch_size=10 (`fathom explain log_flushes` says where it can be had)".to_owned();
    assert_eq!(outcome, ClaimOutcome::NotShown { reason });
    let outcome =
        evaluate("orders_bytes[batch_size=10] < orders_bytes[batch_size=1]", &factors, &Made::default());
    let reason =
        "orders_bytes was not measured at batch_size=10 (no row of `after` has this name)".to_owned();
    assert_eq!(outcome, ClaimOutcome::NotShown { reason });
    let outcome = evaluate("rows[jobs=1] > 0", &factors, &Made::default());
    assert!(matches!(outcome, ClaimOutcome::NotShown { .. }));
}

#[test]
fn a_claim_that_cannot_be_read_says_where_and_why() {
    for (text, span, part) in [
        ("", 0..0, "expected a metric in the claim, found the end"),
        ("elapsed_s", 9..9, "expected one of < <= > >= =="),
        ("elapsed_s[batch_size] < 1", 20..21, "expected `=`"),
        ("elapsed_s[batch_size=] < 1", 21..22, "expected a level"),
        ("elapsed_s < ", 12..12, "expected a metric or a number"),
        ("elapsed_s < 1.2.3", 12..17, "`1.2.3` is not a number"),
        ("elapsed_s < 1 2", 14..15, "found `2` after the end"),
        ("a[x=1] < a", 2..3, "factor `x` is named on one side"),
        ("a[x=1,x=2] < 1", 6..7, "factor `x` is given twice"),
        ("strictly_rising(a, x)", 0..15, "`strictly_rising` is not a function"),
        ("strictly_increasing(a)", 21..22, "expected `,`"),
    ] {
        let error = Claim::parse(text).unwrap_err();
        assert!(error.title.contains(part), "{text}: {}", error.title);
        assert_eq!(error.span, span, "{text}");
    }
}

#[test]
fn a_claim_about_a_missing_level_names_the_levels() {
    let claim = Claim::parse("elapsed_s[batch_size=100] < 1").unwrap();
    let unknown_reference = claim.unknown_reference(&two_by_two()).unwrap();
    assert_eq!(unknown_reference.title, "`100` is not a level of `batch_size`");
    assert_eq!(unknown_reference.help.as_deref(), Some("its levels are 1, 10"));
    let claim = Claim::parse("no_difference(elapsed_s, connection)").unwrap();
    assert_eq!(
        claim.unknown_reference(&two_by_two()).unwrap().help.as_deref(),
        Some("did you mean `connections`?")
    );
}

#[test]
fn any_text_is_read_or_refused_without_panic() {
    let pieces =
        ["a", "[", "]", "=", "1", "*", "<", "é", " ", "(", ",", ")", ".", "-", "\"", "equal", "\u{0}"];
    let mut state = 1_u64;
    for _ in 0..20_000 {
        let mut text = String::new();
        for _ in 0..8 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.push_str(pieces[(state >> 33) as usize % pieces.len()]);
        }
        if let Err(error) = Claim::parse(&text) {
            assert!(text.get(error.span).is_some(), "{text}");
        }
    }
    assert!(Claim::parse(&"a".repeat(1_000_000)).is_err());
}
