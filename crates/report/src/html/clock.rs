//! The runs over their time: pictures of some counters of one run per configuration, and the place where scripts draw
//! any counters of any runs.

pub(super) mod data;

use results::model::{Event, Run, StoredRun};
use results::observations::{Series, SeriesKind};

use super::chart::panels::{self, Mark, Panel};
use super::definitions::Definitions;
use super::figure::{absent, figure};
use super::human::Unit;
use super::markup::{Markup, markup};
use super::page::Page;
use crate::number::counted_from_one;
use crate::timeline::{Figures, short};

/// Counters that are shown first, where a run has them: throughput, then what the published graphs show.
pub(super) const FIRST: [&str; 15] = [
    "rows_acknowledged_per_s",
    "transactions_acknowledged_per_s",
    "latency_p99_ms",
    "write_transactions_per_s",
    "transactions_per_s",
    "log_bytes_per_s",
    "log_flushes_per_s",
    "checkpoint_pages_per_s",
    "pages_allocated_per_s",
    "device_queue_length",
    "device_write_ms",
    "log_flush_ms",
    "data_written_bytes_per_s",
    "server_cpus",
    "fathom_cpus",
];

/// Counts of the same work.
pub(super) const THROUGHPUT: [&str; 4] = [
    "rows_acknowledged_per_s",
    "transactions_acknowledged_per_s",
    "write_transactions_per_s",
    "transactions_per_s",
];

/// Panels of one picture.
const PANELS_MAX: usize = 6;

/// Pictures without scripts: one run for each of so many configurations.
const PICTURES_MAX: usize = 6;

/// Points of a line in a picture; more would be closer than its width.
const POINTS_MAX: usize = 220;

/// The section; empty where no counter was sampled. `thinned` is the number of looks that one embedded value stands for.
pub(super) fn html(page: &Page<'_>, definitions: &Definitions, thinned: usize) -> Markup {
    let sampled = page.runs.iter().filter(|stored| !stored.run.observations.series.is_empty());
    let (with_course, short): (Vec<&StoredRun>, Vec<&StoredRun>) =
        sampled.partition(|stored| has_course(&stored.run.observations.series));
    if with_course.is_empty() && short.is_empty() {
        return Markup::default();
    }
    if with_course.is_empty() {
        return absent(
            "The runs are shorter than two samples of their counters (one a second): nothing is drawn over time.",
        );
    }
    let mut html = markup!("<div id=\"clock\" class=\"scripted\"></div>");
    if !short.is_empty() {
        let count = results::wording::counted(short.len() as u64, "run");
        html.push(&markup!(
            "<p class=\"note\">Not drawn: {} shorter than two samples of the counters (one a second).</p>",
            count
        ));
    }
    if thinned > 1 {
        html.push(&markup!(
            "<p class=\"note scripted\">Each drawn value is the mean of {} samples, to keep the page small; the legend has the values of all samples.</p>",
            thinned
        ));
    }
    let mut pictures = Markup::default();
    let mut shown = 0;
    for cell in &page.summary.cells {
        let of_cell = with_course.iter().filter(|stored| stored.run.key.cell_index == cell.cell_index);
        let best = of_cell.clone().find(|stored| stored.counts()).or(of_cell.clone().next());
        let Some(stored) = best else { continue };
        if shown == PICTURES_MAX {
            break;
        }
        let block = counted_from_one(stored.run.key.block_index);
        let title = format!("{}: run {}, block {block}", cell.label, stored.run_id);
        if let Some(svg) = picture(&title, &stored.run, definitions) {
            pictures.push(&figure(&svg, &Markup::default()));
            shown += 1;
        }
    }
    let note = format!(
        "One run of each configuration{}; each counter has its own scale from 0. Shaded: a checkpoint; line: WAL growth. Beside the name: average and maximum.",
        if page.summary.cells.len() > shown {
            format!(" ({shown} of {} configurations)", page.summary.cells.len())
        } else {
            String::new()
        }
    );
    html.push(&markup!(
        "<div class=\"plain\"><p class=\"note\">{}</p><div class=\"charts\">{}</div></div>",
        note,
        pictures
    ));
    html
}

/// Is there a course to draw: a counter with two amounts, or a state that was seen three times? The first and the last
/// sample of a state are those of the begin and the end alone.
pub(super) fn has_course(series: &[Series]) -> bool {
    let is_long = |series: &Series| {
        let least = if series.kind == SeriesKind::Rate { 2 } else { 3 };
        series.values.iter().flatten().count() >= least
    };
    series.iter().any(is_long)
}

fn picture(title: &str, run: &Run, definitions: &Definitions) -> Option<Markup> {
    let mut chosen: Vec<(&Series, Figures)> = run
        .observations
        .series
        .iter()
        .filter_map(|series| Some((series, Figures::of(series)?)))
        .filter(|(_, figures)| figures.max != 0.0 || figures.min != 0.0)
        .collect();
    chosen.sort_by_key(|(series, _)| place(&series.name));
    // One count of the work is throughput enough.
    let first = chosen.iter().find(|(series, _)| THROUGHPUT.contains(&series.name.as_str()));
    if let Some(first) = first.map(|(series, _)| series.name.clone()) {
        chosen.retain(|(series, _)| series.name == first || !THROUGHPUT.contains(&series.name.as_str()));
    }
    chosen.truncate(PANELS_MAX);
    let panel = |(series, figures): &(&Series, Figures)| {
        definitions.header(&series.name);
        let unit = Unit::of_named(&series.name, &series.unit, [figures.max]);
        let written = |value: f64| short(unit.value(value));
        let points = thin(series, series.values.len().div_ceil(POINTS_MAX));
        Panel {
            title: unit.titled(&series.name),
            figures: format!("avg {} · max {}", written(figures.mean), written(figures.max)),
            all_figures: format!(
                "last {} · avg {} · min {} · max {}",
                written(figures.last),
                written(figures.mean),
                written(figures.min),
                written(figures.max)
            ),
            points: points
                .into_iter()
                .map(|(at_s, value)| (at_s, value.map(|value| unit.value(value))))
                .collect(),
        }
    };
    let panels: Vec<Panel> = chosen.iter().map(panel).collect();
    panels::draw(title, run.elapsed_ns as f64 / 1e9, &panels, &marks(run))
}

/// Place of a counter in the order of choice; the part after a dot names a device.
pub(super) fn place(name: &str) -> usize {
    let stem = name.split('.').next().unwrap_or(name);
    FIRST.iter().position(|known| *known == stem).unwrap_or(FIRST.len())
}

/// Means of so many looks each, at the time of the last of them; a hole where all are missing.
pub(super) fn thin(series: &Series, looks: usize) -> Vec<(f64, Option<f64>)> {
    let looks = looks.max(1);
    let pairs = series.at_ns.chunks(looks).zip(series.values.chunks(looks));
    pairs
        .filter_map(|(at_ns, values)| {
            let known: Vec<f64> =
                values.iter().flatten().copied().filter(|value| value.is_finite()).collect();
            let mean = (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64);
            Some((*at_ns.last()? as f64 / 1e9, mean))
        })
        .collect()
}

/// Checkpoints from their beginning to their end, and moments at which the log grew.
pub(super) fn marks(run: &Run) -> Vec<Mark> {
    let mut marks = Vec::new();
    let mut begun: Option<&Event> = None;
    let end_s = run.elapsed_ns as f64 / 1e9;
    let checkpoint = |from_s: f64, to_s: f64, text: &str| Mark {
        span_s: (from_s.max(0.0), to_s.min(end_s)),
        is_checkpoint: true,
        title: format!("checkpoint from {from_s:.2} to {to_s:.2} s {text}").trim_end().to_owned(),
    };
    for event in &run.events {
        let at_s = event.at_ns as f64 / 1e9;
        match event.kind.as_str() {
            "checkpoint_start" => begun = Some(event),
            "checkpoint_end" => {
                let from_s = begun.take().map_or(0.0, |event| event.at_ns as f64 / 1e9);
                if at_s > 0.0 && from_s < end_s {
                    marks.push(checkpoint(from_s, at_s, &event.text));
                }
            }
            "log_growth" if (0.0..=end_s).contains(&at_s) => marks.push(Mark {
                span_s: (at_s, at_s),
                is_checkpoint: false,
                title: format!("log growth at {at_s:.2} s {}", event.text).trim_end().to_owned(),
            }),
            _ => {}
        }
    }
    if let Some(event) = begun {
        let from_s = event.at_ns as f64 / 1e9;
        if from_s < end_s {
            marks.push(checkpoint(from_s, end_s, "(still running at the end of the run)"));
        }
    }
    marks
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_run_has_a_course_with_two_amounts_or_a_state_between_begin_and_end() {
        let series = |kind, values: &[Option<f64>]| {
            [Series {
                name: "a".to_owned(),
                unit: "1".to_owned(),
                source: "made up".to_owned(),
                kind,
                at_ns: (0..values.len() as i64).collect(),
                values: values.to_vec(),
            }]
        };
        assert!(!has_course(&series(SeriesKind::Rate, &[Some(1.0)])));
        assert!(!has_course(&series(SeriesKind::Gauge, &[Some(1.0), Some(2.0)])));
        assert!(!has_course(&series(SeriesKind::Rate, &[Some(1.0), None])));
        assert!(has_course(&series(SeriesKind::Rate, &[Some(1.0), Some(2.0)])));
        assert!(has_course(&series(SeriesKind::Gauge, &[Some(1.0), Some(2.0), Some(3.0)])));
    }

    #[test]
    fn thinned_values_are_means_of_the_looks_that_there_were() {
        let series = Series {
            name: "a".to_owned(),
            unit: "1".to_owned(),
            source: "made up".to_owned(),
            kind: SeriesKind::Gauge,
            at_ns: (1..=5).map(|second| second * 1_000_000_000).collect(),
            values: vec![Some(1.0), Some(3.0), None, None, Some(5.0)],
        };
        assert_eq!(thin(&series, 2), [(2.0, Some(2.0)), (4.0, None), (5.0, Some(5.0))]);
        assert_eq!(thin(&series, 0).len(), 5);
    }
}
