//! `fathom serve` and clients that are slow, many, or send too much.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::live::{Server, TOKEN};
use crate::stored::study;

fn server(words: &[&str]) -> (tempfile::TempDir, Server) {
    let directory = tempfile::tempdir().unwrap();
    study(directory.path(), 1);
    let server = Server::start(directory.path(), words);
    (directory, server)
}

/// What comes until the server closes; nothing after a reset.
fn heard(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn silent_and_slow_clients_keep_nobody_else_waiting_and_are_let_go() {
    let (_directory, server) = server(&["--listen", "127.0.0.1:0", "--token", TOKEN]);
    let connect = || TcpStream::connect(&server.address).unwrap();
    let mut silent: Vec<TcpStream> = (0..100).map(|_| connect()).collect();
    let mut slow: Vec<TcpStream> = (0..100).map(|_| connect()).collect();
    for stream in &mut slow {
        stream.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
    }
    assert_eq!(server.get("/").0, 401);
    assert_eq!(server.get(&format!("/?token={TOKEN}")).0, 303);
    for stream in silent.iter_mut().chain(&mut slow) {
        let answer = heard(stream);
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    }
}

#[test]
fn a_server_that_is_full_says_so() {
    let (_directory, server) = server(&["--listen", "127.0.0.1:0"]);
    // More than it has places for; they are taken in the order in which they come.
    let others: Vec<TcpStream> = (0..520).map(|_| TcpStream::connect(&server.address).unwrap()).collect();
    // Also to a client that has sent its request already.
    let mut late = TcpStream::connect(&server.address).unwrap();
    late.write_all(format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", server.address).as_bytes()).unwrap();
    let answer = heard(&mut late);
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("Retry-After"), "{answer}");
    drop(others);
    let began = std::time::Instant::now();
    while server.get("/").0 != 200 {
        assert!(began.elapsed().as_secs() < 600, "no place became free");
    }
}

#[test]
fn oversized_heads_bodies_and_further_requests_get_one_answer_each() {
    let (_directory, server) = server(&["--listen", "127.0.0.1:0"]);
    let long = "x".repeat(20_000);
    for (request, status) in [
        (format!("GET /{long} HTTP/1.1\r\nHost: HOST\r\n\r\n"), 431),
        (format!("GET / HTTP/1.1\r\nHost: HOST\r\nX: {long}\r\n\r\n"), 431),
        (format!("GET / HTTP/1.1\r\nHost: HOST\r\n{}\r\n", "X: y\r\n".repeat(100)), 431),
        (format!("GET / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 30000\r\n\r\n{long}"), 200),
        ("GET / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 99999999999\r\n\r\nslow".to_owned(), 200),
        ("GET / HTTP/1.1\r\nHost: HOST\r\n\r\nGET /study/1 HTTP/1.1\r\nHost: HOST\r\n\r\n".to_owned(), 200),
        (format!("POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 20000\r\n\r\n{long}"), 405),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n".to_owned(), 421),
    ] {
        let (found, answer) = server.ask(&request);
        assert_eq!(found, status, "{}", &request[..request.len().min(80)]);
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1);
    }
}

#[test]
fn tokens_of_any_characters_open_the_pages() {
    let token = "a&b%c=d;e f\"g+h#i";
    let (_directory, server) = server(&["--listen", "127.0.0.1:0", "--token", token]);
    let encoded = "a%26b%25c%3Dd%3Be%20f%22g%2Bh%23i";
    let (status, answer) = server.get(&format!("/study/1?token={encoded}"));
    assert_eq!(status, 303, "{answer}");
    let cookie = answer.lines().find_map(|line| line.strip_prefix("Set-Cookie: ")).unwrap();
    let cookie = cookie.split(';').next().unwrap();
    let with =
        |header: &str| server.ask(&format!("GET /study/1 HTTP/1.1\r\nHost: HOST\r\n{header}\r\n\r\n")).0;
    assert_eq!(with(&format!("Cookie: {cookie}")), 200);
    assert_eq!(with(&format!("Authorization: Bearer {token}")), 200);
    assert_eq!(with("Cookie: fathom_token=a"), 401);
}

#[test]
fn clear_text_on_an_address_that_others_reach_is_warned_of() {
    let (_directory, mut server) = server(&["--listen", "0.0.0.0:0", "--token", TOKEN]);
    assert!(server.said_first().contains("not encrypted"));
    let (_directory, mut server) = self::server(&["--listen", "127.0.0.1:0", "--token", TOKEN]);
    assert!(server.said_first().contains("read-only"));
}
