//! One client's way through scripts: choice, statements, retries, and what is counted.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use results::scripts::FailureKind;
use script::{Action, Chooser, Client, Program, Store};
use stats::random::derive_seed;

use super::plan::Plan;
use super::statements::{Answer, At, ResultSet, StatementError, Statements};
use super::workload::OnError;
use crate::client::{Registration, Tally};
use crate::engine::SessionError;

/// One client of a plan.
#[derive(Debug)]
pub struct Runner {
    plan: Arc<Plan>,
    client: Client,
    chooser: Chooser,
    tally: Rc<RefCell<Tally>>,
    answer: Answer,
    /// All results since they were last taken, where rows become metrics.
    collected: Option<Vec<ResultSet>>,
}

/// Why a try of a transaction ended before its script.
enum Ended {
    /// A statement failed.
    Failed(StatementError),
    /// The script itself cannot go on, whatever is tried: a division by zero, a `\gset` without a row.
    Wrong(String),
}

impl Runner {
    /// Client `client_index` of a plan; `registration` is its place in the thread whose tally it shares.
    ///
    /// # Errors
    /// All weights are zero.
    pub fn new(
        plan: Arc<Plan>,
        client_index: u32,
        registration: Registration<'_>,
    ) -> Result<Self, SessionError> {
        let seeds = plan.seeds();
        // One client alone chooses as pgbench does with one thread.
        let seed = match client_index {
            0 => seeds.chooser,
            other => derive_seed(seeds.chooser, &[u64::from(other)]),
        };
        let chooser = Chooser::new(plan.weights(), seed)
            .ok_or_else(|| SessionError::Fatal("the weights of all scripts are 0".to_owned()))?;
        let client = Client::new(plan.program(), seeds, client_index as usize, plan.scale());
        let tally = registration.tally(|| plan.tally());
        Ok(Self { client, chooser, tally, answer: Answer::default(), collected: None, plan })
    }

    /// Keeps the rows of all statements from here on.
    pub fn collect_rows(&mut self) {
        self.collected.get_or_insert_default();
    }

    /// The rows kept since the last call.
    pub fn take_rows(&mut self) -> Vec<ResultSet> {
        self.collected.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Sets a variable of this client; one that no script uses is left out.
    pub fn set(&mut self, name: &str, value: i64) {
        if let Some(slot) = self.plan.program().names().slot(name) {
            self.client.variables_mut().set(slot, script::Value::Integer(value));
        }
    }

    /// Chooses a script and executes it, with as many tries as the plan allows. A transaction that failed in the end
    /// is [`SessionError::Failed`] where the client goes on.
    pub async fn transaction<S: Statements>(
        &mut self,
        connection: &mut S,
        registration: Registration<'_>,
    ) -> Result<(), SessionError> {
        let script = self.chooser.choose();
        let began = Instant::now();
        self.client.begin(script);
        let mut tries = 1_u32;
        loop {
            let ended = match self.attempt(connection, script, registration).await {
                Ok(()) => {
                    self.tally.borrow_mut().ended(script, nanoseconds(began));
                    return Ok(());
                }
                Err(ended) => ended,
            };
            let error = match ended {
                Ended::Failed(error) => error,
                Ended::Wrong(text) => {
                    // Best effort: the client ends anyway.
                    let _ = connection.roll_back().await;
                    self.tally.borrow_mut().failed(script, FailureKind::Other);
                    return Err(SessionError::Fatal(text));
                }
            };
            if error.is_lost {
                self.tally.borrow_mut().failed(script, error.kind);
                return Err(SessionError::Fatal(error.text));
            }
            if let Err(error) = connection.roll_back().await {
                self.tally.borrow_mut().failed(script, error.kind);
                return Err(SessionError::Fatal(error.text));
            }
            let is_retryable = error.kind.is_retryable() || self.plan.on_error() == OnError::Retry;
            if is_retryable && (self.plan.max_tries() == 0 || tries < self.plan.max_tries()) {
                self.tally.borrow_mut().tried_again(script, tries == 1);
                tries = tries.saturating_add(1);
                self.client.retry();
                registration.yield_now().await;
                if registration.is_stopped() {
                    return Err(SessionError::Failed(error.text));
                }
                continue;
            }
            self.tally.borrow_mut().failed(script, error.kind);
            return match is_retryable || self.plan.on_error() == OnError::Continue {
                true => Err(SessionError::Failed(error.text)),
                false => Err(SessionError::Fatal(error.text)),
            };
        }
    }

    /// One try: the script from its start to its end.
    async fn attempt<S: Statements>(
        &mut self,
        connection: &mut S,
        script: usize,
        registration: Registration<'_>,
    ) -> Result<(), Ended> {
        let Self { plan, client, tally, answer, collected, .. } = self;
        let program = plan.program();
        loop {
            let action = client.step(program).map_err(|failure| Ended::Wrong(failure.to_string()))?;
            match action {
                Action::Statement { command, statement } => {
                    let store = statement.store();
                    let at = At {
                        program,
                        script,
                        command,
                        statement,
                        variables: client.variables(),
                        wants_rows: store.is_some() || collected.is_some(),
                    };
                    answer.rows = 0;
                    answer.results.clear();
                    let began = Instant::now();
                    let done = connection.execute(at, answer).await;
                    let mut tally = tally.borrow_mut();
                    tally.executed(script, command, nanoseconds(began));
                    if let Err(error) = done {
                        let text = plan.place_of(script, command, error.position, &error.text);
                        tally.statement_failed(script, command, error.kind, &text);
                        return Err(Ended::Failed(StatementError { text, ..error }));
                    }
                    if let Some(store) = store {
                        store_values(client, program, &answer.results, store)
                            .map_err(|text| Ended::Wrong(plan.place_of(script, command, None, &text)))?;
                    }
                    if let Some(collected) = collected {
                        collected.append(&mut answer.results);
                    }
                }
                Action::Sleep { microseconds } => {
                    registration.sleep_until(Instant::now() + Duration::from_micros(microseconds)).await;
                }
                Action::StartPipeline => connection.start_pipeline().map_err(Ended::Failed)?,
                Action::SyncPipeline => connection.sync_pipeline().await.map_err(Ended::Failed)?,
                Action::EndPipeline => connection.end_pipeline().await.map_err(Ended::Failed)?,
                Action::Done if connection.is_in_transaction() => {
                    let file = program.scripts().get(script).map_or("", script::Script::file);
                    return Err(Ended::Wrong(format!("{file}: the script ends inside a transaction")));
                }
                Action::Done => return Ok(()),
            }
        }
    }
}

/// Puts the values of a row into variables: `\gset` and `\aset`.
fn store_values(
    client: &mut Client,
    program: &Program,
    results: &[ResultSet],
    store: &Store,
) -> Result<(), String> {
    let results = if store.is_aset { results } else { results.last().map_or(&[][..], std::slice::from_ref) };
    if !store.is_aset {
        let rows = results.first().map_or(0, |result| result.rows.len());
        if rows != 1 {
            return Err(format!("\\gset expects one row, the statement returned {rows}"));
        }
    }
    for result in results {
        let Some(row) = result.rows.last() else { continue };
        for (column, value) in result.columns.iter().zip(row) {
            let value = value.as_deref().unwrap_or_default();
            client.variables_mut().store(program.names(), &store.prefix, column, value)?;
        }
    }
    Ok(())
}

fn nanoseconds(began: Instant) -> u64 {
    began.elapsed().as_nanos() as u64
}
