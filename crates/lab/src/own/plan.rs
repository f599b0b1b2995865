//! What one phase of a run executes: scripts parsed for an engine, with their weights and variables.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use results::EngineId;
use results::histogram::LatencyHistogram;
use results::scripts::{ScriptRecord, StatementRecord};
use script::{Dialect, OptionError, Program, ScriptError, Seeds};

use super::statements::ResultSet;
use super::workload::{Load, OnError, OwnWorkload, Protocol, SqlText};
use crate::client::Tally;
use crate::work::Work;

/// A phase of a run with a workload of the user's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Makes tables in an empty database.
    Schema,
    /// Fills them.
    Load,
    /// The measured part, and its warm-up.
    Scripts,
    /// After the run.
    After,
}

/// Scripts that cannot be parsed, or a variable that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A script.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// The definition of a variable.
    #[error(transparent)]
    Definition(#[from] OptionError),
}

/// The scripts of one phase, parsed.
#[derive(Debug)]
pub struct Plan {
    part: Part,
    program: Program,
    weights: Vec<u32>,
    seeds: Seeds,
    scale: i64,
    max_tries: u32,
    on_error: OnError,
    logs_transactions: bool,
    /// Of a load: the next slice of the rows.
    slices: Option<Slices>,
    /// Of what comes after a run: the results of its statements.
    rows: Mutex<Vec<ResultSet>>,
}

/// The slices of a load, taken by its clients in turn.
#[derive(Debug)]
struct Slices {
    next: AtomicU64,
    rows: u64,
    batch: u64,
}

/// Rows of a load that one execution of its script makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// First row, counted from 1.
    pub first_row: u64,
    /// Last row, included.
    pub last_row: u64,
    /// Rows of all slices.
    pub rows: u64,
}

impl Plan {
    /// Parses the scripts of a phase for `engine`; `None` where the workload has none. Costs a pass over the texts.
    ///
    /// # Errors
    /// The first text that cannot be parsed, with its place.
    pub fn new(
        own: &OwnWorkload,
        part: Part,
        engine: EngineId,
        work: &Work,
    ) -> Result<Option<Self>, PlanError> {
        let one = |sql: &SqlText| vec![(sql.clone(), 1)];
        let (texts, clients): (Vec<(SqlText, u32)>, u32) = match part {
            Part::Schema => (own.schema.as_ref().map(one).unwrap_or_default(), 1),
            Part::After => (own.after.as_ref().map(one).unwrap_or_default(), 1),
            Part::Load => match &own.load {
                Some(Load::Script { sql, connections, .. }) => (one(sql), *connections),
                _ => (Vec::new(), 1),
            },
            Part::Scripts => {
                let scripts = own.scripts.iter().map(|script| (script.sql.clone(), script.weight));
                (scripts.collect(), work.connections)
            }
        };
        if texts.is_empty() {
            return Ok(None);
        }
        let protocol = match (part, own.protocol) {
            (Part::Scripts, Protocol::Extended) => script::Protocol::Extended,
            (Part::Scripts, Protocol::Prepared) => script::Protocol::Prepared,
            _ => script::Protocol::Simple,
        };
        let dialect = Dialect {
            engine: engine.name().to_owned(),
            engines: EngineId::targets().map(|engine| engine.name().to_owned()).collect(),
        };
        let mut program = Program::new(dialect, protocol);
        for (sql, _) in &texts {
            program.add(&sql.file, sql.text.as_bytes())?;
        }
        for (name, value) in &own.definitions {
            program.define(&format!("{name}={value}"))?;
        }
        Ok(Some(Self {
            part,
            program,
            weights: texts.iter().map(|(_, weight)| *weight).collect(),
            seeds: Seeds::new(work.seed, clients as usize),
            scale: i64::try_from(own.scale).unwrap_or(i64::MAX),
            // Schema, load and what comes after are executed once, and have to succeed.
            max_tries: if part == Part::Scripts { own.max_tries } else { 1 },
            on_error: if part == Part::Scripts { own.on_error } else { OnError::Abort },
            logs_transactions: part == Part::Scripts && own.transaction_log,
            slices: match &own.load {
                Some(Load::Script { rows, batch, .. }) if part == Part::Load => {
                    Some(Slices { next: AtomicU64::new(0), rows: *rows, batch: (*batch).max(1) })
                }
                _ => None,
            },
            rows: Mutex::default(),
        }))
    }

    /// The phase.
    pub fn part(&self) -> Part {
        self.part
    }

    /// The scripts.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Their weights.
    pub fn weights(&self) -> &[u32] {
        &self.weights
    }

    /// Seeds of the clients' random values: those of `pgbench --random-seed` with the seed of the run.
    pub fn seeds(&self) -> &Seeds {
        &self.seeds
    }

    /// Value of the variable `scale`.
    pub fn scale(&self) -> i64 {
        self.scale
    }

    /// Tries of a transaction; 0 is without limit.
    pub fn max_tries(&self) -> u32 {
        self.max_tries
    }

    /// What other failures come to.
    pub fn on_error(&self) -> OnError {
        self.on_error
    }
}

impl Plan {
    /// The next slice of a load; `None` when all were taken, or of other phases.
    pub fn next_slice(&self) -> Option<Slice> {
        let slices = self.slices.as_ref()?;
        let before = slices.next.fetch_add(1, Ordering::Relaxed).saturating_mul(slices.batch);
        (before < slices.rows).then(|| Slice {
            first_row: before + 1,
            last_row: before.saturating_add(slices.batch).min(slices.rows),
            rows: slices.rows,
        })
    }

    /// Adds rows that statements returned.
    pub(super) fn hand_in(&self, results: Vec<ResultSet>) {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).extend(results);
    }

    /// Takes the rows that statements returned.
    pub fn take_rows(&self) -> Vec<ResultSet> {
        std::mem::take(&mut self.rows.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts the place of a statement before what is said of it: `new-order.sql:3:14: ...`. `position` is the character
    /// of the statement's text at which the engine points, counted from 1.
    pub fn place_of(&self, script: usize, command: usize, position: Option<u32>, text: &str) -> String {
        let Some(script) = self.program.scripts().get(script) else { return text.to_owned() };
        let Some(command) = script.commands().get(command) else {
            return format!("{}: {text}", script.file());
        };
        let before = position.map_or(0, |position| position.saturating_sub(1) as usize);
        let passed: String =
            command.statement().map_or("", |statement| statement.text()).chars().take(before).collect();
        let line = command.line() as usize + passed.matches('\n').count();
        match position {
            Some(_) => {
                let column = passed.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
                format!("{}:{line}:{column}: {text}", script.file())
            }
            None => format!("{}:{line}: {text}", script.file()),
        }
    }

    /// Counts for these scripts, all zero.
    pub fn tally(&self) -> Tally {
        let mut scripts = Vec::new();
        let mut statements = Vec::new();
        for (script, weight) in self.program.scripts().iter().zip(&self.weights) {
            let mut places = Vec::new();
            let mut records = Vec::new();
            for command in script.commands() {
                places.push(command.statement().map(|statement| {
                    records.push(StatementRecord {
                        line: command.line(),
                        text: statement.text().to_owned(),
                        executions: 0,
                        failures: Vec::new(),
                        first_failure: None,
                        latency: LatencyHistogram::new(),
                    });
                    records.len() - 1
                }));
            }
            statements.push(places);
            scripts.push(ScriptRecord {
                file: script.file().to_owned(),
                weight: *weight,
                transactions: 0,
                failures: Vec::new(),
                retried: 0,
                retries: 0,
                latency: LatencyHistogram::new(),
                statements: records,
            });
        }
        Tally::new(scripts, statements, self.logs_transactions)
    }
}
