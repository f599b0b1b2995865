//! Failures of statements: their kinds, their places, and what becomes of the client.

use std::time::{Duration, Instant};

use lab::client::ClientPool;
use lab::engine::Target;
use lab::own::{OnError, Part};
use lab::work::{Amount, Work};
use results::scripts::FailureKind;
use rusqlite::Connection;

use super::support::{PROTOCOLS, Scene, failures};

#[test]
fn a_busy_database_is_locked_and_tried_again() {
    let mut scene = Scene::with_schema("CREATE TABLE t (a); INSERT INTO t VALUES (0);");
    // No client waits for the other, so that they meet.
    scene.scripts(&[
        "PRAGMA busy_timeout = 0;\nBEGIN IMMEDIATE;\nUPDATE t SET a = a + 1;\n\\sleep 1 ms\nEND;",
    ]);
    scene.on_error(OnError::Abort, 0);
    let dispatch = scene.run(4, 80);
    assert!(dispatch.clients.iter().all(|client| client.error.is_none()), "{:?}", dispatch.clients);
    let script = &dispatch.scripts[0];
    assert_eq!((script.transactions, script.failed()), (80, 0));
    assert!(script.retries > 0 && script.retried > 0);
    let begin = &script.statements[1];
    assert!(begin.failures.iter().all(|failure| failure.kind == FailureKind::Locked), "{begin:?}");
    assert_eq!(scene.ask("SELECT a FROM t"), "80");
}

#[test]
fn a_busy_database_fails_transactions_that_are_not_tried_again() {
    let mut scene = Scene::with_schema("CREATE TABLE t (a);");
    let other = Connection::open(scene.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    scene.scripts(&["PRAGMA busy_timeout = 0;\nINSERT INTO t VALUES (1);"]).on_error(OnError::Abort, 3);
    let dispatch = scene.run(1, 5);
    // A failure for such a reason ends no client.
    assert_eq!(dispatch.clients[0].errors, 0);
    let script = &dispatch.scripts[0];
    assert_eq!((failures(script, FailureKind::Locked), script.retried, script.retries), (5, 5, 10));
    let said = script.statements[1].first_failure.as_deref().unwrap();
    assert_eq!(said, "0.sql:2: database is locked (5)");
}

#[test]
fn a_snapshot_that_is_no_longer_the_newest_is_a_serialization_failure() {
    let mut scene = Scene::with_schema("CREATE TABLE t (a); INSERT INTO t VALUES (0);");
    scene.scripts(&["BEGIN;\nSELECT a FROM t;\n\\sleep 2 ms\nUPDATE t SET a = a + 1;\nEND;"]);
    scene.on_error(OnError::Abort, 0);
    let dispatch = scene.run(4, 40);
    let script = &dispatch.scripts[0];
    assert_eq!((script.transactions, script.failed()), (40, 0));
    assert!(script.statements[2].failures.iter().any(|failure| failure.kind == FailureKind::Serialization));
    assert_eq!(scene.ask("SELECT a FROM t"), "40");
}

#[test]
fn a_constraint_fails_the_transaction_and_the_client_goes_on() {
    for protocol in PROTOCOLS {
        let mut scene = Scene::with_schema("CREATE TABLE t (a INTEGER PRIMARY KEY, b CHECK (b > 0))");
        let script = "\\set a random(1, 10)\nBEGIN;\nINSERT INTO t VALUES (:a, 1);\nEND;";
        scene.scripts(&[script]).protocol(protocol).on_error(OnError::Continue, 1);
        let dispatch = scene.run(2, 100);
        let script = &dispatch.scripts[0];
        assert_eq!(script.transactions + script.failed(), 100);
        assert_eq!(failures(script, FailureKind::Constraint), script.failed());
        assert_eq!(scene.ask("SELECT count(*) FROM t"), script.transactions.to_string());
        let said = script.statements[1].first_failure.as_deref().unwrap();
        assert_eq!(said, "0.sql:3: UNIQUE constraint failed: t.a (1555)");
    }
}

#[test]
fn a_client_ends_at_a_failure_where_the_workload_says_so() {
    let mut scene = Scene::with_schema("CREATE TABLE t (a CHECK (a < 3))");
    scene.on_error(OnError::Abort, 1).scripts(&["INSERT INTO t SELECT 1 + count(*) FROM t;"]);
    let client = scene.run(1, 10).clients.remove(0);
    assert_eq!((client.transactions, client.errors), (2, 1));
    assert!(client.error.unwrap().starts_with("0.sql:1: CHECK constraint failed"));
}

#[test]
fn a_script_that_ends_inside_a_transaction_is_an_error() {
    let mut scene = Scene::with_schema("CREATE TABLE t (a)");
    let error = scene.once("BEGIN;\nINSERT INTO t VALUES (1);").unwrap();
    assert_eq!(error, "0.sql: end of script reached without completing the last transaction");
    assert_eq!(scene.ask("SELECT count(*) FROM t"), "0");
}

#[test]
fn errors_are_placed_by_line_and_column_in_the_script() {
    for protocol in PROTOCOLS {
        let mut scene = Scene::with_schema("CREATE TABLE t (a)");
        scene.protocol(protocol);
        let place = |scene: &mut Scene, script: &str| {
            let parsed = scene.scripts(&[script]).parse_all().unwrap_err().to_string();
            let executed = scene.once(script).unwrap();
            let beginning = |text: &str| text.split(" near ").next().unwrap().to_owned();
            assert_eq!(beginning(&executed), beginning(&parsed), "{protocol:?}");
            parsed
        };
        let script = "\\set long 1234567890\nSELECT 'ä', :long,\n  :long, nought FROM t;";
        assert_eq!(place(&mut scene, script), "0.sql:3:10: no such column: nought (1)");
        assert_eq!(place(&mut scene, "SELECT 1;\nSELEC 1;"), "0.sql:2:1: near \"SELEC\": syntax error (1)");
        let script = "\\set x 5\nSELECT 1 WHERE :x :x = 2;";
        let found = place(&mut scene, script);
        assert!(found.starts_with("0.sql:2:19: near \""), "{protocol:?}: {found}");
        assert_eq!(place(&mut scene, "DELETE FROM u;"), "0.sql:1: no such table: u (1)");
    }
}

#[test]
fn what_a_script_makes_itself_is_not_missed_before_the_run() {
    for protocol in PROTOCOLS {
        let mut scene = Scene::with_schema("CREATE TABLE t (a)");
        scene.protocol(protocol);
        let script = "CREATE TEMP TABLE IF NOT EXISTS mine (x);\nINSERT INTO mine VALUES (1);\nDROP TABLE mine;\n\
                      CREATE TABLE IF NOT EXISTS t (a);";
        scene.scripts(&[script]).parse_all().unwrap();
        assert_eq!(scene.once(script), None);
        let typo = "CREATE TEMP TABLE mine (x);\nINSERT INTO mien VALUES (1);";
        let error = scene.scripts(&[typo]).parse_all().unwrap_err().to_string();
        assert_eq!(error, "0.sql:2: no such table: mien (1)");
    }
}

#[test]
fn names_made_of_variables_are_for_protocol_simple() {
    let mut scene = Scene::with_schema("CREATE TABLE part_1 (a); CREATE TABLE part_2 (a);");
    let script = "\\set n random(1, 2)\nINSERT INTO part_:n VALUES (1);";
    scene.scripts(&[script]).parse_all().unwrap();
    assert_eq!(scene.once(script), None);
    let script = "SELECT 1;\n\\if 0\n\\set nothing 1\n\\endif\nSELECT :nothing;";
    scene.scripts(&[script]).parse_all().unwrap();
    let error = scene.once(script).unwrap();
    assert!(error.starts_with("0.sql:5: parameter :nothing has no value\nhint: "), "{error}");
    let error = scene.scripts(&["SELECT ':this', :never;"]).parse_all().unwrap_err().to_string();
    assert!(error.starts_with("0.sql:1: parameter :never has no value\nhint: "), "{error}");
    let error = scene.scripts(&["SELECT ?;"]).parse_all().unwrap_err().to_string();
    assert!(error.starts_with("0.sql:1: parameter ? has no value\nhint: "), "{error}");
}

#[test]
fn a_variable_in_a_quote_is_refused_where_it_would_stay_as_it_is() {
    let mut scene = Scene::with_schema("CREATE TABLE t (a)");
    let script = "\\set x 1\nINSERT INTO t VALUES (':x');";
    for protocol in &PROTOCOLS[1..] {
        scene.protocol(*protocol).scripts(&[script]);
        let parsed = scene.parse_all().unwrap_err().to_string();
        let executed = scene.once(script).unwrap();
        for error in [parsed, executed] {
            assert!(error.starts_with("0.sql:2: variable :x is inside a quote or a comment"), "{error}");
        }
    }
    scene.protocol(PROTOCOLS[0]).scripts(&[script]).parse_all().unwrap();
    assert_eq!(scene.once(script), None);
    assert_eq!(scene.ask("SELECT a FROM t"), "1");
}

#[test]
fn a_statement_without_end_ends_when_the_run_is_interrupted() {
    for protocol in PROTOCOLS {
        let mut scene = Scene::with_schema("CREATE TABLE t (a)");
        scene.protocol(protocol);
        scene.scripts(&[
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n;",
        ]);
        let plan = scene.plan(Part::Scripts);
        let work = Work { connections: 2, amount: Amount::Rows(2), ..scene.work.clone() };
        let connector = scene.target.own_databases().unwrap().connector(plan);
        let mut pool = ClientPool::assemble(&connector, &work, 2).unwrap();
        pool.release();
        let began = Instant::now();
        pool.wait(&mut |progress| {
            progress.stop();
            scene.target.clients().unwrap().interrupt().unwrap();
        });
        let dispatch = pool.dismiss();
        assert!(began.elapsed() < Duration::from_secs(60));
        assert!(
            dispatch.clients.iter().all(|client| client.error.as_deref().unwrap().contains("interrupted"))
        );
    }
}

#[test]
fn clients_that_share_a_thread_do_not_keep_each_other_from_their_commit() {
    for settings in [&[][..], &[("journal_mode", "delete")], &[("vfs", "plain")]] {
        let mut scene = Scene::empty(settings);
        scene.make("CREATE TABLE t (a); INSERT INTO t VALUES (0);");
        // The one that sleeps holds the lock that its neighbours wait for.
        scene.scripts(&["BEGIN IMMEDIATE;\nUPDATE t SET a = a + 1;\n\\sleep 1 ms\nEND;"]);
        let plan = scene.plan(Part::Scripts);
        let began = Instant::now();
        let dispatch = scene.run_on(plan, 6, 60, 2);
        assert!(dispatch.clients.iter().all(|client| client.error.is_none()), "{:?}", dispatch.clients);
        assert_eq!((dispatch.scripts[0].transactions, dispatch.scripts[0].failed()), (60, 0));
        assert!(began.elapsed() < Duration::from_secs(30));
        assert_eq!(scene.ask("SELECT a FROM t"), "60");
    }
}
