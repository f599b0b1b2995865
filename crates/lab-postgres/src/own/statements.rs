//! Statements of scripts over a connection: protocols, prepared statements, pipelines.

use std::collections::VecDeque;
use std::sync::Arc;

use lab::own::{Answer, At, Plan, StatementError, Statements};
use results::scripts::FailureKind;
use script::{Protocol, Statement};

use super::reply::{Course, Reply, lost};
use super::request::{self, Name};
use crate::wire::{Connection, TransactionState};

/// Bytes of a pipeline that are on their way: so few that the server takes them in, whatever it has to send meanwhile. Else
/// both sides would wait for the other one to read.
const PIPELINE_BYTES_MAX: usize = 64 * 1024;

/// Largest buffer for requests that is kept for the next statement.
const OUTPUT_BYTES_KEPT: usize = 64 * 1024;

/// Largest message that the server takes.
// EVIDENCE: PostgreSQL src/include/libpq/libpq.h, PQ_LARGE_MESSAGE_LIMIT is MaxAllocSize - 1
const MESSAGE_BYTES_MAX: usize = 0x3fff_fffe;

/// What a client knows of the statements on its connection.
#[derive(Debug)]
pub(super) struct ScriptState {
    plan: Arc<Plan>,
    out: Vec<u8>,
    /// For each script: where its commands begin in `prepared`.
    first_commands: Arc<[usize]>,
    /// Of each command, with the protocol prepared; else empty.
    prepared: Vec<Prepared>,
    pipeline: Pipeline,
}

/// Does the server know the statement of a command?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prepared {
    No,
    /// It was sent before this synchronization point of the pipeline, and not answered yet.
    Sent(u32),
    Yes,
}

/// What was sent in a pipeline.
#[derive(Debug, Default)]
struct Pipeline {
    is_open: bool,
    /// Whose answers were not read yet, in their order.
    awaited: VecDeque<Awaited>,
    /// How many of them have left.
    sent: usize,
    /// Their bytes.
    sent_bytes: usize,
    /// Synchronization points so far.
    syncs: u32,
    /// Does the server pass over all up to the next synchronization point?
    is_skipping: bool,
    first_error: Option<StatementError>,
    /// Script and command of the statement of the first error.
    failed: Option<(usize, usize)>,
}

#[derive(Clone, Copy, Debug)]
enum Awaited {
    Statement { script: usize, command: usize },
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

    fn prepared(&mut self, script: usize, command: usize) -> Option<&mut Prepared> {
        let first = *self.first_commands.get(script)?;
        self.prepared.get_mut(first + command)
    }

    /// Takes note of the end of a statement that may have been parsed in it.
    fn note(&mut self, script: usize, command: usize, reply: &Reply) {
        // invalid_sql_statement_name: somebody deallocated it.
        let is_gone = reply.refused.as_ref().is_some_and(|error| error.code == "26000");
        if reply.is_parsed || is_gone {
            let now = if is_gone { Prepared::No } else { Prepared::Yes };
            if let Some(prepared) = self.prepared(script, command) {
                *prepared = now;
            }
        }
    }

    /// Writes the messages of a statement, without Sync.
    fn encode(&mut self, at: &At<'_>) {
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

/// The connection of a client with what it knows of its statements.
#[derive(Debug)]
pub(super) struct ScriptConnection<'a> {
    pub(super) connection: &'a mut Connection,
    pub(super) state: &'a mut ScriptState,
}

impl Statements for ScriptConnection<'_> {
    #[inline]
    async fn execute(&mut self, at: At<'_>, answer: &mut Answer) -> Result<(), StatementError> {
        if self.state.pipeline.is_open {
            return self.enqueue(&at).await;
        }
        self.state.out.clear();
        self.state.encode(&at);
        require_possible(&at, &self.state.out)?;
        let is_simple = at.program.protocol() == Protocol::Simple;
        if !is_simple {
            request::sync(&mut self.state.out);
        }
        self.connection.send(&self.state.out);
        if self.state.out.capacity() > OUTPUT_BYTES_KEPT {
            self.state.out = Vec::new();
        }
        let mut reply = Reply::default();
        loop {
            match reply.read(self.connection, answer, at.wants_rows).await {
                Ok(Course::Ready) => break,
                Ok(Course::WantsRows) => self.refuse_rows(is_simple),
                Ok(_) => {}
                Err(error) => return Err(lost(&error)),
            }
        }
        if !self.state.prepared.is_empty() {
            self.settle(&at, &reply);
        }
        let sent = is_simple.then_some(at.variables);
        match reply.failure(|position| at.statement.position_of(position, sent)) {
            None => Ok(()),
            Some(error) => Err(error),
        }
    }

    fn start_pipeline(&mut self) -> Result<(), StatementError> {
        self.state.out.clear();
        let pipeline = &mut self.state.pipeline;
        (pipeline.is_open, pipeline.is_skipping) = (true, false);
        (pipeline.first_error, pipeline.failed) = (None, None);
        Ok(())
    }

    async fn sync_pipeline(&mut self) -> Result<(), StatementError> {
        request::sync(&mut self.state.out);
        let pipeline = &mut self.state.pipeline;
        pipeline.awaited.push_back(Awaited::Sync);
        pipeline.syncs = pipeline.syncs.wrapping_add(1);
        self.write_out().await
    }

    async fn end_pipeline(&mut self) -> Result<(), StatementError> {
        self.sync_pipeline().await?;
        self.drain().await?;
        let pipeline = &mut self.state.pipeline;
        pipeline.is_open = false;
        pipeline.first_error.take().map_or(Ok(()), Err)
    }

    fn failed_in_pipeline(&self) -> Option<(usize, usize)> {
        self.state.pipeline.failed
    }

    async fn roll_back(&mut self) -> Result<(), StatementError> {
        if self.state.pipeline.is_open {
            self.sync_pipeline().await?;
            self.drain().await?;
            self.state.pipeline.is_open = false;
            self.state.pipeline.first_error = None;
        }
        if self.connection.state() != TransactionState::Idle {
            self.connection
                .query("ROLLBACK")
                .await
                .map_err(|error| StatementError { is_lost: self.connection.is_broken(), ..lost(&error) })?;
        }
        Ok(())
    }

    fn is_in_transaction(&self) -> bool {
        self.connection.state() != TransactionState::Idle
    }
}

impl ScriptConnection<'_> {
    /// Answers a COPY FROM STDIN. In the extended protocol the server took the Sync that was sent for one of the rows.
    fn refuse_rows(&mut self, is_simple: bool) {
        self.state.out.clear();
        request::copy_fail(&mut self.state.out);
        if !is_simple {
            request::sync(&mut self.state.out);
        }
        self.connection.send(&self.state.out);
    }

    /// Takes note of what an answer says about a statement that was prepared on its way.
    fn settle(&mut self, at: &At<'_>, reply: &Reply) {
        self.state.note(at.script, at.command, reply);
        if let Some(prepared) = self.state.prepared(at.script, at.command)
            && matches!(prepared, Prepared::Sent(_))
        {
            *prepared = Prepared::No;
        }
    }

    /// Adds a statement to the pipeline, and sends what is there when it is enough.
    async fn enqueue(&mut self, at: &At<'_>) -> Result<(), StatementError> {
        let start = self.state.out.len();
        self.state.encode(at);
        if let Err(error) = require_possible(at, self.state.out.get(start..).unwrap_or_default()) {
            self.state.out.truncate(start);
            return Err(error);
        }
        let awaited = Awaited::Statement { script: at.script, command: at.command };
        if self.state.out.len() < PIPELINE_BYTES_MAX {
            self.state.pipeline.awaited.push_back(awaited);
            return Ok(());
        }
        if start > 0 {
            let last = self.state.out.split_off(start);
            self.write_out().await?;
            self.state.out = last;
        }
        self.state.pipeline.awaited.push_back(awaited);
        self.write_out().await
    }

    /// Sends what was encoded, after the answers to what was sent before where both together are too much.
    async fn write_out(&mut self) -> Result<(), StatementError> {
        let pipeline = &mut self.state.pipeline;
        if pipeline.sent_bytes > 0 && pipeline.sent_bytes + self.state.out.len() > PIPELINE_BYTES_MAX {
            self.drain_sent().await?;
        }
        if !matches!(self.state.pipeline.awaited.back(), Some(Awaited::Sync)) {
            request::flush(&mut self.state.out);
        }
        self.connection.send(&self.state.out);
        let pipeline = &mut self.state.pipeline;
        pipeline.sent = pipeline.awaited.len();
        pipeline.sent_bytes += self.state.out.len();
        if self.state.out.capacity() > 2 * OUTPUT_BYTES_KEPT {
            self.state.out = Vec::new();
        }
        self.state.out.clear();
        Ok(())
    }

    /// Reads all answers.
    async fn drain(&mut self) -> Result<(), StatementError> {
        if !self.state.out.is_empty() {
            self.write_out().await?;
        }
        self.drain_sent().await
    }

    /// Reads the answers to what has left. The last words of a server that ends are an answer, too.
    async fn drain_sent(&mut self) -> Result<(), StatementError> {
        self.read_sent().await.map_err(|error| match self.state.pipeline.first_error.take() {
            Some(first) if error.is_lost => StatementError { is_lost: true, ..first },
            _ => error,
        })
    }

    async fn read_sent(&mut self) -> Result<(), StatementError> {
        for _ in 0..self.state.pipeline.sent {
            let Some(awaited) = self.state.pipeline.awaited.pop_front() else { break };
            match awaited {
                Awaited::Statement { .. } if self.state.pipeline.is_skipping => {}
                Awaited::Statement { script, command } => self.read_one(script, command).await?,
                Awaited::Sync => {
                    self.read_sync().await?;
                    self.state.pipeline.is_skipping = false;
                }
            }
        }
        (self.state.pipeline.sent, self.state.pipeline.sent_bytes) = (0, 0);
        Ok(())
    }

    /// Reads the answer to one statement of the pipeline.
    async fn read_one(&mut self, script: usize, command: usize) -> Result<(), StatementError> {
        let mut reply = Reply::default();
        let mut answer = Answer::default();
        loop {
            match reply.read(self.connection, &mut answer, false).await {
                Ok(Course::More) => {}
                Ok(Course::Completed) => break,
                Ok(Course::Refused) => {
                    self.state.pipeline.is_skipping = true;
                    break;
                }
                Ok(Course::WantsRows) => {
                    // What was sent behind it was taken for rows: nobody knows what the server answers next.
                    self.connection.give_up();
                    let text = "COPY FROM STDIN is not possible in scripts".to_owned();
                    let text = self.state.plan.place_of(script, command, None, &text);
                    return Err(StatementError {
                        kind: FailureKind::Other,
                        text,
                        position: None,
                        is_lost: true,
                    });
                }
                Ok(Course::Ready) => {
                    return Err(lost(&self.connection.protocol("a statement was not answered")));
                }
                Err(error) => return Err(lost(&error)),
            }
        }
        self.state.note(script, command, &reply);
        let statement = self.state.statement(script, command).cloned();
        let place = |position| statement.map_or(position, |statement| statement.position_of(position, None));
        if let Some(error) = reply.failure(place) {
            let text = self.state.plan.place_of(script, command, error.position, &error.text);
            let error = StatementError { text, position: None, ..error };
            let pipeline = &mut self.state.pipeline;
            if pipeline.first_error.is_none() {
                (pipeline.first_error, pipeline.failed) = (Some(error), Some((script, command)));
            }
        }
        Ok(())
    }

    /// Reads up to the answer to a synchronization point: at most an error of the commit that it is.
    async fn read_sync(&mut self) -> Result<(), StatementError> {
        let mut reply = Reply::default();
        let mut answer = Answer::default();
        while reply.read(self.connection, &mut answer, false).await.map_err(|error| lost(&error))?
            != Course::Ready
        {}
        if let Some(error) = reply.failure(|position| position) {
            self.state.pipeline.first_error.get_or_insert(StatementError { position: None, ..error });
        }
        Ok(())
    }
}

impl ScriptState {
    fn statement(&self, script: usize, command: usize) -> Option<&Statement> {
        self.plan.program().scripts().get(script)?.commands().get(command)?.statement()
    }
}

/// Refuses what no message can hold.
fn require_possible(at: &At<'_>, encoded: &[u8]) -> Result<(), StatementError> {
    let refuse =
        |text: String| Err(StatementError { kind: FailureKind::Other, text, position: None, is_lost: false });
    if encoded.len() > MESSAGE_BYTES_MAX {
        return refuse(format!(
            "the statement with its values has {} bytes, the server takes {MESSAGE_BYTES_MAX}",
            encoded.len()
        ));
    }
    // In a simple query a zero byte would end the text; the last byte is its end.
    if at.program.protocol() == Protocol::Simple
        && encoded.get(5..encoded.len().saturating_sub(1)).is_some_and(|text| text.contains(&0))
    {
        return refuse("a value has a zero byte, which no text of the server can hold".to_owned());
    }
    Ok(())
}
