//! The comparison laid out: what changed, the verdict, the table of pairs, the waits side by side.

use super::{ComparisonSummary, Pair, PlanState, SideView, plans};
use crate::layout::{Align, Block, Grid, Section, SectionId};
use crate::number::{ABSENT, Decimals, number, p_value, percent};
use crate::summary::{Estimate, Verdict, cache_words};
use crate::tables::{moment, or_dash};

/// Wait types listed of one pair.
const WAITS_MAX: usize = 8;

/// Lays out the whole comparison.
pub(crate) fn sections(summary: &ComparisonSummary) -> Vec<Section> {
    let mut sections = vec![head(summary), changes(summary)];
    let verdict = vec![Block::Paragraph(summary.sentences.join(" "))];
    sections.push(Section::new("Verdict", verdict).named(SectionId::Verdict));
    sections.extend(pairs(summary));
    let is_shown = |pair: &&Pair| {
        summary.pairs.len() == 1 || matches!(pair.verdict, Some(Verdict::Better | Verdict::Worse))
    };
    sections.extend(summary.pairs.iter().filter(is_shown).filter_map(|pair| waits(pair, summary)));
    sections.extend(alone(summary));
    sections
}

fn head(summary: &ComparisonSummary) -> Section {
    let side = |word: &str, side: &SideView| {
        let invalid = if side.invalid > 0 { format!("; invalid: {}", side.invalid) } else { String::new() };
        let caches = cache_words(&side.caches).map_or_else(String::new, |words| format!("; cache: {words}"));
        format!(
            "{word} {}: study {}, {} on {}, made {}; configurations: {}; runs that count: {}{invalid}{caches}",
            side.name,
            side.study_id,
            side.experiment,
            side.engine,
            moment(&side.created_at),
            side.cell_count,
            side.counting
        )
    };
    let items = vec![side("baseline ", &summary.baseline), side("candidate", &summary.candidate)];
    Section::new(format!("Comparison of {}", summary.measure.name), vec![Block::Items(items)])
        .named(SectionId::Sides)
}

fn changes(summary: &ComparisonSummary) -> Section {
    let plans = plans::sentence(&summary.pairs);
    if summary.changes.is_empty() {
        let same = "No recorded difference: parameters, settings, engine, layout and machine are the same.";
        let blocks = [same.to_owned(), plans].map(Block::Paragraph);
        return Section::new("What changed around the runs", blocks.to_vec()).named(SectionId::Changes);
    }
    let mut grid = Grid::named_by([("part".to_owned(), Align::Left), ("name".to_owned(), Align::Left)])
        .with([("baseline", Align::Wrapped), ("candidate", Align::Wrapped)]);
    for changed in &summary.changes {
        let value = |value: &Option<String>| {
            value.as_ref().map_or_else(|| "(not there)".to_owned(), |value| cut(value))
        };
        grid.push(vec![
            changed.part.word().to_owned(),
            changed.name.clone(),
            value(&changed.baseline),
            value(&changed.candidate),
        ]);
    }
    Section::new("What changed around the runs", vec![Block::Grid(grid), Block::Paragraph(plans)])
        .named(SectionId::Changes)
}

/// Longest value that a table shows; JSON has all of it.
const VALUE_CHARS_MAX: usize = 300;

/// The beginning of a long value, and how much there is.
fn cut(value: &str) -> String {
    let count = value.chars().count();
    if count <= VALUE_CHARS_MAX {
        return value.to_owned();
    }
    let begin: String = value.chars().take(VALUE_CHARS_MAX).collect();
    format!("{begin}... ({count} characters)")
}

fn pairs(summary: &ComparisonSummary) -> Option<Section> {
    if summary.pairs.is_empty() {
        return None;
    }
    let unit = &summary.measure.unit;
    let in_unit = if unit.is_empty() { String::new() } else { format!(" in {unit}") };
    let mut grid = Grid::named_by([("configuration".to_owned(), Align::Left)]).with([
        ("n", Align::Right),
        ("baseline", Align::Right),
        ("candidate", Align::Right),
        ("difference %", Align::Right),
        ("95 % interval", Align::Right),
        ("p", Align::Right),
        ("verdict", Align::Left),
    ]);
    let of_pair = |pair: &Pair| [pair.baseline_geometric_mean, pair.candidate_geometric_mean];
    let decimals = Decimals::for_values(summary.pairs.iter().flat_map(of_pair).flatten());
    for pair in &summary.pairs {
        grid.push(pair_row(pair, decimals));
    }
    let better = if summary.measure.is_smaller_better { "smaller" } else { "larger" };
    let dealt =
        if summary.is_within_study { "within the blocks of the study" } else { "among all runs of both" };
    let note = format!(
        "Geometric means of {}{in_unit}, {better} is better. Difference: 100 * (candidate / baseline - 1). p is \
         from a permutation test, labels permuted {dealt}, corrected for all pairs; the chance of one false \"better\" \
         or \"worse\" among them is at most {} %. The 95 % intervals hold for all pairs together and agree with the verdicts. A regression is worse, shown, and by more than {} %.",
        summary.measure.name,
        number(100.0 * summary.alpha),
        percent(summary.threshold_percent)
    );
    let mut blocks = vec![Block::Grid(grid)];
    let remarks: Vec<String> = summary.pairs.iter().filter_map(remark).collect();
    if !remarks.is_empty() {
        blocks.push(Block::Items(remarks));
    }
    blocks.push(Block::Paragraph(note));
    Some(Section::new("Pairs", blocks))
}

/// What must be known of a pair and fits no column.
fn remark(pair: &Pair) -> Option<String> {
    let invalid = (pair.candidate_invalid > 0).then(|| {
        format!("runs of the candidate that failed a gate and were not repeated: {}", pair.candidate_invalid)
    });
    let parts: Vec<String> = pair.why_not.clone().into_iter().chain(invalid).collect();
    (!parts.is_empty()).then(|| format!("{}: {}", pair.candidate_label, parts.join("; ")))
}

fn pair_row(pair: &Pair, decimals: Decimals) -> Vec<String> {
    let count = |estimate: Option<Estimate>| estimate.map_or(0, |estimate| estimate.n);
    let mean = |estimate: Option<f64>| or_dash(estimate, |mean| decimals.write(mean));
    let label = if pair.baseline_label == pair.candidate_label {
        pair.candidate_label.clone()
    } else {
        format!("{} vs {}", pair.candidate_label, pair.baseline_label)
    };
    let mut verdict = verdict_words(pair).to_owned();
    if pair.plan == PlanState::Changed {
        verdict.push_str(if pair.is_invalid { ": plan changed" } else { ", another plan" });
    }
    vec![
        label,
        format!("{}/{}", count(pair.baseline), count(pair.candidate)),
        mean(pair.baseline_geometric_mean),
        mean(pair.candidate_geometric_mean),
        or_dash(pair.difference_percent, signed),
        or_dash(pair.difference_percent_interval, |interval| {
            format!("{} to {}", signed(interval.low), signed(interval.high))
        }),
        or_dash(pair.p_adjusted.or(pair.p_value), |p| {
            let text = p_value(p);
            text.strip_prefix("p = ").or(text.strip_prefix("p ")).unwrap_or(&text).to_owned()
        }),
        verdict,
    ]
}

/// The verdict in a word or two.
pub(crate) fn verdict_words(pair: &Pair) -> &'static str {
    match (pair.is_regression, pair.is_invalid, pair.verdict) {
        (true, _, _) => "regression",
        (_, true, _) => "invalid",
        (_, _, Some(verdict)) => verdict.words(),
        (_, _, None) => "not compared",
    }
}

fn signed(value: f64) -> String {
    if value >= 0.0 { format!("+{}", percent(value)) } else { percent(value) }
}

fn waits(pair: &Pair, summary: &ComparisonSummary) -> Option<Section> {
    if pair.waits.is_empty() {
        return None;
    }
    let mut grid = Grid::named_by([("wait type".to_owned(), Align::Left)]).with([
        ("baseline %", Align::Right),
        ("candidate %", Align::Right),
        ("change", Align::Right),
    ]);
    for share in pair.waits.iter().take(WAITS_MAX) {
        let change = share.baseline_percent.zip(share.candidate_percent).map(|(left, right)| right - left);
        grid.push(vec![
            share.wait_type.clone(),
            or_dash(share.baseline_percent, percent),
            or_dash(share.candidate_percent, percent),
            change.map_or_else(|| ABSENT.to_owned(), signed),
        ]);
    }
    let label = if summary.pairs.len() == 1 { String::new() } else { format!(": {}", pair.candidate_label) };
    let title = format!("Where the clients' time went, % of session time{label}");
    Some(Section::new(title, vec![Block::Grid(grid)]).named(SectionId::Waits))
}

fn alone(summary: &ComparisonSummary) -> Option<Section> {
    let sides = [("baseline", &summary.only_baseline), ("candidate", &summary.only_candidate)];
    let items: Vec<String> = sides
        .iter()
        .flat_map(|(side, labels)| labels.iter().map(move |label| format!("{side}: {label}")))
        .collect();
    (!items.is_empty()).then(|| Section::new("On one side only, not compared", vec![Block::Items(items)]))
}
