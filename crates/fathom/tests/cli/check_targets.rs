//! `fathom check` of whatever a path may be, and in whatever state a SQLite database may stand.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use rusqlite::Connection;

use crate::bench::{Bench, signal, wait_for};

const ROWS: &str = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 2000)
    INSERT INTO t (b) SELECT printf('%08x', x * 2654435761 % 4294967296) FROM n;";

fn database(path: &Path, pragmas: &str) -> Connection {
    let connection = Connection::open(path).unwrap();
    let table = "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT NOT NULL); CREATE INDEX i ON t (b);";
    connection.execute_batch(&format!("{pragmas} {table} {ROWS}")).unwrap();
    connection
}

fn names(bench: &Bench) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(bench.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn what_is_no_file_is_refused_and_never_waited_for() {
    let bench = Bench::new();
    assert!(Command::new("mkfifo").arg(bench.path().join("pipe")).status().unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(bench.path().join("socket")).unwrap();
    std::fs::create_dir(bench.path().join("directory")).unwrap();
    symlink("absent", bench.path().join("nowhere")).unwrap();
    let cases = [
        ("pipe", "it is a pipe"),
        ("socket", "it is a socket"),
        ("/dev/zero", "it is a character device"),
        ("directory", "is neither a PostgreSQL data directory"),
        ("nowhere", "No such file"),
        ("", "a value is required"),
    ];
    for command in ["check", "structure"] {
        for (target, phrase) in cases {
            let (out, err) = bench.expect(2, &[command, target]);
            assert!(
                out.is_empty() && err.contains(phrase) && err.contains(target),
                "{command} {target}: {err}"
            );
        }
    }
    for words in [
        ["decode", "pipe:1"].as_slice(),
        &["corrupt", "pipe", "--class", "magic", "--copy-to", "copy"],
        &["expand", "pipe", "copy", "--size", "1MiB"],
    ] {
        let (_, err) = bench.expect(2, words);
        assert!(err.contains("it is a pipe"), "{words:?}: {err}");
    }
    assert!(!names(&bench).iter().any(|name| name == "copy"));
}

#[test]
fn limits_of_nothing_are_refused() {
    let bench = Bench::new();
    database(&bench.path().join("whole.db"), "").close().unwrap();
    for limit in ["--jobs", "--page-batch", "--object-batch", "--max-read-rate"] {
        let (_, err) = bench.expect(2, &["check", "whole.db", limit, "0"]);
        assert!(err.contains(&format!("{limit} takes at least 1")), "{err}");
    }
    for words in
        [&["check", "whole.db", "--max-memory", "0"][..], &["structure", "whole.db", "--max-read-rate", "0"]]
    {
        let (_, err) = bench.expect(2, words);
        assert!(err.contains("takes at least 1"), "{err}");
    }
    for command in ["check", "structure"] {
        let (_, err) = bench.expect(2, &[command, "whole.db", "-j", "99999"]);
        assert!(err.contains("--jobs takes at most 1024, found 99999"), "{err}");
    }
    let (_, err) = bench.expect(2, &["check", "whole.db", "--max-time", "0"]);
    assert!(err.contains("--max-time takes a time above 0"), "{err}");
}

#[test]
fn files_of_one_database_are_named_once_and_sqlite_databases_one_at_a_time() {
    let bench = Bench::new();
    for name in ["one.db", "two.db"] {
        database(&bench.path().join(name), "").close().unwrap();
    }
    for (words, phrase) in [
        (["check", "one.db", "one.db"], "cannot check \"one.db\" twice"),
        (["check", "one.db", "./one.db"], "cannot check \"./one.db\" twice"),
        (["check", "one.db", "two.db"], "it is a file of SQLite"),
    ] {
        let (_, err) = bench.expect(2, &words);
        assert!(err.contains(phrase) && err.contains("hint:"), "{err}");
    }
}

#[test]
fn files_too_short_for_a_database_are_told_from_databases() {
    let bench = Bench::new();
    bench.write("empty.db", "");
    bench.write("short.db", &"x".repeat(512));
    let (_, err) = bench.expect(2, &["check", "empty.db"]);
    assert!(err.contains("\"empty.db\": it is empty") && err.contains("hint:"), "{err}");
    let (_, err) = bench.expect(2, &["check", "short.db"]);
    assert!(err.contains("\"short.db\" is not recognised") && err.contains("--raw"), "{err}");
    assert!(err.contains("encrypted or compressed"), "{err}");
    let (_, err) = bench.expect(2, &["structure", "empty.db"]);
    assert!(err.contains("empty.db"), "{err}");
    // The first 512 bytes of a database, and the first 50.
    database(&bench.path().join("whole.db"), "").close().unwrap();
    let bytes = std::fs::read(bench.path().join("whole.db")).unwrap();
    for length in [50, 512] {
        std::fs::write(bench.path().join("cut.db"), &bytes[..length]).unwrap();
        let (out, _) = bench.expect(1, &["check", "cut.db"]);
        assert!(out.contains("sqlite-file-size"), "{length}: {out}");
    }
    // Two pages of the largest size.
    let two = Connection::open(bench.path().join("two.db")).unwrap();
    two.execute_batch("PRAGMA page_size=65536; CREATE TABLE t (a); INSERT INTO t VALUES (1);").unwrap();
    two.close().unwrap();
    assert_eq!(std::fs::metadata(bench.path().join("two.db")).unwrap().len(), 2 * 65536);
    let (out, _) = bench.expect(0, &["check", "two.db"]);
    assert!(out.contains("pages 2 = clean 2") && out.contains("no damage found"), "{out}");
}

#[test]
fn a_link_is_the_database_it_leads_to_with_its_log() {
    let bench = Bench::new();
    let path = bench.path().join("real.db");
    let connection = database(&path, "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0;");
    std::fs::create_dir(bench.path().join("links")).unwrap();
    symlink("../real.db", bench.path().join("links/link.db")).unwrap();
    // Nearly all of the database is in the log.
    let (direct, _) = bench.expect(0, &["check", "real.db"]);
    let (linked, _) = bench.expect(0, &["check", "links/link.db"]);
    for text in [direct, linked] {
        assert!(
            text.contains("rows 2,000, index entries 2,000") && text.contains("WAL frames applied"),
            "{text}"
        );
    }
    drop(connection);
}

#[test]
fn a_database_that_is_written_or_was_left_in_the_middle_is_refused_with_the_reason() {
    let bench = Bench::new();
    let path = bench.path().join("a.db");
    for (mode, is_open, status) in
        [("DELETE", "BEGIN IMMEDIATE", 0), ("WAL", "BEGIN IMMEDIATE", 0), ("DELETE", "BEGIN EXCLUSIVE", 2)]
    {
        let _ = std::fs::remove_file(&path);
        let connection = database(&path, &format!("PRAGMA journal_mode={mode};"));
        connection.execute_batch(&format!("{is_open}; UPDATE t SET b = b || 'x' WHERE a < 9;")).unwrap();
        // What is not committed is not seen; what keeps readers out is named.
        let (out, err) = bench.expect(status, &["check", "a.db"]);
        let writer = format!("process {} is writing it", std::process::id());
        let is_named = format!("{out}{err}").contains(&writer);
        assert_eq!(is_named, status == 2, "{mode} {is_open}: {out}{err}");
        connection.execute_batch("COMMIT").unwrap();
        bench.expect(0, &["check", "a.db"]);
    }
    // A reader hinders nobody.
    let _ = std::fs::remove_file(&path);
    let connection = database(&path, "PRAGMA journal_mode=DELETE;");
    connection.execute_batch("BEGIN; SELECT count(*) FROM t;").unwrap();
    bench.expect(0, &["check", "a.db"]);
    connection.execute_batch("COMMIT").unwrap();
    // A machine that stopped in a transaction leaves a journal whose pages are older than the file's.
    connection.execute_batch("PRAGMA cache_size=1; BEGIN; UPDATE t SET b = b || 'y';").unwrap();
    std::fs::copy(&path, bench.path().join("cut.db")).unwrap();
    std::fs::copy(bench.path().join("a.db-journal"), bench.path().join("cut.db-journal")).unwrap();
    connection.execute_batch("ROLLBACK").unwrap();
    let (out, err) = bench.expect(2, &["check", "cut.db"]);
    let said = format!("{out}{err}");
    assert!(said.contains("cut.db-journal") && said.contains("interrupted transaction"), "{said}");
    Connection::open(bench.path().join("cut.db"))
        .unwrap()
        .query_row("SELECT 1 FROM t", [], |_| Ok(()))
        .unwrap();
    bench.expect(0, &["check", "cut.db"]);
}

#[test]
fn a_check_that_is_killed_leaves_nothing_behind_and_the_next_one_begins_anew() {
    let bench = Bench::new();
    database(&bench.path().join("a.db"), "PRAGMA page_size=512;").close().unwrap();
    let before = (names(&bench), std::fs::read(bench.path().join("a.db")).unwrap());
    // So slow that it is in its middle when it is killed: the file would take minutes.
    let words = [
        "check",
        "a.db",
        "--max-read-rate",
        "1KiB",
        "--results",
        "kept/results",
        "--resume",
        "kept/place.json",
    ];
    let mut child = bench.start(&words);
    let open_files = format!("/proc/{}/fd", child.id());
    wait_for("the file is open", || {
        let links = std::fs::read_dir(&open_files).ok()?.flatten();
        links.filter_map(|link| std::fs::read_link(link.path()).ok()).find(|path| path.ends_with("a.db"))
    });
    signal(&child, "KILL");
    child.wait().unwrap();
    let mut after = names(&bench);
    after.retain(|name| name != "kept");
    assert_eq!((after, std::fs::read(bench.path().join("a.db")).unwrap()), before);
    let (out, err) =
        bench.expect(0, &["check", "a.db", "--results", "kept/results", "--resume", "place.json"]);
    assert!(out.contains("no damage found") && err.contains("stored as check 1"), "{out}{err}");
}

#[test]
fn a_check_that_time_stops_goes_on_where_it_was_also_page_by_page() {
    let bench = Bench::new();
    database(&bench.path().join("a.db"), "PRAGMA page_size=512;").close().unwrap();
    let mut bytes = std::fs::read(bench.path().join("a.db")).unwrap();
    bytes[..16].fill(0);
    std::fs::write(bench.path().join("raw.db"), bytes).unwrap();
    for (file, raw, last_status) in [("a.db", "--no-store", 0), ("raw.db", "--raw", 1)] {
        let words = [
            "check",
            file,
            raw,
            "--page-batch",
            "64",
            "--max-time",
            "1ms",
            "--resume",
            "place.json",
            "-j",
            "1",
        ];
        let mut call_count = 0;
        let last = loop {
            call_count += 1;
            assert!(call_count < 500, "{file}: the check does not come to an end");
            let output = bench.run(&words);
            let text = String::from_utf8(output.stdout).unwrap();
            assert_eq!(text.contains("continues from"), call_count > 1, "{text}");
            if !text.contains("could not finish") {
                assert_eq!(output.status.code(), Some(last_status), "{text}");
                break text;
            }
            assert!(bench.path().join("place.json").exists(), "{text}");
        };
        assert!(last.contains("skipped") && !bench.path().join("place.json").exists(), "{last}");
    }
}

#[test]
fn a_resume_file_that_is_no_stopped_check_is_refused_and_left_as_it_is() {
    let bench = Bench::new();
    for name in ["a.db", "other.db"] {
        database(&bench.path().join(name), "").close().unwrap();
    }
    std::fs::write(bench.path().join("notes.txt"), "my notes").unwrap();
    std::fs::write(bench.path().join("empty"), "").unwrap();
    let kept = ["a.db", "other.db", "notes.txt", "empty"];
    let contents = || kept.map(|name| std::fs::read(bench.path().join(name)).unwrap());
    let before = contents();
    let reasons = [
        ("a.db", "it is the checked file"),
        ("./a.db", "it is the checked file"),
        ("a.db-wal", "it is the -wal file of the checked database"),
        ("other.db", "it exists and is not a stopped check of fathom"),
        ("notes.txt", "it exists and is not a stopped check of fathom"),
        ("empty", "it is empty, not a stopped check"),
    ];
    for (name, reason) in reasons {
        for raw in ["--no-store", "--raw"] {
            let (out, err) = bench.expect(2, &["check", "a.db", raw, "--resume", name]);
            let is_told = err.contains(&format!("cannot use \"{name}\" for --resume: {reason}"));
            assert!(is_told && err.matches("hint: ").count() == 1 && out.is_empty(), "{out}{err}");
            assert_eq!(contents(), before, "{name}");
        }
    }
    assert!(!bench.path().join("a.db-wal").exists());
}
