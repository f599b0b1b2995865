//! Cells laid out over their factors: a numeric factor along the axis whatever its place in the spec, another as series,
//! the others as charts of their own.

use results::model::{Factor, Level};

use super::super::chart::levels::{LevelChart, Spot};
use super::super::chart::places::Places;
use super::super::human;
use crate::summary::{CellSummary, StudySummary};

/// Most series of one chart: as many as there are colours.
const SERIES_MAX: usize = 8;

/// Charts of one quantity: one per combination of the factors that are neither axis nor series.
pub(in crate::html) struct Facets {
    /// Heading of each (the levels of the other factors) and the chart.
    pub(in crate::html) charts: Vec<(String, LevelChart)>,
}

/// Which factor goes where, by its place in the study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::html) struct Roles {
    /// Along the axis; `None` without factors.
    pub(in crate::html) axis: Option<usize>,
    /// One line or bar each.
    pub(in crate::html) series: Option<usize>,
}

impl Roles {
    /// Chooses: the factor that the question is about, else the numeric factor with most levels, else the last factor that
    /// varies.
    ///
    /// `contrasts` are those of the study's design (`previous(batch_size)`, `each-level-of(connections)`).
    pub(in crate::html) fn of(factors: &[Factor], contrasts: &[String]) -> Self {
        let named = |kind: &str, factor: &Factor| {
            let wanted = format!("{kind}({})", factor.name);
            contrasts.iter().any(|contrast| contrast.replace(' ', "") == wanted)
        };
        let rank = |factor: &Factor| {
            // What is compared, rather than where; but two levels make a poor axis.
            let (is_apart, count) = (named("each-level-of", factor), factor.levels.len());
            (named("previous", factor), count > 2, !is_apart, count)
        };
        let numeric = factors.iter().enumerate().filter(|(_, factor)| is_numeric(&factor.levels));
        // The first of equals.
        let best = numeric.rev().max_by_key(|(_, factor)| rank(factor)).map(|(place, _)| place);
        // A factor of one level has nothing to show along an axis.
        let varied = factors.iter().rposition(|factor| factor.levels.len() > 1);
        let axis = best.or(varied).or(factors.len().checked_sub(1));
        let others = factors.iter().enumerate().filter(|(place, _)| Some(*place) != axis);
        // What is compared pair by pair lies in one chart, else the last factor; the last of equals.
        let is_paired = |factor: &Factor| {
            let begin = format!("pairs({}:", factor.name);
            contrasts.iter().any(|contrast| contrast.replace(' ', "").starts_with(&begin))
        };
        let series = others.filter(|(_, factor)| factor.levels.len() <= SERIES_MAX);
        let series = series.max_by_key(|(_, factor)| (is_paired(factor), factor.levels.len() > 1));
        let series = series.map(|(place, _)| place);
        Self { axis, series }
    }

    /// The levels of the factors that are neither, `others` in words.
    pub(in crate::html) fn heading(self, levels: &[(String, Level)]) -> String {
        let others = levels
            .iter()
            .enumerate()
            .filter(|(place, _)| Some(*place) != self.axis && Some(*place) != self.series);
        others
            .map(|(_, (name, level))| format!("{name}={}", human::level(level)))
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// Are the levels numbers, so that a line between them means something?
pub(in crate::html) fn is_numeric(levels: &[Level]) -> bool {
    levels.len() > 1 && levels.iter().all(|level| human::level_value(level).is_some())
}

/// Levels as an axis shows them: numbers ascending, words in the order of the spec.
pub(in crate::html) fn ordered(levels: &[Level]) -> Vec<Level> {
    let mut ordered = levels.to_vec();
    if is_numeric(levels) {
        let value = |level: &Level| human::level_value(level).unwrap_or(f64::NAN);
        ordered.sort_by(|left, right| value(left).total_cmp(&value(right)));
    }
    ordered
}

/// An empty chart over the levels of a factor.
pub(in crate::html) fn empty_chart(factor: Option<&Factor>, y_title: &str) -> LevelChart {
    let levels = factor.map_or_else(Vec::new, |factor| ordered(&factor.levels));
    let is_ordered = is_numeric(&levels);
    let values: Vec<f64> = levels.iter().filter_map(human::level_value).collect();
    LevelChart {
        y_title: y_title.to_owned(),
        x_title: factor.map_or_else(|| "configuration".to_owned(), |factor| factor.name.clone()),
        levels: match factor {
            Some(_) => levels.iter().map(human::level).collect(),
            None => vec!["all".to_owned()],
        },
        places: if is_ordered { Places::of(&values) } else { Places::default() },
        is_ordered,
        ..LevelChart::default()
    }
}

/// Lays cells out. All charts share one axis.
pub(in crate::html) fn facets(
    summary: &StudySummary,
    roles: Roles,
    y_title: &str,
    spot: impl Fn(&CellSummary, usize) -> Spot,
) -> Facets {
    let factors = &summary.factors;
    let axis = roles.axis.and_then(|place| factors.get(place));
    let levels = axis.map_or_else(Vec::new, |factor| ordered(&factor.levels));
    let mut charts: Vec<(String, LevelChart)> = Vec::new();
    for (index, cell) in summary.cells.iter().enumerate() {
        let of_cell = &cell.levels.0;
        let at = roles.axis.and_then(|place| of_cell.get(place));
        let x = at.and_then(|(_, level)| levels.iter().position(|other| other == level)).unwrap_or(0);
        let series = roles.series.and_then(|place| of_cell.get(place));
        let series =
            series.map_or_else(String::new, |(name, level)| format!("{name}={}", human::level(level)));
        let heading = roles.heading(of_cell);
        let known = charts.iter().position(|(other, _)| *other == heading);
        let chart = known.unwrap_or_else(|| {
            charts.push((heading, empty_chart(axis, y_title)));
            charts.len() - 1
        });
        let chart = &mut charts[chart].1;
        let known = chart.series.iter().position(|(name, _)| *name == series);
        let place = known.unwrap_or_else(|| {
            chart.series.push((series, vec![Spot::default(); chart.levels.len()]));
            chart.series.len() - 1
        });
        chart.series[place].1[x] = spot(cell, index);
    }
    share_axis(&mut charts);
    Facets { charts }
}

/// Gives all charts the axis of the widest.
pub(in crate::html) fn share_axis(charts: &mut [(String, LevelChart)]) {
    let extents: Vec<(f64, f64)> = charts.iter().filter_map(|(_, chart)| chart.extent()).collect();
    let extents = || extents.iter().copied();
    let smallest = extents().map(|(smallest, _)| smallest).reduce(f64::min);
    let largest = extents().map(|(_, largest)| largest).reduce(f64::max);
    let range = smallest.zip(largest);
    charts.iter_mut().for_each(|(_, chart)| chart.range = range);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factor(name: &str, levels: &[Level]) -> Factor {
        Factor { name: name.to_owned(), levels: levels.to_vec() }
    }

    fn numbers(name: &str, levels: &[i64]) -> Factor {
        factor(name, &levels.iter().map(|level| Level::Integer(*level)).collect::<Vec<_>>())
    }

    fn words(name: &str, levels: &[&str]) -> Factor {
        factor(name, &levels.iter().map(|level| Level::Text((*level).to_owned())).collect::<Vec<_>>())
    }

    #[test]
    fn a_numeric_factor_is_the_axis_wherever_it_stands() {
        let batch = numbers("batch_size", &[1, 10, 100]);
        let durability = words("durability", &["full", "relaxed"]);
        let roles = |factors: &[Factor]| Roles::of(factors, &[]);
        assert_eq!(roles(&[batch.clone(), durability.clone()]), Roles { axis: Some(0), series: Some(1) });
        assert_eq!(roles(&[durability.clone(), batch]), Roles { axis: Some(1), series: Some(0) });
        assert_eq!(roles(std::slice::from_ref(&durability)), Roles { axis: Some(0), series: None });
        assert_eq!(roles(&[]), Roles { axis: None, series: None });
        let placement = words("placement", &["a", "b"]);
        assert_eq!(roles(&[durability, placement]), Roles { axis: Some(1), series: Some(0) });
    }

    #[test]
    fn a_factor_of_one_level_is_no_axis_while_another_varies() {
        let single = numbers("indexes", &[3]);
        let of_one = [words("key", &["bigint", "uuid"]), single.clone()];
        assert_eq!(Roles::of(&of_one, &[]), Roles { axis: Some(0), series: Some(1) });
        let of_two = [words("a", &["x", "y"]), words("b", &["x", "y"]), single];
        assert_eq!(Roles::of(&of_two, &[]), Roles { axis: Some(1), series: Some(0) });
        assert_eq!(Roles::of(&of_two[2..], &[]).axis, Some(0));
    }

    #[test]
    fn of_two_numeric_factors_the_one_that_is_asked_about_is_the_axis_else_the_longer() {
        let factors = [numbers("batch_size", &[1, 10, 100]), numbers("connections", &[1, 4, 16, 64])];
        assert_eq!(Roles::of(&factors, &[]).axis, Some(1));
        let of = |contrast: &str| Roles::of(&factors, &[contrast.to_owned()]).axis;
        assert_eq!(of("previous(batch_size)"), Some(0));
        assert_eq!(of("each-level-of(connections)"), Some(0));
        assert_eq!(of("reference"), Some(1));
        let short = [numbers("connections", &[1, 4, 16]), numbers("batch_size", &[1, 10])];
        assert_eq!(Roles::of(&short, &["each-level-of(connections)".to_owned()]).axis, Some(0));
    }

    #[test]
    fn the_factor_that_is_compared_in_pairs_makes_the_lines() {
        let factors =
            [words("level", &["read", "page"]), numbers("workers", &[1, 2, 4]), words("place", &["a", "b"])];
        assert_eq!(Roles::of(&factors, &[]), Roles { axis: Some(1), series: Some(2) });
        let paired = Roles::of(&factors, &["pairs(level: read, page)".to_owned()]);
        assert_eq!(paired, Roles { axis: Some(1), series: Some(0) });
    }

    #[test]
    fn a_factor_of_many_levels_makes_charts_and_not_lines() {
        let many = words("query", &["a", "b", "c", "d", "e", "f", "g", "h", "i"]);
        let roles = Roles::of(&[numbers("jobs", &[1, 2]), many], &[]);
        assert_eq!(roles, Roles { axis: Some(0), series: None });
    }

    #[test]
    fn numbers_ascend_along_the_axis_and_words_keep_their_order() {
        let descending = numbers("workers", &[32, 8, 1]);
        assert_eq!(empty_chart(Some(&descending), "").levels, ["1", "8", "32"]);
        let sizes = words("wal", &["1GB", "64MB", "256MB"]);
        assert_eq!(empty_chart(Some(&sizes), "").levels, ["64MB", "256MB", "1GB"]);
        assert_eq!(empty_chart(Some(&words("w", &["b", "a"])), "").levels, ["b", "a"]);
    }
}
