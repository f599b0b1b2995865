//! Wait tables and waiting tasks as sections of an output.

use results::model::Run;
use results::observations::{Observations, WaitingTask};

use crate::layout::{Align, Block, Grid, Section};
use crate::number::{ABSENT, number, percent};
use crate::waits::{Had, SessionTime, TaskSummary, WaitLine, WaitTable, table, tables, tasks};

/// Group whose table stands first; those of the others are shown when they waited for anything.
const CLIENTS: &str = "clients";

/// Group of what an engine counts for all its processes together.
const WHOLE_SERVER: &str = "whole server";

/// Group of what an engine counts for the sessions of the clients alone.
const CLIENTS_COUNTED: &str = "clients, counted";

/// Resources listed of the waiting tasks.
const RESOURCES_MAX: usize = 12;

/// What was seen in one interval of a live look: tables, then waiting tasks.
pub(crate) fn live_sections(observations: &Observations) -> Vec<Section> {
    let mut sections: Vec<Section> =
        tables(&[&observations.waits]).iter().filter(|table| is_shown(table)).map(section).collect();
    sections.extend(task_section(&observations.tasks));
    let problems: Vec<String> = observations
        .samplers
        .iter()
        .filter_map(|sampler| Some(format!("{}: {}", sampler.name, sampler.problem.as_ref()?)))
        .collect();
    if !problems.is_empty() {
        sections
            .push(Section::new("How it was measured", problems.into_iter().map(Block::Paragraph).collect()));
    }
    sections
}

/// Waits and waiting tasks of one run.
pub(crate) fn run_sections(run: &Run) -> Vec<Section> {
    let mut sections: Vec<Section> =
        table(&[run]).iter().filter(|table| is_shown(table)).map(section).collect();
    sections.extend(task_section(&run.observations.tasks));
    sections
}

/// Waits of one configuration of a study: its clients, and what the engine counted.
pub(crate) fn cell_sections(label: &str, tables: &[WaitTable]) -> Vec<Section> {
    let is_meant =
        |table: &&WaitTable| [CLIENTS, CLIENTS_COUNTED, WHOLE_SERVER].contains(&table.group.as_str());
    let titled = |table: &WaitTable| {
        let section = section(table);
        Section { title: format!("{}: {label}", section.title), ..section }
    };
    tables.iter().filter(is_meant).filter(|table| is_shown(table)).map(titled).collect()
}

fn is_shown(table: &WaitTable) -> bool {
    table.group == CLIENTS || !table.rows.is_empty()
}

fn section(table: &WaitTable) -> Section {
    let mut blocks = Vec::new();
    if table.rows.is_empty() {
        blocks.push(Block::Paragraph("No session waited for anything but its client.".to_owned()));
    } else {
        blocks.push(Block::Grid(grid(table)));
    }
    blocks.push(Block::Paragraph(match table.group.as_str() {
        CLIENTS_COUNTED => {
            "Counted by the server per client session, read before and after the measured part.".to_owned()
        }
        WHOLE_SERVER => {
            "The server counts these calls for all files of a kind together, not for each file. Where it \
            counts them for each session too, the clients' part has a table of its own."
                .to_owned()
        }
        _ => account(&table.time),
    }));
    Section::new(title(table), blocks)
}

fn title(table: &WaitTable) -> String {
    let lines = || table.rows.iter().chain(&table.rest);
    let has = |had: Had| lines().any(|line| line.had == had);
    let period = |(shortest, longest): (f64, f64)| {
        let ms = |seconds: f64| number((seconds * 1e4).round() / 10.0);
        let (shortest, longest) = (ms(shortest), ms(longest));
        if shortest == longest { shortest } else { format!("{shortest} to {longest}") }
    };
    let had = match table.sample_s.map(period) {
        Some(period) if has(Had::Exact) => {
            format!("seconds are exact, or estimated from samples x {period} ms where marked")
        }
        Some(period) => format!("seconds are estimated from samples x {period} ms"),
        None => "seconds are exact".to_owned(),
    };
    let sessions = match (table.group.as_str(), table.session_count) {
        (CLIENTS_COUNTED, 1) => "1 session, as the server counts it".to_owned(),
        (CLIENTS_COUNTED, count) => format!("{count} sessions, as the server counts them"),
        (WHOLE_SERVER, _) => "all processes, as the server counts them".to_owned(),
        (_, 1) => "1 session".to_owned(),
        (_, count) => format!("{count} sessions"),
    };
    let runs =
        if table.run_count > 1 { format!(", mean of {} runs", table.run_count) } else { String::new() };
    format!("Waits of {} ({sessions}{runs}; {had})", table.group)
}

fn grid(table: &WaitTable) -> Grid {
    let lines = || table.rows.iter().chain(&table.rest);
    let is_mixed = lines().any(|line| line.had != table.rows[0].had);
    let has_counts = lines().any(|line| line.wait_count.is_some());
    // Seconds from samples are estimates, and their columns say so.
    let estimate = if lines().any(|line| line.had != Had::Exact) { " (estimate)" } else { "" };
    let seconds = |names: [&str; 3]| names.map(|name| (format!("{name}{estimate}"), Align::Right));
    let mut grid = Grid::named_by([("wait type".to_owned(), Align::Left)]);
    grid.columns.extend(seconds(["wait_s", "resource_s", "signal_s"]));
    grid = grid.with([("count", Align::Right), ("%", Align::Right)]);
    if has_counts {
        grid.columns.extend(seconds(["avg_wait_s", "avg_res_s", "avg_sig_s"]));
    }
    if is_mixed {
        grid = grid.with([("had", Align::Left)]);
    }
    for line in lines() {
        let name = if line.wait_type.is_empty() { rest_name(table) } else { line.wait_type.clone() };
        grid.push(cells(name, line, has_counts, is_mixed));
    }
    grid
}

fn rest_name(table: &WaitTable) -> String {
    let types = table.rest_type_count;
    format!("OTHER ({types} {})", if types == 1 { "type" } else { "types" })
}

fn cells(name: String, line: &WaitLine, has_counts: bool, is_mixed: bool) -> Vec<String> {
    let optional = |value: Option<f64>, decimals: usize| {
        value.map_or_else(|| ABSENT.to_owned(), |value| format!("{value:.decimals$}"))
    };
    let mut cells = vec![
        name,
        format!("{:.3}", line.wait_s),
        optional(line.resource_s, 3),
        optional(line.signal_s, 3),
        line.wait_count.map_or_else(|| ABSENT.to_owned(), |count| number((count * 10.0).round() / 10.0)),
        format!("{:.2}", line.percentage),
    ];
    if has_counts {
        let averages = [line.avg_wait_s, line.avg_resource_s, line.avg_signal_s];
        cells.extend(averages.map(|average| optional(average, 6)));
    }
    if is_mixed {
        let had = match line.had {
            Had::Sampled => "sampled",
            Had::Exact => "exact",
            Had::Mixed => "mixed",
        };
        cells.push(had.to_owned());
    }
    cells
}

/// The sentence that accounts for all session time.
fn account(time: &SessionTime) -> String {
    if time.session_s <= 0.0 {
        return "Session time was not recorded: percentages are shares of all waits.".to_owned();
    }
    let share =
        |seconds: f64| percent(if time.session_s > 0.0 { 100.0 * seconds / time.session_s } else { 0.0 });
    let idle: Vec<String> =
        time.idle_by_class.iter().map(|(class, seconds)| format!("{class} {seconds:.2} s")).collect();
    let idle = if idle.is_empty() { String::new() } else { format!(" ({})", idle.join(", ")) };
    let mut text = format!(
        "Of {:.2} s of session time {} % are these waits, {} % idle{idle}, {} % without a wait: running, runnable, or unnamed.",
        time.session_s,
        share(time.wait_s),
        share(time.idle_s),
        share(time.no_wait_s),
    );
    match (time.on_cpu_s, time.run_delay_s) {
        (Some(on_cpu_s), Some(run_delay_s)) => text.push_str(&format!(
            " The scheduler counted {on_cpu_s:.2} s on CPU and {run_delay_s:.2} s runnable, waiting for CPU (signal time, exact)."
        )),
        (Some(on_cpu_s), None) => {
            text.push_str(&format!(" The scheduler counted {on_cpu_s:.2} s on CPU."));
        }
        _ => {}
    }
    text
}

pub(crate) fn task_section(samples: &[WaitingTask]) -> Option<Section> {
    let list = tasks(samples);
    if list.is_empty() {
        return None;
    }
    let mut grid =
        Grid::named_by([("waiting for".to_owned(), Align::Left), ("resource".to_owned(), Align::Left)]).with(
            [
                ("samples", Align::Right),
                ("%", Align::Right),
                ("at_once", Align::Right),
                ("longest_s", Align::Right),
                ("blocked by", Align::Wrapped),
            ],
        );
    for task in list.iter().take(RESOURCES_MAX) {
        grid.push(task_cells(task));
    }
    let mut blocks = vec![Block::Grid(grid)];
    let others = list.len().saturating_sub(RESOURCES_MAX);
    if others > 0 {
        let samples: usize = list.iter().skip(RESOURCES_MAX).map(|task| task.sample_count).sum();
        blocks.push(Block::Paragraph(format!("{others} more resources with {samples} samples in total.")));
    }
    Some(Section::new("Waiting tasks by resource (one sample a second)", blocks))
}

fn task_cells(task: &TaskSummary) -> Vec<String> {
    let resource = match &task.page_class {
        Some(class) => format!("{} ({class})", task.resource),
        None if task.resource.is_empty() => ABSENT.to_owned(),
        None => task.resource.clone(),
    };
    vec![
        task.wait.clone(),
        resource,
        task.sample_count.to_string(),
        percent(task.percentage),
        task.sessions_max.to_string(),
        task.waited_s_max.map_or_else(|| ABSENT.to_owned(), |seconds| format!("{seconds:.3}")),
        task.blockers.join(", "),
    ]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use results::observations::{How, SamplerRecord, WaitProfile, WaitRow};

    use super::*;

    fn observations() -> Observations {
        let row = |class: &str, name: &str, wait_s: f64, count, how| WaitRow {
            class: class.to_owned(),
            name: name.to_owned(),
            is_idle: class == "Client",
            wait_s,
            resource_s: (how != How::Exact).then_some(wait_s / 2.0),
            signal_s: (how != How::Exact).then_some(wait_s / 2.0),
            count,
            how,
        };
        let sampled = How::Sampled { period_ns: 10_040_000 };
        let profile = |group: &str, rows| WaitProfile {
            group: group.to_owned(),
            session_count: 16,
            session_s: 160.0,
            on_cpu_s: Some(2.5),
            run_delay_s: Some(0.5),
            rows,
        };
        Observations {
            waits: vec![
                profile(
                    "clients",
                    vec![
                        row("LWLock", "WALWrite", 146.86, None, sampled),
                        row("IO", "WalSync", 9.68, None, sampled),
                        row("IO", "WalWrite", 0.5, None, sampled),
                        row("Client", "ClientRead", 2.0, None, sampled),
                    ],
                ),
                profile("checkpointer", Vec::new()),
                profile("whole server", vec![row("IO", "WalSync", 9.5, Some(3514), How::Exact)]),
            ],
            tasks: vec![WaitingTask {
                at_ns: 1,
                session: "7".to_owned(),
                wait: "LWLock:BufferContent".to_owned(),
                resource: "useq_pkey page 5811".to_owned(),
                page_class: None,
                waited_s: None,
                blocked_by: Vec::new(),
            }],
            series: Vec::new(),
            samplers: vec![SamplerRecord {
                name: "postgres_waits_sql".to_owned(),
                period_ns: 1,
                samples_expected: 1,
                samples_taken: 1,
                cpu_s: 0.0,
                problem: Some("asked over SQL".to_owned()),
            }],
            transactions: Vec::new(),
        }
    }

    #[test]
    fn the_header_says_how_the_seconds_were_had_and_the_sentence_where_all_time_went() {
        let text = crate::text::waits(&observations());
        for expected in [
            "Waits of clients (16 sessions; seconds are estimated from samples x 10 ms)",
            "(estimate)  (estimate)  (estimate)",
            "LWLock:WALWrite     146.860      73.430      73.430      -  93.52",
            "OTHER (1 type)",
            "Of 160.00 s of session time 98.2 % are these waits, 1.2 % idle (Client 2.00 s), 0.6 % without a wait",
            "2.50 s on CPU and 0.50 s runnable, waiting for CPU",
            "Waits of whole server (all processes, as the server counts them; seconds are exact)",
            "IO:WalSync   9.500           -         -   3514  100.00    0.002703",
            "useq_pkey page 5811",
            "postgres_waits_sql: asked over SQL",
        ] {
            let is_in = text.replace('\n', " ").contains(expected) || text.contains(expected);
            assert!(is_in, "\"{expected}\" is not in:\n{text}");
        }
        assert!(!text.contains("checkpointer"), "it waited for nothing:\n{text}");
        assert!(text.lines().all(|line| line.chars().count() <= crate::text::WIDTH), "{text}");
    }
}
