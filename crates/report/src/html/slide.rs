//! One picture for a slide: the answer in words over the chart of the compared quantity, as an SVG file of its own.

use super::chart::{escape, num};
use super::{Page, factors};
use crate::answer::Answer;

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

/// Draws the answer of a study. The same figures give the same bytes.
pub fn svg(page: &Page<'_>) -> String {
    let answer = Answer::of(page.summary);
    let mut body = String::new();
    let mut y = 30.0;
    let mut write = |class: &str, words: &str, size: f64, lines_max: usize| {
        let chars_max = (WIDTH - 120.0) / (size * CHARACTER);
        for line in lines_at_most(words, chars_max, lines_max) {
            y += size * 1.3;
            body.push_str(&format!(
                "<text class=\"{class}\" x=\"60\" y=\"{}\" style=\"font-size:{size}px\">{}</text>",
                num(y),
                escape(&line)
            ));
        }
        y += 6.0;
    };
    write("word faint", &page.summary.heading(), 20.0, 1);
    if let Some(invalid) = &answer.invalid {
        write("word warn", invalid, 20.0, 2);
    }
    write("word strong", &answer.headline, 28.0, 3);
    write("word faint", &answer.certainty, 18.0, 2);
    write("word faint", &answer.limit, 18.0, 3);
    y += 20.0;
    let room = HEIGHT - y - 30.0;
    let charts = factors::quantity_facets(page);
    let drawn = charts.charts.iter().filter_map(|(_, chart)| chart.draw());
    let drawn: Vec<String> = drawn.take(2).collect();
    let width = (WIDTH - 120.0) / drawn.len().max(1) as f64;
    for (index, chart) in drawn.iter().enumerate() {
        let place = format!(
            "<svg x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"xMidYMin meet\" ",
            num(60.0 + index as f64 * width),
            num(y),
            num(width),
            num(room.max(100.0))
        );
        body.push_str(&chart.replacen("<svg ", &place, 1));
    }
    let foot = format!(
        "{} on {}, study {}",
        page.summary.experiment,
        page.summary.engine,
        page.summary.study_key.chars().take(12).collect::<String>()
    );
    let foot_y = num(HEIGHT - 16.0);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\">\
         <style>{}</style><rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>{body}\
         <text class=\"word faint\" x=\"60\" y=\"{foot_y}\" style=\"font-size:14px\">{}</text></svg>\n",
        style(),
        escape(&foot)
    )
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
