//! One figure over all studies of an experiment: how it went, and where it changed for good.
//!
//! The view model of `fathom history`. A series is what was measured the same way each time: same target, scale and
//! parameters. Two questions are kept apart. Did a study differ from the one before it? Its runs tell, as in a
//! comparison. Did the level change for good? The means of the studies tell, one observation per study.

mod sections;
mod series;

use std::collections::BTreeMap;

use results::measure::Measure;
use results::model::{Cell, Run, Study};
use stats::change_point::{VALUES_MAX, VALUES_MIN, change_points};
use stats::design::contrasts::Pair;
use stats::family::judge_apart;

use crate::comparison::{Side, changes, direction, restrict_to_cell};
use crate::summary::{ALPHA, Estimate, Range, geometric_mean};

pub(crate) use sections::{BARS, outcome, sections};
pub use series::{HISTORY_VERSION, History, LevelChange, Point, Series};

/// What identifies a series: target, scale and every parameter.
type Identity = BTreeMap<String, String>;

/// A cell of a study with the values of its runs.
struct Member<'a> {
    side: &'a Side,
    cell: &'a Cell,
    values: Vec<f64>,
}

/// Follows a measure over studies of one experiment, given in the order of time.
///
/// Changes of the level are sought with the level 0.05 over the number of series; of more than [`VALUES_MAX`] studies
/// only the latest are searched. Costs up to a second per series of a thousand studies.
pub fn history(studies: &[Side], measure: &Measure) -> History {
    let mut series: Vec<(Identity, Vec<Member<'_>>, usize)> = Vec::new();
    for side in studies {
        for cell in &side.results.cells {
            let member = Member { side, cell, values: values(side, cell, measure) };
            let identity = identity(side, cell);
            let place = series.iter().position(|(known, ..)| *known == identity).unwrap_or_else(|| {
                series.push((identity, Vec::new(), 0));
                series.len() - 1
            });
            if member.values.is_empty() { series[place].2 += 1 } else { series[place].1.push(member) }
        }
    }
    let labels = labels(&series.iter().map(|(identity, ..)| identity).collect::<Vec<_>>());
    let alpha = ALPHA / series.len().max(1) as f64;
    let views = series.iter().zip(labels).filter(|((_, members, _), _)| !members.is_empty());
    let mut views: Vec<Series> = views
        .map(|((_, members, missing), label)| Series {
            label,
            points: points(members, measure, alpha),
            missing_count: *missing,
        })
        .collect();
    decide(&mut views, &series.into_iter().map(|(_, members, _)| members).collect::<Vec<_>>(), measure);
    History {
        history_version: HISTORY_VERSION,
        experiment: studies.last().map(|side| named(&side.results.study)).unwrap_or_default(),
        measure: measure.clone(),
        study_count: studies.len(),
        alpha: ALPHA,
        studies_min: VALUES_MIN,
        series: views,
    }
}

/// The experiment, which says so when another tool measured it.
fn named(study: &Study) -> String {
    let imported = if study.imported.is_some() { " (imported)" } else { "" };
    format!("{}{imported}", study.experiment)
}

fn values(side: &Side, cell: &Cell, measure: &Measure) -> Vec<f64> {
    let of_cell = side.results.runs.iter().filter(|stored| stored.run.key.cell_index == cell.index);
    let runs: Vec<&Run> = of_cell.filter(|stored| stored.counts()).map(|stored| &stored.run).collect();
    let values = runs.iter().filter_map(|run| measure.value(run));
    values.filter(|value| value.is_finite() && *value > 0.0).collect()
}

fn identity(side: &Side, cell: &Cell) -> Identity {
    let study = &side.results.study;
    let parameters = cell.levels.iter().chain(&study.fixed);
    let mut identity: Identity = parameters.map(|(name, level)| (name.clone(), level.to_string())).collect();
    identity.insert("target".to_owned(), study.engine.clone());
    identity.insert("scale".to_owned(), format!("{:?}", study.scale).to_lowercase());
    identity
}

/// Names each series by the parameters in which they differ.
fn labels(identities: &[&Identity]) -> Vec<String> {
    let mut names: Vec<&String> = identities.iter().flat_map(|identity| identity.keys()).collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| identities.iter().any(|identity| identity.get(*name) != identities[0].get(*name)));
    let label = |identity: &&Identity| {
        let words = names.iter().filter_map(|name| Some(format!("{name}={}", identity.get(*name)?)));
        let words: Vec<String> = words.collect();
        if words.is_empty() { "all".to_owned() } else { words.join(" ") }
    };
    identities.iter().map(label).collect()
}

fn points(members: &[Member<'_>], measure: &Measure, alpha: f64) -> Vec<Point> {
    let mut points: Vec<Point> = members
        .iter()
        .filter_map(|member| {
            Some(Point {
                study_id: member.side.study_id,
                created_at: member.side.results.study.created_at.clone(),
                estimate: Estimate::of_positive(&member.values)?,
                geometric_mean: geometric_mean(&member.values),
                geometric_mean_interval: geometric_interval(&member.values),
                vs_previous_percent: None,
                vs_previous: None,
                change: None,
            })
        })
        .collect();
    let first = members.len().saturating_sub(VALUES_MAX);
    let means: Vec<f64> = members[first..].iter().map(|member| geometric_mean(&member.values)).collect();
    let seed = members.first().map_or(0, |member| member.side.results.study.seed);
    for change in change_points(&means, alpha, seed).unwrap_or_default() {
        let index = first + change.index;
        let difference_percent = 100.0 * (change.ratio - 1.0);
        let [before, after] = [&members[index - 1], &members[index]]
            .map(|member| restrict_to_cell(member.side, member.cell.index));
        points[index].change = Some(LevelChange {
            difference_percent,
            p_value: change.p_value,
            is_better: (difference_percent < 0.0) == measure.is_smaller_better,
            changes: changes(&before, &after),
        });
    }
    points
}

/// Student's interval of the mean logarithm.
fn geometric_interval(values: &[f64]) -> Option<Range> {
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let interval = Estimate::of(&logarithms)?.interval?;
    Some(Range { low: interval.low.exp(), high: interval.high.exp() })
}

/// Compares every study with the one before it; all series of one study are one family, as in a comparison.
fn decide(views: &mut [Series], members: &[Vec<Member<'_>>], measure: &Measure) {
    let mut families: BTreeMap<i64, Vec<(usize, usize)>> = BTreeMap::new();
    let members: Vec<&Vec<Member<'_>>> = members.iter().filter(|members| !members.is_empty()).collect();
    for (place, members) in members.iter().enumerate() {
        for index in 1..members.len() {
            families.entry(members[index].side.study_id).or_default().push((place, index));
        }
    }
    for family in families.into_values() {
        let cells: Vec<Vec<f64>> = family
            .iter()
            .flat_map(|&(place, index)| [index - 1, index].map(|index| members[place][index].values.clone()))
            .collect();
        let pairs: Vec<Pair> = (0..family.len())
            .map(|number| Pair { reference: 2 * number, candidate: 2 * number + 1 })
            .collect();
        let seed = family.first().map_or(0, |&(place, index)| members[place][index].side.results.study.seed);
        let judged = judge_apart(&cells, &pairs, direction(measure), ALPHA, seed).unwrap_or_default();
        for ((place, index), judged) in family.into_iter().zip(judged) {
            let point = &mut views[place].points[index];
            point.vs_previous_percent = judged.comparison.ratio.map(|ratio| 100.0 * (ratio - 1.0));
            point.vs_previous = Some(judged.decision.verdict.into());
        }
    }
}
