//! Stacked shares: one bar per configuration, cut into what its whole went to; and bars against a limit.

use super::super::markup::Markup;
use super::{Drawing, WIDTH, shortened, width_of};

/// One bar.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bar {
    /// What it stands for.
    pub(crate) label: String,
    /// Share of each part, 0 to 100, in the order of the names, with what it says on hover.
    pub(crate) parts: Vec<(f64, String)>,
}

/// Bars of one hundred per cent each.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shares {
    /// What one hundred per cent are.
    pub(crate) title: String,
    /// Name of each part, with the colour class that it has (`0` to `7`, or `idle` for what is no wait).
    pub(crate) names: Vec<(String, &'static str)>,
    /// In the order in which they are read.
    pub(crate) bars: Vec<Bar>,
}

const ROW: f64 = 42.0;
const BAR: f64 = 18.0;
const RIGHT: f64 = 10.0;
/// A share is written into its part where there is room for it.
const WRITTEN_FROM: f64 = 30.0;

impl Shares {
    /// Draws them; `None` without any.
    pub(crate) fn draw(&self) -> Option<Markup> {
        if self.bars.is_empty() {
            return None;
        }
        let mut drawing = Drawing::new(&self.title);
        drawing.text("word strong", (2.0, 14.0), &self.title);
        let mut y = 20.0 + self.key(&mut drawing);
        let scale = (WIDTH - RIGHT - 2.0) / 100.0;
        for bar in &self.bars {
            drawing.text("word", (2.0, y + 14.0), &shortened(&bar.label, 64));
            let mut x = 2.0;
            for (index, (share, title)) in bar.parts.iter().enumerate() {
                let width = share.max(0.0) * scale;
                if width < 0.05 {
                    continue;
                }
                drawing.group("series", index);
                let colour = self.names.get(index).map_or("7", |(_, colour)| colour);
                drawing.block(&format!("part f{colour}"), (x, y + 19.0), (width, BAR), title);
                if width >= WRITTEN_FROM {
                    drawing.text(
                        &format!("word middle on o{colour}"),
                        (x + width / 2.0, y + 32.5),
                        &format!("{share:.0} %"),
                    );
                }
                drawing.end_group();
                x += width;
            }
            y += ROW;
        }
        Some(drawing.finish(y + 4.0))
    }

    /// Names and colours, wrapped; returns the height that they took.
    fn key(&self, drawing: &mut Drawing) -> f64 {
        let (mut x, mut y) = (2.0, 34.0);
        for (index, (name, colour)) in self.names.iter().enumerate() {
            let name = shortened(name, 44);
            let width = 17.0 + width_of(&name);
            if x > 2.0 && x + width > WIDTH - RIGHT {
                (x, y) = (2.0, y + 18.0);
            }
            drawing.group("key", index);
            drawing.block(&format!("f{colour}"), (x, y - 9.5), (11.0, 11.0), "");
            drawing.text("word", (x + 16.0, y), &name);
            drawing.end_group();
            x += width + 12.0;
        }
        y - 10.0
    }
}

/// One figure beside its limit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Against {
    /// What it stands for.
    pub(crate) label: String,
    /// In percent of the limit.
    pub(crate) percent: f64,
    /// The figures in words, right of the bar's label.
    pub(crate) figures: String,
}

/// A longer bar would leave no room for those that do not reach the limit: it is cut and says its figure.
const PERCENT_MAX: f64 = 200.0;

/// Draws figures in percent of a limit, which is a line and is called `limit`; `None` without any.
pub(crate) fn against(title: &str, limit: &str, bars: &[Against]) -> Option<Markup> {
    let largest =
        bars.iter().map(|bar| bar.percent).filter(|percent| percent.is_finite()).reduce(f64::max)?;
    let end = largest.clamp(100.0, PERCENT_MAX) * 1.04;
    let mut drawing = Drawing::new(title);
    drawing.text("word strong", (2.0, 14.0), title);
    let scale = (WIDTH - RIGHT - 2.0) / end;
    let mut y = 22.0;
    for bar in bars {
        let room = (WIDTH - RIGHT - width_of(&bar.figures)) / super::CHARACTER - 2.0;
        drawing.text("word", (2.0, y + 14.0), &shortened(&bar.label, room.max(8.0) as usize));
        drawing.text("word end faint", (WIDTH - RIGHT, y + 14.0), &bar.figures);
        let words = format!("{}: {:.1} %, {}", bar.label, bar.percent, bar.figures);
        drawing.block("track", (2.0, y + 19.0), (100.0 * scale, BAR - 6.0), "");
        let percent = bar.percent.clamp(0.0, PERCENT_MAX);
        drawing.block("part f0", (2.0, y + 19.0), (percent * scale, BAR - 6.0), &words);
        if bar.percent > PERCENT_MAX {
            // Beyond the picture: an arrow's head and the figure.
            let (tip, middle) = (2.0 + end * scale, y + 25.0);
            drawing.path("part f0", &[(tip - 6.0, middle - 8.0), (tip, middle), (tip - 6.0, middle + 8.0)]);
            drawing.text("word end small on o0", (tip - 10.0, y + 29.0), &format!("{:.0} %", bar.percent));
        }
        drawing.line("limit", (2.0 + 100.0 * scale, y + 17.0), (2.0 + 100.0 * scale, y + BAR + 15.0));
        y += ROW - 2.0;
    }
    // Left of its line, or right of it where there is no room.
    let words = format!("100 %: {limit}");
    let (class, x) = if 100.0 * scale > width_of(&words) + 20.0 { ("word end", 2.0) } else { ("word", 6.0) };
    drawing.text(class, (x + 100.0 * scale, y + 14.0), &words);
    drawing.text("word", (2.0, y + 14.0), "0");
    Some(drawing.finish(y + 22.0))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn parts_are_as_wide_as_their_share() {
        let bar = Bar {
            label: "batch_size=1".to_owned(),
            parts: vec![
                (75.0, "vfs:WalSync 75 %".to_owned()),
                (25.0, "running".to_owned()),
                (0.0, "none".to_owned()),
            ],
        };
        let names = [("vfs:WalSync", "0"), ("running", "7"), ("none", "1")];
        let names = names.map(|(name, colour)| (name.to_owned(), colour)).to_vec();
        let shares = Shares { title: "share of session time".to_owned(), names, bars: vec![bar] };
        let svg = shares.draw().unwrap().into_string();
        assert_eq!(svg.matches("class=\"part").count(), 2);
        assert!(svg.contains("width=\"351\"") && svg.contains("width=\"117\""), "{svg}");
        assert_eq!(Shares { bars: Vec::new(), ..shares }.draw(), None);
    }

    #[test]
    fn a_bar_far_beyond_the_limit_is_cut_and_says_its_figure() {
        let bar = |percent| Against { label: "a".to_owned(), percent, figures: "1 of 2".to_owned() };
        let svg = against("t", "the device alone", &[bar(2138.0), bar(5.0)]).unwrap().into_string();
        assert!(svg.contains(">2138 %</text>"));
        assert!(!svg.contains("x=\"-"), "nothing lies left of the picture: {svg}");
    }

    #[test]
    fn the_limit_stands_at_one_hundred_per_cent_also_when_a_bar_is_longer() {
        let bar = |percent| Against { label: "a".to_owned(), percent, figures: "1 of 2".to_owned() };
        assert!(against("t", "all", &[bar(155.0)]).unwrap().into_string().contains("class=\"limit\""));
        assert_eq!(against("t", "all", &[]), None);
    }
}
