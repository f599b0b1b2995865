//! Functions that read any bytes as what a server says, for fuzzing: its answers, and the start-up with authentication.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::blocking::complete;
use super::connection::Connection;
use super::endpoint::Endpoint;
use super::login::{Login, Secret};
use super::security::Security;
use super::stream::Stream;
use super::transport::{Socket, Transport};

/// The most bytes that are sent: what a socket takes without a reader.
const ANSWER_BYTES_MAX: usize = 64 << 10;
/// Queries on one connection.
const QUERIES_MAX: usize = 4;

/// Has a made-up server answer some queries with these bytes. Nothing may panic, hang or grow; what comes back does not
/// matter.
///
/// The body of the fuzz target. Does nothing where there is no socket.
pub fn exercise_answers(bytes: &[u8]) {
    let Ok((ours, mut theirs)) = UnixStream::pair() else { return };
    let bytes = bytes.get(..ANSWER_BYTES_MAX).unwrap_or(bytes);
    if theirs.write_all(bytes).and_then(|()| theirs.shutdown(std::net::Shutdown::Write)).is_err() {
        return;
    }
    let Some(mut connection) = made_up_connection(ours) else { return };
    for _ in 0..QUERIES_MAX {
        let _answer = complete(connection.query("select 1"));
        if connection.is_broken() {
            break;
        }
    }
}

/// A connection to a made-up server, as after its start-up.
pub(in super::super) fn made_up_connection(ours: UnixStream) -> Option<Connection> {
    Some(Connection::new(Stream::new(Transport::polled(Socket::Unix(ours), None).ok()?)))
}

/// Stands for the nonce of the client in what the made-up server sends; as long as the nonce.
const NONCE_MARK: &[u8] = b"************************";
/// The longest number of SCRAM iterations that is tried, in digits: more are refused or take time, and a fuzzer learns
/// nothing from them.
const ITERATION_DIGITS_MAX: usize = 4;
/// What the client sends at most before the made-up server goes on.
const REQUEST_BYTES_MAX: usize = 4096;

/// Has a made-up server answer a start-up with these bytes: authentication, parameters, errors. The first byte says whether
/// the client has a password. The first mark of 24 asterisks is replaced by the nonce that the client sent, without which no
/// SCRAM exchange gets further. Nothing may panic, hang or grow; what comes back does not matter.
///
/// The body of the fuzz target. Does nothing where there is no socket.
pub fn exercise_startup(bytes: &[u8]) {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let bytes = bytes.get(..ANSWER_BYTES_MAX).unwrap_or(bytes);
    let digits = |rest: &[u8]| rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let fields = bytes.windows(2).zip(2..).filter(|(name, _)| *name == b"i=");
    if fields.filter_map(|(_, at)| bytes.get(at..)).any(|rest| digits(rest) > ITERATION_DIGITS_MAX) {
        return;
    }
    let login = Login {
        endpoint: Endpoint::Tcp { host: "localhost".to_owned(), port: 5432 },
        user: "user".to_owned(),
        password: (choice & 1 == 0).then(|| Secret::new("password".to_owned())),
        database: "postgres".to_owned(),
        application_name: "fathom".to_owned(),
        options: None,
        security: Security::none(),
        connect_time_max: None,
    };
    let Ok((ours, theirs)) = UnixStream::pair() else { return };
    let Ok(ours) = Transport::polled(Socket::Unix(ours), None) else { return };
    std::thread::scope(|scope| {
        scope.spawn(|| serve(theirs, bytes));
        let mut connection = Connection::new(Stream::new(ours));
        let outcome = complete(connection.authenticate(&login, &mut false));
        let _text = outcome.map_err(|error| error.to_string());
        // The server may still be writing.
        drop(connection);
    });
}

/// Sends the bytes, with the nonce of the client in the place of the mark.
fn serve(mut socket: UnixStream, bytes: &[u8]) {
    let mark = bytes.windows(NONCE_MARK.len()).position(|window| window == NONCE_MARK);
    let (before, after) = bytes.split_at(mark.unwrap_or(bytes.len()));
    if socket.write_all(before).is_err() {
        return;
    }
    if mark.is_some() {
        let mut request = vec![0; REQUEST_BYTES_MAX];
        // Where the bytes before the mark asked for nothing, the client waits for more of them.
        let _unbounded = socket.set_read_timeout(Some(Duration::from_millis(1)));
        let length = socket.read(&mut request).unwrap_or(0);
        let request = request.get(..length).unwrap_or_default();
        let start = request.windows(2).position(|window| window == b"r=").map_or(length, |at| at + 2);
        let nonce =
            request.get(start..).and_then(|nonce| nonce.get(..NONCE_MARK.len())).unwrap_or(NONCE_MARK);
        if socket.write_all(nonce).is_err() {
            return;
        }
        let rest = after.get(NONCE_MARK.len()..).unwrap_or_default();
        let _gone = socket.write_all(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scram_exchange_gets_to_the_proof_of_the_server_and_is_refused_there() {
        let message = |kind: u8, text: &[u8]| {
            [&b"R"[..], &(text.len() as u32 + 8).to_be_bytes()[..], &[0, 0, 0, kind], text].concat()
        };
        let exchange = [
            &[0][..],
            &message(10, b"SCRAM-SHA-256\0\0"),
            &message(11, b"r=************************more,s=c2FsdA==,i=4096"),
            &message(12, b"v=cHJvb2Y="),
            &message(0, b""),
        ];
        for length in 0..exchange.concat().len() {
            exercise_startup(&exchange.concat()[..length]);
        }
        exercise_startup(&exchange.concat());
    }

    #[test]
    fn bytes_of_every_kind_of_message_make_nothing_panic() {
        for tag in 0..=u8::MAX {
            for length in [0u32, 3, 4, 5, 9, 0x7fff_ffff, u32::MAX] {
                let message = [&[tag][..], &length.to_be_bytes(), b"\0\x01\xff\xff\xff\xff\0\0"].concat();
                exercise_answers(&message);
                exercise_answers(&[&message[..], b"Z\0\0\0\x05I"].concat());
            }
        }
    }
}
