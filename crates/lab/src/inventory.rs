//! Which machines and servers there are: processors, memory, and how far each server may use them and how durable it
//! is; one row per server.
//!
//! Facts of the machine are known only where the server runs on this one, as far as its address tells; a container or
//! a tunnel at a local port is taken for local.

use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use disk::machine::{MachineFacts, machine_facts};
use results::plain::{cell, one_line, plain};
use results::redaction::redacted;
use rusqlite::Connection;
use serde::Serialize;

use crate::engine::postgres::ServerQuestion;

/// Time in which a server must have answered all questions.
pub const SERVER_TIME_MAX: Duration = Duration::from_secs(45);

/// Servers that are asked at the same time.
const THREADS_MAX: usize = 16;

/// One server.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct InventoryRow {
    /// Where it is, without a password; `here` for what is embedded.
    pub server: String,
    /// `sqlite` or `postgres`.
    pub engine: String,
    /// Version as it says it; `None` when it could not be asked.
    pub version: Option<String>,
    /// Processors of the machine; `None` for a server elsewhere.
    pub cores: Option<u64>,
    /// NUMA nodes of the machine, at least 1; `None` for a server elsewhere.
    pub numa_nodes: Option<u64>,
    /// Memory of the machine in bytes; `None` for a server elsewhere.
    pub memory_bytes: Option<u64>,
    /// Helpers that one statement may have (`max_parallel_workers_per_gather`, `threads`).
    pub workers_per_query: Option<u64>,
    /// Helpers that all statements together may have (`max_parallel_workers`).
    pub workers_total: Option<u64>,
    /// Processes in the background of any kind (`max_worker_processes`).
    pub worker_processes: Option<u64>,
    /// Connections that it admits.
    pub connections_max: Option<u64>,
    /// Buffer pool as the server prints it.
    pub buffer_pool: Option<String>,
    /// Size of the log at which a checkpoint is forced, as the server prints it.
    pub log_size: Option<String>,
    /// What a commit waits for, as settings: `fsync=on synchronous_commit=on ...`.
    pub durability: Option<String>,
    /// Why it could not be asked.
    pub problem: Option<String>,
}

/// Header of the columns, in the order of [`InventoryRow::cells`].
pub const COLUMNS: [&str; 14] = [
    "server",
    "engine",
    "version",
    "cores",
    "numa_nodes",
    "memory_bytes",
    "workers_per_query",
    "workers_total",
    "worker_processes",
    "connections_max",
    "buffer_pool",
    "log_size",
    "durability",
    "problem",
];

/// Asks every server, and embedded SQLite last. A server that cannot be asked, or has not answered within
/// [`SERVER_TIME_MAX`], has a row with the reason; no row shows a password. Costs a connection and two statements per
/// server, and a thread meanwhile.
pub fn inventory(urls: &[String]) -> Vec<InventoryRow> {
    let machine = machine_facts();
    let mut rows = postgres_servers(urls, &machine, SERVER_TIME_MAX);
    rows.push(sqlite(&machine));
    rows
}

/// Asks the servers at the same time, [`THREADS_MAX`] at most; rows come in the order of the URLs. A server that has not
/// answered in time has a row that says so, and its thread is left behind.
fn postgres_servers(urls: &[String], machine: &MachineFacts, time_max: Duration) -> Vec<InventoryRow> {
    let servers: Vec<_> = urls.iter().map(|url| ServerQuestion::of(url)).collect();
    let mut rows: Vec<Option<InventoryRow>> = vec![None; servers.len()];
    let (waiting, answers) = (mpsc::channel(), mpsc::channel());
    for (index, server) in servers.iter().enumerate() {
        match server {
            Ok(server) => drop(waiting.0.send((index, server.clone()))),
            Err(error) => rows[index] = Some(failed("?".to_owned(), error)),
        }
    }
    let rounds = servers.len().div_ceil(THREADS_MAX) as u32;
    let queue = Arc::new(Mutex::new(waiting.1));
    drop(waiting.0);
    for _ in 0..servers.len().min(THREADS_MAX) {
        let (queue, answers, machine) = (Arc::clone(&queue), answers.0.clone(), machine.clone());
        std::thread::spawn(move || {
            let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).try_recv().ok();
            while let Some((index, server)) = next() {
                // Fails when the time is over and nobody waits for the row any longer.
                let _ = answers.send((index, postgres(&server, &machine)));
            }
        });
    }
    drop(answers.0);
    // All wait in line behind servers that use up their time.
    let deadline = Instant::now() + time_max * rounds;
    while let Ok((index, row)) = answers.1.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        if let Some(place) = rows.get_mut(index) {
            *place = Some(row);
        }
    }
    let late = format!("the server has not answered all questions after {} s", time_max.as_secs());
    let in_time = |(row, server): (Option<InventoryRow>, &Result<ServerQuestion, _>)| {
        row.unwrap_or_else(|| {
            failed(server.as_ref().map_or_else(|_| "?".to_owned(), ServerQuestion::place), &late)
        })
    };
    rows.into_iter().zip(&servers).map(in_time).collect()
}

/// The row of a server that could not be asked.
fn failed(server: String, problem: &dyn std::fmt::Display) -> InventoryRow {
    // A row of a table: the hint stands in the same line.
    let problem = Some(redacted(&problem.to_string().replace('\n', "; ")).into_owned());
    let server = redacted(&server).into_owned();
    InventoryRow { server, engine: "postgres".to_owned(), problem, ..InventoryRow::default() }
}

impl InventoryRow {
    /// The values as text, empty where there is none, in the order of [`COLUMNS`].
    pub fn cells(&self) -> [String; 14] {
        let number = |value: Option<u64>| value.map_or(String::new(), |value| value.to_string());
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        [
            self.server.clone(),
            self.engine.clone(),
            text(&self.version),
            number(self.cores),
            number(self.numa_nodes),
            number(self.memory_bytes),
            number(self.workers_per_query),
            number(self.workers_total),
            number(self.worker_processes),
            number(self.connections_max),
            text(&self.buffer_pool),
            text(&self.log_size),
            text(&self.durability),
            text(&self.problem),
        ]
    }

    fn on(mut self, machine: &MachineFacts) -> Self {
        self.cores = Some(machine.processors.online.len() as u64).filter(|count| *count > 0);
        // A kernel without NUMA names no node and has one.
        self.numa_nodes = Some(machine.numa_nodes.len().max(1) as u64);
        self.memory_bytes = machine.memory.total_bytes;
        self
    }
}

/// All rows as CSV with a header (RFC 4180).
pub fn csv(rows: &[InventoryRow]) -> String {
    let field = |text: &String| {
        let text = cell(text);
        let is_plain = !text.contains(['"', ',', '\n', '\r']);
        if is_plain { text } else { format!("\"{}\"", text.replace('"', "\"\"")) }
    };
    let mut lines = vec![COLUMNS.join(",")];
    lines.extend(rows.iter().map(|row| row.cells().iter().map(field).collect::<Vec<_>>().join(",")));
    lines.join("\n") + "\n"
}

/// All rows for people: one block per server, one line per value that is known.
pub fn text(rows: &[InventoryRow]) -> String {
    let mut text = String::new();
    for row in rows {
        if !text.is_empty() {
            text.push('\n');
        }
        let cells = row.cells();
        text.push_str(&format!("{} ({})\n", plain(&cells[0]), cells[1]));
        for (column, cell) in COLUMNS.iter().zip(&cells).skip(2).filter(|(_, cell)| !cell.is_empty()) {
            if *column == "memory_bytes" {
                let gib = row.memory_bytes.unwrap_or(0) as f64 / f64::from(1 << 30);
                text.push_str(&format!("  {:<17} {gib:.1} GiB\n", "memory"));
                continue;
            }
            text.push_str(&format!("  {column:<17} {}\n", one_line(cell)));
        }
    }
    text
}

fn postgres(server: &ServerQuestion, machine: &MachineFacts) -> InventoryRow {
    const NAMES: [&str; 10] = [
        "max_parallel_workers_per_gather",
        "max_parallel_workers",
        "max_worker_processes",
        "max_connections",
        "shared_buffers",
        "max_wal_size",
        "fsync",
        "synchronous_commit",
        "full_page_writes",
        "wal_sync_method",
    ];
    let answer = match server.ask(&NAMES) {
        Ok(answer) => answer,
        Err(error) => return failed(server.place(), &error),
    };
    let setting = |name: &str| answer.settings.get(name).cloned();
    let number = |name: &str| setting(name).and_then(|value| value.parse().ok());
    let durability: Vec<String> = NAMES[6..]
        .iter()
        .filter_map(|name| Some(format!("{name}={}", answer.settings.get(*name)?)))
        .collect();
    let row = InventoryRow {
        server: server.place(),
        engine: "postgres".to_owned(),
        version: Some(answer.version),
        workers_per_query: number(NAMES[0]),
        workers_total: number(NAMES[1]),
        worker_processes: number(NAMES[2]),
        connections_max: number(NAMES[3]),
        buffer_pool: setting(NAMES[4]),
        log_size: setting(NAMES[5]),
        durability: (!durability.is_empty()).then(|| durability.join(" ")),
        ..InventoryRow::default()
    };
    if server.is_local() { row.on(machine) } else { row }
}

/// The embedded library with its own defaults, which are not those of an experiment.
fn sqlite(machine: &MachineFacts) -> InventoryRow {
    let row = InventoryRow {
        server: "here".to_owned(),
        engine: "sqlite".to_owned(),
        version: Some(rusqlite::version().to_owned()),
        ..InventoryRow::default()
    };
    let connection = match Connection::open_in_memory() {
        Ok(connection) => connection,
        Err(error) => return InventoryRow { problem: Some(error.to_string()), ..row },
    };
    let pragma =
        |name: &str| connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0)).ok();
    let synchronous = pragma("synchronous").map(|level| match level {
        0 => "off",
        1 => "normal",
        2 => "full",
        _ => "extra",
    });
    // Negative: so many KiB; positive: so many pages.
    let cache = pragma("cache_size")
        .map(|size| if size < 0 { format!("{} kB", size.unsigned_abs()) } else { format!("{size} pages") });
    InventoryRow {
        workers_per_query: pragma("threads").and_then(|count| u64::try_from(count).ok()),
        buffer_pool: cache,
        log_size: pragma("wal_autocheckpoint").map(|pages| format!("{pages} pages")),
        durability: synchronous.map(|level| format!("synchronous={level}")),
        ..row
    }
    .on(machine)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn sqlite_has_a_row_with_the_machine_it_runs_on() {
        let rows = inventory(&[]);
        assert_eq!(rows.len(), 1);
        let row = &rows[0];
        assert_eq!((row.engine.as_str(), row.version.as_deref()), ("sqlite", Some(rusqlite::version())));
        assert!(row.cores.unwrap() >= 1 && row.numa_nodes.unwrap() >= 1);
        assert_eq!(row.durability.as_deref(), Some("synchronous=full"));
        assert_eq!(row.problem, None);
    }

    #[test]
    fn a_server_that_cannot_be_reached_has_a_row_with_the_reason_and_no_password() {
        let urls = ["postgresql://karl:geheim@127.0.0.1:1/x".to_owned(), "geheim://".to_owned()];
        let rows = inventory(&urls);
        assert_eq!(rows.len(), 3);
        assert_eq!(rows[0].server, "127.0.0.1:1/x");
        for row in &rows[..2] {
            let problem = row.problem.as_deref().unwrap();
            assert!(
                problem.split("; ").any(|part| part.starts_with("hint: ")) && !problem.contains('\n'),
                "{problem}"
            );
        }
        for output in [text(&rows), csv(&rows), serde_json::to_string(&rows).unwrap()] {
            assert!(!output.contains("geheim"), "{output}");
        }
    }

    #[test]
    fn there_is_one_line_of_csv_per_server_and_one_field_per_column() {
        let row = InventoryRow {
            server: "a \"b\", c".to_owned(),
            engine: "postgres".to_owned(),
            version: Some("PostgreSQL\u{1b}[31m 17".to_owned()),
            cores: Some(2),
            ..InventoryRow::default()
        };
        let csv = csv(std::slice::from_ref(&row));
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines[0].split(',').count(), COLUMNS.len());
        assert!(lines[1].starts_with("\"a \"\"b\"\", c\",postgres,"), "{}", lines[1]);
        assert_eq!(
            text(&[row]),
            "a \"b\", c (postgres)\n  version           PostgreSQL\\u{1b}[31m 17\n  cores             2\n"
        );
    }
}
