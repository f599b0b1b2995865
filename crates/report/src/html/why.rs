//! Why the configurations took as long as they did: reasons, shares of the sessions' time, wait tables, waiting tasks.

use std::collections::BTreeMap;

use results::observations::WaitingTask;

use super::chart::shares::{Bar, Shares};
use super::chart::waits::colours;
use super::definitions::Definitions;
use super::figure::figure;
use super::markup::{Markup, markup};
use super::page::Page;
use super::tables;
use crate::number::number;
use crate::summary::{CellWaits, StudySummary};
use crate::waits::{self, Had, TaskSummary, WaitLine, WaitTable};
use crate::waits_text;

/// Wait types with a colour of their own; the rest is one part.
const TYPES_MAX: usize = 5;

/// Configurations whose clients' wait table is open from the start; the server's are folded.
const OPEN_MAX: usize = 3;

const CLIENTS: &str = "clients";

/// The section; empty where no waits were sampled.
pub(super) fn html(page: &Page<'_>, definitions: &Definitions) -> Markup {
    let summary = page.summary;
    let mut html = reasons(summary);
    if let Some(shares) = shares(summary) {
        let note = markup!(
            "Shares of session time: waits by type, idle time, and the rest, in which a session ran or was runnable. \
             The reasons above exclude idle time. Hover shows seconds; the tables below have all columns."
        );
        html.push(&markup!(
            "<div class=\"charts wide\">{}</div>",
            figure(&shares.draw().unwrap_or_default(), &note)
        ));
    }
    html.push(&wait_tables(summary, definitions));
    html.push(&stretches(summary, definitions));
    html.push(&waiting_tasks(page, definitions));
    html
}

fn reasons(summary: &StudySummary) -> Markup {
    if summary.reasons.is_empty() {
        return Markup::default();
    }
    let one = |reason: &crate::reason::CellReason| {
        markup!("<dt>{}</dt><dd>{}</dd>", reason.label, reason.sentences.join(" "))
    };
    let items: Markup = summary.reasons.iter().map(one).collect();
    markup!("<dl class=\"reasons\">{}</dl>", items)
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
    let mut names: Vec<(String, &'static str)> = types.iter().cloned().zip(colours(&types)).collect();
    let others = [("other waits", "5"), ("idle", "idle"), ("no wait: ran or runnable", "run")];
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
        let reason = summary.reasons.iter().find(|reason| reason.cell_index == cell.cell_index);
        let limit = reason.and_then(|reason| reason.limit);
        let limit = limit.map_or_else(String::new, |limit| format!(" · limit: {}", limit.words()));
        Bar { label: format!("{}{limit}", cell.label), parts }
    };
    let estimate = if is_estimate { " (estimated from samples)" } else { " (measured)" };
    Some(Shares {
        title: format!("Clients' session time by wait, in %{estimate}"),
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

fn wait_tables(summary: &StudySummary, definitions: &Definitions) -> Markup {
    if summary.waits.is_empty() {
        return Markup::default();
    }
    let mut html = markup!("<h3>Waits of each configuration</h3>");
    for (index, cell) in summary.waits.iter().enumerate() {
        let sections = waits_text::cell_sections(&cell.label, &cell.tables);
        for (place, section) in sections.iter().enumerate() {
            let id = format!("waits-{}-{place}", cell.cell_index);
            html.push(&tables::folded(&id, section, definitions, place == 0 && index < OPEN_MAX));
        }
    }
    html
}

/// Counters without and with a checkpoint under way.
fn stretches(summary: &StudySummary, definitions: &Definitions) -> Markup {
    let sections = crate::stretches::sections(&summary.stretches);
    let tables = summary.stretches.iter().zip(&sections).map(|(cell, section)| {
        tables::folded(&format!("stretches-{}", cell.cell_index), section, definitions, false)
    });
    tables.collect()
}

/// Samples of who waited for what, of all counting runs of a configuration.
fn waiting_tasks(page: &Page<'_>, definitions: &Definitions) -> Markup {
    let (mut folded, mut sampled) = (Markup::default(), Vec::new());
    for cell in &page.summary.cells {
        let counting =
            page.runs.iter().filter(|stored| stored.counts() && stored.run.key.cell_index == cell.cell_index);
        let samples: Vec<WaitingTask> =
            counting.flat_map(|stored| stored.run.observations.tasks.iter().cloned()).collect();
        if let Some(mut section) = waits_text::task_section(&samples) {
            let count = results::wording::counted(samples.len() as u64, "sample");
            section.title = format!("{}: {count} of all counting runs", cell.label);
            let id = format!("tasks-{}", cell.cell_index);
            folded.push(&tables::folded(&id, &section, definitions, false));
            sampled.push((cell.label.clone(), waits::tasks(&samples)));
        }
    }
    if folded.is_empty() {
        return folded;
    }
    let picture = resources(&sampled).and_then(|shares| shares.draw());
    let picture = picture.map_or_else(Markup::default, |svg| {
        let note = markup!(
            "Resources that sessions waited for, sampled once a second: the five largest of any configuration."
        );
        markup!("<div class=\"charts wide\">{}</div>", figure(&svg, &note))
    });
    markup!("<h3>Waiting tasks by resource (one sample a second)</h3>{}{}", picture, folded)
}

/// Shares of the samples by resource, one bar per configuration.
fn resources(sampled: &[(String, Vec<TaskSummary>)]) -> Option<Shares> {
    let name = |task: &TaskSummary| match task.page_class.as_deref().unwrap_or(&task.resource) {
        "" => task.wait.clone(),
        resource => format!("{}: {resource}", task.wait),
    };
    let mut largest: BTreeMap<String, f64> = BTreeMap::new();
    for (_, tasks) in sampled {
        for (name, percent) in by_name(tasks, name) {
            let known = largest.entry(name).or_default();
            *known = known.max(percent);
        }
    }
    let mut names: Vec<(String, f64)> = largest.into_iter().collect();
    names.sort_by(|left, right| right.1.total_cmp(&left.1));
    names.truncate(TYPES_MAX);
    let bar = |(label, tasks): &(String, Vec<TaskSummary>)| {
        let shares = by_name(tasks, name);
        let count: usize = tasks.iter().map(|task| task.sample_count).sum();
        let part = |name: &str, percent: f64| (percent, format!("{name}: {percent:.1} % of {count} samples"));
        let of = |name: &String| shares.get(name).copied().unwrap_or(0.0);
        let mut parts: Vec<_> = names.iter().map(|(name, _)| part(name, of(name))).collect();
        let shown: f64 = names.iter().map(|(name, _)| of(name)).sum();
        parts.push(part("other resources", (100.0 - shown).max(0.0)));
        Bar { label: label.clone(), parts }
    };
    let bars = sampled.iter().map(bar).collect();
    let names: Vec<String> = names.into_iter().map(|(name, _)| name).collect();
    let shades = colours(&names);
    let mut names: Vec<(String, &'static str)> = names.into_iter().zip(shades).collect();
    names.push(("other resources".to_owned(), "5"));
    Some(Shares { title: "Samples of waiting tasks by resource, in %".to_owned(), names, bars })
}

/// Percent of the samples of each name; several resources may share one.
fn by_name(tasks: &[TaskSummary], name: impl Fn(&TaskSummary) -> String) -> BTreeMap<String, f64> {
    let mut shares = BTreeMap::new();
    for task in tasks {
        *shares.entry(name(task)).or_insert(0.0) += task.percentage;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_resources_come_to_a_hundred_and_pages_of_a_class_are_one() {
        let task = |resource: &str, class: Option<&str>, percentage| TaskSummary {
            wait: "LWLock:BufferContent".to_owned(),
            resource: resource.to_owned(),
            page_class: class.map(str::to_owned),
            sample_count: percentage as usize,
            percentage,
            sessions_max: 1,
            waited_s_max: None,
            blockers: Vec::new(),
        };
        let mut tasks = vec![task("t page 7", Some("leaf"), 30.0), task("t page 8", Some("leaf"), 20.0)];
        tasks.extend((0..10).map(|index| task(&format!("r{index}"), None, 5.0)));
        let shares = resources(&[("batch_size=1".to_owned(), tasks)]);
        let bar = &shares.expect("there are samples").bars[0];
        assert_eq!(bar.parts[0], (50.0, "LWLock:BufferContent: leaf: 50.0 % of 100 samples".to_owned()));
        assert_eq!(bar.parts.len(), 6);
        assert_eq!(bar.parts.iter().map(|part| part.0).sum::<f64>(), 100.0);
    }
}
