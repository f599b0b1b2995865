//! Which machines and servers there are: processors, memory, and how far each server may use them and how durable it
//! is; one row per server.
//!
//! Facts of the machine are known only where the server runs on this one, as far as its address tells; a container or
//! a tunnel at a local port is taken for local.

use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use disk::machine::{MachineFacts, machine_facts};
use results::EngineId;
use results::plain::{cell, one_line, plain};
use results::redaction::redacted;

use crate::engine::{Driver, TargetError, driver_of_address};

mod row;

pub use row::{COLUMNS, InventoryRow, Question, ServerQuestion, Survey};

/// Time in which a server must have answered all questions.
pub const SERVER_TIME_MAX: Duration = Duration::from_secs(45);

/// Servers that are asked at the same time.
const THREADS_MAX: usize = 16;

/// Asks every server, and the embedded engines last. A server that cannot be asked, or has not answered within
/// [`SERVER_TIME_MAX`], has a row with the reason; no row shows a password. Costs a connection and two statements per
/// server, and a thread meanwhile.
pub fn inventory(drivers: &[&'static Driver], urls: &[String]) -> Vec<InventoryRow> {
    let machine = machine_facts();
    let mut rows = servers(drivers, urls, &machine, SERVER_TIME_MAX);
    for driver in drivers {
        if let Some(Survey::Embedded(row)) = driver.survey {
            rows.push(row().on(&machine));
        }
    }
    rows
}

/// A server as its address names it, or why it cannot be asked.
struct Asked {
    engine: Option<EngineId>,
    question: Result<Arc<dyn ServerQuestion>, TargetError>,
}

impl Asked {
    fn at(drivers: &[&'static Driver], address: &str) -> Self {
        let driver = driver_of_address(drivers, address);
        let question = match driver.and_then(|driver| driver.survey) {
            Some(Survey::Servers(question)) => question(address),
            _ => Err(TargetError::refused(
                "cannot ask the server: no engine takes its address",
                "name the scheme of its engine",
            )),
        };
        Self { engine: driver.map(|driver| driver.engine.id), question }
    }

    fn place(&self) -> String {
        self.question.as_ref().map_or_else(|_| "?".to_owned(), |question| question.place())
    }

    /// The row of a server that could not be asked.
    fn failed(&self, problem: &dyn std::fmt::Display) -> InventoryRow {
        // A row of a table: the hint stands in the same line.
        let problem = Some(redacted(&problem.to_string().replace('\n', "; ")).into_owned());
        let server = redacted(&self.place()).into_owned();
        let engine = self.engine.map(String::from).unwrap_or_default();
        InventoryRow { server, engine, problem, ..InventoryRow::default() }
    }
}

/// Asks the servers at the same time, [`THREADS_MAX`] at most; rows come in the order of the URLs. A server that has not
/// answered in time has a row that says so, and its thread is left behind.
fn servers(
    drivers: &[&'static Driver],
    urls: &[String],
    machine: &MachineFacts,
    time_max: Duration,
) -> Vec<InventoryRow> {
    let servers: Vec<Asked> = urls.iter().map(|url| Asked::at(drivers, url)).collect();
    let mut rows: Vec<Option<InventoryRow>> = vec![None; servers.len()];
    let (waiting, answers) = (mpsc::channel(), mpsc::channel());
    for (index, server) in servers.iter().enumerate() {
        match &server.question {
            Ok(question) => drop(waiting.0.send((index, Arc::clone(question)))),
            Err(error) => rows[index] = Some(server.failed(error)),
        }
    }
    let rounds = servers.len().div_ceil(THREADS_MAX) as u32;
    let queue = Arc::new(Mutex::new(waiting.1));
    drop(waiting.0);
    for _ in 0..servers.len().min(THREADS_MAX) {
        let (queue, answers) = (Arc::clone(&queue), answers.0.clone());
        std::thread::spawn(move || {
            let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).try_recv().ok();
            while let Some((index, question)) = next() {
                // Fails when the time is over and nobody waits for the row any longer.
                let _ = answers.send((index, question.ask()));
            }
        });
    }
    drop(answers.0);
    // All wait in line behind servers that use up their time.
    let deadline = Instant::now() + time_max * rounds;
    while let Ok((index, answer)) = answers.1.recv_timeout(deadline.saturating_duration_since(Instant::now()))
    {
        let Some(server) = servers.get(index) else { continue };
        let is_local = server.question.as_ref().is_ok_and(|question| question.is_local());
        rows[index] = Some(match answer {
            Ok(row) if is_local => row.on(machine),
            Ok(row) => row,
            Err(error) => server.failed(&error),
        });
    }
    let late = format!("the server has not answered all questions after {} s", time_max.as_secs());
    rows.into_iter().zip(&servers).map(|(row, server)| row.unwrap_or_else(|| server.failed(&late))).collect()
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

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
