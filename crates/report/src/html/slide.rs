//! One picture for a slide, as an SVG file of its own: the answer of a study over the chart of the compared quantity, the
//! verdict of a comparison over its differences, the changes of a history over its charts.

use super::chart::{difference, num, shortened};
use super::markup::{Markup, markup};
use super::page::Page;
use super::{document, factors};
use crate::comparison::{ComparisonSummary, SideView, StudiesSummary};
use crate::history::History;
use crate::outcome::Answer;
use crate::tables::moment;

/// Size of the picture; a slide is 16 to 9.
const WIDTH: f64 = 1280.0;
const HEIGHT: f64 = 720.0;

/// Width of a character on average, as a share of the font's size: that of a broad bold font, so that no line is cut.
const CHARACTER: f64 = 0.62;

const CHART_STYLE: &str = include_str!("../../assets/chart.css");

/// Colours of paper, for viewers that know no variables.
const COLOURS: [(&str, &str); 16] = [
    ("--c0", "#0b62a8"),
    ("--c1", "#c2500a"),
    ("--c2", "#00785a"),
    ("--c3", "#b0447f"),
    ("--c4", "#2a8fc7"),
    ("--c5", "#8a6d00"),
    ("--c6", "#5b4bb5"),
    ("--c7", "#6d7680"),
    ("--ink", "#1b222c"),
    ("--faint", "#5c6773"),
    ("--grid", "#dfe4ea"),
    ("--axis", "#8d98a5"),
    ("--paper", "#ffffff"),
    ("--on", "#ffffff"),
    ("--band", "#f3dcc0"),
    ("--track", "#e8ecf1"),
];

/// What a slide shows, from top to bottom.
struct Slide {
    heading: String,
    warning: Option<String>,
    headline: String,
    /// Each with the number of lines that it may take.
    sentences: Vec<(String, usize)>,
    /// Pictures side by side, each with the words above it.
    pictures: Vec<(String, Markup)>,
    foot: String,
}

/// Draws the answer of a study. The same figures give the same bytes.
pub fn svg(page: &Page<'_>) -> String {
    let summary = page.summary;
    let answer = Answer::of(summary);
    let charts = factors::quantity_facets(page);
    let drawn = charts.charts.iter().filter_map(|(_, chart)| Some((String::new(), chart.draw()?)));
    let key: String = summary.study_key.chars().take(12).collect();
    let slide = Slide {
        heading: summary.heading(),
        warning: answer
            .invalid
            .or_else(|| answer.cautions.first().map(|caution| format!("Caution: {caution}."))),
        headline: answer.headline,
        sentences: vec![(answer.certainty, 2), (answer.limit, 3)],
        pictures: drawn.take(2).collect(),
        foot: format!("{} on {}, study {key}", summary.experiment, summary.engine),
    };
    slide.draw()
}

/// Pairs in one column of a slide; there are two.
const PAIRS_MAX: usize = 6;

/// Draws the verdict of a comparison over the differences, those that matter first.
pub fn comparison(summary: &ComparisonSummary) -> String {
    let mut lines = document::differences(summary);
    lines.sort_by_key(|line| line.tone != difference::Tone::Bad);
    let more = lines.len().saturating_sub(2 * PAIRS_MAX);
    lines.truncate(2 * PAIRS_MAX);
    let (threshold, title) = (summary.threshold_percent, document::difference_title(summary));
    let reach = difference::reach(&lines, threshold);
    let columns = lines.chunks(PAIRS_MAX.min(lines.len().div_ceil(2).max(3)));
    let side =
        |side: &SideView| format!("{} (study {}, {})", side.name, side.study_id, moment(&side.created_at));
    let mut sentences = summary.sentences.iter().cloned();
    let changed: Vec<&str> = summary.changes.iter().map(|changed| changed.name.as_str()).collect();
    let around = match changed.len() {
        0 => "No recorded difference around the runs.".to_owned(),
        _ => format!("Differences around the runs: {}.", changed.join(", ")),
    };
    let more = if more > 0 { format!(" · {more} more pairs are in the other forms") } else { String::new() };
    let slide = Slide {
        heading: format!(
            "{}: {} against {}",
            summary.measure.name,
            side(&summary.candidate),
            side(&summary.baseline)
        ),
        warning: None,
        headline: sentences.next().unwrap_or_default(),
        sentences: vec![(sentences.collect::<Vec<_>>().join(" "), 2), (around, 2)],
        pictures: columns
            .filter_map(|part| Some((String::new(), difference::draw(&title, part, threshold, reach)?)))
            .collect(),
        foot: format!("{} on {}{more}", summary.candidate.experiment, summary.candidate.engine),
    };
    slide.draw()
}

/// Draws several studies over their configurations.
pub fn studies(summary: &StudiesSummary) -> String {
    let names: Vec<&str> = summary.studies.iter().map(|study| study.name.as_str()).collect();
    let mut sentences = summary.sentences.iter().cloned();
    let experiment = summary.studies.first().map_or("", |study| study.experiment.as_str());
    let slide = Slide {
        heading: format!("{}: {}", summary.measure.name, names.join(", ")),
        warning: None,
        headline: sentences.next().unwrap_or_default(),
        sentences: vec![(sentences.collect::<Vec<_>>().join(" "), 3)],
        pictures: document::studies_chart(summary)
            .draw()
            .map(|svg| (String::new(), svg))
            .into_iter()
            .collect(),
        foot: format!("{experiment} over {} studies", names.len()),
    };
    slide.draw()
}

/// Configurations of a history on one slide.
const SERIES_MAX: usize = 3;

/// Draws the changes of a history over its charts, those with a change first.
pub fn history(history: &History) -> String {
    let (mut charts, note) = document::charts(history);
    charts.sort_by_key(|(series, _)| series.points.iter().all(|point| point.change.is_none()));
    let more = charts.len().saturating_sub(SERIES_MAX);
    let mut sentences = crate::history::outcome(history).into_iter();
    let more = if more > 0 {
        format!(" · {more} more configurations are in the other forms")
    } else {
        String::new()
    };
    let slide = Slide {
        heading: format!(
            "{} of {} over {} studies",
            history.measure.name, history.experiment, history.study_count
        ),
        warning: None,
        headline: sentences.next().unwrap_or_default(),
        sentences: vec![(sentences.collect::<Vec<_>>().join(" "), 3), (note.to_owned(), 1)],
        pictures: charts
            .iter()
            .filter_map(|(series, chart)| Some((series.label.clone(), chart.draw()?)))
            .take(SERIES_MAX)
            .collect(),
        foot: format!("{}{more}", history.experiment),
    };
    slide.draw()
}

impl Slide {
    fn draw(&self) -> String {
        let mut body = Markup::default();
        let mut y = 30.0;
        let mut write = |class: &str, words: &str, size: f64, lines_max: usize| {
            let chars_max = (WIDTH - 120.0) / (size * CHARACTER);
            for line in lines_at_most(words, chars_max, lines_max).iter().filter(|line| !line.is_empty()) {
                y += size * 1.3;
                text(&mut body, class, (60.0, y), size, line);
            }
            y += 6.0;
        };
        write("word faint", &self.heading, 20.0, 1);
        if let Some(warning) = &self.warning {
            write("word warn", warning, 20.0, 2);
        }
        write("word strong", &self.headline, 28.0, 3);
        for (sentence, lines_max) in &self.sentences {
            write("word faint", sentence, 18.0, *lines_max);
        }
        y += 20.0;
        let width = (WIDTH - 120.0) / self.pictures.len().max(1) as f64;
        for (index, (label, picture)) in self.pictures.iter().enumerate() {
            let x = 60.0 + index as f64 * width;
            let mut top = y;
            if !label.is_empty() {
                let chars_max = width / (18.0 * CHARACTER);
                text(&mut body, "word strong", (x, top + 12.0), 18.0, &shortened(label, chars_max as usize));
                top += 26.0;
            }
            let place = markup!(
                "<svg x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"xMidYMin meet\" ",
                num(x),
                num(top),
                num(width - 12.0),
                num((HEIGHT - top - 40.0).max(100.0))
            );
            body.push(&Markup::trusted(picture.as_str().replacen("<svg ", place.as_str(), 1)));
        }
        text(&mut body, "word faint", (60.0, HEIGHT - 16.0), 14.0, &self.foot);
        let drawing = markup!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\
             <style>{2}</style><rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>{3}</svg>\n",
            WIDTH,
            HEIGHT,
            Markup::trusted(style()),
            body
        );
        drawing.into_string()
    }
}

fn text(body: &mut Markup, class: &str, at: (f64, f64), size: f64, words: &str) {
    body.push(&markup!(
        "<text class=\"{}\" x=\"{}\" y=\"{}\" style=\"font-size:{}px\">{}</text>",
        class,
        num(at.0),
        num(at.1),
        size,
        words
    ));
}

/// The style of charts with its colours written out.
fn style() -> String {
    let mut style = CHART_STYLE.to_owned();
    for (name, colour) in COLOURS {
        style = style.replace(&format!("var({name})"), colour);
    }
    style
}

/// The first lines; a sentence that goes on says so.
fn lines_at_most(text: &str, chars_max: f64, lines_max: usize) -> Vec<String> {
    let mut lines = lines(text, chars_max);
    if lines.len() > lines_max {
        lines.truncate(lines_max);
        lines.iter_mut().last().into_iter().for_each(|line| line.push_str(" ..."));
    }
    lines
}

/// Breaks words into lines of so many characters.
fn lines(text: &str, chars_max: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is always a line");
        if !line.is_empty() && (line.chars().count() + 1 + word.chars().count()) as f64 > chars_max {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_variable_is_left_for_viewers_that_know_none() {
        assert!(!style().contains("var("), "{}", style());
        assert!(CHART_STYLE.contains("var(--c0)"));
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(lines("aa bb cc", 5.0), ["aa bb", "cc"]);
        assert_eq!(lines_at_most("aa bb cc", 5.0, 2), ["aa bb", "cc"]);
        assert_eq!(lines_at_most("aa bb cc", 5.0, 1), ["aa bb ..."]);
    }
}
