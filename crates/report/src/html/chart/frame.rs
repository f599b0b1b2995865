//! The frame of a chart over levels: both axes, and where each level and value lies.

use super::super::markup::markup;
use super::axis::Axis;
use super::{Drawing, WIDTH, num, shortened, width_of};

pub(super) const HEIGHT: f64 = 300.0;
pub(super) const TOP: f64 = 30.0;
pub(super) const RIGHT: f64 = 10.0;

/// Room beside the first and the last level of an axis that is to scale.
const MARGIN: f64 = 26.0;

/// A label needs so much room along an axis when it is slanted.
const SLANTED: f64 = 13.0;

/// Neighbouring levels with a mean of their own, set off from those before.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Stretch {
    /// The first level and the one behind the last.
    pub(crate) levels: (usize, usize),
    /// Where its line stands.
    pub(crate) mean: f64,
    /// What is written where it begins; nothing at the first stretch.
    pub(crate) words: String,
    /// What its begin says on hover.
    pub(crate) title: String,
    /// Is it worse than the stretch before?
    pub(crate) is_bad: bool,
}

/// Axes and places.
#[derive(Debug)]
pub(super) struct Frame {
    /// The vertical axis.
    pub(super) axis: Axis,
    pub(super) left: f64,
    /// Middle of each level.
    pub(super) middles: Vec<f64>,
    /// Room of each level: the smallest distance of two.
    slot: f64,
    is_to_scale: bool,
}

impl Frame {
    pub(super) fn new(axis: Axis, left: f64, count: usize, shares: &[f64]) -> Self {
        let count = count.max(1);
        let width = WIDTH - RIGHT - left;
        if shares.len() != count {
            let slot = width / count as f64;
            let middles = (0..count).map(|level| left + (level as f64 + 0.5) * slot).collect();
            return Self { axis, left, middles, slot, is_to_scale: false };
        }
        let middles: Vec<f64> =
            shares.iter().map(|share| left + MARGIN + share * (width - 2.0 * MARGIN)).collect();
        let slot = middles.windows(2).map(|pair| pair[1] - pair[0]).fold(2.0 * MARGIN, f64::min);
        Self { axis, left, middles, slot, is_to_scale: true }
    }

    pub(super) fn slot(&self) -> f64 {
        self.slot
    }

    pub(super) fn is_to_scale(&self) -> bool {
        self.is_to_scale
    }

    pub(super) fn middle(&self, level: usize) -> f64 {
        self.middles.get(level).copied().unwrap_or(self.left)
    }

    pub(super) fn y(&self, value: f64) -> f64 {
        HEIGHT - (HEIGHT - TOP) * self.axis.place(value)
    }

    pub(super) fn grid(&self, drawing: &mut Drawing) {
        for tick in &self.axis.ticks {
            let y = self.y(*tick);
            let class = if *tick == 0.0 || *tick == self.axis.min { "grid zero" } else { "grid" };
            drawing.line(class, (self.left, y), (WIDTH - RIGHT, y));
            drawing.text("word end", (self.left - 6.0, y + 4.5), &self.axis.words(*tick));
        }
    }

    /// The mean of a stretch as a line, and where it begins a dashed one with the change in words.
    pub(super) fn stretch(&self, drawing: &mut Drawing, stretch: &Stretch) {
        let edge = |level: usize| self.left + level as f64 * self.slot();
        let (from, to, y) = (edge(stretch.levels.0), edge(stretch.levels.1), self.y(stretch.mean));
        drawing.line("stretch", (from, y), (to, y));
        if stretch.words.is_empty() {
            return;
        }
        let colour = if stretch.is_bad { 1 } else { 2 };
        drawing.line(&format!("change l{colour}"), (from, TOP - 6.0), (from, HEIGHT));
        // A broad target for the pointer.
        drawing.block("catch", (from - 6.0, TOP - 6.0), (12.0, HEIGHT - TOP + 6.0), &stretch.title);
        let is_near_end = from + width_of(&stretch.words) + 8.0 > WIDTH - RIGHT;
        let (class, x) = if is_near_end { (" end", from - 5.0) } else { ("", from + 5.0) };
        drawing.text(&format!("word strong f{colour}{class}"), (x, TOP + 4.0), &stretch.words);
    }

    /// Writes the levels, slanted where they would touch; returns the lowest place used.
    pub(super) fn levels(&self, drawing: &mut Drawing, levels: &[String]) -> f64 {
        let longest = levels.iter().map(|level| width_of(level)).fold(0.0, f64::max);
        let do_touch = |(index, pair): (usize, &[String])| {
            let room = self.middle(index + 1) - self.middle(index);
            (width_of(&pair[0]) + width_of(&pair[1])) / 2.0 + 6.0 > room
        };
        let last_room = self.slot().max(2.0 * MARGIN);
        if !levels.windows(2).enumerate().any(do_touch) && longest <= last_room.max(self.slot()) {
            for (index, level) in levels.iter().enumerate() {
                drawing.text("word middle", (self.middle(index), HEIGHT + 18.0), level);
            }
            return HEIGHT + 18.0;
        }
        // Where even slanted ones would touch, every second, third ... is written.
        let every = (SLANTED / self.slot()).ceil().max(1.0) as usize;
        for (index, level) in levels.iter().enumerate().step_by(every) {
            let (x, y) = (num(self.middle(index) + 4.0), num(HEIGHT + 16.0));
            drawing.add(&markup!(
                "<text class=\"word end\" x=\"{0}\" y=\"{1}\" transform=\"rotate(-35 {0} {1})\">{2}</text>",
                x,
                y,
                shortened(level, 22)
            ));
        }
        HEIGHT + 16.0 + 0.57 * longest.min(22.0 * super::CHARACTER)
    }
}
