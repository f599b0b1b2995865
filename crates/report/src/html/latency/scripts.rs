//! What the scripts of a workload of the user's own did: the tables of the other outputs, long ones behind a fold.

use super::super::definitions::Definitions;
use super::super::markup::{Markup, markup};
use super::super::page::Page;
use super::super::tables;
use crate::tables::scripts::{PAGE_CHARS, failures, of_cell, over_configurations, scripts};

/// Configurations whose statements are open from the start.
const OPEN_MAX: usize = 2;

/// The section; empty where no scripts ran.
pub(in crate::html) fn html(page: &Page<'_>, definitions: &Definitions) -> Markup {
    let cells = &page.summary.scripts;
    let shown =
        [scripts(cells), failures(cells), over_configurations(cells, PAGE_CHARS)].into_iter().flatten();
    let mut html: Markup = shown.map(|section| tables::titled(&section, definitions)).collect();
    let is_open = cells.len() <= OPEN_MAX;
    for (place, cell) in cells.iter().enumerate() {
        if let Some(section) = of_cell(cell) {
            html.push(&tables::folded(&format!("statements-{place}"), &section, definitions, is_open));
        }
    }
    if !html.is_empty() {
        let note = "Statements: in a pipeline the latency is that of sending. % of time: of the time of the script's \
                    transactions.";
        html.push(&markup!("<p class=\"note\">{}</p>", note));
    }
    html
}
