//! Device ceilings beside what the runs reached, and the baselines that were measured.

use super::baseline;
use super::chart::shares::{Against, against};
use super::definitions::Definitions;
use super::figure::figure;
use super::markup::{Markup, markup};
use super::page::Page;
use super::tables;
use crate::tables::ceilings;

/// The section; empty without ceilings and baselines.
pub(super) fn html(page: &Page<'_>, definitions: &Definitions) -> Markup {
    let summary = page.summary;
    let mut html = Markup::default();
    if let Some(section) = ceilings::ceilings(summary) {
        let bar = |line: &crate::summary::CeilingLine| Against {
            label: format!("{} · {}", line.label, line.role),
            percent: line.percent,
            figures: format!("{:.1} of {:.1} {}", line.achieved, line.possible, line.unit),
        };
        let bars: Vec<Against> = summary.ceilings.iter().map(bar).collect();
        if let Some(svg) =
            against("Reached, in % of the maximum of the device alone", "the device alone", &bars)
        {
            let note =
                markup!("The device alone was measured with the same access pattern, which the table names.");
            html.push(&markup!("<div class=\"charts wide\">{}</div>", figure(&svg, &note)));
        }
        html.push(&tables::titled(&section, definitions));
    }
    for (index, table) in page.baselines.iter().enumerate() {
        html.push(&baseline::part(table, index, definitions));
    }
    html
}
