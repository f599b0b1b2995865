//! Pages of one subject: a comparison with the differences drawn, a history with its changes marked.

use super::chart::difference::{self, Tone};
use super::chart::levels::{LevelChart, Spot, Stretch};
use super::chart::places::Places;
use super::chart::shares::{Bar, Shares};
use super::definitions::Definitions;
use super::figure::figure;
use super::markup::{Markup, markup};
use super::shell::Content;
use super::tables;
use crate::comparison::{self, ComparisonSummary, InStudy, Pair, StudiesSummary, WaitShare};
use crate::history::{self, History, Series};
use crate::layout::{Section, SectionId};
use crate::number::number;
use crate::summary::{Verdict, geometric_mean};

/// A comparison as one page: what changed, the verdict, the differences with their intervals, the waits side by side.
pub fn comparison(summary: &ComparisonSummary) -> String {
    let lines = differences(summary);
    let note = markup!("Each bar is the 95 % interval of the difference; zero is the baseline.");
    let reach = difference::reach(&lines, summary.threshold_percent);
    let picture = difference::draw(&difference_title(summary), &lines, summary.threshold_percent, reach);
    let mut pictures = picture.map_or_else(Markup::default, |svg| figure(&svg, &note));
    if let Some(svg) = waits(summary).and_then(|shares| shares.draw()) {
        let note = Markup::trusted("Waits by type, idle time, and the rest, in % of the clients' time.");
        pictures.push(&figure(&svg, &note));
    }
    let picture = markup!("<div class=\"charts\">{}</div>", pictures);
    document("Comparison", &summary.measure.name, &comparison::sections(summary), &picture)
}

/// Several studies as one page: the verdict with a chart over the configurations, one line per study; means, factors, best
/// cases, and what differs.
pub fn studies(summary: &StudiesSummary) -> String {
    let chart = studies_chart(summary);
    let note = markup!("Geometric means of the runs of each study.");
    let picture = chart.draw().map_or_else(Markup::default, |svg| figure(&svg, &note));
    let picture = markup!("<div class=\"charts\">{}</div>", picture);
    let names: Vec<&str> = summary.studies.iter().map(|study| study.name.as_str()).collect();
    let title = format!("Comparison of {}", names.join(", "));
    document(&title, &summary.measure.name, &comparison::studies_sections(summary), &picture)
}

/// The chart of several studies as a slide.
pub(super) fn studies_chart(summary: &StudiesSummary) -> LevelChart {
    let unit = &summary.measure.unit;
    let spot = |of: &Option<InStudy>| {
        let mean = of.as_ref().and_then(|of| of.geometric_mean);
        Spot {
            mean,
            title: mean.map_or_else(String::new, |mean| format!("{} {unit}", number(mean))),
            ..Spot::default()
        }
    };
    let series = summary.studies.iter().enumerate().map(|(place, study)| {
        let spots = summary.rows.iter().map(|row| row.studies.get(place).map_or_else(Spot::default, spot));
        (study.name.clone(), spots.collect())
    });
    LevelChart {
        y_title: format!("{} [{unit}]", summary.measure.name),
        x_title: "configuration".to_owned(),
        places: Places::default(),
        levels: summary.rows.iter().map(|row| row.label.clone()).collect(),
        series: series.collect(),
        is_ordered: false,
        ..LevelChart::default()
    }
}

pub(super) fn difference_title(summary: &ComparisonSummary) -> String {
    format!("{}: difference of the candidate, in %", summary.measure.name)
}

/// The difference of each pair that has one.
pub(super) fn differences(summary: &ComparisonSummary) -> Vec<difference::Line> {
    let line = |pair: &Pair| {
        let percent = pair.difference_percent?;
        Some(difference::Line {
            label: pair.candidate_label.clone(),
            percent,
            interval: pair.difference_percent_interval.map(|range| (range.low, range.high)),
            words: format!("{percent:+.1} %, {}", comparison::verdict_words(pair)),
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
    let colours = ["0", "1", "2", "3", "4", "5"];
    let mut names: Vec<(String, &'static str)> =
        types.iter().map(|(name, _)| (*name).to_owned()).zip(colours).collect();
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

/// A history as one page: one chart per configuration, each study with its interval, changes of the level in words.
pub fn history(history: &History) -> String {
    let (charts, note) = charts(history);
    let note = if note.is_empty() { Markup::default() } else { markup!("<p class=\"note\">{}</p>", note) };
    let drawn: Markup = charts.iter().filter_map(|(series, chart)| picture(series, chart)).collect();
    let pictures = markup!("<div class=\"charts\">{}</div>{}", drawn, note);
    let title = format!("History of {}", history.measure.name);
    document(&title, &history.experiment, &history::sections(history), &pictures)
}

/// One chart per configuration, and the sentence that they have axes of their own, or nothing where they share one.
pub(super) fn charts(history: &History) -> (Vec<(&Series, LevelChart)>, &'static str) {
    let mut charts: Vec<(&Series, LevelChart)> =
        history.series.iter().map(|series| (series, chart(history, series))).collect();
    let note = share_axis(&mut charts);
    (charts, note)
}

/// Largest values further apart than this would flatten the smaller charts on a common axis.
const COMMON_AXIS_FACTOR_MAX: f64 = 20.0;

/// Gives all charts one axis, or returns the sentence that they have axes of their own.
fn share_axis(charts: &mut [(&Series, LevelChart)]) -> &'static str {
    let extents: Vec<(f64, f64)> = charts.iter().filter_map(|(_, chart)| chart.extent()).collect();
    let smallest = extents.iter().map(|extent| extent.0).fold(f64::INFINITY, f64::min);
    let highest = extents.iter().map(|extent| extent.1);
    let (lowest_top, top) =
        highest.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), top| (low.min(top), high.max(top)));
    if top > COMMON_AXIS_FACTOR_MAX * lowest_top {
        return "Each chart has its own vertical axis: their values differ by more than a factor of 20.";
    }
    for (_, chart) in charts.iter_mut().filter(|(_, chart)| chart.extent().is_some()) {
        chart.range = Some((smallest, top));
    }
    ""
}

fn picture(series: &Series, chart: &LevelChart) -> Option<Markup> {
    let has_change = series.points.iter().any(|point| point.change.is_some());
    let mark = if has_change { ": dashed lines are change points, with the mean of each level." } else { "" };
    Some(figure(&chart.draw()?, &markup!("<b>{}</b>{}", series.label, mark)))
}

fn chart(history: &History, series: &Series) -> LevelChart {
    let spot = |point: &history::Point| {
        let mean = point.geometric_mean;
        let changed = point
            .change
            .as_ref()
            .map_or(String::new(), |change| format!(", change point: {:+.1} %", change.difference_percent));
        let study = format!("study {} of {}", point.study_id, point.created_at);
        Spot {
            mean: Some(mean),
            interval: point.geometric_mean_interval.map(|range| (range.low, range.high)),
            title: format!("{study}: geometric mean {}, n = {}{changed}", number(mean), point.estimate.n),
            words: None,
            dots: Vec::new(),
        }
    };
    LevelChart {
        y_title: format!("{}, geometric mean [{}]", history.measure.name, history.measure.unit),
        x_title: "study".to_owned(),
        levels: series.points.iter().map(|point| point.study_id.to_string()).collect(),
        series: vec![(series.label.clone(), series.points.iter().map(spot).collect())],
        stretches: stretches(series),
        is_ordered: true,
        ..LevelChart::default()
    }
}

/// The levels between the changes, each with its mean; none where nothing changed.
fn stretches(series: &Series) -> Vec<Stretch> {
    let changes: Vec<usize> =
        (0..series.points.len()).filter(|&at| series.points[at].change.is_some()).collect();
    if changes.is_empty() {
        return Vec::new();
    }
    let begins = std::iter::once(0).chain(changes.iter().copied());
    let ends = changes.iter().copied().chain([series.points.len()]);
    let stretch = |(from, to): (usize, usize)| {
        let points = &series.points[from..to];
        let means: Vec<f64> = points.iter().map(|point| point.geometric_mean).collect();
        let mean = geometric_mean(&means);
        let change = series.points[from].change.as_ref();
        Stretch {
            levels: (from, to),
            mean,
            words: change.map_or(String::new(), |change| format!("{:+.1} %", change.difference_percent)),
            title: change.map_or(String::new(), |change| {
                let word = if change.is_better { "better" } else { "worse" };
                let point = &series.points[from];
                format!("{word} by {:.1} % since study {}", change.difference_percent.abs(), point.study_id)
            }),
            is_bad: change.is_some_and(|change| !change.is_better),
        }
    };
    begins.zip(ends).map(stretch).collect()
}

fn document(title: &str, kicker: &str, sections: &[Section], pictures: &Markup) -> String {
    let definitions = Definitions::load();
    let shown: Vec<&Section> = sections.iter().filter(|section| !section.blocks.is_empty()).collect();
    let mut parts: Vec<Markup> = shown
        .iter()
        .map(|section| markup!("<h2>{}</h2>{}", section.title, tables::blocks(section, &definitions)))
        .collect();
    // The pictures belong to what came out: the verdict, which stands behind what changed around it.
    let place = shown.iter().position(|section| section.id == SectionId::Verdict).unwrap_or(0);
    match parts.get_mut(place) {
        Some(part) => part.push(pictures),
        None => parts.push(pictures.clone()),
    }
    shelled(title, kicker, &parts, &definitions)
}

/// A page of sections.
pub(super) fn shelled(title: &str, kicker: &str, parts: &[Markup], definitions: &Definitions) -> String {
    let sections = parts.iter().map(|part| markup!("<section>{}</section>\n", part));
    let content =
        Content { title, kicker: kicker.to_owned(), sections: sections.collect(), ..Content::default() };
    content.page(definitions)
}

#[cfg(test)]
mod tests {
    use super::super::chart::levels::Dot;
    use super::*;

    fn chart_of(value: f64) -> LevelChart {
        let dot = Dot { value, title: String::new(), counts: true };
        LevelChart {
            levels: vec!["1".to_owned()],
            series: vec![(String::new(), vec![Spot { dots: vec![dot], ..Spot::default() }])],
            is_ordered: true,
            ..LevelChart::default()
        }
    }

    #[test]
    fn charts_of_a_history_share_an_axis_or_say_that_they_do_not() {
        let series = Series { label: String::new(), points: Vec::new(), missing_count: 0 };
        let mut near = [(&series, chart_of(2.0)), (&series, chart_of(30.0))];
        assert_eq!(share_axis(&mut near), "");
        assert!(near.iter().all(|(_, chart)| chart.range == Some((2.0, 30.0))));
        let mut far = [(&series, chart_of(1.0)), (&series, chart_of(30.0))];
        assert!(share_axis(&mut far).contains("its own vertical axis"));
        assert!(far.iter().all(|(_, chart)| chart.range.is_none()));
    }
}
