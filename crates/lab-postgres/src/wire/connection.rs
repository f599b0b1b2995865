//! One connection after its start-up: requests out, answers in.

use std::fmt;
use std::ops::Range;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use lab::client::Registration;
use postgres_protocol::message::frontend;

use super::answer::{self, ServerError};
use super::answer_reader::{ANSWER_BYTES_MAX, AnswerReader, Rows};
use super::command_tag::CommandTag;
use super::error::WireError;
use super::stream::Stream;

/// Messages accepted in one answer, so that a server that never becomes ready does not hold a client for ever.
const ANSWER_MESSAGES_MAX: usize = 1 << 20;

/// First size of the buffer for answers; 256 connections of this size take 1 MiB.
const INPUT_BYTES: usize = 4096;

/// Its size once an answer has filled it, so that large answers take fewer reads.
const INPUT_BYTES_GROWN: usize = 16 * 1024;

/// Where the server says the session stands after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum TransactionState {
    /// Outside any transaction.
    Idle,
    /// Inside one.
    Open,
    /// Inside one that only a rollback can end.
    Failed,
}

/// What is said of a state that is none of the three.
const UNKNOWN_STATE: &str = "transaction state is not I, T or E";

impl TransactionState {
    /// Of the body of a ReadyForQuery.
    fn from_body(body: &[u8]) -> Option<Self> {
        match body {
            b"I" => Some(Self::Idle),
            b"T" => Some(Self::Open),
            b"E" => Some(Self::Failed),
            _ => None,
        }
    }
}

/// One connection after its start-up.
pub(in super::super) struct Connection {
    stream: Stream,
    pub(super) input: Vec<u8>,
    /// Bytes of `input` received and not yet parsed.
    pending: Range<usize>,
    output: BytesMut,
    state: TransactionState,
    pub(super) process_id: Option<i32>,
    /// Memory for the rows of one answer.
    answer_bytes_max: usize,
    pub(super) broken: bool,
}

impl fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Connection").field("process_id", &self.process_id).finish_non_exhaustive()
    }
}

/// Tag and place of a message inside the input buffer.
pub(in super::super) struct Message {
    pub(in super::super) tag: u8,
    pub(super) body: Range<usize>,
}

impl Connection {
    pub(super) fn new(stream: Stream) -> Self {
        Self {
            stream,
            input: vec![0; INPUT_BYTES],
            pending: 0..0,
            output: BytesMut::with_capacity(1024),
            state: TransactionState::Idle,
            process_id: None,
            answer_bytes_max: ANSWER_BYTES_MAX,
            broken: false,
        }
    }

    /// Process id of the backend that serves this connection, as it said at the start.
    pub(in super::super) fn process_id(&self) -> Option<i32> {
        self.process_id
    }

    /// Version and suite of TLS; `None` on a connection without.
    pub(in super::super) fn encryption(&self) -> Option<String> {
        self.stream.encryption()
    }

    /// Where the session stood after the last answer.
    pub(in super::super) fn state(&self) -> TransactionState {
        self.state
    }

    /// Is the connection past use?
    pub(in super::super) fn is_broken(&self) -> bool {
        self.broken
    }

    /// Bounds the memory for the rows of one answer from here on.
    pub(in super::super) fn limit_answers(&mut self, bytes_max: usize) {
        self.answer_bytes_max = bytes_max;
    }

    /// Gives the connection up: an answer under way was not read to its end.
    pub(in super::super) fn give_up(&mut self) {
        self.broken = true;
    }

    /// Sends a request that is complete in itself (it ends with Sync or is a simple query) and waits for the answer.
    #[inline]
    pub(in super::super) async fn exchange(&mut self, request: &[u8]) -> Result<CommandTag, WireError> {
        self.send(request);
        self.answer(None).await
    }

    /// Runs one simple query and returns its rows as text.
    pub(in super::super) async fn query(&mut self, sql: &str) -> Result<(Rows, CommandTag), WireError> {
        let mut output = std::mem::take(&mut self.output);
        output.clear();
        let encoded = frontend::query(sql, &mut output).map_err(WireError::Io);
        let mut rows = Rows::new();
        let outcome = match encoded {
            Ok(()) => {
                self.send(&output);
                self.answer(Some(&mut rows)).await
            }
            Err(error) => Err(error),
        };
        self.output = output;
        outcome.map(|tag| (rows, tag))
    }

    /// Bounds all waits of a connection outside of an event loop: what takes longer is an error of kind `TimedOut`.
    pub(in super::super) fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.stream.set_deadline(deadline);
    }

    /// Begins the measured part: the only client of a worker blocks from here on.
    pub(in super::super) fn enter_loop(&mut self, registration: Registration<'_>) -> std::io::Result<()> {
        self.stream.enter_loop(registration)
    }

    /// Asks the server to close the connection, without waiting. Errors no longer matter.
    pub(in super::super) fn close(&mut self) {
        self.output.clear();
        frontend::terminate(&mut self.output);
        if !self.broken && self.stream.write_all(&self.output).is_err() {
            self.broken = true;
        }
    }

    /// Waits until the server closed its end, at most `time_max`: by then the backend has handed in its statistics
    /// and is gone from the list of sessions.
    pub(in super::super) fn await_end(mut self, time_max: Duration) {
        if !self.broken {
            self.stream.await_end(time_max);
        }
    }

    /// Sends bytes. An error is kept for the answer: the server may have said why it closed before we wrote.
    #[inline]
    pub(in super::super) fn send(&mut self, request: &[u8]) {
        if self.stream.write_all(request).is_err() {
            self.broken = true;
        }
    }

    /// Reads messages until the server is ready for the next request.
    async fn answer(&mut self, mut rows: Option<&mut Rows>) -> Result<CommandTag, WireError> {
        let mut tag = CommandTag::default();
        let mut refused: Option<Box<ServerError>> = None;
        let mut answer_reader = AnswerReader::default();
        for _ in 0..ANSWER_MESSAGES_MAX {
            let message = match self.next_message().await {
                Ok(message) => message,
                Err(error) => return Err(self.lost(error, refused)),
            };
            let body = self.input.get(message.body).unwrap_or_default();
            let kept = match message.tag {
                b'Z' => {
                    let Some(state) = TransactionState::from_body(body) else {
                        return Err(self.protocol(UNKNOWN_STATE));
                    };
                    self.state = state;
                    if let Some(error) = refused {
                        return Err(WireError::Server(error));
                    }
                    match answer_reader.ready() {
                        Err(reason) if rows.is_some() => Err(reason),
                        _ => return Ok(tag),
                    }
                }
                b'E' => {
                    refused = Some(Box::new(answer::server_error(body)));
                    answer_reader.command_ends();
                    continue;
                }
                kind => {
                    if kind == b'C' {
                        tag = CommandTag::from_body(body);
                    }
                    answer_reader.take(kind, body, rows.as_deref_mut(), self.answer_bytes_max)
                }
            };
            if let Err(reason) = kept {
                return Err(self.protocol(&reason));
            }
        }
        Err(self.protocol(&format!("more than {ANSWER_MESSAGES_MAX} messages in one answer")))
    }

    /// Finds the next whole message, reading as often as it takes.
    #[inline]
    pub(super) async fn next_message(&mut self) -> Result<Message, WireError> {
        loop {
            let bytes = self.input.get(self.pending.clone()).unwrap_or_default();
            let needed_bytes = match answer::frame(bytes) {
                Ok(answer::Frame::Whole { tag, size_bytes }) => {
                    let start = self.pending.start;
                    self.pending.start += size_bytes;
                    return Ok(Message { tag, body: start + answer::HEADER_BYTES..start + size_bytes });
                }
                Ok(answer::Frame::Partial { needed_bytes }) => needed_bytes,
                Err(length) => {
                    return Err(self.protocol(&format!("a message has the length {length}")));
                }
            };
            self.make_room(needed_bytes);
            self.read_more().await?;
        }
    }

    /// As [`Connection::next_message`], for statements of which nothing is known: a row (DataRow, CopyData) that is longer
    /// than `row_bytes_max` is read and not kept, its body is empty then.
    #[inline]
    pub(in super::super) async fn next_message_within(
        &mut self,
        row_bytes_max: usize,
    ) -> Result<Message, WireError> {
        loop {
            let bytes = self.input.get(self.pending.clone()).unwrap_or_default();
            let mut needed_bytes = answer::HEADER_BYTES;
            if let Some((&tag, size_bytes)) = bytes.first().zip(answer::size_bytes(bytes)) {
                if size_bytes < answer::HEADER_BYTES {
                    return Err(self.protocol(&format!("a message has the length {}", size_bytes - 1)));
                }
                if bytes.len() >= size_bytes {
                    let start = self.pending.start;
                    self.pending.start += size_bytes;
                    return Ok(Message { tag, body: start + answer::HEADER_BYTES..start + size_bytes });
                }
                if matches!(tag, b'D' | b'd') && size_bytes > row_bytes_max.max(INPUT_BYTES_GROWN) {
                    self.pass_over(size_bytes).await?;
                    return Ok(Message { tag, body: 0..0 });
                }
                if size_bytes > ANSWER_BYTES_MAX {
                    return Err(self.protocol(&format!("a message has the length {}", size_bytes - 1)));
                }
                needed_bytes = size_bytes;
            }
            self.make_room(needed_bytes);
            self.read_more().await?;
            if self.pending.end == self.input.len() && self.input.len() < INPUT_BYTES_GROWN {
                self.input.resize(INPUT_BYTES_GROWN, 0);
            }
        }
    }

    /// Reads a message of this size to its end and keeps what comes after it.
    async fn pass_over(&mut self, size_bytes: usize) -> Result<(), WireError> {
        let mut left_bytes = size_bytes.saturating_sub(self.pending.len());
        while left_bytes > 0 {
            self.pending = 0..0;
            self.read_more().await?;
            let passed_bytes = left_bytes.min(self.pending.len());
            left_bytes -= passed_bytes;
            self.pending.start += passed_bytes;
        }
        Ok(())
    }

    /// Reads once behind the pending bytes, where there is room.
    #[inline]
    async fn read_more(&mut self) -> Result<(), WireError> {
        let end = self.pending.end;
        let room = self.input.get_mut(end..).unwrap_or_default();
        match self.stream.read(room).await {
            Ok(0) => Err(WireError::Closed(None)),
            Ok(read_bytes) => {
                self.pending.end += read_bytes;
                Ok(())
            }
            Err(error) => Err(WireError::Io(error)),
        }
    }

    /// The body of a message that was just read.
    #[inline]
    pub(in super::super) fn body(&self, message: &Message) -> &[u8] {
        self.input.get(message.body.clone()).unwrap_or_default()
    }

    /// Takes note of a ReadyForQuery, and gives back memory that a large answer needed.
    ///
    /// # Errors
    /// It holds no state of a transaction.
    #[inline]
    pub(in super::super) fn ready(&mut self, message: &Message) -> Result<(), WireError> {
        let Some(state) = TransactionState::from_body(self.body(message)) else {
            return Err(self.protocol(UNKNOWN_STATE));
        };
        self.state = state;
        if self.input.len() > INPUT_BYTES_GROWN && self.pending.is_empty() {
            (self.input, self.pending) = (vec![0; INPUT_BYTES_GROWN], 0..0);
        }
        Ok(())
    }

    /// Has something arrived that was not read yet? Not known of a connection with TLS, where it is `false`.
    pub(in super::super) fn has_more(&self) -> bool {
        !self.pending.is_empty() || self.stream.is_readable()
    }

    /// Makes the buffer hold `needed_bytes` from the start of the pending bytes on, and leaves room to read.
    #[inline]
    fn make_room(&mut self, needed_bytes: usize) {
        if self.pending.is_empty() {
            self.pending = 0..0;
        }
        if self.input.len() - self.pending.start < needed_bytes || self.pending.end == self.input.len() {
            self.input.copy_within(self.pending.clone(), 0);
            self.pending = 0..self.pending.len();
            if self.input.len() < needed_bytes {
                self.input.resize(needed_bytes.next_power_of_two(), 0);
            }
        }
        assert!(self.pending.end < self.input.len(), "room is left to read into");
    }

    /// The end of a connection, with the last words of the server where it had any.
    pub(in super::super) fn lost(
        &mut self,
        error: WireError,
        last_words: Option<Box<ServerError>>,
    ) -> WireError {
        self.broken = true;
        match error {
            WireError::Closed(None) => WireError::Closed(last_words),
            // A killed server resets the connection instead of closing it.
            WireError::Io(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::ConnectionReset | std::io::ErrorKind::BrokenPipe
                ) =>
            {
                WireError::Closed(last_words)
            }
            other => other,
        }
    }

    pub(in super::super) fn protocol(&mut self, reason: &str) -> WireError {
        self.broken = true;
        WireError::Protocol(reason.to_owned())
    }
}
