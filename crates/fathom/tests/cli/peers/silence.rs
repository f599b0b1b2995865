//! Servers that say nothing, beside others that do, and a user who does not want to wait.

use std::io::{BufRead, BufReader, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::server::{answer, be_silent, hear, let_in, start, url};
use crate::bench::{Bench, signal, text, wait_for};

/// A server that lets in and never answers; counts questions.
fn silent(asked: &Arc<AtomicUsize>) -> String {
    let asked = Arc::clone(asked);
    url(start(move |stream| {
        let_in(stream)?;
        hear(stream)?;
        asked.fetch_add(1, Ordering::SeqCst);
        be_silent(stream)
    }))
}

fn wait_until_asked(asked: &AtomicUsize, count: usize) {
    wait_for("the question", || (asked.load(Ordering::SeqCst) >= count).then_some(()));
}

#[test]
fn inventory_asks_servers_at_the_same_time_and_goes_on_when_some_fail() {
    let visited = Arc::new(AtomicUsize::new(0));
    let visits = || Arc::clone(&visited);
    let silent: Vec<String> = (0..5)
        .map(|_| {
            let visited = visits();
            url(start(move |stream| {
                visited.fetch_add(1, Ordering::SeqCst);
                be_silent(stream)
            }))
        })
        .collect();
    let others = visits();
    let good = url(start(move |stream| {
        // Answers only once all others were visited: asked one after the other it would be late.
        wait_until_asked(&others, 5);
        let_in(stream)?;
        loop {
            hear(stream)?;
            stream.write_all(&answer("PostgreSQL 17.0 made up"))?;
        }
    }));
    let words = [vec!["inventory", good.as_str()], silent.iter().map(String::as_str).collect()].concat();
    let (out, _) = Bench::new().expect(2, &words);
    assert_eq!(out.matches("connect_timeout").count(), 5, "{out}");
    assert!(out.contains("made up"), "{out}");
    let place = |url: &str| out.find(url.split(['@', '?']).nth(1).unwrap()).unwrap();
    assert!(
        silent.windows(2).all(|pair| place(&good) < place(&pair[0]) && place(&pair[0]) < place(&pair[1]))
    );
}

#[test]
fn the_limit_of_connecting_is_that_of_the_environment_where_the_url_has_none() {
    let url = format!("postgres://user@127.0.0.1:{}/x", start(be_silent));
    for (limit, phrase) in [("1", "after 1 s"), ("soon", "PGCONNECT_TIMEOUT=\"soon\"")] {
        let bench = Bench::new();
        let output = bench.command(&["inventory", &url]).env("PGCONNECT_TIMEOUT", limit).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stdout).contains(phrase), "{}", text(&output.stdout));
    }
}

#[test]
fn the_first_signal_ends_a_command_that_waits_for_a_server() {
    for name in ["TERM", "INT", "HUP"] {
        for command in ["inventory", "waits"] {
            let asked = Arc::new(AtomicUsize::new(0));
            let server = silent(&asked);
            let child = Bench::new().start(&[command, &server]);
            wait_until_asked(&asked, 1);
            signal(&child, name);
            let output = child.wait_with_output().unwrap();
            // Not by the limit of the question, which would be named.
            assert!(!output.status.success(), "{command} {name}");
            assert!(!text(&output.stderr).contains("30 s"), "{command} {name}");
        }
    }
}

#[test]
fn a_run_that_waits_for_a_server_says_so_after_the_first_signal() {
    for name in ["TERM", "INT", "HUP"] {
        let asked = Arc::new(AtomicUsize::new(0));
        let server = silent(&asked);
        let bench = Bench::new();
        let mut child = bench.start(&["run", "a-a", "--mini", "--ceilings", "never", "--target", &server]);
        wait_until_asked(&asked, 1);
        signal(&child, name);
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let said =
            lines.find(|line| line.as_ref().is_ok_and(|line| line.contains("waiting for the current run")));
        assert!(said.is_some(), "{name}");
        signal(&child, "TERM");
        assert_eq!(child.wait().unwrap().code(), Some(2), "{name}");
    }
}

#[test]
fn a_hangup_that_nohup_ignores_stays_ignored() {
    let asked = Arc::new(AtomicUsize::new(0));
    let server = silent(&asked);
    let bench = Bench::new();
    let program = env!("CARGO_BIN_EXE_fathom");
    let line = format!("trap '' HUP; exec {program} waits --once '{server}'");
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &line]).current_dir(bench.path()).stderr(std::process::Stdio::piped());
    let child = command.spawn().unwrap();
    wait_until_asked(&asked, 1);
    signal(&child, "HUP");
    signal(&child, "HUP");
    let output = child.wait_with_output().unwrap();
    assert!(text(&output.stderr).contains("after 30 s"), "{}", text(&output.stderr));
}
