//! A heat map over two numeric factors: one field per pair of levels, its value written into it.

use super::super::markup::{Markup, markup};
use super::{Drawing, WIDTH, num, title_of, width_of};

/// A matrix of values with the names of both factors.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HeatMap {
    /// What the values are, with their unit, and which end is dark.
    pub(crate) title: String,
    /// The factor down the rows.
    pub(crate) row_title: String,
    /// Its levels.
    pub(crate) rows: Vec<String>,
    /// The factor along the columns.
    pub(crate) column_title: String,
    /// Its levels.
    pub(crate) columns: Vec<String>,
    /// Factor between two values above zero that chance alone explains seldom: one shade.
    pub(crate) step: f64,
    /// `values[row][column]`: the value, its words and its hover text.
    pub(crate) values: Vec<Vec<Option<(f64, String, String)>>>,
}

const TOP: f64 = 46.0;
const ROW: f64 = 34.0;

/// Shades of the whole scale: fewer steps use a part of it.
const STEPS_MIN: f64 = 6.0;

impl HeatMap {
    /// Draws it; `None` without a value.
    pub(crate) fn draw(&self) -> Option<Markup> {
        let values = || self.values.iter().flatten().flatten().map(|(value, _, _)| *value);
        let smallest = values().reduce(f64::min)?;
        let largest = values().reduce(f64::max)?;
        let mut drawing = Drawing::new(&self.title);
        drawing.text("word strong", (2.0, 14.0), &self.title);
        let widest = self.rows.iter().map(|level| width_of(level)).fold(width_of(&self.row_title), f64::max);
        let left = widest.min(WIDTH / 3.0) + 12.0;
        let column = (WIDTH - 6.0 - left) / self.columns.len().max(1) as f64;
        drawing.text("word end", (left - 6.0, TOP - 6.0), &self.row_title);
        drawing.text("word", (left + 2.0, TOP - 6.0), &format!("{} →", self.column_title));
        for (row, (level, fields)) in self.rows.iter().zip(&self.values).enumerate() {
            let y = TOP + row as f64 * ROW;
            drawing.text("word end", (left - 6.0, y + ROW / 2.0 + 5.0), level);
            for (index, field) in fields.iter().enumerate() {
                let Some((value, words, title)) = field else { continue };
                let share = shade(*value, smallest, largest, self.step);
                let at = (left + index as f64 * column, y);
                drawing.add(&markup!(
                    "<g class=\"field\"><rect class=\"heat\" fill-opacity=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\">{}</rect>",
                    num(0.1 + 0.8 * share),
                    num(at.0),
                    num(at.1),
                    num(column - 2.0),
                    num(ROW - 2.0),
                    title_of(title)
                ));
                let class = if share > 0.78 { "word middle on" } else { "word middle" };
                drawing.text(class, (at.0 + column / 2.0 - 1.0, y + ROW / 2.0 + 4.0), words);
                drawing.end_group();
            }
        }
        let bottom = TOP + self.rows.len() as f64 * ROW;
        for (index, level) in self.columns.iter().enumerate() {
            drawing.text("word middle", (left + (index as f64 + 0.5) * column - 1.0, bottom + 16.0), level);
        }
        Some(drawing.finish(bottom + 26.0))
    }
}

/// Shades in steps, by the logarithm, since factors multiply times: values that lie closer than a step may share one, and
/// few steps do not reach the darkest shade.
fn shade(value: f64, smallest: f64, largest: f64, step: f64) -> f64 {
    let steps = |value: f64| match smallest > 0.0 {
        true => (value / smallest).ln() / step.max(1.000_001).ln(),
        // Without logarithms: shares of the largest size.
        false => (value - smallest) / (largest.abs().max(smallest.abs()) * (step - 1.0).max(1e-6)),
    };
    let last = steps(largest).floor();
    if last >= 1.0 { steps(value).floor() / last.max(STEPS_MIN) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn each_field_shows_its_value_and_a_missing_one_stays_empty() {
        let field = |value: f64| Some((value, format!("{value}"), format!("mean {value} s")));
        let map = HeatMap {
            title: "elapsed time [s], darker is longer".to_owned(),
            row_title: "connections".to_owned(),
            rows: vec!["1".to_owned(), "4".to_owned()],
            column_title: "batch_size".to_owned(),
            columns: vec!["1".to_owned(), "10".to_owned()],
            step: 1.1,
            values: vec![vec![field(8.0), field(2.0)], vec![None, field(1.0)]],
        };
        let svg = map.draw().unwrap().into_string();
        assert_eq!(svg.matches("class=\"heat\"").count(), 3);
        assert_eq!([8.0, 1.0].map(|value| shade(value, 1.0, 8.0, 1.1)), [1.0, 0.0]);
        assert_eq!(HeatMap { values: vec![vec![None]], ..map }.draw(), None);
    }

    #[test]
    fn what_differs_by_less_than_the_noise_has_one_colour() {
        // 196 to 202, sd 5: a step is two standard deviations of a run.
        let step = 1.0 + 2.0 * 5.0 / 199.0;
        assert_eq!([196.0, 199.0, 202.0].map(|value| shade(value, 196.0, 202.0, step)), [0.0; 3]);
        // A little more than one step is a little darker, and no more.
        let shades = [100.0, 112.0].map(|value| shade(value, 100.0, 112.0, 1.1));
        assert!(shades[0] == 0.0 && shades[1] > 0.0 && shades[1] < 0.2, "{shades:?}");
        assert_eq!(shade(0.0, 0.0, 0.0, 1.1), 0.0);
        assert_eq!([0.0, 10.0].map(|value| shade(value, 0.0, 10.0, 1.1)), [0.0, 1.0]);
    }
}
