//! A connection that executes the statements of scripts.

use std::sync::atomic::Ordering;

use lab::own::{Answer, At, Plan, ResultSet, StatementError};
use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::{Batch, Connection, Statement, TransactionState};
use script::{Program, Protocol};

use super::failure::Failure;
use super::guard::Refusal;
use super::place::{Given, position};
use super::values;
use crate::session::Busy;
use crate::vfs::{Call, Role, Ticks};

/// A connection to the database of the run.
#[derive(Debug)]
pub(super) struct OwnConnection {
    connection: Connection,
    refusal: Refusal,
    protocol: Protocol,
    /// For each script and command: how its variables are bound, once it was executed.
    bindings: Vec<Vec<Option<Binding>>>,
    buffer: Vec<u8>,
    busy: Option<Busy>,
    /// Statements of a combined one that are done.
    done: u32,
}

/// A statement that was not executed.
pub(super) struct Refused {
    pub(super) error: StatementError,
    /// Is another connection in the way, so that the same statement may succeed a little later?
    pub(super) may_wait: bool,
}

/// How the values of a statement reach SQLite.
#[derive(Debug)]
pub(super) enum Binding {
    /// One statement: for each of its parameters the index of the variable.
    Single(Vec<usize>),
    /// Several, or one that only looks so; prepared for each execution.
    Combined,
}

impl OwnConnection {
    /// A connection for the scripts of `plan`; it is confined already.
    pub(super) fn new(connection: Connection, refusal: Refusal, plan: &Plan, busy: Option<Busy>) -> Self {
        let scripts = plan.program().scripts();
        let count: usize = scripts.iter().map(|script| script.commands().len()).sum();
        connection.set_prepared_statement_cache_capacity(count + 1);
        let bindings = scripts.iter().map(|script| script.commands().iter().map(|_| None).collect());
        Self {
            connection,
            refusal,
            protocol: plan.program().protocol(),
            bindings: bindings.collect(),
            buffer: Vec::new(),
            busy,
            done: 0,
        }
    }

    /// Executes a statement; waits for a lock as long as the connection's busy timeout says.
    pub(super) fn execute(&mut self, at: At<'_>, answer: &mut Answer) -> Result<(), Refused> {
        let began = self.busy.as_ref().map(|(meter, _)| meter.now());
        self.done = 0;
        let done = self.run(at, answer);
        if let Some(began) = began {
            self.add_busy(began);
        }
        done.map_err(|Failure { error, at: byte, is_busy }| {
            let (given, length) = match self.protocol {
                Protocol::Simple => (Given::Written(at.variables), self.buffer.len()),
                _ => (Given::Numbered, at.statement.numbered().len()),
            };
            let byte = byte.map(|(byte, left)| byte + length.saturating_sub(left));
            let position = byte.map(|byte| position(at.statement, given, byte));
            // A connection that reads would keep the writer waiting that it waits for.
            let reads = matches!(self.connection.transaction_state(None::<&str>), Ok(TransactionState::Read));
            Refused {
                error: StatementError { position, ..error },
                may_wait: is_busy && self.done == 0 && !reads && !self.refusal.has_own_timeout(),
            }
        })
    }

    /// Lets `wait` pass as time inside a statement that waits for a lock.
    pub(super) async fn while_busy(&self, wait: impl Future<Output = ()>) {
        let began = self.busy.as_ref().map(|(meter, _)| meter.now());
        wait.await;
        if let (Some(began), Some((meter, _))) = (began, &self.busy) {
            meter.add(Role::Database, Call::Sleep, began, 0);
            self.add_busy(began);
        }
    }

    fn add_busy(&self, began: Ticks) {
        let Some((meter, ticks)) = &self.busy else { return };
        // Only this client adds, so nobody comes between reading and writing.
        ticks.store(ticks.load(Ordering::Relaxed) + meter.ticks_since(began), Ordering::Relaxed);
    }

    /// Rolls back an open transaction.
    pub(super) fn roll_back(&mut self) -> Result<(), StatementError> {
        if self.connection.is_autocommit() {
            return Ok(());
        }
        self.connection.execute_batch("ROLLBACK").map_err(|error| Failure::of(error, &self.refusal).error)
    }

    /// Is a transaction open?
    pub(super) fn is_in_transaction(&self) -> bool {
        !self.connection.is_autocommit()
    }

    fn run(&mut self, at: At<'_>, answer: &mut Answer) -> Result<(), Failure> {
        match self.protocol {
            Protocol::Simple => self.run_text(at, answer),
            Protocol::Extended | Protocol::Prepared => self.run_bound(at, answer),
        }
    }

    /// Executes the text with the values in it: one statement after the other.
    fn run_text(&mut self, at: At<'_>, answer: &mut Answer) -> Result<(), Failure> {
        let Self { connection, refusal, buffer, done, .. } = self;
        buffer.clear();
        at.statement.write(at.variables, buffer);
        if buffer.contains(&0) {
            return Err(Failure::wrong("a value with a NUL byte cannot be part of a statement\nhint: use protocol extended or prepared".to_owned()));
        }
        let text = std::str::from_utf8(buffer).map_err(|error| Failure::wrong(error.to_string()))?;
        let of = |error| Failure::of(error, refusal);
        let mut statements = Batch::new(connection, text);
        while let Some(mut statement) = statements.next().map_err(of)? {
            if statement.parameter_count() > 0 {
                return Err(without_value(statement.parameter_name(1).unwrap_or("?")));
            }
            step(connection, &mut statement, at.wants_rows, answer).map_err(of)?;
            *done += 1;
        }
        Ok(())
    }

    /// Executes the text with parameters: prepared once, or each time.
    fn run_bound(&mut self, at: At<'_>, answer: &mut Answer) -> Result<(), Failure> {
        let Self { connection, refusal, protocol, bindings, buffer, done, .. } = self;
        let place = bindings.get_mut(at.script).and_then(|commands| commands.get_mut(at.command));
        let Some(place) = place else { return Err(Failure::wrong("no such statement".to_owned())) };
        let binding = match place {
            Some(binding) => binding,
            None => place.insert(binding_of(connection, refusal, at.program, at.statement)?),
        };
        let of = |error| Failure::of(error, refusal);
        let values = |index: &usize| (at.program.names(), at.variables, at.statement.parameters()[*index]);
        let mut bound = |statement: &mut Statement<'_>, parameters: &[usize]| {
            for (number, index) in parameters.iter().enumerate() {
                values::bind(statement, number + 1, values(index), buffer).map_err(of)?;
            }
            step(connection, statement, at.wants_rows, answer).map_err(of)
        };
        let text = at.statement.numbered();
        match binding {
            Binding::Single(parameters) if *protocol == Protocol::Prepared => {
                bound(&mut *connection.prepare_cached(text).map_err(of)?, parameters)
            }
            Binding::Single(parameters) => bound(&mut connection.prepare(text).map_err(of)?, parameters),
            Binding::Combined => {
                let mut seen = vec![false; at.statement.parameters().len()];
                let mut statements = Batch::new(connection, text);
                while let Some(mut statement) = statements.next().map_err(of)? {
                    let parameters = parameters_of(&statement, &mut seen)?;
                    bound(&mut statement, &parameters)?;
                    *done += 1;
                }
                all_seen(&seen, at.program, at.statement)
            }
        }
    }
}

/// Finds out, before the first execution, whether it is one statement and what its parameters are.
pub(super) fn binding_of(
    connection: &Connection,
    refusal: &Refusal,
    program: &Program,
    statement: &script::Statement,
) -> Result<Binding, Failure> {
    let text = statement.numbered();
    let prepared = match connection.prepare(text) {
        Ok(prepared) => prepared,
        // Several statements; or the second one of several, which needs what the first one makes.
        Err(_) if text.trim_end().trim_end_matches(';').contains(';') => {
            // If one of them is refused, that is found again when its turn comes.
            drop(refusal.take());
            return Ok(Binding::Combined);
        }
        Err(error) => return Err(Failure::of(error, refusal)),
    };
    let mut seen = vec![false; statement.parameters().len()];
    let parameters = parameters_of(&prepared, &mut seen)?;
    all_seen(&seen, program, statement)?;
    Ok(Binding::Single(parameters))
}

/// For each parameter the index of its variable: `$3` is that of the third one. Notes those that are there.
fn parameters_of(statement: &Statement<'_>, seen: &mut [bool]) -> Result<Vec<usize>, Failure> {
    let mut parameters = Vec::with_capacity(statement.parameter_count());
    for number in 1..=statement.parameter_count() {
        let digits = statement.parameter_name(number).and_then(|name| name.strip_prefix('$'));
        let index = digits.and_then(|digits| digits.parse::<usize>().ok()?.checked_sub(1));
        let Some((index, is_seen)) = index.and_then(|index| Some((index, seen.get_mut(index)?))) else {
            return Err(without_value(statement.parameter_name(number).unwrap_or("?")));
        };
        *is_seen = true;
        parameters.push(index);
    }
    Ok(parameters)
}

/// Refuses a variable that SQLite does not see as a parameter: its place would be left as it is.
fn all_seen(seen: &[bool], program: &Program, statement: &script::Statement) -> Result<(), Failure> {
    let Some(hidden) = seen.iter().position(|is_seen| !is_seen) else { return Ok(()) };
    let name = statement.parameters().get(hidden).map_or("", |slot| program.names().name(*slot));
    Err(Failure::wrong(format!(
        "variable :{name} is inside a quote or a comment, where protocols extended and prepared cannot put its value\n\
         hint: write it outside, or use protocol simple"
    )))
}

/// Refuses a parameter that no variable gives a value: SQLite would take NULL.
pub(super) fn without_value(name: &str) -> Failure {
    Failure::wrong(format!(
        "parameter {name} has no value\nhint: set the variable with \\set, \\gset or a definition"
    ))
}

/// Executes a statement to its end.
fn step(
    connection: &Connection,
    statement: &mut Statement<'_>,
    wants_rows: bool,
    answer: &mut Answer,
) -> rusqlite::Result<()> {
    let column_count = statement.column_count();
    if column_count == 0 {
        let before = connection.total_changes();
        let changed = statement.raw_execute()?;
        // SQLite's number is that of the last INSERT, UPDATE or DELETE, whatever came behind it.
        answer.rows = if connection.total_changes() == before { 0 } else { changed as u64 };
        return Ok(());
    }
    answer.rows = 0;
    if !wants_rows {
        let mut rows = statement.raw_query();
        while rows.next()?.is_some() {
            answer.rows += 1;
        }
        return Ok(());
    }
    let columns = statement.column_names().map(str::to_owned).collect();
    let mut result = ResultSet { columns, rows: Vec::new() };
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        let values = (0..column_count).map(|column| row.get_ref(column).map(values::text));
        result.rows.push(values.collect::<rusqlite::Result<_>>()?);
    }
    answer.rows = result.rows.len() as u64;
    answer.results.push(result);
    Ok(())
}
