//! The published form: a quantity over the levels of a factor, one series per level of a second one, with a point for
//! every run and the interval of every mean.

use super::super::markup::Markup;
use super::axis::Axis;
pub(crate) use super::frame::Stretch;
use super::frame::{Frame, RIGHT};
use super::places::Places;
use super::{COLOURS, Drawing, WIDTH, key, num, shortened, width_of};

/// One run of a cell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Dot {
    /// Its value.
    pub(crate) value: f64,
    /// What it says on hover.
    pub(crate) title: String,
    /// Does it enter the mean?
    pub(crate) counts: bool,
}

/// One cell: a mean with its interval, and its runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Spot {
    /// Mean; `None` where no run counts.
    pub(crate) mean: Option<f64>,
    /// Interval of the mean.
    pub(crate) interval: Option<(f64, f64)>,
    /// What the mean says on hover.
    pub(crate) title: String,
    /// The mean in words, written to a bar where there is room for it.
    pub(crate) words: Option<String>,
    /// All runs that ended.
    pub(crate) dots: Vec<Dot>,
}

/// A chart over levels.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LevelChart {
    /// What the vertical axis counts, with its unit.
    pub(crate) y_title: String,
    /// The factor along the horizontal axis.
    pub(crate) x_title: String,
    /// Its levels.
    pub(crate) levels: Vec<String>,
    /// Where they lie, for levels that are numbers.
    pub(crate) places: Places,
    /// Name of each series and one spot per level.
    pub(crate) series: Vec<(String, Vec<Spot>)>,
    /// Colour and mark of each series; counted through where there are none.
    pub(crate) palette: &'static [usize],
    /// Where the level changed for good; empty elsewhere.
    pub(crate) stretches: Vec<Stretch>,
    /// Are the levels numbers, so that a line between them means something? Else bars.
    pub(crate) is_ordered: bool,
    /// Do all series stand at the place of the level, one above the other? They have marks, and lines where levels are numbers.
    pub(crate) is_aligned: bool,
    /// Powers of ten instead of zero at the foot.
    pub(crate) is_logarithmic: bool,
    /// Smallest and largest value of the axis, where several charts share it.
    pub(crate) range: Option<(f64, f64)>,
}

/// An interval of few runs may reach far beyond them; it is cut where it would flatten the runs.
const INTERVAL_ROOM: f64 = 1.5;

/// The same on logarithms, to both sides.
const INTERVAL_ROOM_LOGARITHMIC: f64 = 10.0;

impl LevelChart {
    /// Smallest and largest value that is drawn; `None` without any.
    pub(crate) fn extent(&self) -> Option<(f64, f64)> {
        let spots = || self.series.iter().flat_map(|(_, spots)| spots);
        let dots = spots().flat_map(|spot| spot.dots.iter().map(|dot| dot.value).chain(spot.mean));
        let values: Vec<f64> = dots.filter(|value| value.is_finite()).collect();
        let smallest = values.iter().copied().reduce(f64::min)?;
        let largest = values.iter().copied().reduce(f64::max)?;
        let ends = || spots().filter_map(|spot| spot.interval);
        let highs = ends().map(|(_, high)| high).filter(|end| end.is_finite());
        let room = if self.is_logarithmic { INTERVAL_ROOM_LOGARITHMIC } else { INTERVAL_ROOM };
        let top = highs.fold(largest, f64::max).min(room * largest).max(largest);
        let lows = ends().map(|(low, _)| low).filter(|low| self.is_logarithmic && *low > 0.0);
        let foot = lows.fold(smallest, f64::min).max(smallest / room).min(smallest);
        Some((foot, top))
    }

    /// Draws it; `None` when there is no value, or logarithms of something that is not above zero were asked for.
    pub(crate) fn draw(&self) -> Option<Markup> {
        let (smallest, largest) = self.range.or(self.extent())?;
        let axis = if self.is_logarithmic {
            Axis::logarithmic(smallest, largest)?
        } else {
            Axis::from_zero(smallest, largest)
        };
        let mut drawing = Drawing::new(&format!("{} over {}", self.y_title, self.x_title));
        let widest = axis.ticks.iter().map(|tick| width_of(&axis.words(*tick))).fold(0.0, f64::max);
        let frame = Frame::new(axis, (widest + 14.0).max(34.0), self.levels.len(), &self.places.shares);
        let title = match self.is_logarithmic {
            true => format!("{}, logarithmic", shortened(&self.y_title, 58 - ", logarithmic".len())),
            false => shortened(&self.y_title, 58),
        };
        drawing.text("word strong", (2.0, 14.0), &title);
        frame.grid(&mut drawing);
        self.stretches.iter().for_each(|stretch| frame.stretch(&mut drawing, stretch));
        for (index, (_, spots)) in self.series.iter().enumerate() {
            drawing.group("series", self.mark(index));
            self.series(&mut drawing, &frame, index, spots);
            drawing.end_group();
        }
        let mut bottom = frame.levels(&mut drawing, &self.levels) + 18.0;
        drawing.text(
            "word middle",
            ((frame.left + WIDTH - RIGHT) / 2.0, bottom),
            &shortened(&self.x_title, 30),
        );
        if !self.places.note.is_empty() {
            drawing.text("word faint small end", (WIDTH - RIGHT, bottom), self.places.note);
        }
        if self.is_logarithmic {
            bottom += 15.0;
            drawing.text("word faint small", (2.0, bottom), "The vertical axis does not start at zero.");
        }
        bottom += 8.0;
        if self.series.len() > 1 {
            let names =
                self.series.iter().enumerate().map(|(index, (name, _))| (self.mark(index), name.as_str()));
            bottom += key(&mut drawing, &names.collect::<Vec<_>>(), (8.0, bottom + 16.0), WIDTH - RIGHT);
        }
        Some(drawing.finish(bottom + 4.0))
    }

    /// A bar needs a foot at zero, which logarithms do not have.
    pub(crate) fn has_marks(&self) -> bool {
        self.is_ordered || self.is_aligned || self.is_logarithmic
    }

    /// Colour and shape of a series.
    fn mark(&self, index: usize) -> usize {
        self.palette.get(index).copied().unwrap_or(index)
    }

    fn series(&self, drawing: &mut Drawing, frame: &Frame, index: usize, spots: &[Spot]) {
        let colour = self.mark(index) % COLOURS;
        let count = self.series.len() as f64;
        let share = if self.is_ordered { 0.6 } else { 0.72 };
        let widest = match (self.is_ordered, frame.is_to_scale()) {
            (true, true) => 12.0,
            (true, false) => 22.0,
            (false, _) => 46.0,
        };
        let step = if self.is_aligned { 0.0 } else { (frame.slot() * share / count).min(widest) };
        let x_of = |level: usize| frame.middle(level) + (index as f64 - (count - 1.0) / 2.0) * step;
        if self.is_ordered {
            for part in runs_of_means(spots) {
                let points: Vec<(f64, f64)> =
                    part.iter().map(|(level, mean)| (x_of(*level), frame.y(*mean))).collect();
                drawing.path(&format!("line l{colour}"), &points);
            }
        }
        for (level, spot) in spots.iter().enumerate() {
            let x = x_of(level);
            if let (Some(mean), false) = (spot.mean, self.has_marks()) {
                let (y, foot) = (frame.y(mean), frame.y(frame.axis.min.max(0.0)));
                let top = y.min(foot);
                let width = step * 0.86;
                drawing.block(
                    &format!("bar f{colour}"),
                    (x - width / 2.0, top),
                    (width, (y - foot).abs()),
                    &spot.title,
                );
                if let Some(words) = &spot.words {
                    let above = if mean < 0.0 { top + (y - foot).abs() + 13.0 } else { top - 4.0 };
                    drawing.text("word middle small", (x, above), words);
                }
            }
            self.interval(drawing, frame, colour, x, spot);
            for (place, dot) in spot.dots.iter().enumerate() {
                // Beside the mean, so that its mark and its interval hide no run.
                let spread = ((place % 3) as f64 - 1.0) * 2.2;
                let at = (
                    x - if step < 9.0 * (count - 1.0).min(1.0) && !self.is_aligned { 0.0 } else { 9.0 }
                        + spread,
                    frame.y(dot.value),
                );
                if dot.counts {
                    drawing.mark(&format!("dot d{colour}"), 0, at, 2.6, &dot.title);
                } else {
                    let cross = format!("M{} {}l6 6m0 -6l-6 6", num(at.0 - 3.0), num(at.1 - 3.0));
                    drawing.outline_of(&format!("void l{colour}"), &cross, &dot.title);
                }
            }
            if let (Some(mean), true) = (spot.mean, self.has_marks()) {
                drawing.mark(
                    &format!("mean k{colour}"),
                    self.mark(index),
                    (x, frame.y(mean)),
                    4.6,
                    &spot.title,
                );
            }
        }
    }

    fn interval(&self, drawing: &mut Drawing, frame: &Frame, colour: usize, x: f64, spot: &Spot) {
        let Some((low, high)) = spot.interval else { return };
        let class = format!("interval i{colour}");
        let (foot, top) = (frame.y(low), frame.y(high));
        drawing.line(&class, (x, foot), (x, top));
        if low >= frame.axis.min {
            drawing.line(&class, (x - 4.0, foot), (x + 4.0, foot));
        } else {
            drawing.path(&class, &[(x - 4.0, foot - 6.0), (x, foot), (x + 4.0, foot - 6.0)]);
        }
        if high <= frame.axis.max {
            drawing.line(&class, (x - 4.0, top), (x + 4.0, top));
        } else {
            // An arrow: the interval goes on beyond the axis.
            drawing.path(&class, &[(x - 4.0, top + 6.0), (x, top), (x + 4.0, top + 6.0)]);
        }
    }
}

/// Means of neighbouring levels, without a line over a level that has none.
fn runs_of_means(spots: &[Spot]) -> Vec<Vec<(usize, f64)>> {
    let mut parts = vec![Vec::new()];
    for (level, spot) in spots.iter().enumerate() {
        match spot.mean {
            Some(mean) => parts.last_mut().expect("there is always one part").push((level, mean)),
            None => parts.push(Vec::new()),
        }
    }
    parts.retain(|part| part.len() > 1);
    parts
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn chart() -> LevelChart {
        let spot = |mean: f64| Spot {
            mean: Some(mean),
            interval: Some((0.8 * mean, 40.0 * mean)),
            title: format!("mean {mean}"),
            words: None,
            dots: vec![
                Dot { value: mean, title: "run 1".to_owned(), counts: true },
                Dot { value: 1.1 * mean, title: "run 2, invalid".to_owned(), counts: false },
            ],
        };
        LevelChart {
            y_title: "elapsed time [s]".to_owned(),
            x_title: "batch_size".to_owned(),
            levels: ["1", "10", "100"].map(str::to_owned).to_vec(),
            series: vec![("a".to_owned(), vec![spot(2.0), Spot::default(), spot(1.0)])],
            is_ordered: true,
            ..LevelChart::default()
        }
    }

    #[test]
    fn levels_to_scale_stand_at_their_places_and_their_labels_do_not_touch() {
        let chart = LevelChart { places: Places { shares: vec![0.0, 0.1, 1.0], note: "" }, ..chart() };
        let frame = Frame::new(Axis::from_zero(0.0, 1.0), 40.0, 3, &chart.places.shares);
        let gaps: Vec<f64> = frame.middles.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!((gaps[1] / gaps[0] - 9.0).abs() < 1e-9 && frame.middle(2) < WIDTH - RIGHT, "{frame:?}");
        assert!(!chart.draw().unwrap().into_string().contains("rotate("));
        let long = ["1,000,000", "2,000,000", "9,000,000"].map(str::to_owned).to_vec();
        assert!(LevelChart { levels: long, ..chart }.draw().unwrap().into_string().contains("rotate("));
    }

    #[test]
    fn a_logarithmic_chart_has_room_for_its_intervals_and_an_arrow_where_one_goes_on() {
        let wide = |low: f64, high: f64| {
            let spot = Spot { mean: Some(2.0), interval: Some((low, high)), ..Spot::default() };
            LevelChart { is_logarithmic: true, series: vec![(String::new(), vec![spot; 3])], ..chart() }
        };
        assert_eq!(wide(0.5, 8.0).extent(), Some((0.5, 8.0)));
        let svg = wide(0.5, 8.0).draw().unwrap().into_string();
        // A stroke and two ends for each of three intervals: nothing is cut.
        assert_eq!(svg.matches("class=\"interval i0\"").count(), 9);
        assert!(!svg.contains("l4 6"), "{svg}");
        assert_eq!(wide(1e-9, 1e9).extent(), Some((0.2, 20.0)));
    }

    #[test]
    fn every_run_and_every_mean_has_a_mark_and_no_line_crosses_a_gap() {
        let svg = chart().draw().unwrap().into_string();
        assert_eq!(svg.matches("class=\"dot").count(), 2);
        assert_eq!(svg.matches("class=\"void l").count(), 2);
        assert_eq!(svg.matches("class=\"mean").count(), 2);
        assert_eq!(svg.matches("class=\"line").count(), 0);
        let bars = LevelChart { is_ordered: false, ..chart() }.draw().unwrap().into_string();
        assert_eq!(bars.matches("class=\"bar").count(), 2);
    }

    #[test]
    fn a_change_of_the_level_is_a_dashed_line_with_its_size_and_each_level_has_its_mean() {
        let stretch = |levels, words: &str| Stretch {
            levels,
            mean: 1.5,
            words: words.to_owned(),
            ..Stretch::default()
        };
        let chart =
            LevelChart { stretches: vec![stretch((0, 2), ""), stretch((2, 3), "+30.0 %")], ..chart() };
        let svg = chart.draw().unwrap().into_string();
        assert_eq!(
            (svg.matches("class=\"stretch\"").count(), svg.matches("class=\"change ").count()),
            (2, 1)
        );
        assert!(svg.contains(">+30.0 %</text>"));
    }

    #[test]
    fn an_axis_that_does_not_start_at_zero_says_so_and_others_have_the_zero() {
        assert!(chart().draw().unwrap().into_string().contains(">0</text>"));
        let svg = LevelChart { is_logarithmic: true, ..chart() }.draw().unwrap().into_string();
        assert!(svg.contains("does not start at zero"));
    }

    #[test]
    fn a_wide_interval_does_not_flatten_the_runs() {
        let (smallest, largest) = chart().extent().unwrap();
        assert_eq!((smallest, largest), (1.0, 2.2 * INTERVAL_ROOM));
    }
}
