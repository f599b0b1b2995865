//! A look-up on SQLite: the statement, the counters of the connection's cache, and the kernel's view of the thread.

use std::time::Instant;

use disk::counters::{thread_cpu_ns, thread_io};
use lab::engine::look_up::{Answer, Answers};
use rusqlite::Connection;

use crate::counters::cache;
use crate::vfs::{Call, Meter, Role};

/// Levels of a plan that are followed.
const PLAN_DEPTH_MAX: usize = 64;

/// What every client of a run asks, and where it leaves the answers.
#[derive(Clone, Debug)]
pub(crate) struct LookUp {
    pub(crate) question: String,
    pub(crate) page_bytes: u64,
    pub(crate) meter: Option<&'static Meter>,
    pub(crate) answers: Answers,
}

impl LookUp {
    /// Asks `count` times.
    pub(crate) fn execute(&self, connection: &Connection, count: u64) -> rusqlite::Result<()> {
        for _ in 0..count {
            let before = CounterValues::now(connection, self.meter);
            let began = Instant::now();
            let rows = rows_of(connection, &self.question)?;
            let elapsed_ns = began.elapsed().as_nanos() as u64;
            let after = CounterValues::now(connection, self.meter);
            let difference =
                |of: fn(&CounterValues) -> Option<u64>| Some(of(&after)?.saturating_sub(of(&before)?));
            let (hits, misses) = (difference(|seen| seen.hits), difference(|seen| seen.misses));
            self.answers.add(Answer {
                logical_reads: hits.zip(misses).map(|(hits, misses)| hits + misses),
                physical_reads: misses,
                page_bytes: self.page_bytes,
                planning_reads: None,
                storage_read_bytes: difference(|seen| seen.storage_read_bytes),
                read_ns: difference(|seen| seen.read_ns),
                cpu_ns: difference(|seen| Some(seen.cpu_ns)),
                elapsed_ns,
                rows,
                log_bytes: None,
                plan: plan_of(connection, &self.question)?,
            });
        }
        Ok(())
    }
}

struct CounterValues {
    hits: Option<u64>,
    misses: Option<u64>,
    storage_read_bytes: Option<u64>,
    read_ns: Option<u64>,
    cpu_ns: u64,
}

impl CounterValues {
    fn now(connection: &Connection, meter: Option<&'static Meter>) -> Self {
        let counters = cache::read(connection);
        // SQLite works on the thread that asks it.
        let io = thread_io().ok();
        let read_s = meter.map(|meter| meter.read().of(Role::Database, Call::Read).seconds());
        Self {
            hits: counters.map(|counters| counters.hits),
            misses: counters.map(|counters| counters.misses),
            storage_read_bytes: io.map(|io| io.read_bytes),
            read_ns: read_s.map(|seconds| (seconds * 1e9) as u64),
            cpu_ns: thread_cpu_ns(),
        }
    }
}

fn rows_of(connection: &Connection, question: &str) -> rusqlite::Result<u64> {
    let mut statement = connection.prepare(question)?;
    let mut rows = statement.query([])?;
    let mut count = 0;
    while rows.next()?.is_some() {
        count += 1;
    }
    Ok(count)
}

/// `EXPLAIN QUERY PLAN`, indented by depth.
fn plan_of(connection: &Connection, question: &str) -> rusqlite::Result<String> {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {question}"))?;
    let mut rows = statement.query([])?;
    let mut parents: Vec<i64> = Vec::new();
    let mut plan = String::new();
    while let Some(row) = rows.next()? {
        let (id, parent, text): (i64, i64, String) = (row.get(0)?, row.get(1)?, row.get(3)?);
        while parents.last().is_some_and(|last| *last != parent) {
            parents.pop();
        }
        let depth = parents.len().min(PLAN_DEPTH_MAX);
        plan.push_str(&format!("{}{text}\n", "  ".repeat(depth)));
        parents.push(id);
    }
    Ok(plan)
}
