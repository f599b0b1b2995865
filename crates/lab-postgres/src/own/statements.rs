//! Statements of scripts over a connection, one after the other or in a pipeline.

use lab::own::{Answer, At, StatementError, Statements};
use results::scripts::FailureKind;
use script::Protocol;

use super::reply::{Course, Reply, lost};
use super::request;
use super::state::{Awaited, Prepared, ScriptState};
use crate::wire::{Connection, TransactionState};

/// Largest buffer for requests that is kept for the next statement.
pub(super) const OUTPUT_BYTES_KEPT: usize = 64 * 1024;

/// Largest message that the server takes.
// EVIDENCE: PostgreSQL src/include/libpq/libpq.h, PQ_LARGE_MESSAGE_LIMIT is MaxAllocSize - 1
const MESSAGE_BYTES_MAX: usize = 0x3fff_fffe;

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
}

/// Refuses what no message can hold.
pub(super) fn require_possible(at: &At<'_>, encoded: &[u8]) -> Result<(), StatementError> {
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
