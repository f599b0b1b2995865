//! Somebody who went away is told.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use crate::bench::{Bench, wait_for};

const TELL: &str = r#"printf '%s|%s\n' "$FATHOM_EVENT" "$FATHOM_MESSAGE" >> told"#;

fn told(bench: &Bench) -> String {
    std::fs::read_to_string(bench.path().join("told")).unwrap_or_default()
}

#[test]
fn a_command_is_run_when_the_study_finishes_and_when_it_fails() {
    let bench = Bench::new();
    bench.expect(0, &["run", "quick.toml", "--notify-command", TELL]);
    assert!(told(&bench).starts_with("finished|study 1"), "{}", told(&bench));
    bench.expect(2, &["run", "multi-file", "--mini", "--notify-command", TELL]);
    assert!(told(&bench).contains("failed|"), "{}", told(&bench));
}

#[test]
fn a_standstill_is_told_and_the_run_goes_on_when_it_is_over() {
    let bench = Bench::new();
    let words = [
        "run",
        "quick.toml",
        // Paced, so that the run lasts until it is found and the lock is free between two transactions.
        "--set",
        "rate=100",
        "--set",
        "rows_total=800",
        "--repetitions",
        "1",
        "--set",
        "batch_size=1",
        "--notify-command",
        TELL,
        "--no-progress-after",
        "300ms",
    ];
    let child = bench.start(&words);
    let work = bench.results().join("work");
    // Nobody touches the database before the measured part: a lock in its preparation would fail the run. The log of
    // the preparation has a few pages, that of a second of rows a hundred.
    const LOG_UNDER_WAY_BYTES: u64 = 1 << 20;
    let database = wait_for("a run under way", || {
        let made = std::fs::read_dir(&work).ok()?.next()?.ok()?;
        let log = std::fs::metadata(made.path().join("run.db-wal")).ok()?;
        (log.len() > LOG_UNDER_WAY_BYTES).then(|| made.path().join("run.db"))
    });
    let lock = rusqlite::Connection::open_with_flags(&database, rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE)
        .unwrap();
    lock.busy_timeout(std::time::Duration::from_secs(60)).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    wait_for("the notification", || told(&bench).contains("no_progress|").then_some(()));
    drop(lock);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(told(&bench).contains("finished|"));
}

#[test]
fn a_webhook_gets_json_and_a_dead_one_does_not_fail_the_study() {
    let bench = Bench::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook?token=secret-word", listener.local_addr().unwrap());
    let child = bench.start(&["run", "quick.toml", "--notify-webhook", &url]);
    let (mut stream, _) = listener.accept().unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut length = 0;
    let mut line = String::new();
    while reader.read_line(&mut line).unwrap() > 2 {
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
    let message: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(message["event"], "finished");
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
    drop(listener);
    let (out, err) = bench.expect(0, &["run", "quick.toml", "--again", "--notify-webhook", &url]);
    assert!(err.contains("could not notify by webhook"), "{err}");
    assert!(!(out + &err).contains("secret-word"), "a token in a URL is not printed");
}
