//! Differences with their intervals around zero: what a comparison of pairs comes to.

use super::super::markup::Markup;
use super::{Drawing, WIDTH, shortened, width_of};

/// One pair.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    /// The configuration.
    pub(crate) label: String,
    /// Difference in percent.
    pub(crate) percent: f64,
    /// Its interval.
    pub(crate) interval: Option<(f64, f64)>,
    /// Difference and verdict in words.
    pub(crate) words: String,
    /// Is it a regression?
    pub(crate) is_bad: bool,
}

const ROW: f64 = 38.0;
const EDGE: f64 = 8.0;

/// An interval wider than this many times the largest difference is cut, with an arrow's head where it goes on.
const ROOM: f64 = 3.0;

/// How far the axis goes to both sides of zero, in percent.
pub(crate) fn reach(lines: &[Line], threshold_percent: f64) -> f64 {
    let sizes = lines.iter().map(|line| line.percent.abs());
    let largest = sizes.filter(|size| size.is_finite()).fold(0.0, f64::max);
    let ends = lines.iter().filter_map(|line| line.interval).flat_map(|(low, high)| [low.abs(), high.abs()]);
    let widest = ends.filter(|end| end.is_finite()).fold(largest, f64::max);
    widest.min(ROOM * largest.max(threshold_percent)).max(1.0) * 1.05
}

/// Draws the lines on an axis of this reach; `threshold_percent` on both sides of zero is shaded. `None` without any.
pub(crate) fn draw(title: &str, lines: &[Line], threshold_percent: f64, reach: f64) -> Option<Markup> {
    if lines.is_empty() {
        return None;
    }
    let middle = WIDTH / 2.0;
    let x_of = |percent: f64| middle + (middle - EDGE) * (percent / reach).clamp(-1.0, 1.0);
    let mut drawing = Drawing::new(title);
    drawing.text("word strong", (2.0, 14.0), title);
    let bottom = 24.0 + ROW * lines.len() as f64;
    if threshold_percent > 0.0 {
        let (from, to) = (x_of(-threshold_percent), x_of(threshold_percent));
        let words = format!("within the threshold of {threshold_percent} %");
        drawing.block("track", (from, 24.0), (to - from, bottom - 24.0), &words);
    }
    drawing.line("grid zero", (middle, 24.0), (middle, bottom));
    for (index, line) in lines.iter().enumerate() {
        let y = 24.0 + ROW * index as f64;
        let room = (WIDTH - width_of(&line.words)) / super::CHARACTER - 3.0;
        drawing.text("word", (2.0, y + 14.0), &shortened(&line.label, room.max(8.0) as usize));
        drawing.text("word end faint", (WIDTH - 2.0, y + 14.0), &line.words);
        let (colour, at) = (usize::from(line.is_bad), y + 25.0);
        if let Some((low, high)) = line.interval {
            drawing.line(&format!("interval i{colour}"), (x_of(low), at), (x_of(high), at));
            for (end, way) in [(low, 1.0), (high, -1.0)] {
                let x = x_of(end);
                if end.abs() > reach {
                    let head = [(x + 6.0 * way, at - 4.0), (x, at), (x + 6.0 * way, at + 4.0)];
                    drawing.path(&format!("interval i{colour}"), &head);
                } else {
                    drawing.line(&format!("interval i{colour}"), (x, at - 4.0), (x, at + 4.0));
                }
            }
        }
        let words = format!("{}: {}", line.label, line.words);
        drawing.mark(&format!("mean k{colour}"), colour, (x_of(line.percent), at), 4.6, &words);
    }
    drawing.text("word", (2.0, bottom + 14.0), &format!("-{reach:.0} %"));
    drawing.text("word middle", (middle, bottom + 14.0), "0");
    drawing.text("word end", (WIDTH - 2.0, bottom + 14.0), &format!("+{reach:.0} %"));
    Some(drawing.finish(bottom + 22.0))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_regression_has_a_colour_and_a_shape_of_its_own() {
        let line = |percent, is_bad| Line {
            label: "batch_size=1".to_owned(),
            percent,
            interval: Some((percent - 900.0, percent + 2.0)),
            words: format!("{percent:+.1} %"),
            is_bad,
        };
        let lines = [line(12.0, true), line(-3.0, false)];
        let svg = draw("elapsed_s", &lines, 5.0, reach(&lines, 5.0)).unwrap().into_string();
        assert!(svg.contains("class=\"mean k1\"") && svg.contains("class=\"mean k0\""));
        assert!(svg.contains("class=\"track\""));
        assert_eq!(draw("elapsed_s", &[], 5.0, 10.0), None);
    }
}
