//! Changes with their intervals around "no difference": pairs of configurations, and what the levels of a factor do.
//!
//! The axis is that of the ratio, in logarithms: halving and doubling lie equally far from the middle, and nothing lies
//! below -100 %.

use super::super::human;
use super::super::markup::Markup;
use super::{Drawing, WIDTH, shortened, width_of};

/// What a change amounts to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Not judged, or no difference is shown.
    #[default]
    Plain,
    /// An improvement is shown.
    Good,
    /// A worsening is shown.
    Bad,
}

/// One pair.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Line {
    /// The configuration.
    pub(crate) label: String,
    /// Change in percent; above -100.
    pub(crate) percent: f64,
    /// Its interval.
    pub(crate) interval: Option<(f64, f64)>,
    /// Change and verdict in words.
    pub(crate) words: String,
    /// What it amounts to.
    pub(crate) tone: Tone,
}

/// Ends of the axis: logarithms of ratios, the lower one below and the upper one above zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Span {
    low: f64,
    high: f64,
}

const ROW: f64 = 38.0;
const EDGE: f64 = 26.0;
const HEAD: f64 = 24.0;

/// An interval wider than this many times the largest change, and wider than half of the others, is cut, with an arrow's
/// head where it goes on.
const ROOM: f64 = 2.0;

/// The axis reaches at least so far to both sides.
const REACH_MIN: f64 = 0.02;

/// The shorter side has at least this share of the longer one, so that the middle is seen to be one.
const SHORTER_MIN: f64 = 0.25;

/// Percentages that may be written below the axis, those that matter most first.
const TICKS: [f64; 27] = [
    0.0, 100.0, -50.0, 10.0, -10.0, 900.0, -90.0, 1.0, -1.0, 300.0, -75.0, 20.0, -20.0, 50.0, -33.0, 5.0,
    -5.0, 2.0, -2.0, 9900.0, -99.0, 400.0, -80.0, 1900.0, -95.0, 200.0, -25.0,
];

fn logarithm(percent: f64) -> f64 {
    (1.0 + percent / 100.0).max(1e-6).ln()
}

/// How far an interval reaches from no difference, at most.
fn width((low, high): (f64, f64)) -> f64 {
    logarithm(low).abs().max(logarithm(high).abs())
}

/// How far the axis goes for these lines and a threshold in percent.
pub(crate) fn reach(lines: &[Line], threshold_percent: f64) -> Span {
    let sizes = lines.iter().map(|line| logarithm(line.percent).abs());
    let largest = sizes.filter(|size| size.is_finite()).fold(0.0, f64::max);
    let mut widths: Vec<f64> = lines.iter().filter_map(|line| line.interval).map(width).collect();
    widths.sort_by(f64::total_cmp);
    let usual = widths.get(widths.len() / 2).copied().filter(|_| widths.len() > 1).unwrap_or(0.0);
    let room = (ROOM * largest).max(2.0 * logarithm(threshold_percent)).max(usual).max(REACH_MIN);
    let ends = lines.iter().flat_map(|line| {
        let (low, high) = line.interval.unwrap_or((line.percent, line.percent));
        [low, high, line.percent].map(logarithm)
    });
    let least = logarithm(threshold_percent).max(REACH_MIN);
    let (low, high) = ends
        .filter(|end| end.is_finite())
        .fold((-least, least), |(low, high), end| (low.min(end.max(-room)), high.max(end.min(room))));
    let shorter = SHORTER_MIN * high.max(-low);
    Span { low: 1.05 * low.min(-shorter), high: 1.05 * high.max(shorter) }
}

impl Span {
    /// Does it show the whole way to this change?
    fn holds(self, percent: f64) -> bool {
        (self.low..=self.high).contains(&logarithm(percent))
    }

    fn x_of(self, percent: f64) -> f64 {
        let share = (logarithm(percent) - self.low) / (self.high - self.low);
        EDGE + (WIDTH - 2.0 * EDGE) * share.clamp(0.0, 1.0)
    }

    /// Percentages to write, none over another.
    fn ticks(self) -> Vec<f64> {
        let mut chosen: Vec<f64> = Vec::new();
        for tick in TICKS.into_iter().filter(|tick| self.holds(*tick)) {
            let room =
                |other: &f64| (width_of(&percent_words(tick)) + width_of(&percent_words(*other))) / 2.0 + 8.0;
            if chosen.iter().all(|other| (self.x_of(tick) - self.x_of(*other)).abs() >= room(other)) {
                chosen.push(tick);
            }
        }
        chosen
    }
}

/// `+25 %`, and `x10` where a percentage is no longer read.
pub(crate) fn percent_words(percent: f64) -> String {
    match percent {
        0.0 => "0".to_owned(),
        percent if percent >= 900.0 => format!("×{}", human::thousands(1.0 + percent / 100.0)),
        percent => format!("{percent:+.0} %"),
    }
}

/// Draws the lines on an axis of this reach; `threshold_percent` on both sides of zero is shaded. `None` without any.
pub(crate) fn draw(title: &str, lines: &[Line], threshold_percent: f64, span: Span) -> Option<Markup> {
    if lines.is_empty() {
        return None;
    }
    let mut drawing = Drawing::new(title);
    drawing.text("word strong", (2.0, 14.0), &shortened(title, 60));
    let bottom = HEAD + ROW * lines.len() as f64;
    if threshold_percent > 0.0 {
        let (from, to) = (span.x_of(-threshold_percent), span.x_of(threshold_percent));
        let words = format!("within the threshold of {threshold_percent} %");
        drawing.block("track", (from, HEAD), (to - from, bottom - HEAD), &words);
    }
    for tick in span.ticks() {
        let class = if tick == 0.0 { "grid zero" } else { "grid" };
        drawing.line(class, (span.x_of(tick), HEAD), (span.x_of(tick), bottom));
        drawing.text("word middle small", (span.x_of(tick), bottom + 15.0), &percent_words(tick));
    }
    for (index, line) in lines.iter().enumerate() {
        row(&mut drawing, line, HEAD + ROW * index as f64, span);
    }
    Some(drawing.finish(bottom + 24.0))
}

fn row(drawing: &mut Drawing, line: &Line, top: f64, span: Span) {
    let room = (WIDTH - width_of(&line.words)) / super::CHARACTER - 3.0;
    drawing.text("word back", (2.0, top + 14.0), &shortened(&line.label, room.max(8.0) as usize));
    drawing.text("word end faint back", (WIDTH - 2.0, top + 14.0), &line.words);
    let (colour, shape) = match line.tone {
        Tone::Plain => (0, 0),
        Tone::Bad => (1, 1),
        Tone::Good => (2, 2),
    };
    let at = top + 25.0;
    if let Some((low, high)) = line.interval {
        let class = format!("interval i{colour}");
        drawing.line(&class, (span.x_of(low), at), (span.x_of(high), at));
        for (end, way) in [(low, 1.0), (high, -1.0)] {
            let x = span.x_of(end);
            if span.holds(end) {
                drawing.line(&class, (x, at - 4.0), (x, at + 4.0));
            } else {
                drawing.path(&class, &[(x + 6.0 * way, at - 4.0), (x, at), (x + 6.0 * way, at + 4.0)]);
            }
        }
    }
    let words = format!("{}: {}", line.label, line.words);
    drawing.mark(&format!("mean k{colour}"), shape, (span.x_of(line.percent), at), 4.6, &words);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn line(percent: f64, tone: Tone) -> Line {
        Line {
            label: "batch_size=1".to_owned(),
            percent,
            interval: Some((percent - 2.0, percent + 2.0)),
            words: format!("{percent:+.1} %"),
            tone,
        }
    }

    #[test]
    fn a_regression_has_a_colour_and_a_shape_of_its_own() {
        let lines = [line(12.0, Tone::Bad), line(-3.0, Tone::Good), line(0.5, Tone::Plain)];
        let svg = draw("elapsed_s", &lines, 5.0, reach(&lines, 5.0)).unwrap().into_string();
        for class in ["mean k1", "mean k2", "mean k0", "track"] {
            assert!(svg.contains(&format!("class=\"{class}\"")), "{class}");
        }
        assert_eq!(draw("elapsed_s", &[], 5.0, reach(&[], 5.0)), None);
    }

    #[test]
    fn halving_and_doubling_lie_equally_far_from_no_difference() {
        let lines = [line(100.0, Tone::Bad), line(-50.0, Tone::Good)];
        let span = reach(&lines, 0.0);
        let distance = |percent: f64| span.x_of(percent) - span.x_of(0.0);
        assert!((distance(100.0) + distance(-50.0)).abs() < 1e-9);
        assert!(span.ticks().contains(&0.0) && span.ticks().iter().all(|tick| *tick > -100.0), "{span:?}");
    }

    #[test]
    fn an_interval_far_beyond_the_changes_is_cut_with_an_arrow_and_never_passes_minus_hundred_percent() {
        let wide = Line { interval: Some((-197.0, 4000.0)), ..line(5.0, Tone::Plain) };
        let span = reach(std::slice::from_ref(&wide), 5.0);
        assert!(span.high < logarithm(60.0) && span.low > logarithm(-60.0), "{span:?}");
        let svg = draw("x", &[wide], 5.0, span).unwrap().into_string();
        assert_eq!(svg.matches("class=\"interval i0\"").count(), 3);
    }

    #[test]
    fn the_axis_reaches_as_far_as_half_of_the_intervals() {
        let of = |reach: f64| Line { interval: Some((-reach, reach)), ..line(0.0, Tone::Plain) };
        let span = reach(&[of(20.0), of(30.0), of(60.0)], 5.0);
        assert!(span.holds(30.0) && !span.holds(60.0), "{span:?}");
    }

    #[test]
    fn labels_of_the_axis_are_apart() {
        for percent in [1.0, 8.0, 60.0, 300.0, 5000.0, -98.0] {
            let span = reach(&[line(percent, Tone::Plain)], 0.0);
            let mut places: Vec<f64> = span.ticks().into_iter().map(|tick| span.x_of(tick)).collect();
            places.sort_by(f64::total_cmp);
            assert!(places.len() >= 2, "{percent}: {places:?}");
            assert!(places.windows(2).all(|pair| pair[1] - pair[0] > 20.0), "{percent}: {places:?}");
        }
        assert_eq!([1900.0, 100.0, -50.0, 0.0].map(percent_words), ["×20", "+100 %", "-50 %", "0"]);
    }
}
