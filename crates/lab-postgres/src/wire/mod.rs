//! The client side of the PostgreSQL protocol (version 3), for a loop that must cost little CPU.
//!
//! One round trip is one write, one wait and one read: requests are encoded once and sent as they stand, answers
//! are parsed in place in one reused buffer, and nothing is allocated unless the server reports an error. A driver
//! made for applications spends more on its queue and its row types than the exchange itself.
//!
//! Everything that the server sends is untrusted: lengths are bounded, and a message that does not fit the protocol
//! ends the connection with an error that says so.

mod answer;
mod command_tag;
mod exercise;
mod intake;
mod security;
mod startup;
mod stream;
#[cfg(test)]
mod tests;
#[cfg_attr(not(feature = "tls"), path = "no_tls.rs")]
mod tls;

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use bytes::BytesMut;
use postgres_protocol::message::frontend;

pub(super) use answer::ServerError;
pub(super) use command_tag::CommandTag;
pub use exercise::{exercise_answers, exercise_startup};
use intake::ANSWER_BYTES_MAX;
pub(super) use intake::QUESTION_TIME_MAX;
pub(super) use security::{Authorities, Security, SslMode, TlsRefusal};
pub(super) use startup::{CONNECT_TIME_DEFAULT, Endpoint, Login, Secret};

use intake::Intake;
use stream::Stream;

use lab::client::Seat;

/// Largest message accepted. Answers to our statements are a few hundred bytes, the settings of a server some tens
/// of kilobytes in many messages; an error text may quote a row.
const MESSAGE_BYTES_MAX: usize = 4 << 20;

/// Messages accepted in one answer, so that a server that never becomes ready does not hold a client for ever.
const ANSWER_MESSAGES_MAX: usize = 1 << 20;

/// First size of the buffer for answers; 256 connections of this size take 1 MiB.
const INPUT_BYTES: usize = 4096;

/// SQLSTATE of a login with a wrong password, or with none where one is needed.
// EVIDENCE: PostgreSQL documentation, "PostgreSQL Error Codes", invalid_password
pub(super) const INVALID_PASSWORD: &str = "28P01";

/// Rows of text values, as the simple query protocol returns them; `None` is NULL.
pub(super) type Rows = Vec<Vec<Option<String>>>;

/// Why an exchange with the server did not succeed.
#[derive(Debug)]
pub(super) enum WireError {
    /// The server refused the statement; the connection is still usable.
    Server(Box<ServerError>),
    /// The connection is gone; with the last thing that the server said, if anything.
    Closed(Option<Box<ServerError>>),
    /// The server did not keep to the protocol; the connection is of no use.
    Protocol(String),
    /// The server asks for the password of this user, and none was given.
    NoPassword(String),
    /// There is no TLS with the server, or none that will do.
    Tls(TlsRefusal),
    /// A limit of time passed; says which.
    TimedOut(String),
    /// The operating system reported an error.
    Io(std::io::Error),
}

impl WireError {
    /// SQLSTATE of the server's error, when it gave one.
    pub(super) fn code(&self) -> Option<&str> {
        match self {
            Self::Server(error) => Some(&error.code),
            Self::Closed(error) => error.as_ref().map(|error| error.code.as_str()),
            Self::NoPassword(_) => Some(INVALID_PASSWORD),
            Self::Protocol(_) | Self::Tls(_) | Self::TimedOut(_) | Self::Io(_) => None,
        }
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(error) => write!(formatter, "{error}"),
            Self::Closed(None) => write!(formatter, "server closed the connection"),
            Self::Closed(Some(error)) => write!(formatter, "server closed the connection: {error}"),
            Self::TimedOut(what) => write!(formatter, "{what}"),
            Self::Protocol(reason) => write!(formatter, "server did not keep to the protocol: {reason}"),
            Self::NoPassword(user) => {
                write!(formatter, "server asks for the password of user \"{user}\" and none was given")
            }
            Self::Tls(refusal) => write!(formatter, "{}", refusal.text),
            Self::Io(error) => write!(formatter, "{error}"),
        }
    }
}

/// Where the server says the session stands after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransactionState {
    /// Outside any transaction.
    Idle,
    /// Inside one.
    Open,
    /// Inside one that only a rollback can end.
    Failed,
}

/// One connection after its start-up.
pub(super) struct Connection {
    stream: Stream,
    input: Vec<u8>,
    /// Bytes of `input` received and not yet parsed.
    pending: Range<usize>,
    output: BytesMut,
    state: TransactionState,
    process_id: Option<i32>,
    /// Memory for the rows of one answer.
    answer_bytes_max: usize,
    broken: bool,
}

impl fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Connection").field("process_id", &self.process_id).finish_non_exhaustive()
    }
}

/// Tag and place of a message inside the input buffer.
struct Message {
    tag: u8,
    body: Range<usize>,
}

impl Connection {
    fn new(stream: Stream) -> Self {
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
    pub(super) fn process_id(&self) -> Option<i32> {
        self.process_id
    }

    /// Version and suite of TLS; `None` on a connection without.
    pub(super) fn encryption(&self) -> Option<String> {
        self.stream.encryption()
    }

    /// Where the session stood after the last answer.
    pub(super) fn state(&self) -> TransactionState {
        self.state
    }

    /// Is the connection past use?
    pub(super) fn is_broken(&self) -> bool {
        self.broken
    }

    /// Bounds the memory for the rows of one answer from here on.
    pub(super) fn limit_answers(&mut self, bytes_max: usize) {
        self.answer_bytes_max = bytes_max;
    }

    /// Gives the connection up: an answer under way was not read to its end.
    pub(super) fn give_up(&mut self) {
        self.broken = true;
    }

    /// Sends a request that is complete in itself (it ends with Sync or is a simple query) and waits for the answer.
    #[inline]
    pub(super) async fn exchange(&mut self, request: &[u8]) -> Result<CommandTag, WireError> {
        self.send(request).await;
        self.answer(None).await
    }

    /// Runs one simple query and returns its rows as text.
    pub(super) async fn query(&mut self, sql: &str) -> Result<(Rows, CommandTag), WireError> {
        let mut output = std::mem::take(&mut self.output);
        output.clear();
        let encoded = frontend::query(sql, &mut output).map_err(WireError::Io);
        let mut rows = Rows::new();
        let outcome = match encoded {
            Ok(()) => {
                self.send(&output).await;
                self.answer(Some(&mut rows)).await
            }
            Err(error) => Err(error),
        };
        self.output = output;
        outcome.map(|tag| (rows, tag))
    }

    /// Says good-bye and waits until the server closed its end: by then the backend has handed in its statistics
    /// and is gone from the list of sessions. Errors no longer matter.
    pub(super) async fn say_good_bye(&mut self) {
        if self.broken {
            return;
        }
        self.output.clear();
        frontend::terminate(&mut self.output);
        let farewell = std::mem::take(&mut self.output);
        if self.stream.write_all(&farewell).await.is_err() {
            return;
        }
        // Bounded: a server that goes on talking is left alone after a few buffers.
        for _ in 0..16 {
            if !matches!(self.stream.read(&mut self.input).await, Ok(1..)) {
                return;
            }
        }
    }

    /// Leaves the runtime for a worker's own loop.
    pub(super) fn settle(&mut self, seat: Seat<'_>) -> std::io::Result<()> {
        self.stream.settle(seat)
    }

    /// Says good-bye without waiting. Errors no longer matter.
    pub(super) fn farewell(&mut self) {
        self.output.clear();
        frontend::terminate(&mut self.output);
        if !self.broken && self.stream.write_blocking(&self.output).is_err() {
            self.broken = true;
        }
    }

    /// Waits until the server closed its end, at most `time_max`: by then the backend has handed in its statistics
    /// and is gone from the list of sessions.
    pub(super) fn await_end(mut self, time_max: Duration) {
        if !self.broken {
            self.stream.await_end(time_max);
        }
    }

    /// Sends bytes. An error is kept for the answer: the server may have said why it closed before we wrote.
    #[inline]
    async fn send(&mut self, request: &[u8]) {
        if self.stream.write_all(request).await.is_err() {
            self.broken = true;
        }
    }

    /// Reads messages until the server is ready for the next request.
    async fn answer(&mut self, mut rows: Option<&mut Rows>) -> Result<CommandTag, WireError> {
        let mut tag = CommandTag::default();
        let mut refused: Option<Box<ServerError>> = None;
        let mut intake = Intake::default();
        for _ in 0..ANSWER_MESSAGES_MAX {
            let message = match self.next_message().await {
                Ok(message) => message,
                Err(error) => return Err(self.lost(error, refused)),
            };
            let body = self.input.get(message.body).unwrap_or_default();
            let kept = match message.tag {
                b'Z' => {
                    self.state = match body {
                        b"I" => TransactionState::Idle,
                        b"T" => TransactionState::Open,
                        b"E" => TransactionState::Failed,
                        _ => return Err(self.protocol("transaction state is not I, T or E")),
                    };
                    if let Some(error) = refused {
                        return Err(WireError::Server(error));
                    }
                    match intake.ready() {
                        Err(reason) if rows.is_some() => Err(reason),
                        _ => return Ok(tag),
                    }
                }
                b'E' => {
                    refused = Some(Box::new(answer::server_error(body)));
                    intake.command_ends();
                    continue;
                }
                kind => {
                    if kind == b'C' {
                        tag = CommandTag::from_body(body);
                    }
                    intake.take(kind, body, rows.as_deref_mut(), self.answer_bytes_max)
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
    async fn next_message(&mut self) -> Result<Message, WireError> {
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
            let end = self.pending.end;
            let room = self.input.get_mut(end..).unwrap_or_default();
            match self.stream.read(room).await {
                Ok(0) => return Err(WireError::Closed(None)),
                Ok(read_bytes) => self.pending.end += read_bytes,
                Err(error) => return Err(WireError::Io(error)),
            }
        }
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
    fn lost(&mut self, error: WireError, last_words: Option<Box<ServerError>>) -> WireError {
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

    fn protocol(&mut self, reason: &str) -> WireError {
        self.broken = true;
        WireError::Protocol(reason.to_owned())
    }
}
