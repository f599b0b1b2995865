//! Pipelines: statements are sent without waiting, what comes back is read at the end.

use lab::own::{Answer, At, StatementError};
use results::scripts::FailureKind;

use super::reply::{Course, Reply, lost};
use super::request;
use super::state::Awaited;
use super::statements::{OUTPUT_BYTES_KEPT, ScriptConnection, require_possible};

/// Bytes of a pipeline that are on their way: so few that the server takes them in, whatever it has to send meanwhile. Else
/// both sides would wait for the other one to read.
const PIPELINE_BYTES_MAX: usize = 64 * 1024;

impl ScriptConnection<'_> {
    /// Adds a statement to the pipeline, and sends what is there when it is enough.
    pub(super) async fn enqueue(&mut self, at: &At<'_>) -> Result<(), StatementError> {
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
    pub(super) async fn write_out(&mut self) -> Result<(), StatementError> {
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
    pub(super) async fn drain(&mut self) -> Result<(), StatementError> {
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
                    // What was sent behind it was taken for rows: what the server answers next is not known.
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
