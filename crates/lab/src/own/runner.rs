//! One client's way through scripts: choice, statements, retries, and what is counted.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use results::scripts::FailureKind;
use results::scripts::transactions::{LoggedTransaction, Outcome};
use script::{Action, Chooser, Client, Program, Store};
use stats::random::derive_seed;

use super::plan::{Part, Plan};
use super::statements::{Answer, At, ResultSet, StatementError, Statements};
use super::workload::OnError;
use crate::client::{Registration, Tally};
use crate::engine::SessionError;

/// One client of a plan.
#[derive(Debug)]
pub struct Runner {
    plan: Arc<Plan>,
    client_index: u32,
    client: Client,
    chooser: Chooser,
    tally: Rc<RefCell<Tally>>,
    answer: Answer,
    /// All results of the transaction, where rows become metrics.
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
        let collected = (plan.part() == Part::After).then(Vec::new);
        Ok(Self { client_index, client, chooser, tally, answer: Answer::default(), collected, plan })
    }

    /// Logs a transaction that ends now, where they are logged.
    fn log(&self, script: usize, outcome: Outcome, lag_ns: Option<u64>, retries: u32) {
        let client = self.client_index;
        let logged =
            || LoggedTransaction { client, script: script as u32, end_ns: 0, outcome, lag_ns, retries };
        self.tally.borrow_mut().log(logged);
    }

    /// Of a load: takes the next slice of the rows.
    fn take_slice(&mut self) {
        let Some(slice) = self.plan.next_slice() else { return };
        for (name, value) in [
            ("row", slice.first_row),
            ("first_row", slice.first_row),
            ("last_row", slice.last_row),
            ("rows", slice.rows),
        ] {
            self.set(name, value);
        }
    }

    /// Sets a variable of this client; one that no script uses is left out.
    fn set(&mut self, name: &str, value: u64) {
        if let Some(slot) = self.plan.program().names().slot(name) {
            self.client
                .variables_mut()
                .set(slot, script::Value::Integer(i64::try_from(value).unwrap_or(i64::MAX)));
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
        self.take_slice();
        let began = Instant::now();
        self.client.begin(script);
        let mut tries = 1_u32;
        loop {
            let ended = match self.attempt(connection, script, registration).await {
                Ok(()) => {
                    let latency_ns = nanoseconds(began);
                    self.tally.borrow_mut().ended(script, latency_ns);
                    let lag_ns = registration.lag_ns();
                    let outcome = Outcome::Done(latency_ns + lag_ns.unwrap_or(0));
                    self.log(script, outcome, lag_ns, tries - 1);
                    if let Some(collected) = &mut self.collected {
                        self.plan.hand_in(std::mem::take(collected));
                    }
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
            self.log(script, Outcome::Failed(error.kind), registration.lag_ns(), tries - 1);
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
                    let done = connection.execute(at, answer).await.and_then(|()| as_expected(at, answer));
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
                Action::EndPipeline => {
                    if let Err(error) = connection.end_pipeline().await {
                        if let Some((script, command)) = connection.failed_in_pipeline() {
                            let mut tally = tally.borrow_mut();
                            tally.statement_failed(script, command, error.kind, &error.text);
                        }
                        return Err(Ended::Failed(error));
                    }
                }
                Action::Done if connection.is_in_transaction() => {
                    let file = program.scripts().get(script).map_or("", script::Script::file);
                    return Err(Ended::Wrong(format!(
                        "{file}: end of script reached without completing the last transaction"
                    )));
                }
                Action::Done => return Ok(()),
            }
        }
    }
}

/// Fails a statement whose rows are not those of its `-- expect:` clause.
fn as_expected(at: At<'_>, answer: &Answer) -> Result<(), StatementError> {
    match at.statement.expect() {
        Some(expect) if !expect.holds(answer.rows) => Err(StatementError {
            kind: FailureKind::Unexpected,
            text: format!("expected {expect}, got {}", answer.rows),
            position: None,
            is_lost: false,
        }),
        _ => Ok(()),
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
            return Err(format!("expected one row, got {rows}"));
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use results::EngineId;

    use super::super::workload::{OwnWorkload, SqlText, WeightedScript};
    use super::super::{Part, Plan};
    use super::*;
    use crate::client::EventLoop;
    use crate::work::Work;

    /// Answers each statement with the next number of rows.
    #[derive(Debug)]
    struct Rows(Vec<u64>);

    impl Statements for Rows {
        async fn execute(&mut self, _: At<'_>, answer: &mut Answer) -> Result<(), StatementError> {
            answer.rows = self.0.remove(0);
            Ok(())
        }

        async fn roll_back(&mut self) -> Result<(), StatementError> {
            Ok(())
        }

        fn is_in_transaction(&self) -> bool {
            false
        }
    }

    /// One transaction of `UPDATE` with an expectation: its outcome and what was counted.
    fn transaction(
        on_error: OnError,
        max_tries: u32,
        rows: &[u64],
    ) -> (Result<(), SessionError>, results::scripts::ScriptRecord) {
        let sql = SqlText {
            file: "take.sql".to_owned(),
            text: "SELECT 1;\nUPDATE t SET n = 0 WHERE n = 1; -- expect: rows = 1".to_owned(),
        };
        let scripts = vec![WeightedScript { sql, weight: 1 }];
        let own = OwnWorkload { scripts, on_error, max_tries, scale: 1, ..OwnWorkload::default() };
        let plan = Plan::new(&own, Part::Scripts, EngineId::Sqlite, &Work::example()).unwrap().unwrap();
        let event_loop = EventLoop::new().unwrap();
        let registration = event_loop.registration(0, 1);
        let mut runner = Runner::new(Arc::new(plan), 0, registration).unwrap();
        let outcome = RefCell::new(None);
        let run = async {
            let mut connection = Rows(rows.to_vec());
            *outcome.borrow_mut() = Some(runner.transaction(&mut connection, registration).await);
            assert!(connection.0.is_empty());
        };
        event_loop.run(vec![Box::pin(run)]).unwrap();
        let record = event_loop.take_tally().unwrap().into_parts(Instant::now()).0.remove(0);
        (outcome.take().unwrap(), record)
    }

    #[test]
    fn rows_other_than_expected_fail_the_statement_and_its_transaction() {
        let text = "take.sql:2: expected rows = 1, got 0";
        let (outcome, record) = transaction(OnError::Abort, 3, &[1, 0]);
        assert!(matches!(outcome, Err(SessionError::Fatal(found)) if found == text));
        assert_eq!((record.transactions, record.failed(), record.retries), (0, 1, 0));
        let statement = &record.statements[1];
        assert_eq!((statement.executions, statement.failures[0].kind), (1, FailureKind::Unexpected));
        assert_eq!(statement.first_failure.as_deref(), Some(text));
        let (outcome, _) = transaction(OnError::Continue, 3, &[1, 2]);
        assert!(matches!(outcome, Err(SessionError::Failed(found)) if found.ends_with("got 2")));
    }

    #[test]
    fn rows_other_than_expected_are_tried_again_only_where_all_failures_are() {
        let (outcome, record) = transaction(OnError::Retry, 2, &[1, 0, 1, 1]);
        assert!(outcome.is_ok());
        assert_eq!((record.transactions, record.retried, record.failed()), (1, 1, 0));
        let (outcome, record) = transaction(OnError::Retry, 2, &[1, 0, 1, 0]);
        assert!(matches!(outcome, Err(SessionError::Failed(_))));
        assert_eq!((record.failures[0].kind, record.retries), (FailureKind::Unexpected, 1));
    }

    #[test]
    fn rows_as_expected_are_no_failure() {
        let (outcome, record) = transaction(OnError::Abort, 1, &[0, 1]);
        assert!(outcome.is_ok());
        assert_eq!((record.transactions, record.failed()), (1, 0));
    }
}
