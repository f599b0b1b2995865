//! The other metrics of a study, behind a fold: in units for people, the exact value and the source on hover.

use super::definitions::Definitions;
use super::markup::{Markup, markup};
use super::tables;
use crate::number::{Unit, exact, human};
use crate::summary::{MetricSummary, StudySummary};
use crate::tables::metrics::{constant, ordered};

/// The charts of some metrics, the table with a row for each that differs, and what never differs in a sentence.
pub(super) fn html(summary: &StudySummary, charts: &Markup, definitions: &Definitions) -> Markup {
    let known = ordered(summary);
    let (same, shown): (Vec<&MetricSummary>, Vec<&MetricSummary>) =
        known.iter().partition(|metric| constant(metric).is_some());
    if known.is_empty() {
        return Markup::default();
    }
    let mut html = charts.clone();
    if !shown.is_empty() {
        html.push(&differing(summary, &shown, definitions));
    }
    let values: Vec<Markup> = same.iter().filter_map(|metric| unchanging(metric, definitions)).collect();
    if !values.is_empty() {
        let everywhere = if summary.cells.len() > 1 { "The same in every run" } else { "Zero in every run" };
        html.push(&markup!("<p>{}: {}.</p>", everywhere, joined(&values)));
    }
    let identities: Vec<String> = summary.identities.iter().map(|identity| identity.words()).collect();
    if !identities.is_empty() {
        html.push(&markup!("<p>{}.</p>", identities.join("; ")));
    }
    let count = results::wording::counted(known.len() as u64, "metric");
    markup!(
        "<details id=\"metrics\"><summary>All metrics, mean per run ({})</summary>{}</details>",
        count,
        html
    )
}

fn differing(summary: &StudySummary, shown: &[&MetricSummary], definitions: &Definitions) -> Markup {
    let labels = summary.cells.iter().map(|cell| tables::header("r", &markup!("{}", cell.label)));
    let headers: Markup =
        std::iter::once(tables::header("l", &definitions.header("metric"))).chain(labels).collect();
    let row = |metric: &&MetricSummary| {
        let means = metric.cells.iter().flatten().map(|estimate| estimate.mean);
        let unit = Unit::of(&metric.unit, means);
        let name = markup!(
            "<td class=\"l\" title=\"{}\">{}</td>",
            metric.sources.join(", "),
            definitions.header(&metric.name)
        );
        let values = metric.cells.iter().map(|cell| match cell {
            Some(estimate) => markup!(
                "<td class=\"r\" title=\"{}\">{}</td>",
                exact(estimate.mean, &metric.unit),
                unit.write(estimate.mean)
            ),
            None => tables::cell("r", &markup!("{}", crate::number::ABSENT)),
        });
        tables::row(std::iter::once(name).chain(values).collect())
    };
    tables::table("k1", &headers, &shown.iter().map(row).collect())
}

fn unchanging(metric: &MetricSummary, definitions: &Definitions) -> Option<Markup> {
    let value = constant(metric)?;
    Some(markup!(
        "{} <span title=\"{}\">{}</span>",
        definitions.header(&metric.name),
        exact(value, &metric.unit),
        human(value, &metric.unit)
    ))
}

fn joined(values: &[Markup]) -> Markup {
    let mut html = Markup::default();
    for (place, value) in values.iter().enumerate() {
        if place > 0 {
            html.push(&markup!(", "));
        }
        html.push(value);
    }
    html
}
