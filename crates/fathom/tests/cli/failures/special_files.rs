//! Pipes, sockets and devices in the place of every file that is opened: refused at once, with what they are.

use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use crate::bench::{Bench, QUICK, text};

fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Runs under a limit of time: what waits for a pipe would wait for ever. Expects status 2 and the phrase.
fn refused(bench: &Bench, words: &[&str], phrase: &str) {
    let mut command = Command::new("timeout");
    command
        .args(["--signal=KILL", "100", env!("CARGO_BIN_EXE_fathom")])
        .args(words)
        .current_dir(bench.path());
    let output = command.env_remove("FATHOM_RESULTS").output().unwrap();
    let err = format!("{}{}", text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(2), "{words:?}\n{err}");
    assert!(err.contains(phrase) && !err.contains("panicked"), "{words:?}\n{err}");
}

fn database(path: &Path) {
    rusqlite::Connection::open(path)
        .unwrap()
        .execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
        .unwrap();
}

#[test]
fn files_named_on_the_command_line_are_regular_files() {
    let bench = Bench::new();
    for name in ["pipe", "pipe.toml", "pipe.mdf", "base.tar"] {
        make_pipe(&bench.path().join(name));
    }
    database(&bench.path().join("app.db"));
    for (words, phrase) in [
        (&["run", "pipe.toml"][..], "it is a pipe"),
        (&["show", "pipe.toml"], "it is a pipe"),
        (&["io", ".", "--job", "pipe"], "it is a pipe"),
        (&["io", "pipe"], "it is a pipe"),
        (&["io", "/dev/null"], "it is a character device"),
        (&["check", "pipe"], "it is a pipe"),
        (&["check", "pipe.mdf"], "it is a pipe"),
        (&["check", "base.tar"], "it is a pipe"),
        (&["check", "/dev/zero"], "it is a character device"),
        (&["check", "app.db", "--resume", "pipe"], "it is not a regular file"),
        (&["structure", "pipe"], "it is a pipe"),
        (&["decode", "pipe:1"], "it is a pipe"),
        (&["expand", "pipe", "new.db", "--size", "1MB"], "it is a pipe"),
        (&["corrupt", "pipe", "--class", "magic", "--copy-to", "copy.db"], "it is a pipe"),
        (&["inventory", "postgres://u@127.0.0.1:1/x?service=s&servicefile=pipe"], ""),
        (&["inventory", "postgres://u@127.0.0.1:1/x?passfile=pipe"], "ignored"),
        (&["check", "postgres://u@127.0.0.1:1/x?sslmode=require&sslrootcert=pipe"], "it is a pipe"),
    ] {
        refused(&bench, words, phrase);
    }
}

#[test]
fn files_beside_a_sqlite_database_are_regular_files() {
    for suffix in ["-wal", "-shm", "-journal"] {
        let bench = Bench::new();
        database(&bench.path().join("app.db"));
        make_pipe(&bench.path().join(format!("app.db{suffix}")));
        for words in [
            &["check", "app.db"][..],
            &["structure", "app.db"],
            &["expand", "app.db", "new.db", "--size", "1MB"],
        ] {
            refused(&bench, words, &format!("app.db{suffix}"));
            refused(&bench, words, "it is a pipe, not a file");
        }
    }
}

#[test]
fn files_of_a_cluster_are_regular_files() {
    let places = [
        "PG_VERSION",
        "backup_label",
        "backup_manifest",
        "postmaster.pid",
        "tablespace_map",
        "global/pg_control",
        "global/pg_filenode.map",
        "global/1262",
        "base/5/PG_VERSION",
        "base/5/pg_filenode.map",
        "base/5/1259",
        "base/5/1259_fsm",
        "pg_wal/000000010000000000000001",
        "pg_xact/0000",
        "pg_multixact/offsets/0000",
        "pg_tblspc/16400/PG_15_202209061/5/16401",
    ];
    for place in places {
        let bench = Bench::new();
        let data = bench.path().join("data");
        for name in ["PG_VERSION", "global/pg_control"] {
            std::fs::create_dir_all(data.join(name).parent().unwrap()).unwrap();
            std::fs::write(data.join(name), "15\n").unwrap();
        }
        let path = data.join(place);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = std::fs::remove_file(&path);
        make_pipe(&path);
        refused(&bench, &["check", "data"], &format!("{place}\": it is a pipe"));
        refused(&bench, &["structure", "data"], "it is a pipe");
        std::fs::remove_file(&path).unwrap();
        let _socket = UnixListener::bind(&path).unwrap();
        refused(&bench, &["check", "data"], "it is a socket");
    }
}

#[test]
fn files_in_a_results_directory_are_regular_files() {
    for name in ["results.db", "results.db-wal", "results.db-shm", "results.db-journal", "lock"] {
        let bench = Bench::new();
        bench.write("quick.toml", QUICK);
        std::fs::create_dir(bench.results()).unwrap();
        make_pipe(&bench.results().join(name));
        refused(&bench, &["run", "quick.toml", "--ceilings", "never"], "it is a pipe");
        if name != "lock" {
            refused(&bench, &["list", "--studies"], "it is a pipe");
            refused(&bench, &["report"], "it is a pipe");
            refused(&bench, &["serve", "--listen", "127.0.0.1:0"], "it is a pipe");
        }
    }
}
