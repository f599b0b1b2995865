//! Whole runs of own workloads, as the laboratory does them: on managed servers and on servers by URL.

use lab::engine::{Residence, Target};
use lab::gates::Limits;
use lab::own::{Load, OwnWorkload, Protocol, rehearse};
use lab::run::{Course, RunRequest, execute};
use lab::work::{Amount, Durability, Placement, Work};
use lab_postgres::{ExternalOptions, ExternalPostgres};
use results::EngineId;
use results::model::{GateOutcome, Run, RunKey};

use super::support::{own, own_work, text};
use crate::external::Somebody;
use crate::support::{managed, newest, oldest_and_newest, scratch, servers};
use lab::engine::Layout;

/// A schema, a load by script, two scripts and what comes after them.
fn workload() -> OwnWorkload {
    let schema = "CREATE TABLE \"my orders\" (id bigint PRIMARY KEY, note text);\nCREATE INDEX ON \"my orders\" (note);";
    let insert = "\\set id random(1000000, 2000000000)\nBEGIN;\n\
        INSERT INTO \"my orders\" VALUES (:id, 'x') ON CONFLICT DO NOTHING;\nEND;";
    let read =
        "\\set id random(1, 5000)\n-- expect: rows = 1\nSELECT note FROM \"my orders\" WHERE id = :id;";
    let load =
        "INSERT INTO \"my orders\" SELECT g, md5(g::text) FROM generate_series(:first_row, :last_row) AS g;";
    OwnWorkload {
        load: Some(Load::Script { sql: text("load.sql", load), rows: 5000, batch: 999, connections: 3 }),
        after: Some(text(
            "after.sql",
            "SELECT pg_total_relation_size('\"my orders\"') AS orders_bytes, count(*) AS orders FROM \"my orders\";",
        )),
        protocol: Protocol::Prepared,
        ..own(schema, &[insert, read])
    }
}

fn run(target: &mut dyn Target, work: &Work) -> Run {
    let key = RunKey { block_index: 0, cell_index: 0, attempt: 0 };
    let request = RunRequest { work, key, position: 0, limits: Limits::default(), samplers: &[] };
    execute(target, request, &mut |_| Course::Continue).unwrap()
}

fn value(run: &Run, name: &str) -> f64 {
    run.metrics.iter().find(|metric| metric.name == name).map_or(f64::NAN, |metric| metric.value)
}

fn check(run: &Run, context: &str) {
    let failed: Vec<_> = run.gates.iter().filter(|gate| gate.outcome == GateOutcome::Failed).collect();
    assert!(failed.is_empty(), "{context}: {failed:?}");
    assert_eq!(run.scripts.iter().map(|script| script.transactions).sum::<u64>(), 400, "{context}");
    let inserted = run.scripts[0].transactions as f64;
    let orders = value(run, "orders");
    assert!(orders > 5000.0 && orders <= 5000.0 + inserted, "{context}: {orders}");
    assert!(value(run, "orders_bytes") > 500_000.0, "{context}");
    assert!(value(run, "database_bytes") >= value(run, "orders_bytes"), "{context}");
    assert!(value(run, "log_bytes") > 10_000.0, "{context}");
    assert!(value(run, "transactions") >= 400.0, "{context}: {}", value(run, "transactions"));
}

#[test]
fn runs_on_a_managed_server_begin_from_one_load_and_are_valid() {
    for server in servers() {
        let scratch = scratch();
        let mut target = managed(&server, scratch.path(), Layout::default());
        let work = own_work(&workload(), 4, 400);
        let first = run(&mut target, &work);
        check(&first, &server.version);
        // The sessions of the clients are sampled in the database of the run.
        let clients = first.observations.waits.first().unwrap();
        assert_eq!(clients.session_count, 4, "{}: {}", server.version, clients.group);
        let series: Vec<&str> = first.observations.series.iter().map(|series| series.name.as_str()).collect();
        assert!(series.contains(&"data_size_bytes"), "{series:?}");
        let again = run(&mut target, &Work { seed: 8, ..work });
        check(&again, &server.version);
        target.stop(false).unwrap();
    }
}

#[test]
fn the_database_of_a_run_is_where_the_placement_says() {
    for server in newest() {
        let (first, second) = (scratch(), scratch());
        let layout =
            Layout { data: vec![first.path().to_path_buf()], log: Some(second.path().to_path_buf()) };
        let mut target = managed(&server, std::path::Path::new("/"), layout);
        for placement in [Placement::Together, Placement::DataApart, Placement::LogApart] {
            let work = Work { placement, ..own_work(&workload(), 2, 400) };
            check(&run(&mut target, &work), &format!("{placement:?}"));
        }
        target.stop(false).unwrap();
    }
}

#[test]
fn runs_on_a_server_by_url_leave_neither_databases_nor_roles() {
    for server in oldest_and_newest() {
        let scratch = scratch();
        let somebody = Somebody::new(&server, scratch.path(), false);
        // A superuser works too: the scripts are executed as a role that fathom makes.
        somebody.sql("CREATE ROLE boss LOGIN SUPERUSER PASSWORD 'geheim-wort'");
        let before =
            somebody.sql("SELECT rolname FROM pg_roles UNION ALL SELECT datname FROM pg_database ORDER BY 1");
        for user in ["maker", "boss"] {
            let options = ExternalOptions { url: somebody.url(user), database: None };
            let mut target = ExternalPostgres::connect(&options).unwrap();
            let mut work = own_work(&workload(), 4, 400);
            work.settings.insert("work_mem".to_owned(), "5MB".to_owned());
            if user == "boss" {
                work.settings.insert("log_duration".to_owned(), "off".to_owned());
            }
            let context = format!("{} {user}", server.version);
            check(&run(&mut target, &work), &context);
            check(&run(&mut target, &Work { seed: 8, ..work.clone() }), &context);
            let program = own("SELECT 1", &["COPY (SELECT 1) TO PROGRAM 'cat > /tmp/never';"]);
            let refused = run(&mut target, &own_work(&program, 1, 1));
            let error = refused.clients[0].error.clone().unwrap_or_default();
            assert!(
                error.contains("permission denied to COPY") || error.contains("must be superuser"),
                "{error}"
            );
            target.stop(false).unwrap();
            let after = somebody
                .sql("SELECT rolname FROM pg_roles UNION ALL SELECT datname FROM pg_database ORDER BY 1");
            assert_eq!(after, before, "{context}");
        }
    }
}

#[test]
fn what_a_crashed_run_left_on_a_server_by_url_is_dropped_and_what_lives_is_not() {
    for server in newest() {
        let scratch = scratch();
        let somebody = Somebody::new(&server, scratch.path(), false);
        somebody.sql("CREATE ROLE boss LOGIN SUPERUSER PASSWORD 'geheim-wort'");
        let options = ExternalOptions { url: somebody.url("boss"), database: None };
        let start = || {
            let mut target = ExternalPostgres::connect(&options).unwrap();
            run(&mut target, &own_work(&workload(), 2, 400));
            target
        };
        let living = start();
        // Nothing of it runs on: as if the process had been killed.
        let crashed = start();
        let names = somebody.databases();
        assert_eq!(names.len(), 5, "{names:?}");
        let name = crashed.database().to_owned();
        std::mem::forget(crashed);
        somebody.sql(&format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname LIKE '{name}%'"
        ));
        let mut third = ExternalPostgres::connect(&options).unwrap();
        let names = somebody.databases();
        assert_eq!(names.len(), 4, "{names:?}");
        assert!(names.iter().all(|left| !left.starts_with(&name)), "{names:?}");
        assert_eq!(somebody.sql("SELECT rolname FROM pg_roles WHERE rolname LIKE 'fathom_%'").len(), 1);
        third.stop(false).unwrap();
        drop(living);
        assert_eq!(somebody.databases(), ["postgres"]);
        // A run that is kept: its database stays, what it was copied from does not.
        let mut kept = ExternalPostgres::connect(&options).unwrap();
        let key = RunKey { block_index: 0, cell_index: 0, attempt: 0 };
        let work =
            Work { durability: Durability::None, amount: Amount::Rows(400), ..own_work(&workload(), 2, 400) };
        let request = RunRequest { work: &work, key, position: 0, limits: Limits::default(), samplers: &[] };
        lab::run::execute_and(&mut kept, request, lab::run::Leftovers::Leave, &mut |_| Course::Continue)
            .unwrap();
        kept.stop(true).unwrap();
        let words = kept.kept().join("\n");
        assert!(words.contains("_own\" at"), "{words}");
        let names = somebody.databases();
        assert_eq!(names.len(), 3, "{names:?}");
        assert_eq!(
            somebody.sql("SELECT rolname FROM pg_roles WHERE rolname LIKE 'fathom_%'"),
            Vec::<String>::new()
        );
        drop(kept);
    }
}

#[test]
fn a_table_that_the_load_makes_is_expected_before_the_load_and_tested_after_it() {
    for server in newest() {
        let scratch = scratch();
        let mut target = managed(&server, scratch.path(), Layout::default());
        let load = "CREATE TABLE sums AS SELECT g AS a, 2 * g AS b FROM generate_series(1, :rows) AS g;";
        let with = |script: &str| OwnWorkload {
            load: Some(Load::Script { sql: text("load.sql", load), rows: 100, batch: 100, connections: 1 }),
            ..own("CREATE TABLE t (a int)", &[script])
        };
        let good = with("SELECT b FROM sums WHERE a = 7; -- expect: rows = 1");
        let work = own_work(&good, 2, 10);
        target.prepare(&work).unwrap();
        rehearse(target.own_databases().unwrap(), EngineId::Postgres, &work, &good).unwrap();
        assert_eq!(run(&mut target, &work).scripts[0].transactions, 10);
        let wrong = with("SELECT c FROM sums;");
        let work = own_work(&wrong, 2, 10);
        let key = RunKey { block_index: 0, cell_index: 0, attempt: 0 };
        let request = RunRequest { work: &work, key, position: 0, limits: Limits::default(), samplers: &[] };
        let error = execute(&mut target, request, &mut |_| Course::Continue).unwrap_err().to_string();
        assert!(error.contains("script-0.sql:1:8: column \"c\" does not exist"), "{error}");
        // Without such a load a missing table is found before anything is loaded.
        let missing = OwnWorkload { load: None, ..good };
        target.prepare(&work).unwrap();
        let error =
            rehearse(target.own_databases().unwrap(), EngineId::Postgres, &work, &missing).unwrap_err();
        assert!(error.to_string().contains("relation \"sums\" does not exist"), "{error}");
        target.stop(false).unwrap();
    }
}
