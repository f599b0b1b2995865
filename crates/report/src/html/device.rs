//! What the devices alone can do beside what the runs reached, and the baselines that were measured.

use results::io::IoTable;

use super::chart::escape;
use super::chart::shares::{Against, against};
use super::definitions::{Definitions, Tables};
use super::{Page, absent, figure, tables};
use crate::io_table;
use crate::tables::ceilings;

/// The section.
pub(super) fn html(page: &Page<'_>, definitions: &Definitions) -> String {
    let summary = page.summary;
    let mut html = String::new();
    match ceilings::ceilings(summary) {
        Some(section) => {
            let bar = |line: &crate::summary::CeilingLine| Against {
                label: format!("{} · {}", line.label, line.role),
                percent: line.percent,
                figures: format!("{:.1} of {:.1} {}", line.achieved, line.possible, line.unit),
            };
            let bars: Vec<Against> = summary.ceilings.iter().map(bar).collect();
            if let Some(svg) =
                against("Reached, in % of what the device alone gave", "the device alone", &bars)
            {
                let note =
                    "The device alone was measured by fathom for the same pattern; the table names it.";
                html.push_str(&format!("<div class=\"charts wide\">{}</div>", figure(&svg, note)));
            }
            html.push_str(&tables::titled(&section, definitions));
        }
        None => html.push_str(&absent(
            "No ceiling was measured with this study, so its figures stand beside nothing.",
        )),
    }
    if page.baselines.is_empty() {
        html.push_str(&absent("No baseline of a device (fathom io) is stored in this results file."));
    }
    for (index, table) in page.baselines.iter().enumerate() {
        html.push_str(&baseline(table, index, &definitions.of(Tables::Baselines)));
    }
    html
}

/// The published matrix, the further columns, the flushes, and what speaks against rows.
fn baseline(table: &IoTable, index: usize, definitions: &Definitions) -> String {
    let sections = io_table::sections(table);
    let mut html = format!("<h3>Baseline: {}</h3>", escape(&table.title));
    for (place, section) in sections.iter().enumerate() {
        if section.title.is_empty() {
            html.push_str(&tables::blocks(section, definitions));
        } else {
            html.push_str(&tables::folded(&format!("io-{index}-{place}"), section, definitions, place < 2));
        }
    }
    html
}
