//! `--keep`: what the last run made is there, is said where, and stays.

use std::path::PathBuf;
use std::process::Command;

use lab_postgres::find_servers;
use skips::{Capability, skip};

use crate::bench::{Bench, text};

/// The rest of the line of standard error that begins so.
fn after<'a>(err: &'a str, begin: &str) -> &'a str {
    let line = err.lines().find_map(|line| line.trim().strip_prefix(begin));
    line.unwrap_or_else(|| panic!("no line begins with {begin:?}:\n{err}")).trim()
}

fn keep(bench: &Bench, target: &str) -> (PathBuf, String) {
    let (_, err) =
        bench.finish(&["run", "quick.toml", "--keep", "--again", "-t", target, "--ceilings", "never"]);
    let begin = if target == "sqlite" {
        "kept the database of the last run:"
    } else {
        "kept the cluster of the last run:"
    };
    (PathBuf::from(after(&err, begin).trim_matches('"')), err)
}

#[test]
fn a_kept_database_of_sqlite_has_the_rows_of_the_last_run_and_the_next_start_leaves_it() {
    let bench = Bench::new();
    let (database, err) = keep(&bench, "sqlite");
    let rows = |path: &PathBuf| -> i64 {
        let connection = rusqlite::Connection::open(path).unwrap();
        connection.query_row("SELECT count(*) FROM fathom_rows", [], |row| row.get(0)).unwrap()
    };
    assert_eq!(rows(&database), 40);
    assert!(!database.with_extension("db-wal").exists(), "the WAL was brought into the database");
    let (second, _) = keep(&bench, "sqlite");
    assert!(second != database && rows(&database) == 40, "the next start removed what was kept");
    let removed = bench.shell(after(&err, "remove it with:"));
    assert!(removed.status.success() && !database.exists() && second.exists());
}

#[test]
fn a_kept_cluster_starts_as_it_is_said_and_has_the_rows_of_the_last_run() {
    if find_servers(&[]).is_empty() {
        return skip(Capability::Postgres, "no PostgreSQL server binaries");
    }
    let bench = Bench::new();
    let (data, err) = keep(&bench, "postgres");
    assert!(data.join("PG_VERSION").is_file());
    // The next start must not take it for a leftover.
    let (second, _) = keep(&bench, "postgres");
    assert!(second != data && data.join("PG_VERSION").is_file());
    let start = after(&err, "start it with:");
    let started = Command::new("sh").args(["-c", &format!("{start} >/dev/null 2>&1")]).status().unwrap();
    assert!(started.success(), "{start}");
    let open = after(&err, "open it with:");
    let counted = bench.shell(&format!("{open} -Atc 'SELECT count(*) FROM fathom_rows'"));
    let pid = std::fs::read_to_string(data.join("postmaster.pid")).unwrap();
    let pid = pid.lines().next().unwrap().to_owned();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    crate::bench::wait_for("the end of the server", || (!data.join("postmaster.pid").exists()).then_some(()));
    if counted.status.code() == Some(127) {
        skip(Capability::PostgresTools, "rows not counted: psql is not installed");
    } else {
        assert_eq!(text(&counted.stdout).trim(), "40", "{}", text(&counted.stderr));
    }
}
