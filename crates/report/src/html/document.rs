//! Pages about several studies: a comparison of two or more, a history with its changes marked.

mod comparison;

use super::chart::levels::{LevelChart, Spot, Stretch};
use super::chart::places::Places;
use super::definitions::Definitions;
use super::figure::figure;
use super::markup::{Markup, markup};
use super::shell::shelled;
use super::tables;
use crate::comparison::{InStudy, StudiesSummary, studies_sections};
use crate::history::{self, History, Series};
use crate::layout::{Block, Section, SectionId};
use crate::number::number;
use crate::summary::geometric_mean;

pub use comparison::page as comparison;
pub(super) use comparison::{difference_title, differences};

/// Several studies as one page: the verdict with a chart over the configurations, one line per study; means, factors, best
/// cases, and what differs.
pub fn studies(summary: &StudiesSummary) -> String {
    let chart = studies_chart(summary);
    let note = markup!("Geometric means of the runs of each study.");
    let picture = chart.draw().map_or_else(Markup::default, |svg| figure(&svg, &note));
    let picture = markup!("<div class=\"charts\">{}</div>", picture);
    let names: Vec<&str> = summary.studies.iter().map(|study| study.name.as_str()).collect();
    let title = format!("Comparison of {}", names.join(", "));
    document(&title, &summary.measure.name, &studies_sections(summary), &picture)
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

/// A history as one page: one chart per configuration, each study with its interval, changes of the level in words.
pub fn history(history: &History) -> String {
    let (charts, note) = charts(history);
    let note = if note.is_empty() { Markup::default() } else { markup!("<p class=\"note\">{}</p>", note) };
    let drawn: Markup = charts.iter().filter_map(|(series, chart)| picture(series, chart)).collect();
    let pictures = markup!("<div class=\"charts\">{}</div>{}", drawn, note);
    let title =
        format!("{}: {} over {} studies", history.experiment, history.measure.name, history.study_count);
    let definitions = Definitions::load();
    let mut sentences = history::outcome(history).into_iter();
    let headline = sentences.next().unwrap_or_default();
    let more: Markup = sentences.map(|sentence| markup!("<p>{}</p>", sentence)).collect();
    let mut parts =
        vec![markup!("<h2>Result</h2><p class=\"headline\">{}</p>{}{}", headline, more, pictures)];
    let mut values = Markup::default();
    for (place, mut section) in history::sections(history).into_iter().enumerate().skip(1) {
        section.blocks.iter_mut().for_each(without_bars);
        if section.id == SectionId::Notes {
            values.push(&tables::blocks(&section, &definitions));
        } else {
            let is_open = history.series.len() <= SERIES_OPEN_MAX;
            values.push(&tables::folded(&format!("series-{place}"), &section, &definitions, is_open));
        }
    }
    parts.push(markup!("<h2>Values</h2>{}", values));
    shelled(&title, "history", &parts, &definitions)
}

/// Series up to which their tables are open.
const SERIES_OPEN_MAX: usize = 2;

/// Bars made of characters are for terminals: the page has charts.
fn without_bars(block: &mut Block) {
    let Block::Grid(grid) = block else { return };
    let Some(bars) = grid.columns.iter().position(|(name, _)| name == history::BARS) else { return };
    grid.columns.remove(bars);
    for row in &mut grid.rows {
        row.remove(bars);
    }
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
        y_title: match history.measure.unit.as_str() {
            "" => format!("{}, geometric mean", history.measure.name),
            unit => format!("{}, geometric mean [{unit}]", history.measure.name),
        },
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
    let mut shown: Vec<&Section> = sections.iter().filter(|section| !section.blocks.is_empty()).collect();
    // What came out first, what was compared last.
    shown.sort_by_key(|section| match section.id {
        SectionId::Verdict => 0,
        SectionId::Sides => 2,
        _ => 1,
    });
    let mut parts: Vec<Markup> = shown
        .iter()
        .map(|section| markup!("<h2>{}</h2>{}", section.title, tables::blocks(section, &definitions)))
        .collect();
    match parts.first_mut() {
        Some(part) => part.push(pictures),
        None => parts.push(pictures.clone()),
    }
    shelled(title, kicker, &parts, &definitions)
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
