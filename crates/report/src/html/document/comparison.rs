//! The page of a comparison: names and verdict first, the differences drawn, then what differs around the runs.

use super::super::chart::difference::{self, Tone};
use super::super::chart::shares::{Bar, Shares};
use super::super::chart::waits::colours;
use super::super::definitions::Definitions;
use super::super::figure::figure;
use super::super::markup::{Markup, markup};
use super::super::shell::shelled;
use super::super::tables;
use crate::comparison::{ComparisonSummary, Pair, SideView, WaitShare, sections, verdict_words};
use crate::layout::{Section, SectionId};
use crate::summary::Verdict;
use crate::tables::moment;

/// Differences around the runs up to which their table is open.
const CHANGES_OPEN_MAX: usize = 12;

/// Differences that the caution beside the verdict names; more are counted.
const CHANGES_NAMED_MAX: usize = 6;

/// Writes the page.
pub fn page(summary: &ComparisonSummary) -> String {
    let definitions = Definitions::load();
    let mut parts = vec![verdict(summary)];
    let (mut waits, mut around) = (Markup::default(), Vec::new());
    for section in sections(summary) {
        match section.id {
            SectionId::Verdict => {}
            SectionId::Changes => around.insert(0, changes(summary, &section, &definitions)),
            SectionId::Sides => {
                around.push(markup!("<h2>Sides</h2>{}", tables::blocks(&section, &definitions)));
            }
            SectionId::Waits => {
                let id = format!("waits-{}", waits.as_str().len());
                waits.push(&tables::folded(&id, &section, &definitions, summary.pairs.len() == 1));
            }
            _ => parts.push(titled(&section, &definitions)),
        }
    }
    if !waits.is_empty() {
        parts.push(markup!("<h2>Waits</h2>{}", waits));
    }
    parts.extend(around);
    let [baseline, candidate] = [&summary.baseline, &summary.candidate];
    let experiment = match baseline.experiment == candidate.experiment {
        true => format!("{}: ", baseline.experiment),
        false => String::new(),
    };
    let title = format!("{experiment}{} against {}", named(candidate), named(baseline));
    let engine = match baseline.engine == candidate.engine {
        true => baseline.engine.clone(),
        false => format!("{} against {}", candidate.engine, baseline.engine),
    };
    shelled(&title, &format!("comparison of {} · {engine}", summary.measure.name), &parts, &definitions)
}

/// `study 4`, or `populate-batch~1 (study 3)` where it was named otherwise.
fn named(side: &SideView) -> String {
    let number = format!("study {}", side.study_id);
    if side.name == number || side.name == side.study_id.to_string() {
        return number;
    }
    format!("{} ({number})", side.name)
}

fn titled(section: &Section, definitions: &Definitions) -> Markup {
    markup!("<h2>{}</h2>{}", section.title, tables::blocks(section, definitions))
}

/// The verdict in sentences, what must be known with it, and the differences drawn.
fn verdict(summary: &ComparisonSummary) -> Markup {
    let made = |side: &SideView| format!("{} of {}", named(side), moment(&side.created_at));
    let sides = format!("baseline: {}; candidate: {}", made(&summary.baseline), made(&summary.candidate));
    let mut html = markup!("<h2>Verdict</h2><p class=\"environment\">{}</p>", sides);
    if let Some(caution) = caution(summary) {
        html.push(&markup!("<ul class=\"cautions\"><li>{}</li></ul>", caution));
    }
    for (place, sentence) in summary.sentences.iter().enumerate() {
        let class = if place == 0 { "headline" } else { "certainty" };
        html.push(&markup!("<p class=\"{}\">{}</p>", class, sentence));
    }
    let lines = differences(summary);
    let note = markup!("Each bar is the 95 % interval of the difference; zero is the baseline.");
    let reach = difference::reach(&lines, summary.threshold_percent);
    let picture = difference::draw(&difference_title(summary), &lines, summary.threshold_percent, reach);
    let mut pictures = picture.map_or_else(Markup::default, |svg| figure(&svg, &note));
    if let Some(svg) = waits(summary).and_then(|shares| shares.draw()) {
        let note = Markup::trusted("Waits by type, idle time, and the rest, in % of the clients' time.");
        pictures.push(&figure(&svg, &note));
    }
    if !pictures.is_empty() {
        html.push(&markup!("<div class=\"charts\">{}</div>", pictures));
    }
    html
}

/// That something else than the code under test may explain a difference.
fn caution(summary: &ComparisonSummary) -> Option<String> {
    let names: Vec<&str> =
        summary.changes.iter().take(CHANGES_NAMED_MAX).map(|change| change.name.as_str()).collect();
    let more = match summary.changes.len().saturating_sub(names.len()) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!names.is_empty()).then(|| format!("the sides differ in {}{more}", names.join(", ")))
}

/// What differs, and nothing that is the same; folded where it is long.
fn changes(summary: &ComparisonSummary, section: &Section, definitions: &Definitions) -> Markup {
    let count = summary.changes.len();
    if count <= CHANGES_OPEN_MAX {
        return titled(section, definitions);
    }
    let folded = Section::new(results::wording::counted(count as u64, "difference"), section.blocks.clone());
    markup!("<h2>{}</h2>{}", section.title, tables::folded("changes", &folded, definitions, false))
}

/// What the chart of the differences is called.
pub(crate) fn difference_title(summary: &ComparisonSummary) -> String {
    format!("{}: difference of the candidate, in %", summary.measure.name)
}

/// The difference of each pair that has one.
pub(crate) fn differences(summary: &ComparisonSummary) -> Vec<difference::Line> {
    let line = |pair: &Pair| {
        let percent = pair.difference_percent?;
        Some(difference::Line {
            label: pair.candidate_label.clone(),
            percent,
            interval: pair.difference_percent_interval.map(|range| (range.low, range.high)),
            words: format!("{percent:+.1} %, {}", verdict_words(pair)),
            tone: match (pair.is_regression || pair.is_invalid, pair.verdict) {
                (true, _) => Tone::Bad,
                (false, Some(Verdict::Better)) => Tone::Good,
                _ => Tone::Plain,
            },
        })
    };
    summary.pairs.iter().filter_map(line).collect()
}

/// Pairs whose waits are drawn side by side.
const WAIT_PAIRS_MAX: usize = 6;

/// Wait types with a colour of their own.
const WAIT_TYPES_MAX: usize = 6;

/// Shares of the clients' time on both sides, the pairs that differ first; `None` where no side recorded waits.
fn waits(summary: &ComparisonSummary) -> Option<Shares> {
    let mut pairs: Vec<&Pair> = summary.pairs.iter().filter(|pair| !pair.waits.is_empty()).collect();
    pairs.sort_by_key(|pair| !matches!(pair.verdict, Some(Verdict::Worse | Verdict::Better)));
    pairs.truncate(WAIT_PAIRS_MAX);
    let sizes =
        |share: &WaitShare| [share.baseline_percent, share.candidate_percent].map(|size| size.unwrap_or(0.0));
    let mut types: Vec<(&str, f64)> = Vec::new();
    for share in pairs.iter().flat_map(|pair| &pair.waits) {
        let size = sizes(share)[0].max(sizes(share)[1]);
        match types.iter_mut().find(|(name, _)| *name == share.wait_type) {
            Some((_, largest)) => *largest = largest.max(size),
            None => types.push((&share.wait_type, size)),
        }
    }
    types.sort_by(|one, other| other.1.total_cmp(&one.1));
    types.truncate(WAIT_TYPES_MAX);
    let listed: Vec<String> = types.iter().map(|(name, _)| (*name).to_owned()).collect();
    let shades = colours(&listed);
    let mut names: Vec<(String, &'static str)> = listed.into_iter().zip(shades).collect();
    names.push(("other".to_owned(), "idle"));
    let bar = |pair: &Pair, side: usize| {
        let label = if side == 0 { &pair.baseline_label } else { &pair.candidate_label };
        let word = ["baseline", "candidate"][side];
        let of = |name: &str| {
            pair.waits.iter().find(|share| share.wait_type == name).map_or(0.0, |share| sizes(share)[side])
        };
        let mut parts: Vec<(f64, String)> =
            types.iter().map(|(name, _)| (of(name), format!("{word}, {name}: {:.1} %", of(name)))).collect();
        let rest = (100.0 - parts.iter().map(|part| part.0).sum::<f64>()).max(0.0);
        parts.push((rest, format!("{word}, other: {rest:.1} %")));
        Bar { label: format!("{word} · {label}"), parts }
    };
    let has = |pair: &Pair, side: usize| {
        pair.waits.iter().any(|share| [share.baseline_percent, share.candidate_percent][side].is_some())
    };
    let sides = pairs.iter().flat_map(|pair| [0, 1].map(|side| (*pair, side)));
    let bars: Vec<Bar> =
        sides.filter(|(pair, side)| has(pair, *side)).map(|(pair, side)| bar(pair, side)).collect();
    let title = "Where the clients' time went, in %".to_owned();
    (!bars.is_empty()).then_some(Shares { title, names, bars })
}
