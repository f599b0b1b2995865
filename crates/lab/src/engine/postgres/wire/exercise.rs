//! One function that reads any bytes as a server's answers, for fuzzing.

use std::io::Write as _;

use super::Connection;
use super::stream::{Stream, Transport};

/// The most bytes that are sent: what a socket takes without a reader.
const ANSWER_BYTES_MAX: usize = 64 << 10;
/// Queries on one connection.
const QUERIES_MAX: usize = 4;

/// Has a made-up server answer some queries with these bytes. Nothing may panic, hang or grow; what comes back does not
/// matter.
///
/// The body of the fuzz target. Does nothing where there is no socket.
pub fn exercise_answers(bytes: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let (Ok(runtime), Ok((ours, mut theirs))) = (runtime, std::os::unix::net::UnixStream::pair()) else {
        return;
    };
    let bytes = bytes.get(..ANSWER_BYTES_MAX).unwrap_or(bytes);
    let is_sent = theirs.write_all(bytes).and_then(|()| theirs.shutdown(std::net::Shutdown::Write)).is_ok();
    let is_ready = ours.set_nonblocking(true).is_ok();
    if !is_sent || !is_ready {
        return;
    }
    runtime.block_on(async {
        let Ok(ours) = tokio::net::UnixStream::from_std(ours) else { return };
        let mut connection = Connection::new(Stream::new(Transport::Unix(ours)));
        for _ in 0..QUERIES_MAX {
            let _answer = connection.query("select 1").await;
            if connection.is_broken() {
                break;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

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
