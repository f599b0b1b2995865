//! The wire against a server made up for the purpose: what a real one seldom or never says.
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use super::answer::MESSAGE_BYTES_MAX;
use super::blocking::complete;
use super::connection::{Connection, TransactionState};
use super::error::WireError;
use super::stream::Stream;
use super::transport::{Socket, Transport};

/// Has the server answer the first request with `answer` and close; returns what the client made of it.
fn exchange(answer: &[u8]) -> (Result<String, WireError>, Connection) {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let mut connection = Connection::new(Stream::new(Transport::polled(Socket::Unix(ours), None).unwrap()));
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut request = [0; 64];
            assert!(theirs.read(&mut request).unwrap() > 0);
            // The client may go away before it took everything.
            let _ = theirs.write_all(answer);
        });
        let outcome = complete(connection.exchange(b"Q\0\0\0\x05\0"));
        (outcome.map(|tag| String::from_utf8_lossy(tag.as_bytes()).into_owned()), connection)
    })
}

#[test]
fn a_deadline_ends_the_wait_for_a_silent_server_and_for_one_that_only_sends_notices() {
    for bytes in [Vec::new(), message(b'N', b"")] {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let deadline = Instant::now() + Duration::from_millis(50);
        let socket = Transport::polled(Socket::Unix(ours), Some(deadline)).unwrap();
        let mut connection = Connection::new(Stream::new(socket));
        let (end, is_ended) = std::sync::mpsc::channel::<()>();
        let server = std::thread::spawn(move || {
            // Until the client has given up.
            while is_ended.recv_timeout(Duration::from_millis(1)).is_err() {
                let _ = theirs.write_all(&bytes);
            }
        });
        let error = complete(connection.exchange(b"Q\0\0\0\x05\0")).unwrap_err();
        assert!(
            matches!(&error, WireError::Io(error) if error.kind() == std::io::ErrorKind::TimedOut),
            "{error}"
        );
        assert!(Instant::now() >= deadline && connection.is_broken());
        end.send(()).unwrap();
        server.join().unwrap();
    }
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

fn ready(state: &[u8]) -> Vec<u8> {
    message(b'Z', state)
}

#[test]
fn notices_and_changed_parameters_in_an_answer_are_passed_over() {
    let answer = [
        message(b'N', b"SNOTICE\0C00000\0Mhello\0\0"),
        message(b'2', b""),
        message(b'S', b"TimeZone\0UTC\0"),
        message(b'C', b"INSERT 0 1\0"),
        ready(b"T"),
    ]
    .concat();
    let (outcome, connection) = exchange(&answer);
    assert_eq!(outcome.unwrap(), "INSERT 0 1");
    assert_eq!(connection.state(), TransactionState::Open);
    assert!(!connection.is_broken());
}

#[test]
fn an_answer_larger_than_the_buffer_is_read_whole() {
    let row = [&b"\0\x01\0\x01\0\0"[..], &vec![b'x'; 65_536]].concat();
    let answer = [message(b'D', &row), message(b'C', b"SELECT 1\0"), ready(b"I")].concat();
    let (outcome, _) = exchange(&answer);
    assert_eq!(outcome.unwrap(), "SELECT 1");
}

#[test]
fn an_error_is_returned_when_the_server_is_ready_again() {
    let error = message(b'E', b"SERROR\0VERROR\0C40001\0Mcould not serialize access\0\0");
    let (outcome, connection) = exchange(&[error, ready(b"E")].concat());
    let error = outcome.unwrap_err();
    assert_eq!(error.code(), Some("40001"));
    assert_eq!(error.to_string(), "could not serialize access (40001)");
    assert_eq!(connection.state(), TransactionState::Failed);
    assert!(!connection.is_broken());
}

#[test]
fn the_last_words_of_a_server_that_closes_are_kept() {
    let error = message(b'E', b"SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0");
    let (outcome, connection) = exchange(&error);
    assert_eq!(
        outcome.unwrap_err().to_string(),
        "server closed the connection: terminating connection (57P01)"
    );
    assert!(connection.is_broken());
}

#[test]
fn a_server_that_does_not_keep_to_the_protocol_breaks_the_connection_without_a_panic() {
    let too_long = [&b"D"[..], &(MESSAGE_BYTES_MAX as u32).to_be_bytes()].concat();
    let answers: [&[u8]; 7] =
        [b"", b"Z", b"Z\0\0\0\x05", b"Z\0\0\0\0I", b"Z\0\0\0\x05?", b"G\0\0\0\x07\0\0\0", &too_long];
    for answer in answers {
        let (outcome, connection) = exchange(answer);
        assert!(outcome.is_err(), "{answer:?}");
        assert!(connection.is_broken(), "{answer:?}");
    }
}

#[test]
fn bytes_at_random_never_make_it_panic() {
    let mut random = stats::random::Random::new(1);
    for _ in 0..300 {
        let length = random.below(200) as usize;
        let mut answer: Vec<u8> = (0..length).map(|_| random.next_u64() as u8).collect();
        // Small lengths, so that the bodies are reached.
        for start in (0..length.saturating_sub(8)).step_by(8) {
            answer[start] = *b"ZCEDS123TNA".get(random.below(11) as usize).unwrap();
            answer[start + 1..start + 4].fill(0);
            answer[start + 4] = 7;
        }
        let _ = exchange(&answer);
    }
}
