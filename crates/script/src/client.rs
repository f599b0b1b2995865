//! One client in a run: its variables, its random values, its place in a script.

use std::fmt;

use crate::command::{Command, Kind, Script, Time};
use crate::dialect::Protocol;
use crate::error::Failure;
use crate::expression::{Expression, Scope};
use crate::program::Program;
use crate::random::{Generator, Seeds};
use crate::sql::statement::Statement;
use crate::value::{Value, leading_integer};
use crate::variables::Variables;

/// What a script wants next.
#[derive(Clone, Copy, Debug)]
pub enum Action<'p> {
    /// Send this statement; `command` is its index in [`Script::commands`].
    Statement {
        /// Index of the command.
        command: usize,
        /// What to send.
        statement: &'p Statement,
    },
    /// Wait.
    Sleep {
        /// How long.
        microseconds: u64,
    },
    /// Send what follows without waiting for results.
    StartPipeline,
    /// Send a Sync message.
    SyncPipeline,
    /// Send a Sync message and wait for all results.
    EndPipeline,
    /// The script has ended.
    Done,
}

/// A value that `debug` was called with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Debug {
    /// Index of the script.
    pub script: usize,
    /// Number of the command, counted from 1.
    pub command: usize,
    /// The value.
    pub value: Value,
}

impl fmt::Display for Debug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "debug(script={},command={}): {}", self.script, self.command, self.value.type_name())?;
        if self.value != Value::Null { write!(f, " {}", self.value) } else { Ok(()) }
    }
}

/// One client of a run.
#[derive(Clone, Debug)]
pub struct Client {
    variables: Variables,
    generator: Generator,
    /// As it was when the script began.
    first_generator: Generator,
    stack: Vec<Value>,
    debugged: Vec<Value>,
    debug: Vec<Debug>,
    script: usize,
    position: usize,
    is_in_pipeline: bool,
}

/// Values of `debug` that are kept until [`Client::take_debug`].
const DEBUG_MAX: usize = 10_000;

impl Client {
    /// Makes the client with this number, counted from 0. All scripts and definitions must be in the program.
    ///
    /// A definition of `scale`, `client_id`, `random_seed` or `default_seed` counts more than what is given here.
    pub fn new(program: &Program, seeds: &Seeds, number: usize, scale: i64) -> Self {
        let names = program.names();
        let mut variables = Variables::new(names);
        let given = [
            ("scale", scale),
            ("client_id", number as i64),
            ("random_seed", seeds.run as i64),
            ("default_seed", seeds.default_seed),
        ];
        for (name, value) in given {
            if let Some(slot) = names.slot(name) {
                variables.set(slot, Value::Integer(value));
            }
        }
        for (slot, text) in program.definitions() {
            variables.set_text(*slot, text);
        }
        let generator = Generator::new(seeds.clients.get(number).copied().unwrap_or_default());
        Self {
            variables,
            first_generator: generator.clone(),
            generator,
            stack: Vec::new(),
            debugged: Vec::new(),
            debug: Vec::new(),
            script: 0,
            position: 0,
            is_in_pipeline: false,
        }
    }

    /// Goes to the start of a script. Variables keep their values from one transaction to the next.
    pub fn begin(&mut self, script: usize) {
        self.script = script;
        self.position = 0;
        self.is_in_pipeline = false;
        self.first_generator.clone_from(&self.generator);
    }

    /// Goes to the start of the same script with the same random values: a transaction that is tried again.
    pub fn retry(&mut self) {
        self.position = 0;
        self.is_in_pipeline = false;
        self.generator.clone_from(&self.first_generator);
    }

    /// Returns the variables.
    pub fn variables(&self) -> &Variables {
        &self.variables
    }

    /// Returns the variables for what results are stored in.
    pub fn variables_mut(&mut self) -> &mut Variables {
        &mut self.variables
    }

    /// Returns what `debug` was called with since the last call.
    pub fn take_debug(&mut self) -> Vec<Debug> {
        std::mem::take(&mut self.debug)
    }

    /// Runs the script up to the next action.
    ///
    /// Cost: about 0.1 us for a `\set` with a random value; nothing is allocated, except for messages and `debug`.
    /// After a failure the place in the script is that of the command that failed.
    pub fn step<'p>(&mut self, program: &'p Program) -> Result<Action<'p>, Failure> {
        let Some(script) = program.scripts().get(self.script) else { return Ok(Action::Done) };
        loop {
            let Some(command) = script.commands.get(self.position) else {
                return self.end(script);
            };
            match self.run(program, command) {
                Ok(Some(action)) => return Ok(action),
                Ok(None) => {}
                Err(message) => return Err(self.failure(script, message)),
            }
        }
    }

    fn end<'p>(&mut self, script: &Script) -> Result<Action<'p>, Failure> {
        if self.is_in_pipeline {
            return Err(self.failure(script, "end of script reached with pipeline open".to_owned()));
        }
        Ok(Action::Done)
    }

    fn failure(&self, script: &Script, message: String) -> Failure {
        let index = self.position.min(script.commands.len().saturating_sub(1));
        let line = script.commands.get(index).map_or(1, |command| command.line);
        Failure { file: script.file.clone(), line, command: index as u32 + 1, message }
    }

    /// Runs one command and moves on.
    fn run<'p>(&mut self, program: &'p Program, command: &'p Command) -> Result<Option<Action<'p>>, String> {
        let index = self.position;
        let mut next = index + 1;
        let action = match &command.kind {
            Kind::Statement(statement) => {
                if self.is_in_pipeline {
                    refuse_in_pipeline(statement)?;
                }
                Some(Action::Statement { command: index, statement })
            }
            Kind::Set(slot, expression) => {
                let value = self.evaluate(program, expression)?;
                self.variables.set(*slot, value);
                None
            }
            Kind::If { is_first: true, .. } => {
                next = self.choose(program, index)?;
                None
            }
            // Reached from the branch before, which was taken.
            Kind::If { end, .. } | Kind::Else { end } => {
                next = end + 1;
                None
            }
            Kind::EndIf => None,
            Kind::Sleep { time, unit_us } => Some(self.sleep(program, time, *unit_us)?),
            Kind::StartPipeline | Kind::SyncPipeline | Kind::EndPipeline => {
                Some(self.pipeline(program, &command.kind)?)
            }
        };
        self.position = next;
        Ok(action)
    }

    fn evaluate(&mut self, program: &Program, expression: &Expression) -> Result<Value, String> {
        let mut scope = Scope {
            names: program.names(),
            variables: &self.variables,
            generator: &mut self.generator,
            stack: &mut self.stack,
            debugged: &mut self.debugged,
        };
        let value = expression.evaluate(&mut scope);
        if !self.debugged.is_empty() {
            let room = DEBUG_MAX.saturating_sub(self.debug.len());
            let (script, command) = (self.script, self.position + 1);
            let values = self.debugged.drain(..).take(room);
            self.debug.extend(values.map(|value| Debug { script, command, value }));
        }
        value
    }

    /// Returns where the branch begins that is taken, from the `\if` at this index.
    fn choose(&mut self, program: &Program, mut index: usize) -> Result<usize, String> {
        let commands = program.scripts().get(self.script).map_or(&[][..], |script| &script.commands);
        while let Some(Command { kind: Kind::If { condition, otherwise, .. }, .. }) = commands.get(index) {
            self.position = index;
            if self.evaluate(program, condition)?.is_true() {
                break;
            }
            index = *otherwise;
        }
        Ok(index + 1)
    }

    fn sleep<'p>(&self, program: &Program, time: &Time, unit_us: i64) -> Result<Action<'p>, String> {
        let count = match time {
            Time::Constant(count) => *count,
            Time::Variable(slot) => {
                let name = program.names().name(*slot);
                let mut text = Vec::new();
                if !self.variables.write(*slot, &mut text) {
                    return Err(format!("sleep: undefined variable \"{name}\""));
                }
                let text = String::from_utf8_lossy(&text);
                leading_integer(&text)
                    .ok_or_else(|| format!("sleep: invalid sleep time \"{text}\" for variable \"{name}\""))?
            }
        };
        // A time before now is no wait.
        Ok(Action::Sleep { microseconds: count.saturating_mul(unit_us).max(0) as u64 })
    }

    fn pipeline<'p>(&mut self, program: &Program, kind: &Kind) -> Result<Action<'p>, String> {
        let (name, action) = match kind {
            Kind::StartPipeline => ("startpipeline", Action::StartPipeline),
            Kind::SyncPipeline => ("syncpipeline", Action::SyncPipeline),
            _ => ("endpipeline", Action::EndPipeline),
        };
        let starts = name == "startpipeline";
        if program.protocol() == Protocol::Simple {
            return Err(format!("{name}: cannot use pipeline mode with the simple query protocol"));
        }
        if starts && self.is_in_pipeline {
            return Err(format!("{name}: already in pipeline mode"));
        }
        if !starts && !self.is_in_pipeline {
            return Err(format!("{name}: not in pipeline mode"));
        }
        self.is_in_pipeline = name != "endpipeline";
        Ok(action)
    }
}

/// What waits for the result of its statement cannot be inside of a pipeline.
fn refuse_in_pipeline(statement: &Statement) -> Result<(), String> {
    let what = match (statement.store(), statement.expect()) {
        (Some(store), _) => if store.is_aset { "\\aset" } else { "\\gset" }.to_owned(),
        (None, Some(expect)) => format!("expectation {expect}"),
        (None, None) => return Ok(()),
    };
    Err(format!("{what} is not allowed in pipeline mode"))
}
