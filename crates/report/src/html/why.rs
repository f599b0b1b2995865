//! Why the configurations took as long as they did: reasons, shares of the sessions' time, wait tables, waiting tasks.

use results::observations::WaitingTask;

use super::chart::escape;
use super::chart::shares::{Bar, Shares};
use super::definitions::Definitions;
use super::{Page, absent, figure, tables};
use crate::layout::{Block, Section};
use crate::number::number;
use crate::summary::{CellWaits, StudySummary};
use crate::waits::{Had, WaitLine, WaitTable};
use crate::waits_text;

/// Wait types with a colour of their own; the rest is one part.
const TYPES_MAX: usize = 5;

/// Configurations whose wait tables are open from the start.
const OPEN_MAX: usize = 3;

const CLIENTS: &str = "clients";

/// The section.
pub(super) fn html(page: &Page<'_>, definitions: &Definitions) -> String {
    let summary = page.summary;
    let mut html = reasons(summary);
    if let Some(shares) = shares(summary) {
        let note = "Waits by type, idle time, and the rest: a session that ran or was ready to run. Hover shows \
                    seconds; the tables below have all columns.";
        html.push_str(&format!(
            "<div class=\"charts wide\">{}</div>",
            figure(&shares.draw().unwrap_or_default(), note)
        ));
    }
    html.push_str(&wait_tables(summary, definitions));
    html.push_str(&stretches(summary, definitions));
    html.push_str(&waiting_tasks(page, definitions));
    if html.is_empty() {
        return absent(
            "Nothing was looked at while these runs went on: no waits, no waiting tasks. Targets that have no waits say so before they run.",
        );
    }
    html
}

fn reasons(summary: &StudySummary) -> String {
    if summary.reasons.is_empty() {
        return String::new();
    }
    let one = |reason: &crate::reason::CellReason| {
        format!("<dt>{}</dt><dd>{}</dd>", escape(&reason.label), escape(&reason.sentences.join(" ")))
    };
    let items: String = summary.reasons.iter().map(one).collect();
    format!("<dl class=\"reasons\">{items}</dl>")
}

/// Shares of the clients' session time, one bar per configuration.
fn shares(summary: &StudySummary) -> Option<Shares> {
    let tables: Vec<(&CellWaits, &WaitTable)> = summary
        .waits
        .iter()
        .filter_map(|cell| Some((cell, cell.tables.iter().find(|table| table.group == CLIENTS)?)))
        .filter(|(_, table)| table.time.session_s > 0.0)
        .collect();
    if tables.is_empty() {
        return None;
    }
    let types = largest_types(&tables);
    let is_estimate = tables.iter().any(|(_, table)| lines(table).any(|line| line.had != Had::Exact));
    let colours = ["0", "1", "2", "3", "4"];
    let mut names: Vec<(String, &'static str)> = types.iter().cloned().zip(colours).collect();
    let others = [("other waits", "5"), ("idle", "idle"), ("no wait: ran or ready to run", "run")];
    names.extend(others.map(|(name, colour)| (name.to_owned(), colour)));
    let bar = |(cell, table): &(&CellWaits, &WaitTable)| {
        let whole = table.time.session_s;
        let part = |name: &str, seconds: f64| {
            let percent = 100.0 * seconds / whole;
            (percent, format!("{name}: {percent:.1} % ({} of {} s)", number(seconds), number(whole)))
        };
        let of_type = |name: &String| {
            let line = lines(table).find(|line| line.wait_type == *name);
            line.map_or(0.0, |line| line.wait_s)
        };
        let mut parts: Vec<_> = types.iter().map(|name| part(name, of_type(name))).collect();
        let others = table.time.wait_s - types.iter().map(of_type).sum::<f64>();
        parts.push(part("other waits", others.max(0.0)));
        parts.push(part("idle", table.time.idle_s));
        parts.push(part("no wait", table.time.no_wait_s));
        Bar { label: cell.label.clone(), parts }
    };
    let estimate = if is_estimate { " (estimated from samples)" } else { " (measured)" };
    Some(Shares {
        title: format!("Clients' time by wait, in %{estimate}"),
        names,
        bars: tables.iter().map(bar).collect(),
    })
}

fn lines(table: &WaitTable) -> impl Iterator<Item = &WaitLine> {
    table.rows.iter()
}

/// The types with the largest share in any configuration.
fn largest_types(tables: &[(&CellWaits, &WaitTable)]) -> Vec<String> {
    let mut types: Vec<(String, f64)> = Vec::new();
    for (_, table) in tables {
        for line in lines(table) {
            let share = line.wait_s / table.time.session_s;
            match types.iter_mut().find(|(name, _)| *name == line.wait_type) {
                Some((_, largest)) => *largest = largest.max(share),
                None => types.push((line.wait_type.clone(), share)),
            }
        }
    }
    types.sort_by(|left, right| right.1.total_cmp(&left.1));
    types.truncate(TYPES_MAX);
    types.into_iter().map(|(name, _)| name).collect()
}

fn wait_tables(summary: &StudySummary, definitions: &Definitions) -> String {
    if summary.waits.is_empty() {
        return String::new();
    }
    let mut html = String::from("<h3>Waits of each configuration</h3>");
    for (index, cell) in summary.waits.iter().enumerate() {
        let mut sections = waits_text::cell_sections(&cell.label, &cell.tables);
        sections.iter_mut().for_each(mark_estimates);
        for (place, section) in sections.iter().enumerate() {
            let id = format!("waits-{}-{place}", cell.cell_index);
            html.push_str(&tables::folded(&id, section, definitions, index < OPEN_MAX));
        }
    }
    html
}

/// Seconds from samples are estimates, and their columns say so.
fn mark_estimates(section: &mut Section) {
    if !section.title.contains("samples x") {
        return;
    }
    for block in &mut section.blocks {
        let Block::Grid(grid) = block else { continue };
        for (name, _) in &mut grid.columns {
            if ["wait_s", "resource_s", "signal_s"].contains(&name.as_str()) {
                name.push_str(" (estimate)");
            }
        }
    }
}

/// Counters without and with a checkpoint under way.
fn stretches(summary: &StudySummary, definitions: &Definitions) -> String {
    let sections = crate::stretches::sections(&summary.stretches);
    let tables = summary.stretches.iter().zip(&sections).map(|(cell, section)| {
        tables::folded(&format!("stretches-{}", cell.cell_index), section, definitions, false)
    });
    tables.collect()
}

/// Samples of who waited for what, of all counting runs of a configuration.
fn waiting_tasks(page: &Page<'_>, definitions: &Definitions) -> String {
    let mut html = String::new();
    for cell in &page.summary.cells {
        let counting =
            page.runs.iter().filter(|stored| stored.counts() && stored.run.key.cell_index == cell.cell_index);
        let samples: Vec<WaitingTask> =
            counting.flat_map(|stored| stored.run.observations.tasks.iter().cloned()).collect();
        if let Some(mut section) = waits_text::task_section(&samples) {
            section.title = format!("{}: {} samples of all counting runs", cell.label, samples.len());
            let id = format!("tasks-{}", cell.cell_index);
            html.push_str(&tables::folded(&id, &section, definitions, false));
        }
    }
    if html.is_empty() {
        html
    } else {
        format!("<h3>Waiting tasks by resource (one look a second)</h3>{html}")
    }
}
