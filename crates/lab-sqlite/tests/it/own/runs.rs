//! Whole runs: loaded once, measured, sampled, judged.

use std::sync::Arc;
use std::time::Duration;

use lab::engine::Layout;
use lab::gates::Limits;
use lab::own::{Load, OnError, OwnWorkload, Protocol, WeightedScript};
use lab::run::{Course, RunRequest, Tick, execute};
use lab::work::{Amount, WarmUp, Work, Workload};
use lab_sqlite::SqliteTarget;
use results::model::{Run, RunKey, RunState};

use super::support::{PROTOCOLS, SCHEMA, text};

fn work(own: OwnWorkload, connections: u32, amount: Amount) -> Work {
    Work {
        workload: Workload::Own,
        connections,
        amount,
        batch_size: 1,
        own: Some(Arc::new(own)),
        ..Work::example()
    }
}

fn own(schema: &str, script: &str) -> OwnWorkload {
    OwnWorkload {
        schema: Some(text("schema.sql", schema)),
        scripts: vec![WeightedScript { sql: text("script.sql", script), weight: 1 }],
        max_tries: 1,
        scale: 1,
        ..OwnWorkload::default()
    }
}

fn run(target: &mut SqliteTarget, work: &Work) -> Run {
    execute_plain(target, work).unwrap()
}

fn execute_plain(target: &mut SqliteTarget, work: &Work) -> Result<Run, String> {
    let key = RunKey { block_index: 0, cell_index: 0, attempt: 0 };
    let request = RunRequest { work, key, position: 0, limits: Limits::default(), samplers: &[] };
    execute(target, request, &mut |_| Course::Continue).map_err(|error| error.to_string())
}

#[test]
fn a_run_is_loaded_once_and_measured_with_waits_counters_and_sizes() {
    let place = tempfile::tempdir().unwrap();
    let mut target = SqliteTarget::new(&Layout::default(), place.path()).unwrap();
    let script =
        "\\set aid random(1, 100000)\nUPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :aid;";
    for protocol in PROTOCOLS {
        let mut own = OwnWorkload { protocol, ..own(SCHEMA, script) };
        own.after = Some(text("after.sql", "SELECT sum(abalance) AS balance FROM pgbench_accounts;"));
        let mut work = work(own, 3, Amount::Rows(300));
        work.warm_up = WarmUp::Rows(30);
        let run = run(&mut target, &work);
        assert_eq!(run.state, RunState::Valid, "{:?}", run.gates);
        // Those of the warm-up, too: the run begins with no changes of an earlier one.
        assert_eq!(run.metric("balance"), Some(330.0));
        assert_eq!(run.scripts[0].transactions, 300);
        assert_eq!(run.scripts[0].statements[0].executions, 300);
        let database_bytes = run.metric("database_bytes").unwrap();
        assert_eq!(database_bytes, run.metric("database_pages").unwrap() * 8192.0);
        assert!(run.metric("log_flushes").unwrap() >= 300.0);
        let profile = run.observations.waits.iter().find(|profile| profile.group == "clients").unwrap();
        assert_eq!(profile.session_count, 3);
        let syncs = profile.rows.iter().filter(|row| row.name == "WalSync").filter_map(|row| row.count);
        assert!(syncs.sum::<u64>() >= 300);
        assert!(profile.on_cpu_s.is_some_and(|seconds| seconds > 0.0));
    }
}

#[test]
fn load_scripts_of_several_clients_fill_the_slices() {
    let place = tempfile::tempdir().unwrap();
    let mut target = SqliteTarget::new(&Layout::default(), place.path()).unwrap();
    let load = "WITH RECURSIVE n(i) AS (SELECT :first_row UNION ALL SELECT i + 1 FROM n WHERE i < :last_row)
                    INSERT INTO t SELECT i, 'row ' || i FROM n;";
    let own = OwnWorkload {
        load: Some(Load::Script { sql: text("load.sql", load), rows: 25_500, batch: 1_000, connections: 4 }),
        after: Some(text("after.sql", "SELECT count(*) AS n, max(a) AS last_row FROM t;")),
        ..own("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT);", "SELECT b FROM t WHERE a = 7;")
    };
    let run = run(&mut target, &work(own, 2, Amount::Rows(20)));
    assert_eq!((run.metric("n"), run.metric("last_row")), (Some(25_500.0), Some(25_500.0)));
}

#[test]
fn generated_columns_are_loaded_in_bulk() {
    let place = tempfile::tempdir().unwrap();
    let mut target = SqliteTarget::new(&Layout::default(), place.path()).unwrap();
    let column = |name: &str, generator: &str| (name.to_owned(), generator.to_owned());
    let columns = vec![
        column("a", "row"),
        column("b", "random(1, 10)"),
        column("c", "text(5, 5)"),
        column("d", "uuidv7"),
    ];
    let own = OwnWorkload {
        load: Some(Load::Columns { table: "t".to_owned(), rows: 30_000, connections: 3, columns }),
        after: Some(text(
            "after.sql",
            "SELECT count(*) AS n, sum(a) AS total, min(typeof(b) = 'integer') AS numbers, avg(length(c)) AS letters,
                    count(DISTINCT d) AS keys FROM t;",
        )),
        ..own("CREATE TABLE t (a INTEGER PRIMARY KEY, b INT, c TEXT, d TEXT);", "SELECT b FROM t WHERE a = 7;")
    };
    let run = run(&mut target, &work(own, 1, Amount::Rows(20)));
    let found = ["n", "total", "numbers", "letters", "keys"].map(|name| run.metric(name).unwrap());
    assert_eq!(found, [30_000.0, 450_015_000.0, 1.0, 5.0, 30_000.0]);
}

#[test]
fn a_csv_file_is_loaded_with_its_quotes_and_nulls() {
    let place = tempfile::tempdir().unwrap();
    let mut target = SqliteTarget::new(&Layout::default(), place.path()).unwrap();
    let path = place.path().join("t.csv");
    let content = "c;a;b\n1.5;1;\"it's; \"\"quoted\"\"\"\n;2;x\n0;3;größe\n";
    std::fs::write(&path, content).unwrap();
    let own = |sha256: &str| OwnWorkload {
        load: Some(Load::Copy {
            sha256: sha256.to_owned(),
            path: path.clone(),
            table: "t".to_owned(),
            columns: ["c", "a", "b"].map(str::to_owned).to_vec(),
            has_header: true,
            delimiter: ';',
            null: String::new(),
        }),
        after: Some(text(
            "after.sql",
            "SELECT count(*) AS n, sum(b = 'it''s; \"quoted\"') AS quoted, sum(b = 'größe') AS words,
                    sum(c IS NULL) AS nulls, sum(typeof(c) = 'real') AS reals FROM t;",
        )),
        ..own("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT, c REAL);", "SELECT b FROM t WHERE a = 2;")
    };
    // A file that is not the one of the spec is refused, with its hash.
    let error = execute_plain(&mut target, &work(own("0"), 1, Amount::Rows(5))).unwrap_err();
    let hash = error.split("its SHA-256 is ").nth(1).unwrap().split(',').next().unwrap();
    let run = run(&mut target, &work(own(hash), 1, Amount::Rows(5)));
    let found = ["n", "quoted", "words", "nulls", "reals"].map(|name| run.metric(name).unwrap());
    assert_eq!(found, [3.0, 1.0, 1.0, 1.0, 2.0]);
}

#[test]
fn failures_are_counted_and_do_not_end_a_run_that_goes_on() {
    let place = tempfile::tempdir().unwrap();
    let mut target = SqliteTarget::new(&Layout::default(), place.path()).unwrap();
    let script = "\\set a random(1, 50)\nINSERT INTO t VALUES (:a);";
    let own = OwnWorkload {
        on_error: OnError::Continue,
        protocol: Protocol::Prepared,
        ..own("CREATE TABLE t (a INTEGER PRIMARY KEY);", script)
    };
    let run = run(&mut target, &work(own, 2, Amount::Time(Duration::from_millis(300))));
    assert!(run.scripts[0].failed() > 0);
    assert_eq!(
        run.scripts[0].transactions,
        run.clients.iter().map(|client| client.transactions).sum::<u64>()
    );
}

#[test]
fn a_schema_and_a_script_that_sqlite_refuses_are_named_before_anything_runs() {
    let place = tempfile::tempdir().unwrap();
    let mut target = SqliteTarget::new(&Layout::default(), place.path()).unwrap();
    for (schema, script, reason) in [
        (
            "CREATE TABLE t (a);\nCREATE TABL u (a);",
            "SELECT 1;",
            "schema.sql:2:8: near \"TABL\": syntax error (1)",
        ),
        ("CREATE TABLE t (a);", "SELECT 1;\nSELECT b FROM t;", "script.sql:2:8: no such column: b (1)"),
    ] {
        let work = work(own(schema, script), 1, Amount::Rows(1));
        let key = RunKey { block_index: 0, cell_index: 0, attempt: 0 };
        let request = RunRequest { work: &work, key, position: 0, limits: Limits::default(), samplers: &[] };
        let error = execute(&mut target, request, &mut |_| Course::Continue).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}

/// Never ends by itself.
const ENDLESS: &str =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n;";

#[test]
fn a_run_that_is_stopped_ends_within_a_statement() {
    let place = tempfile::tempdir().unwrap();
    let mut target = SqliteTarget::new(&Layout::default(), place.path()).unwrap();
    let work = work(own("CREATE TABLE t (a);", ENDLESS), 2, Amount::Rows(2));
    let key = RunKey { block_index: 0, cell_index: 0, attempt: 0 };
    let request = RunRequest { work: &work, key, position: 0, limits: Limits::default(), samplers: &[] };
    let on_tick = &mut |tick: Tick| if tick.loading.is_some() { Course::Continue } else { Course::Stop };
    let run = execute(&mut target, request, on_tick).unwrap();
    assert_eq!(run.state, RunState::Invalid);
    assert!(
        run.clients.iter().all(|client| client.error.as_deref() == Some("script.sql:1: interrupted (9)"))
    );
}

#[test]
fn a_schema_that_is_stopped_ends_within_a_statement() {
    let place = tempfile::tempdir().unwrap();
    let mut target = SqliteTarget::new(&Layout::default(), place.path()).unwrap();
    let work = work(own(ENDLESS, "SELECT 1;"), 1, Amount::Rows(2));
    let key = RunKey { block_index: 0, cell_index: 0, attempt: 0 };
    let request = RunRequest { work: &work, key, position: 0, limits: Limits::default(), samplers: &[] };
    let error = execute(&mut target, request, &mut |_| Course::Stop).unwrap_err();
    assert_eq!(error.to_string(), "the schema failed: it was interrupted");
}
