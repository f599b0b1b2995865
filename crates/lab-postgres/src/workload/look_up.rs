//! A look-up on PostgreSQL: the statement inside `EXPLAIN (ANALYZE, ...)`, and the kernel's view of the backend.

use std::fmt::Write;
use std::time::Instant;

use lab::engine::look_up::{Answer, Answers};
use serde_json::Value;

use crate::wire::{Connection, WireError};

/// Levels of a plan that are followed; the planner makes nothing deeper from our statements.
const PLAN_DEPTH_MAX: usize = 64;

/// What every client of a run asks, and where it leaves the answers.
#[derive(Clone, Debug)]
pub(crate) struct LookUp {
    pub(crate) statement: String,
    /// Bytes of a page of the server.
    pub(crate) page_bytes: u64,
    /// Is the backend a process of this machine?
    pub(crate) is_local: bool,
    pub(crate) answers: Answers,
}

impl LookUp {
    /// The statement as it is sent. Without the time of every node: that would cost two readings of the clock per row.
    pub(crate) fn explained(question: &str) -> String {
        format!("EXPLAIN (ANALYZE, BUFFERS, WAL, SETTINGS, VERBOSE, TIMING OFF, FORMAT JSON) {question}")
    }

    /// Asks `count` times.
    pub(crate) async fn execute(&self, connection: &mut Connection, count: u64) -> Result<(), WireError> {
        for _ in 0..count {
            let process =
                connection.process_id().filter(|_| self.is_local).and_then(|id| u32::try_from(id).ok());
            let before = process.map(Backend::read);
            let began = Instant::now();
            let (rows, _) = connection.query(&self.statement).await?;
            let elapsed_ns = began.elapsed().as_nanos() as u64;
            let after = process.map(Backend::read);
            let text = rows.into_iter().next().and_then(|row| row.into_iter().next()?).unwrap_or_default();
            let mut answer = read_plan(&text)
                .ok_or_else(|| WireError::Protocol("the answer of EXPLAIN is not a plan".to_owned()))?;
            answer.page_bytes = self.page_bytes;
            answer.elapsed_ns = elapsed_ns;
            if let (Some(before), Some(after)) = (before, after) {
                let difference =
                    |after: Option<u64>, before: Option<u64>| Some(after?.saturating_sub(before?));
                answer.cpu_ns = difference(after.cpu_ns, before.cpu_ns);
                answer.storage_read_bytes = difference(after.storage_read_bytes, before.storage_read_bytes);
            }
            self.answers.add(answer);
        }
        Ok(())
    }
}

/// What the kernel knows of a backend.
struct Backend {
    cpu_ns: Option<u64>,
    storage_read_bytes: Option<u64>,
}

impl Backend {
    fn read(process_id: u32) -> Self {
        // In nanoseconds, where /proc/PID/stat has ticks of ten milliseconds.
        let schedule = std::fs::read_to_string(format!("/proc/{process_id}/schedstat")).ok();
        let cpu_ns = schedule.and_then(|text| text.split_whitespace().next()?.parse().ok());
        let io = disk::counters::process_io(process_id).ok();
        Self { cpu_ns, storage_read_bytes: io.map(|io| io.read_bytes) }
    }
}

/// Reads the JSON of an executed plan; `None` when it is none.
fn read_plan(text: &str) -> Option<Answer> {
    let document: Value = serde_json::from_str(text).ok()?;
    let statement = document.get(0)?;
    let top = statement.get("Plan")?;
    let count = |node: &Value, name: &str| node.get(name).and_then(Value::as_u64);
    let pages = |node: &Value| {
        let shared = count(node, "Shared Hit Blocks")? + count(node, "Shared Read Blocks")?;
        Some(
            shared
                + count(node, "Local Hit Blocks").unwrap_or(0)
                + count(node, "Local Read Blocks").unwrap_or(0),
        )
    };
    // Before version 17 there is one time for all reads.
    let read_ms = ["Shared I/O Read Time", "I/O Read Time"].iter().find_map(|name| top.get(name)?.as_f64());
    let mut plan = String::new();
    describe(top, 0, &mut plan);
    if let Some(settings) = statement.get("Settings").and_then(Value::as_object) {
        for (name, value) in settings {
            let _ = writeln!(plan, "with {name} = {}", value.as_str().unwrap_or_default());
        }
    }
    Some(Answer {
        logical_reads: pages(top),
        physical_reads: count(top, "Shared Read Blocks"),
        planning_reads: statement.get("Planning").and_then(pages),
        read_ns: read_ms.map(|ms| (ms * 1e6) as u64),
        rows: top.get("Actual Rows").and_then(Value::as_f64).map_or(0, |rows| rows.round() as u64),
        log_bytes: count(top, "WAL Bytes"),
        plan,
        ..Answer::default()
    })
}

/// Writes a node and what is below it: what it does and to which object, without any figure.
fn describe(node: &Value, depth: usize, plan: &mut String) {
    const WORDS: [&str; 8] = [
        "Node Type",
        "Strategy",
        "Join Type",
        "Scan Direction",
        "Index Name",
        "Relation Name",
        "Index Cond",
        "Filter",
    ];
    if depth > PLAN_DEPTH_MAX {
        return;
    }
    let words: Vec<&str> = WORDS.iter().filter_map(|word| node.get(word)?.as_str()).collect();
    let _ = writeln!(plan, "{}{}", "  ".repeat(depth), words.join(" "));
    for inner in node.get("Plans").and_then(Value::as_array).into_iter().flatten() {
        describe(inner, depth + 1, plan);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const PLAN: &str = r#"[{"Plan": {"Node Type": "Aggregate", "Strategy": "Plain", "Actual Rows": 1,
        "Shared Hit Blocks": 7, "Shared Read Blocks": 3, "I/O Read Time": 1.5, "WAL Bytes": 0,
        "Plans": [{"Node Type": "Index Only Scan", "Scan Direction": "Forward", "Index Name": "k", "Actual Rows": 9}]},
        "Settings": {"enable_seqscan": "off"}, "Planning": {"Shared Hit Blocks": 2, "Shared Read Blocks": 1}}]"#;

    #[test]
    fn a_plan_is_told_without_figures_and_the_figures_beside_it() {
        let answer = read_plan(PLAN).unwrap();
        assert_eq!(
            (answer.logical_reads, answer.physical_reads, answer.planning_reads),
            (Some(10), Some(3), Some(3))
        );
        assert_eq!((answer.read_ns, answer.rows), (Some(1_500_000), 1));
        assert_eq!(answer.plan, "Aggregate Plain\n  Index Only Scan Forward k\nwith enable_seqscan = off\n");
    }

    #[test]
    fn what_is_no_plan_is_refused() {
        for text in ["", "[]", "{}", "[{\"Plan\": 1", "7"] {
            assert!(read_plan(text).is_none(), "{text}");
        }
    }
}
