//! What a client knows of the statements on its connection: which are prepared, and what a pipeline still waits for.

use std::collections::VecDeque;
use std::sync::Arc;

use lab::own::{At, Plan, StatementError};
use script::{Protocol, Statement};

use super::reply::Reply;
use super::request::{self, Name};

/// What a client knows of the statements on its connection.
#[derive(Debug)]
pub(super) struct ScriptState {
    pub(super) plan: Arc<Plan>,
    /// Messages that are to be sent; used again and again.
    pub(super) out: Vec<u8>,
    /// For each script: where its commands begin in `prepared`.
    first_commands: Arc<[usize]>,
    /// Of each command, with the protocol prepared; else empty.
    pub(super) prepared: Vec<Prepared>,
    pub(super) pipeline: Pipeline,
}

/// Does the server know the statement of a command?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prepared {
    /// No.
    No,
    /// It was sent before this synchronization point of the pipeline, and not answered yet.
    Sent(u32),
    /// Yes.
    Yes,
}

/// What was sent in a pipeline.
#[derive(Debug, Default)]
pub(super) struct Pipeline {
    /// Are statements sent without waiting?
    pub(super) is_open: bool,
    /// Whose answers were not read yet, in their order.
    pub(super) awaited: VecDeque<Awaited>,
    /// How many of them have left.
    pub(super) sent: usize,
    /// Their bytes.
    pub(super) sent_bytes: usize,
    /// Synchronization points so far.
    pub(super) syncs: u32,
    /// Does the server pass over all up to the next synchronization point?
    pub(super) is_skipping: bool,
    /// What its end returns.
    pub(super) first_error: Option<StatementError>,
    /// Script and command of the statement of the first error.
    pub(super) failed: Option<(usize, usize)>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Awaited {
    /// Of the statement of a command.
    Statement { script: usize, command: usize },
    /// Of a synchronization point.
    Sync,
}

impl ScriptState {
    /// For a new connection.
    pub(super) fn new(plan: Arc<Plan>, first_commands: Arc<[usize]>) -> Self {
        let commands: usize = match plan.program().protocol() {
            Protocol::Prepared => plan.program().scripts().iter().map(|script| script.commands().len()).sum(),
            _ => 0,
        };
        Self {
            plan,
            out: Vec::new(),
            first_commands,
            prepared: vec![Prepared::No; commands],
            pipeline: Pipeline::default(),
        }
    }

    /// Does the server know the statement? `None` where none is prepared.
    pub(super) fn prepared(&mut self, script: usize, command: usize) -> Option<&mut Prepared> {
        let first = *self.first_commands.get(script)?;
        self.prepared.get_mut(first + command)
    }

    /// A statement of the scripts.
    pub(super) fn statement(&self, script: usize, command: usize) -> Option<&Statement> {
        self.plan.program().scripts().get(script)?.commands().get(command)?.statement()
    }

    /// Takes note of the end of a statement that may have been parsed in it.
    pub(super) fn note(&mut self, script: usize, command: usize, reply: &Reply) {
        // invalid_sql_statement_name: a DEALLOCATE of the script removed it.
        let is_gone = reply.refused.as_ref().is_some_and(|error| error.code == "26000");
        if reply.is_parsed || is_gone {
            let now = if is_gone { Prepared::No } else { Prepared::Yes };
            if let Some(prepared) = self.prepared(script, command) {
                *prepared = now;
            }
        }
    }

    /// Writes the messages of a statement, without Sync.
    pub(super) fn encode(&mut self, at: &At<'_>) {
        let mut out = std::mem::take(&mut self.out);
        let name = match at.program.protocol() {
            Protocol::Simple => {
                request::query(at.statement, at.variables, &mut out);
                self.out = out;
                return;
            }
            Protocol::Extended => Name::None,
            Protocol::Prepared => Name::Command { script: at.script, command: at.command },
        };
        let syncs = self.pipeline.syncs;
        match self.prepared(at.script, at.command) {
            Some(Prepared::Yes) => {}
            Some(Prepared::Sent(then)) if *then == syncs => {}
            Some(prepared) => {
                if *prepared != Prepared::No {
                    // Whether it was parsed shows only in an answer that was not read yet.
                    request::close(name, &mut out);
                }
                *prepared = Prepared::Sent(syncs);
                request::parse(name, at.statement, &mut out);
            }
            None => request::parse(name, at.statement, &mut out),
        }
        request::bind(name, at.statement, at.variables, &mut out);
        if at.wants_rows {
            request::describe(&mut out);
        }
        request::execute(&mut out);
        self.out = out;
    }
}
