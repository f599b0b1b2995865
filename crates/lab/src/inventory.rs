//! Which machines and servers there are: processors, memory, and how far each server may use them and how durable it
//! is; one row per server.
//!
//! Facts of the machine are known only where the server runs on this one, as far as its address tells; a container or
//! a tunnel at a local port is taken for local.

use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use disk::machine::{MachineFacts, machine_facts};
use results::EngineId;
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
