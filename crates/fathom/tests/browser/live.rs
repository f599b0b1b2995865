//! `fathom serve`: answers to plain requests, refusals, and a page that renews itself while runs are stored.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use results::model::RunKey;
use results::store::{Store, StudyId};
use serde_json::json;

use crate::browser::Browser;
use crate::documents::checked;
use crate::stored::{add_block, begun, study};

pub(crate) const TOKEN: &str = "a-token-for-the-tests";

pub(crate) struct Server {
    child: Child,
    /// `127.0.0.1:port`.
    pub(crate) address: String,
}

impl Server {
    pub(crate) fn start(directory: &Path, words: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_fathom"))
            .args(["serve", "--results"])
            .arg(directory)
            .args(words)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().trim_start_matches("http://").split('/').next().unwrap().to_owned();
        Self { child, address: address.replace("0.0.0.0", "127.0.0.1") }
    }

    /// The first line on standard error.
    pub(crate) fn said_first(&mut self) -> String {
        let mut line = String::new();
        BufReader::new(self.child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
        line
    }

    /// Status and whole text of the answer to a request.
    pub(crate) fn ask(&self, request: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(request.replace("HOST", &self.address).as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        (status, answer)
    }

    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: HOST\r\n\r\n"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_server_reads_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    study(directory.path(), 1);
    checked(directory.path());
    let server = Server::start(directory.path(), &["--listen", "127.0.0.1:0"]);
    let (status, list) = server.get("/");
    assert_eq!(status, 200);
    assert!(!list.contains("<img"));
    for place in ["/study/1", "/check/1", "/structure/1", "/io/1"] {
        assert!(list.contains(&format!("href=\"{place}\"")), "{place}");
        assert_eq!(server.get(place).0, 200, "{place}");
    }
    let (status, page) = server.get("/study/1");
    assert_eq!(status, 200);
    assert!(page.contains("connect-src 'self'") && page.contains("X-Frame-Options: DENY"));
    let (_, state) = server.get("/study/1/state");
    assert!(state.contains("\"planned\":6") && state.contains("\"ended\":6"), "{state}");
    for path in [
        "/study/2",
        "/check/2",
        "/check/x",
        "/structure/2",
        "/io/2",
        "/io/x",
        "/compare/1/2",
        "/compare/1",
        "/history/2",
        "/history/made-up",
        "/study/x",
        "/results.db",
        "/../results.db",
        "/study/1/../../etc/passwd",
        "/%2e%2e/lock",
    ] {
        assert_eq!(server.get(path).0, 404, "{path}");
    }
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"] {
        assert_eq!(
            server.ask(&format!("{method} /study/1 HTTP/1.1\r\nHost: HOST\r\n\r\n")).0,
            405,
            "{method}"
        );
    }
    assert_eq!(server.ask("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n").0, 421);
    assert_eq!(server.ask("nonsense\r\n\r\n").0, 400);
    let (status, head) = server.ask("HEAD / HTTP/1.1\r\nHost: HOST\r\n\r\n");
    assert!(status == 200 && head.ends_with("\r\n\r\n"), "{head}");
}

#[test]
fn an_address_that_others_reach_needs_a_token() {
    let directory = tempfile::tempdir().unwrap();
    study(directory.path(), 1);
    let refused = |words: &[&str]| {
        let done = Command::new(env!("CARGO_BIN_EXE_fathom"))
            .args(["serve", "--results"])
            .arg(directory.path())
            .args(words)
            .output()
            .unwrap();
        assert_eq!(done.status.code(), Some(2), "{words:?}");
        String::from_utf8(done.stderr).unwrap()
    };
    assert!(refused(&["--listen", "0.0.0.0:0"]).contains("has no token"));
    assert!(refused(&["--listen", "0.0.0.0:0", "--token", "short"]).contains("fewer than 16"));
    assert!(refused(&["--listen", "here"]).contains("not an address with a port"));
    let server = Server::start(directory.path(), &["--listen", "0.0.0.0:0", "--token", TOKEN]);
    assert_eq!(server.get("/").0, 401);
    assert_eq!(server.get("/?token=another-token-of-16").0, 401);
    let (status, answer) = server.get(&format!("/study/1?token={TOKEN}"));
    assert_eq!(status, 303);
    assert!(answer.contains("Location: /study/1\r\n"), "{answer}");
    let with_cookie = format!("GET /study/1 HTTP/1.1\r\nHost: HOST\r\nCookie: fathom_token={TOKEN}\r\n\r\n");
    assert_eq!(server.ask(&with_cookie).0, 200);
}

#[test]
fn a_study_whose_process_is_gone_is_interrupted_and_says_how_it_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    begun(directory.path(), 2, 1, 0);
    let mut store = Store::open_or_create(directory.path()).unwrap();
    let key = RunKey { block_index: 1, cell_index: 0, attempt: 0 };
    store.begin_run(StudyId(1), key, 6, "2026-11-20T10:00:09Z").unwrap();
    let server = Server::start(directory.path(), &["--listen", "127.0.0.1:0"]);
    let state = || {
        let (_, answer) = server.get("/study/1/state");
        let body = answer.split("\r\n\r\n").nth(1).unwrap();
        serde_json::from_str::<serde_json::Value>(body).unwrap()
    };
    assert_eq!((&state()["running"], &state()["interrupted_at"]), (&json!(true), &json!(null)));
    // The lock goes with the process that held it; the row of the run stays.
    drop(store);
    let cut_off = state();
    assert_eq!((&cut_off["running"], &cut_off["interrupted_at"]), (&json!(false), &json!(7)));
    assert_eq!(cut_off["resume"], json!("fathom run made-up --mini --target postgres --seed 7"));
    assert!(server.get("/study/1").1.contains("1 interrupted"));
    let Some(mut browser) = Browser::start() else { return };
    browser.open_address(&format!("http://{}/study/1", server.address));
    let told = browser.value(TOLD);
    let words = "Interrupted at run 7 of 12: its process has ended. Resume with the same options and its seed: fathom run made-up --mini --target postgres --seed 7";
    assert!(told.as_str().unwrap().starts_with(words), "{told}");
}

/// What the page says of the study once it has asked.
const TOLD: &str = "new Promise(done => { const look = () => document.querySelector('#live').hidden
    ? setTimeout(look, 20) : done(document.querySelector('#live').textContent); look(); })";

#[test]
fn an_open_page_shows_a_run_as_soon_as_it_is_stored() {
    let Some(mut browser) = Browser::start() else { return };
    let directory = tempfile::tempdir().unwrap();
    study(directory.path(), 2);
    let server = Server::start(directory.path(), &["--listen", "127.0.0.1:0"]);
    browser.open_address(&format!("http://{}/study/1", server.address));
    let dots = "document.querySelector('#factors svg.chart').querySelectorAll('path.dot').length";
    assert_eq!(browser.value(dots), json!(11));
    // The page has asked once before there is news.
    assert!(browser.value(TOLD).as_str().unwrap().contains("11 of 12 runs count"));
    add_block(&mut Store::open_or_create(directory.path()).unwrap(), StudyId(1), 2, 3);
    let renewed = format!(
        "new Promise(done => {{ const look = () => {dots} > 11 ? done({dots}) : setTimeout(look, 20); look(); }})"
    );
    // The block of six has the one invalid run of the study's first cell.
    assert_eq!(browser.value(&renewed), json!(16));
}
