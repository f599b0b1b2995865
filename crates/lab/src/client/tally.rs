//! What the clients of one thread count for each script and each of its statements.

use std::time::Instant;

use results::histogram::LatencyHistogram;
use results::scripts::transactions::LoggedTransaction;
use results::scripts::{FailureKind, ScriptRecord, StatementRecord, count_failure};

/// Counts of one thread; its clients take turns, so that nothing is shared between threads.
#[derive(Clone, Debug)]
pub struct Tally {
    scripts: Vec<ScriptRecord>,
    /// For each script and command: index of its statement.
    statements: Vec<Vec<Option<usize>>>,
    /// Each transaction with the time of its end, where they are logged.
    log: Option<Vec<(Instant, LoggedTransaction)>>,
}

impl Tally {
    /// Nothing counted yet. `statements` says, for each script and each of its commands, which of the script's statements it
    /// is.
    pub fn new(
        scripts: Vec<ScriptRecord>,
        statements: Vec<Vec<Option<usize>>>,
        logs_transactions: bool,
    ) -> Self {
        Self { scripts, statements, log: logs_transactions.then(Vec::new) }
    }

    /// The same scripts and statements, nothing counted.
    pub(crate) fn cleared(&self) -> Self {
        let log = self.log.as_ref().map(|_| Vec::new());
        let mut cleared = Self { scripts: self.scripts.clone(), statements: self.statements.clone(), log };
        for script in &mut cleared.scripts {
            (script.transactions, script.retried, script.retries) = (0, 0, 0);
            script.failures.clear();
            script.latency = LatencyHistogram::new();
            for statement in &mut script.statements {
                statement.executions = 0;
                statement.failures.clear();
                statement.first_failure = None;
                statement.latency = LatencyHistogram::new();
            }
        }
        cleared
    }

    /// What was counted, and each transaction where they are logged, on the clock that begins with `barrier`.
    pub(crate) fn into_parts(self, barrier: Instant) -> (Vec<ScriptRecord>, Vec<LoggedTransaction>) {
        let on_clock = |(ended, one): (Instant, LoggedTransaction)| LoggedTransaction {
            end_ns: ended.saturating_duration_since(barrier).as_nanos() as u64,
            ..one
        };
        (self.scripts, self.log.unwrap_or_default().into_iter().map(on_clock).collect())
    }

    /// Logs a transaction that ends now, where they are logged.
    pub(crate) fn log(&mut self, transaction: impl FnOnce() -> LoggedTransaction) {
        if let Some(log) = &mut self.log {
            log.push((Instant::now(), transaction()));
        }
    }

    pub(crate) fn executed(&mut self, script: usize, command: usize, latency_ns: u64) {
        if let Some(statement) = self.statement(script, command) {
            statement.executions += 1;
            statement.latency.record(latency_ns);
        }
    }

    pub(crate) fn statement_failed(&mut self, script: usize, command: usize, kind: FailureKind, text: &str) {
        if let Some(statement) = self.statement(script, command) {
            count_failure(&mut statement.failures, kind);
            statement.first_failure.get_or_insert_with(|| text.to_owned());
        }
    }

    pub(crate) fn tried_again(&mut self, script: usize, is_first: bool) {
        if let Some(record) = self.scripts.get_mut(script) {
            record.retries += 1;
            record.retried += u64::from(is_first);
        }
    }

    pub(crate) fn ended(&mut self, script: usize, latency_ns: u64) {
        if let Some(record) = self.scripts.get_mut(script) {
            record.transactions += 1;
            record.latency.record(latency_ns);
        }
    }

    pub(crate) fn failed(&mut self, script: usize, kind: FailureKind) {
        if let Some(record) = self.scripts.get_mut(script) {
            count_failure(&mut record.failures, kind);
        }
    }

    fn statement(&mut self, script: usize, command: usize) -> Option<&mut StatementRecord> {
        let index = (*self.statements.get(script)?.get(command)?)?;
        self.scripts.get_mut(script)?.statements.get_mut(index)
    }
}
