//! TLS against a server made up for the purpose: what a real one seldom or never does.
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection};

use super::super::{Authorities, Connection, Endpoint, Login, Security, SslMode, WireError, complete};

/// No test waits longer.
const TIME_MAX: Duration = Duration::from_secs(60);

/// The request for TLS.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

fn login(mode: SslMode, port: u16) -> Login {
    Login {
        endpoint: Endpoint::Tcp { host: "127.0.0.1".to_owned(), port },
        user: "user".to_owned(),
        password: None,
        database: "postgres".to_owned(),
        application_name: "fathom".to_owned(),
        options: None,
        security: Security::new(mode, &Authorities::Nobody, "127.0.0.1").unwrap(),
        connect_time_max: Some(TIME_MAX),
    }
}

/// Opens a connection to a server that serves each of its visitors in turn, and uses it.
fn visit<T>(
    mode: SslMode,
    servers: Vec<Box<dyn FnOnce(TcpStream) + Send>>,
    client: impl AsyncFnOnce(Result<Connection, WireError>) -> T,
) -> T {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        for serve in servers {
            let (mut visitor, _) = listener.accept().unwrap();
            let mut request = [0; 8];
            visitor.read_exact(&mut request).unwrap();
            // Without TLS it is the start of a startup message.
            assert!(mode != SslMode::Require || request == SSL_REQUEST);
            serve(visitor);
        }
    });
    let mut connection = Connection::open(&login(mode, port));
    if let Ok(connection) = &mut connection {
        connection.set_deadline(Some(Instant::now() + TIME_MAX));
    }
    let outcome = complete(client(connection));
    server.join().unwrap();
    outcome
}

fn refusal(mode: SslMode, servers: Vec<Box<dyn FnOnce(TcpStream) + Send>>) -> String {
    visit(mode, servers, async |outcome| outcome.map(drop).unwrap_err().to_string())
}

/// Answers and goes away.
fn saying(answer: &'static [u8]) -> Box<dyn FnOnce(TcpStream) + Send> {
    Box::new(move |mut visitor| {
        let _ = visitor.write_all(answer);
        let _ = visitor.shutdown(std::net::Shutdown::Write);
        // Until the visitor went away: closing before would throw away what was said.
        let _ = visitor.read_to_end(&mut Vec::new());
    })
}

fn server_session() -> ServerConnection {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(Vec::new()).unwrap().self_signed(&key).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    ServerConnection::new(Arc::new(config)).unwrap()
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

#[test]
fn what_was_received_is_read_although_the_socket_stays_silent() {
    // Longer than the buffers on the way, and several answers at once: some wait decrypted, some received.
    let row = message(b'D', &[&b"\0\x01\0\x01\0\0"[..], &[b'x'; 65_536]].concat());
    let ready = message(b'Z', b"I");
    let start = [message(b'R', &[0; 4]), ready.clone()].concat();
    let first = [row, message(b'C', b"SELECT 1\0"), ready.clone()].concat();
    let second = [message(b'C', b"SELECT 2\0"), ready].concat();
    let serve = Box::new(move |mut visitor: TcpStream| {
        visitor.write_all(b"S").unwrap();
        let mut session = server_session();
        let mut stream = rustls::Stream::new(&mut session, &mut visitor);
        let mut request = [0; 1000];
        assert!(stream.read(&mut request).unwrap() > 0);
        stream.write_all(&start).unwrap();
        assert!(stream.read(&mut request).unwrap() > 0);
        stream.write_all(&[&first[..], &second].concat()).unwrap();
        // The client asks once more and hears nothing new.
        let _ = stream.read(&mut request);
        let _ = visitor.read_to_end(&mut Vec::new());
    });
    visit(SslMode::Require, vec![serve], async |connection| {
        let mut connection = connection.unwrap();
        assert!(connection.encryption().unwrap().starts_with("TLSv1_3"));
        for expected in [&b"SELECT 1"[..], b"SELECT 2"] {
            assert!(connection.exchange(b"Q\0\0\0\x05\0").await.unwrap().is(expected));
        }
    });
}

#[test]
fn whatever_is_said_to_the_wish_for_tls_ends_in_words() {
    let cases: [(&[u8], &str); 7] = [
        (b"", "server closed the connection"),
        (b"N", "the server has no TLS"),
        (b"E", "with an error"),
        (b"HTTP/1.1 400 Bad Request", "byte 0x48 (\"H\"), PostgreSQL answers S or N"),
        (b"S", "closed the connection during the TLS handshake"),
        (b"Splain text of a server that only says that it has TLS", "then sent plain text"),
        // Smuggled in behind the answer, before anything is encrypted.
        (b"SR\0\0\0\x08\0\0\0\0Z\0\0\0\x05I", "TLS"),
    ];
    for (answer, expected) in cases {
        let text = refusal(SslMode::Require, vec![saying(answer)]);
        assert!(text.contains(expected), "{answer:?}: {text}");
    }
}

#[test]
fn who_only_prefers_tls_goes_on_without_when_the_handshake_breaks() {
    let connected = visit(
        SslMode::Prefer,
        vec![saying(b"S\0\0\0\0\0\0"), saying(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I")],
        async |connection| connection.unwrap().encryption(),
    );
    assert_eq!(connected, None);
}

#[test]
fn bytes_at_random_in_the_handshake_never_make_it_panic() {
    let mut random = stats::random::Random::new(1);
    for _ in 0..50 {
        // Handshake records of every kind of content.
        let mut answer = vec![b'S', 22, 3, 3, 0, 100, random.below(25) as u8, 0, 0, 96];
        answer.extend((0..96).map(|_| random.next_u64() as u8));
        let answer: &'static [u8] = answer.leak();
        assert!(!refusal(SslMode::Require, vec![saying(answer)]).is_empty());
    }
}
