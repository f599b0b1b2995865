//! Pictures written by hand: small SVG documents that need no script, print, and carry every figure as a title.
//!
//! Colours and fonts come from classes (`assets/chart.css`), so that the page may turn dark; a picture that leaves the
//! page takes the style along. All lengths are in user units of a drawing [`WIDTH`] wide.

pub(crate) mod axis;
pub(crate) mod curve;
pub(crate) mod difference;
mod frame;
pub(crate) mod heat;
pub(crate) mod levels;
pub(crate) mod panels;
pub(crate) mod places;
pub(crate) mod shares;
pub(crate) mod strip;
pub(crate) mod waits;

use std::fmt::Write;

use super::markup::{Markup, markup};
use crate::plain::plain;

/// Width of every drawing; narrow, so that its words stay legible on a phone.
pub(crate) const WIDTH: f64 = 480.0;

/// Colours that a person with any colour vision tells apart; further series share them, with other marks.
pub(crate) const COLOURS: usize = 8;

/// Width of a character of the chart's font, on average and for words of our kind; phones have the larger font.
const CHARACTER: f64 = 7.9;

/// A drawing under construction.
#[derive(Debug)]
pub(crate) struct Drawing {
    body: Markup,
    label: String,
}

impl Drawing {
    /// Starts a drawing; `label` says what it shows to those who do not see it.
    pub(crate) fn new(label: &str) -> Self {
        Self { body: Markup::default(), label: label.to_owned() }
    }

    /// Adds markup.
    pub(crate) fn add(&mut self, markup: &Markup) {
        self.body.push(markup);
    }

    /// Begins a group of elements; [`Drawing::end_group`] ends it.
    pub(crate) fn group(&mut self, class: &str, index: usize) {
        self.add(&markup!("<g class=\"{}\" data-s=\"{}\">", class, index));
    }

    /// Ends a group.
    pub(crate) fn end_group(&mut self) {
        self.add(&markup!("</g>"));
    }

    /// Adds a straight line.
    pub(crate) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let path = format!("M{} {}L{} {}", num(from.0), num(from.1), num(to.0), num(to.1));
        self.outline(class, &path);
    }

    /// Adds an outline without words.
    pub(crate) fn outline(&mut self, class: &str, path: &str) {
        self.add(&markup!("<path class=\"{}\" d=\"{}\"/>", class, path));
    }

    /// Adds an outline with what it stands for.
    pub(crate) fn outline_of(&mut self, class: &str, path: &str, title: &str) {
        self.add(&markup!("<path class=\"{}\" d=\"{}\">{}</path>", class, path, title_of(title)));
    }

    /// Adds words; `class` places them (`start`, `middle`, `end`).
    pub(crate) fn text(&mut self, class: &str, at: (f64, f64), words: &str) {
        self.add(&markup!(
            "<text class=\"{}\" x=\"{}\" y=\"{}\">{}</text>",
            class,
            num(at.0),
            num(at.1),
            words
        ));
    }

    /// Adds a rectangle with what it stands for.
    pub(crate) fn block(&mut self, class: &str, at: (f64, f64), size: (f64, f64), title: &str) {
        self.add(&markup!(
            "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\">{}</rect>",
            class,
            num(at.0),
            num(at.1),
            num(size.0.max(0.0)),
            num(size.1.max(0.0)),
            title_of(title)
        ));
    }

    /// Adds a path through points, with what it stands for.
    pub(crate) fn path(&mut self, class: &str, points: &[(f64, f64)]) {
        let mut path = String::new();
        for (index, (x, y)) in points.iter().enumerate() {
            let _ = write!(path, "{}{} {}", if index == 0 { "M" } else { "L" }, num(*x), num(*y));
        }
        self.outline(class, &path);
    }

    /// Adds a mark of a series: each colour has a shape of its own, so that colour is never the only sign.
    pub(crate) fn mark(&mut self, class: &str, shape: usize, at: (f64, f64), size: f64, title: &str) {
        let (x, y, s) = (at.0, at.1, size);
        let path = match shape % 5 {
            0 => format!(
                "M{} {}a{s} {s} 0 1 0 {} 0a{s} {s} 0 1 0 {} 0z",
                num(x - s),
                num(y),
                2.0 * s,
                -2.0 * s
            ),
            1 => format!("M{} {}h{}v{}h{}z", num(x - s * 0.9), num(y - s * 0.9), 1.8 * s, 1.8 * s, -1.8 * s),
            2 => format!("M{} {}l{} {}h{}z", num(x), num(y - 1.2 * s), 1.15 * s, 2.1 * s, -2.3 * s),
            3 => format!(
                "M{} {}l{} {}l{} {}l{} {}z",
                num(x),
                num(y - 1.3 * s),
                1.3 * s,
                1.3 * s,
                -1.3 * s,
                1.3 * s,
                -1.3 * s,
                -1.3 * s
            ),
            _ => format!("M{} {}l{} {}h{}z", num(x), num(y + 1.2 * s), 1.15 * s, -2.1 * s, -2.3 * s),
        };
        self.outline_of(class, &path, title);
    }

    /// Ends the drawing as an `svg` element of this height, styled by the document around it.
    pub(crate) fn finish(self, height: f64) -> Markup {
        markup!(
            "<svg class=\"chart\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">{}</svg>",
            WIDTH,
            num(height),
            self.label,
            self.body
        )
    }
}

/// A key of colours and names, wrapped; returns the height that it took.
pub(crate) fn key(drawing: &mut Drawing, names: &[(usize, &str)], at: (f64, f64), right: f64) -> f64 {
    let (mut x, mut y) = at;
    for &(index, name) in names {
        let name = shortened(name, ((right - at.0) / CHARACTER) as usize - 4);
        let width = 22.0 + CHARACTER * name.chars().count() as f64;
        if x > at.0 && x + width > right {
            (x, y) = (at.0, y + 18.0);
        }
        drawing.group("key", index);
        drawing.mark(&format!("k{}", index % COLOURS), index, (x + 6.0, y - 4.0), 4.5, "");
        drawing.text("word", (x + 16.0, y), &name);
        drawing.end_group();
        x += width + 8.0;
    }
    y - at.1 + 18.0
}

/// Cuts a name that would not fit.
pub(crate) fn shortened(name: &str, chars_max: usize) -> String {
    let name = plain(name);
    if name.chars().count() <= chars_max {
        return name;
    }
    let kept: String = name.chars().take(chars_max.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// Room that a text takes.
pub(crate) fn width_of(text: &str) -> f64 {
    CHARACTER * text.chars().count() as f64
}

/// What an element says on hover.
pub(crate) fn title_of(words: &str) -> Markup {
    if words.is_empty() { Markup::default() } else { markup!("<title>{}</title>", words) }
}

/// A coordinate with one decimal at most: a tenth of a unit is less than a pixel.
pub(crate) fn num(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_cannot_leave_their_place_in_the_markup() {
        let mut drawing = Drawing::new("\"><script>");
        drawing.text("word", (1.0, 2.04), "</text><script>alert(1)</script>");
        drawing.block("k0", (0.0, 0.0), (1.0, 1.0), "a\u{202e}b'");
        let svg = drawing.finish(10.0).into_string();
        assert!(!svg.contains("<script>"), "{svg}");
        assert!(svg.contains("aria-label=\"&quot;&gt;&lt;script&gt;\""));
        assert!(svg.contains("<title>a\\u{202e}b&#39;</title>"));
    }

    #[test]
    fn coordinates_are_short() {
        assert_eq!([1.0, 1.25, 0.04, -3.96].map(num), ["1", "1.2", "0", "-4"]);
    }
}
