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
    let picture = picture.map_or(String::new(), |svg| figure(&svg, note));
    document("Comparison", &summary.measure.name, &comparison::sections(summary), &picture)
}

/// A history as one page: one chart per configuration, each study with its interval, changes of the level in words.
pub fn history(history: &History) -> String {
    let charts: Vec<String> = history.series.iter().filter_map(|series| chart(history, series)).collect();
    let pictures = format!("<div class=\"charts\">{}</div>", charts.concat());
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

fn chart(history: &History, series: &Series) -> Option<String> {
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
    let chart = LevelChart {
        y_title: format!("{} [{}]", history.measure.name, history.measure.unit),
        x_title: "study".to_owned(),
        levels: series.points.iter().map(|point| point.study_id.to_string()).collect(),
        series: vec![(series.label.clone(), series.points.iter().map(spot).collect())],
        is_ordered: true,
        is_logarithmic: false,
        range: None,
    };
    let svg = chart.draw()?;
    Some(figure(&svg, &format!("<b>{}</b> × marks a change of the level.", escape(&series.label))))
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
