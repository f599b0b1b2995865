//! Counters of one run over its time: one panel per counter with a scale of its own, all on one clock, events marked.

use super::super::markup::Markup;
use super::axis::Axis;
use super::{Drawing, WIDTH, num, shortened, width_of};

/// One counter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Panel {
    /// Name with its unit.
    pub(crate) title: String,
    /// Average and largest value in words.
    pub(crate) figures: String,
    /// Last, average, smallest and largest value, for the hover text.
    pub(crate) all_figures: String,
    /// Seconds and values; a look that is missing has none.
    pub(crate) points: Vec<(f64, Option<f64>)>,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mark {
    /// Seconds since the start barrier, begin and end; equal for a moment.
    pub(crate) span_s: (f64, f64),
    /// Is it a checkpoint? Else a growth of the log.
    pub(crate) is_checkpoint: bool,
    /// What it says on hover.
    pub(crate) title: String,
}

const LEFT: f64 = 52.0;
const RIGHT: f64 = 8.0;
const HEAD: f64 = 28.0;
const PLOT: f64 = 46.0;
const GAP: f64 = 12.0;

/// Draws the panels of one run; `None` without any.
pub(crate) fn draw(title: &str, seconds: f64, panels: &[Panel], marks: &[Mark]) -> Option<Markup> {
    if panels.is_empty() || seconds.is_nan() || seconds <= 0.0 {
        return None;
    }
    let mut drawing = Drawing::new(title);
    drawing.text("word strong", (2.0, 14.0), title);
    let clock = Axis::from_zero(0.0, seconds);
    let x_of = |at_s: f64| LEFT + (WIDTH - RIGHT - LEFT) * (at_s / seconds).clamp(0.0, 1.0);
    let top = 24.0;
    let bottom = top + panels.len() as f64 * (HEAD + PLOT + GAP) - GAP;
    for mark in marks {
        let (from, to) = (x_of(mark.span_s.0), x_of(mark.span_s.1));
        let class = if mark.is_checkpoint { "checkpoint" } else { "growth" };
        drawing.block(class, (from, top + HEAD), ((to - from).max(1.2), bottom - top - HEAD), &mark.title);
    }
    for (index, panel) in panels.iter().enumerate() {
        let head = top + index as f64 * (HEAD + PLOT + GAP);
        let room = (WIDTH - RIGHT - 8.0 - width_of(&panel.figures) * 0.9) / super::CHARACTER;
        drawing.text("word", (2.0, head + 14.0), &shortened(&panel.title, room.max(10.0) as usize));
        drawing.text("word end faint small", (WIDTH - RIGHT, head + 14.0), &panel.figures);
        plot(&mut drawing, panel, head + HEAD, &x_of, index);
    }
    for tick in clock.ticks.iter().filter(|tick| **tick <= seconds) {
        let x = x_of(*tick);
        drawing.line("grid", (x, bottom), (x, bottom + 5.0));
        drawing.text("word middle", (x, bottom + 19.0), &clock.words(*tick));
    }
    drawing.text("word end faint", (WIDTH - RIGHT, bottom + 36.0), "seconds since the start barrier");
    Some(drawing.finish(bottom + 44.0))
}

fn plot(drawing: &mut Drawing, panel: &Panel, top: f64, x_of: &dyn Fn(f64) -> f64, index: usize) {
    let values = || panel.points.iter().filter_map(|(_, value)| *value);
    let axis = Axis::from_zero(values().fold(0.0, f64::min), values().fold(0.0, f64::max));
    let y_of = |value: f64| top + PLOT * (1.0 - axis.place(value));
    for tick in [axis.min, axis.max] {
        let class = if tick == 0.0 { "grid zero" } else { "grid" };
        drawing.line(class, (LEFT, y_of(tick)), (WIDTH - RIGHT, y_of(tick)));
        drawing.text("word end small faint", (LEFT - 5.0, y_of(tick) + 4.0), &axis.words(tick));
    }
    let mut path = String::new();
    let mut is_drawn = false;
    for (position, (at_s, value)) in panel.points.iter().enumerate() {
        let Some(value) = value else {
            is_drawn = false;
            continue;
        };
        let (x, y) = (x_of(*at_s), y_of(*value));
        path.push_str(&format!("{}{} {}", if is_drawn { "L" } else { "M" }, num(x), num(y)));
        let is_alone = !is_drawn && panel.points.get(position + 1).is_none_or(|(_, next)| next.is_none());
        if is_alone {
            path.push_str("h1");
        }
        is_drawn = true;
    }
    let words = format!("{}: {}", panel.title, panel.all_figures);
    drawing.outline_of(&format!("line l{}", index % 2), &path, &words);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_missing_look_breaks_the_line_and_a_lone_one_is_seen() {
        let panel = Panel {
            title: "log_bytes_per_s".to_owned(),
            figures: "max 2".to_owned(),
            all_figures: "last 1 · max 2".to_owned(),
            points: vec![(1.0, Some(1.0)), (2.0, Some(2.0)), (3.0, None), (4.0, Some(1.0))],
        };
        let mark = Mark { span_s: (1.0, 2.0), is_checkpoint: true, title: "checkpoint".to_owned() };
        let svg = draw("run 1", 4.0, std::slice::from_ref(&panel), &[mark]).unwrap().into_string();
        let path = svg.split("class=\"line l0\" d=\"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!(
            (path.matches('M').count(), path.matches('L').count(), path.ends_with("h1")),
            (2, 1, true)
        );
        assert!(svg.contains("class=\"checkpoint\""));
        assert_eq!(draw("run 1", 0.0, &[panel], &[]), None);
        assert_eq!(draw("run 1", 1.0, &[], &[]), None);
    }
}
