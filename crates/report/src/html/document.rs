//! Pages of one subject: a comparison with the differences drawn, a history with its changes marked.

use askama::Template;
use results::store::StoredStudy;

use super::chart::levels::{Dot, LevelChart, Spot};
use super::chart::{difference, escape};
use super::definitions::Definitions;
use super::{Footnote, SCRIPT, STYLE, figure, footnotes, policy, tables};
use crate::comparison::{self, ComparisonSummary};
use crate::history::{self, History, Series};
use crate::layout::Section;
use crate::number::number;
use crate::tables::moment;

#[derive(Template)]
#[template(path = "document.html")]
struct DocumentTemplate<'a> {
    title: String,
    kicker: String,
    parts: Vec<String>,
    definitions: Vec<Footnote>,
    style: &'a str,
    policy: String,
    script: &'a str,
}

/// A comparison as one page: what changed, the verdict, the differences with their intervals, the waits side by side.
pub fn comparison(summary: &ComparisonSummary) -> String {
    let lines: Vec<difference::Line> = summary
        .pairs
        .iter()
        .filter_map(|pair| {
            let percent = pair.difference_percent?;
            let verdict = pair.verdict.map_or("not compared", |verdict| verdict.words());
            Some(difference::Line {
                label: pair.candidate_label.clone(),
                percent,
                interval: pair.difference_percent_interval.map(|range| (range.low, range.high)),
                words: format!("{percent:+.1} %, {verdict}"),
                is_bad: pair.is_regression,
            })
        })
        .collect();
    let title = format!("{}: difference of the candidate, in %", summary.measure.name);
    let note = "Each bar is the 95 % interval of the difference; zero is the baseline.";
    let picture = difference::draw(&title, &lines, summary.threshold_percent);
    let picture = picture
        .map_or(String::new(), |svg| format!("<div class=\"charts wide\">{}</div>", figure(&svg, note)));
    document("Comparison", &summary.measure.name, &comparison::sections(summary), &picture)
}

/// A history as one page: one chart per configuration, each study with its interval, changes of the level in words.
pub fn history(history: &History) -> String {
    let mut charts: Vec<(&Series, LevelChart)> =
        history.series.iter().map(|series| (series, chart(history, series))).collect();
    let note = share_axis(&mut charts);
    let drawn: String = charts.iter().filter_map(|(series, chart)| picture(series, chart)).collect();
    let pictures = format!("<div class=\"charts\">{drawn}</div>{note}");
    let title = format!("History of {}", history.measure.name);
    document(&title, &history.experiment, &history::sections(history), &pictures)
}

/// All studies of a results file, the newest first, each with a way to its page: what `fathom serve` shows first.
pub fn list(studies: &[StoredStudy]) -> String {
    let one = |stored: &StoredStudy| {
        let study = &stored.study;
        let title = if study.title.is_empty() { &study.experiment } else { &study.title };
        format!(
            "<tr><td class=\"r\">{}</td><td class=\"w\"><a href=\"/study/{}\">{}</a></td><td class=\"l\">{}</td>\
             <td class=\"l\">{}</td><td class=\"l\">{}</td></tr>",
            stored.id.0,
            stored.id.0,
            escape(title),
            escape(&study.experiment),
            escape(&study.engine),
            escape(&moment(&study.created_at))
        )
    };
    let rows: String = studies.iter().rev().map(one).collect();
    let table = format!(
        "<div class=\"scroll\"><table><thead><tr><th class=\"r\">study</th><th>title</th><th>experiment</th><th>target</th>\
         <th>created</th></tr></thead><tbody>{rows}</tbody></table></div>"
    );
    let empty = "<p class=\"absent\">This results file holds no study yet.</p>".to_owned();
    document("Studies", "results", &[], if studies.is_empty() { &empty } else { &table })
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
        return "<p class=\"note\">Each chart has a vertical axis of its own: their values lie more than a factor of 20 apart.</p>";
    }
    for (_, chart) in charts.iter_mut().filter(|(_, chart)| chart.extent().is_some()) {
        chart.range = Some((smallest, top));
    }
    ""
}

fn picture(series: &Series, chart: &LevelChart) -> Option<String> {
    let has_change = series.points.iter().any(|point| point.change.is_some());
    let mark = if has_change { " × marks a change of the level." } else { "" };
    Some(figure(&chart.draw()?, &format!("<b>{}</b>{mark}", escape(&series.label))))
}

fn chart(history: &History, series: &Series) -> LevelChart {
    let spot = |point: &history::Point| {
        let estimate = point.estimate;
        let changed = point.change.as_ref().map_or(String::new(), |change| {
            format!(", the level changed here by {:+.1} %", change.difference_percent)
        });
        let study = format!("study {} of {}", point.study_id, point.created_at);
        Spot {
            mean: Some(estimate.mean),
            interval: estimate.interval.map(|range| (range.low, range.high)),
            title: format!("{study}: mean {}, n = {}{changed}", number(estimate.mean), estimate.n),
            words: None,
            // A change of the level is seen without hovering: a cross above its study.
            dots: point
                .change
                .iter()
                .map(|_| Dot {
                    value: estimate.max,
                    title: format!("the level changed at {study}"),
                    counts: false,
                })
                .collect(),
        }
    };
    LevelChart {
        y_title: format!("{} [{}]", history.measure.name, history.measure.unit),
        x_title: "study".to_owned(),
        levels: series.points.iter().map(|point| point.study_id.to_string()).collect(),
        series: vec![(series.label.clone(), series.points.iter().map(spot).collect())],
        is_ordered: true,
        is_logarithmic: false,
        range: None,
    }
}

fn document(title: &str, kicker: &str, sections: &[Section], pictures: &str) -> String {
    let definitions = Definitions::load();
    let mut parts: Vec<String> = sections
        .iter()
        .filter(|section| !section.blocks.is_empty())
        .map(|section| {
            format!("<h2>{}</h2>{}", escape(&section.title), tables::blocks(section, &definitions))
        })
        .collect();
    // The pictures belong behind the first part, which says what came out.
    match parts.first_mut() {
        Some(first) => first.push_str(pictures),
        None => parts.push(pictures.to_owned()),
    }
    let template = DocumentTemplate {
        title: escape(title),
        kicker: escape(kicker),
        parts,
        definitions: footnotes(&definitions),
        style: STYLE,
        policy: policy(false),
        script: SCRIPT,
    };
    template.render().expect("a template that writes to memory renders")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart_of(value: f64) -> LevelChart {
        let dot = Dot { value, title: String::new(), counts: true };
        LevelChart {
            y_title: String::new(),
            x_title: String::new(),
            levels: vec!["1".to_owned()],
            series: vec![(String::new(), vec![Spot { dots: vec![dot], ..Spot::default() }])],
            is_ordered: true,
            is_logarithmic: false,
            range: None,
        }
    }

    #[test]
    fn charts_of_a_history_share_an_axis_or_say_that_they_do_not() {
        let series = Series { label: String::new(), points: Vec::new(), missing_count: 0 };
        let mut near = [(&series, chart_of(2.0)), (&series, chart_of(30.0))];
        assert_eq!(share_axis(&mut near), "");
        assert!(near.iter().all(|(_, chart)| chart.range == Some((2.0, 30.0))));
        let mut far = [(&series, chart_of(1.0)), (&series, chart_of(30.0))];
        assert!(share_axis(&mut far).contains("axis of its own"));
        assert!(far.iter().all(|(_, chart)| chart.range.is_none()));
    }
}
