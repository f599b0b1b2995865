//! A server of a few lines that speaks as much of the PostgreSQL protocol as a test wants, and then something else.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// What is sent to whoever connects; an error ends the connection.
pub(super) type Speech = fn(&mut TcpStream) -> std::io::Result<()>;

/// Listens on a port of its own for as long as the test runs, each visitor in a thread; returns the port.
pub(super) fn start(speech: impl Fn(&mut TcpStream) -> std::io::Result<()> + Send + Sync + 'static) -> u16 {
    let speech = Arc::new(speech);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let speech = Arc::clone(&speech);
            std::thread::spawn(move || {
                let mut stream = stream;
                // The visitor may go away at any moment.
                let _ = speech(&mut stream);
            });
        }
    });
    port
}

pub(super) fn url(port: u16) -> String {
    format!("postgres://user@127.0.0.1:{port}/postgres?connect_timeout=20")
}

pub(super) fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

/// A row description of so many text columns.
pub(super) fn description(columns: u16) -> Vec<u8> {
    let mut body = columns.to_be_bytes().to_vec();
    for _ in 0..columns {
        body.extend_from_slice(b"c\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0");
    }
    message(b'T', &body)
}

/// A row of one text.
pub(super) fn row(text: &[u8]) -> Vec<u8> {
    let mut body = b"\0\x01".to_vec();
    body.extend_from_slice(&(text.len() as u32).to_be_bytes());
    body.extend_from_slice(text);
    message(b'D', &body)
}

pub(super) fn error(text: &str) -> Vec<u8> {
    message(b'E', format!("SERROR\0VERROR\0C58000\0M{text}\0\0").as_bytes())
}

pub(super) fn ready() -> Vec<u8> {
    message(b'Z', b"I")
}

/// A whole answer of one text.
pub(super) fn answer(text: &str) -> Vec<u8> {
    [description(1), row(text.as_bytes()), message(b'C', b"SELECT 1\0"), ready()].concat()
}

/// Reads the question for TLS, or a start-up message where none is asked for.
pub(super) fn hear_ssl_request(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut rest = vec![0; (u32::from_be_bytes(length) as usize).saturating_sub(4).min(10_000)];
    stream.read_exact(&mut rest)
}

/// Says that TLS may begin.
pub(super) fn agree_to_tls(stream: &mut TcpStream) -> std::io::Result<()> {
    hear_ssl_request(stream)?;
    stream.write_all(b"S")
}

/// Reads the start-up message; TLS is refused before it.
pub(super) fn hear_startup(stream: &mut TcpStream) -> std::io::Result<()> {
    loop {
        let mut length = [0; 4];
        stream.read_exact(&mut length)?;
        let mut rest = vec![0; (u32::from_be_bytes(length) as usize).saturating_sub(4).min(10_000)];
        stream.read_exact(&mut rest)?;
        // EVIDENCE: PostgreSQL documentation, "Message Formats", SSLRequest
        if rest != 80_877_103_u32.to_be_bytes() {
            return Ok(());
        }
        stream.write_all(b"N")?;
    }
}

/// Lets the visitor in.
pub(super) fn let_in(stream: &mut TcpStream) -> std::io::Result<()> {
    hear_startup(stream)?;
    let parts = [
        message(b'R', &[0; 4]),
        message(b'S', b"server_version\x0017.0\0"),
        message(b'K', &[0, 0, 0, 9, 1, 2, 3, 4]),
        ready(),
    ];
    stream.write_all(&parts.concat())
}

/// Reads one message of the visitor; returns its text.
pub(super) fn hear(stream: &mut TcpStream) -> std::io::Result<String> {
    let mut header = [0; 5];
    stream.read_exact(&mut header)?;
    let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
    let mut body = vec![0; length.saturating_sub(4).min(1 << 20)];
    stream.read_exact(&mut body)?;
    Ok(String::from_utf8_lossy(&body).trim_end_matches('\0').to_owned())
}

/// Sends the same for ever.
pub(super) fn without_end(stream: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    let many = bytes.repeat((1 << 16) / bytes.len().max(1) + 1);
    loop {
        stream.write_all(&many)?;
    }
}

/// Says nothing until the visitor goes away.
pub(super) fn be_silent(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.read_to_end(&mut Vec::new()).map(drop)
}

/// One byte a second: far too slow, and never silent for long.
pub(super) fn trickle(stream: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    for byte in bytes {
        stream.write_all(&[*byte])?;
        std::thread::sleep(Duration::from_secs(1));
    }
    Ok(())
}
