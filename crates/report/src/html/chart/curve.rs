//! Curves over a numeric axis: distributions, latency over time, latency at a throughput.

use super::super::markup::Markup;
use super::axis::Axis;
use super::{COLOURS, Drawing, WIDTH, key, num, shortened, width_of};

/// One curve.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Curve {
    /// What the key says.
    pub(crate) name: String,
    /// Which colour and mark, so that a name has the same ones in all charts.
    pub(crate) colour: usize,
    /// Parts of the line; nothing is drawn between two.
    pub(crate) parts: Vec<Vec<(f64, f64)>>,
    /// Marked points with what they say on hover.
    pub(crate) marks: Vec<((f64, f64), String)>,
}

/// How an axis begins and ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Scale {
    /// At zero, ending at a round number.
    #[default]
    Linear,
    /// At zero, ending with the values.
    Exact,
    /// Above zero.
    Logarithmic,
}

/// One of both axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Dimension {
    /// What it counts, with its unit.
    pub(crate) title: String,
    /// How it begins.
    pub(crate) scale: Scale,
    /// Smallest and largest value, where several charts share them.
    pub(crate) range: Option<(f64, f64)>,
}

/// A chart of curves.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CurveChart {
    /// Heading, where it is more than the vertical axis.
    pub(crate) title: String,
    /// The horizontal axis.
    pub(crate) x: Dimension,
    /// The vertical axis.
    pub(crate) y: Dimension,
    /// The curves, of colours and marks of their own.
    pub(crate) curves: Vec<Curve>,
}

const TOP: f64 = 30.0;
const RIGHT: f64 = 14.0;

impl Dimension {
    /// The axis for these values; `None` where logarithms have nothing to show.
    fn axis(&self, values: impl Iterator<Item = f64>) -> Option<Axis> {
        let (low, high) = self.range.or_else(|| {
            let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
            Some((values.iter().copied().reduce(f64::min)?, values.iter().copied().reduce(f64::max)?))
        })?;
        match self.scale {
            Scale::Linear => Some(Axis::from_zero(low, high)),
            Scale::Exact => Some(Axis::up_to(high)),
            Scale::Logarithmic => Axis::logarithmic(low, high),
        }
    }
}

impl CurveChart {
    /// Draws it `height` high, without its key; `None` without a point.
    pub(crate) fn draw(&self, height: f64) -> Option<Markup> {
        let points = || {
            let of_curve = |curve: &Curve| {
                let of_lines = curve.parts.iter().flatten().copied();
                of_lines.chain(curve.marks.iter().map(|(at, _)| *at)).collect::<Vec<_>>()
            };
            self.curves.iter().flat_map(of_curve)
        };
        points().next()?;
        let (x, y) = (self.x.axis(points().map(|at| at.0))?, self.y.axis(points().map(|at| at.1))?);
        let title = if self.title.is_empty() { self.y.title.clone() } else { self.title.clone() };
        let mut drawing = Drawing::new(&format!("{title} over {}", self.x.title));
        drawing.text("word strong", (2.0, 14.0), &shortened(&title, 60));
        let widest = y.ticks.iter().map(|tick| width_of(&y.words(*tick))).fold(0.0, f64::max);
        let left = (widest + 14.0).max(34.0);
        let at = |point: (f64, f64)| {
            (left + (WIDTH - RIGHT - left) * x.place(point.0), height - (height - TOP) * y.place(point.1))
        };
        frame(&mut drawing, &x, &y, (left, height), &at);
        for curve in &self.curves {
            drawing.group("series", curve.colour);
            draw_curve(&mut drawing, curve, &at);
            drawing.end_group();
        }
        let mut bottom = height + 36.0;
        drawing.text("word middle", ((left + WIDTH - RIGHT) / 2.0, bottom), &self.x.title);
        if self.y.scale == Scale::Logarithmic {
            drawing.text("word faint small", (2.0, bottom), "logarithmic");
        }
        bottom += 8.0;
        if self.curves.len() > 1 {
            let names: Vec<(usize, &str)> =
                self.curves.iter().map(|curve| (curve.colour, curve.name.as_str())).collect();
            bottom += key(&mut drawing, &names, (8.0, bottom + 16.0), WIDTH - RIGHT);
        }
        Some(drawing.finish(bottom + 4.0))
    }
}

fn frame(
    drawing: &mut Drawing,
    x: &Axis,
    y: &Axis,
    (left, bottom): (f64, f64),
    at: &dyn Fn((f64, f64)) -> (f64, f64),
) {
    for tick in &y.ticks {
        let line = at((x.min, *tick)).1;
        let class = if *tick == y.min { "grid zero" } else { "grid" };
        drawing.line(class, (left, line), (WIDTH - RIGHT, line));
        drawing.text("word end", (left - 6.0, line + 4.5), &y.words(*tick));
    }
    let mut free_from = 0.0;
    for tick in &x.ticks {
        let (place, words) = (at((*tick, y.min)).0, x.words(*tick));
        drawing.line("grid", (place, bottom), (place, bottom + 4.0));
        let half = width_of(&words) / 2.0;
        // The last one stays inside.
        let place = place.min(WIDTH - half - 1.0);
        if place - half >= free_from {
            drawing.text("word middle", (place, bottom + 18.0), &words);
            free_from = place + half + 8.0;
        }
    }
}

fn draw_curve(drawing: &mut Drawing, curve: &Curve, at: &dyn Fn((f64, f64)) -> (f64, f64)) {
    let colour = curve.colour % COLOURS;
    for part in &curve.parts {
        let points: Vec<(f64, f64)> = part.iter().map(|point| at(*point)).collect();
        match points.as_slice() {
            [] => {}
            // A lone point is seen.
            [one] => {
                drawing.outline(&format!("line l{colour}"), &format!("M{} {}h1.5", num(one.0), num(one.1)))
            }
            _ => drawing.path(&format!("line l{colour}"), &points),
        }
    }
    for (point, title) in &curve.marks {
        drawing.mark(&format!("mean k{colour}"), curve.colour, at(*point), 4.2, title);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_curve_has_its_parts_its_marks_and_both_axes() {
        let curve = Curve {
            name: "p99".to_owned(),
            colour: 2,
            parts: vec![vec![(0.0, 1.0), (1.0, 2.0)], vec![(3.0, 1.0)]],
            marks: vec![((1.0, 2.0), "2 ms".to_owned())],
        };
        let dimension = |title: &str| Dimension { title: title.to_owned(), ..Dimension::default() };
        let chart = CurveChart {
            x: dimension("seconds"),
            y: dimension("Latency [ms]"),
            curves: vec![curve.clone(), curve],
            ..CurveChart::default()
        };
        let svg = chart.draw(200.0).unwrap().into_string();
        assert_eq!(svg.matches("class=\"line l2\"").count(), 4);
        assert_eq!(svg.matches("<title>2 ms</title>").count(), 2);
        assert!(svg.contains("aria-label=\"Latency [ms] over seconds\"") && svg.contains("class=\"key\""));
        let logarithmic = Dimension { scale: Scale::Logarithmic, ..dimension("Latency [ms]") };
        let chart = CurveChart { y: logarithmic, ..chart };
        assert!(chart.draw(200.0).unwrap().into_string().contains(">logarithmic</text>"));
        assert_eq!(CurveChart { curves: Vec::new(), ..chart }.draw(200.0), None);
    }
}
