//! Databases that are kept from one run to the next, on managed servers and on servers by URL.

use lab::engine::Target;
use lab::own::{Part, Protocol};

use super::support::{
    assert_succeeded, databases, execute, once, own, own_work, provide, provided, values, with_scripts,
};
use crate::support::{scratch, servers};

const SCHEMA: &str = "CREATE TABLE \"Order Lines\" (id bigint PRIMARY KEY, \"no\"\"te\" text COLLATE \"C\");
    CREATE INDEX \"by note\" ON \"Order Lines\" (\"no\"\"te\");
    CREATE UNLOGGED TABLE fast (a int);
    CREATE SEQUENCE numbers;
    INSERT INTO \"Order Lines\" SELECT i, 'n' || i FROM generate_series(1, 5000) AS i;
    INSERT INTO fast SELECT generate_series(1, 100);
    DELETE FROM \"Order Lines\" WHERE id % 10 = 0;
    SELECT nextval('numbers');";

const CONTENT: &str = "SELECT count(*), sum(id), min(\"no\"\"te\"), (SELECT count(*) FROM fast), \
    (SELECT last_value FROM numbers), pg_relation_size('\"Order Lines\"'), pg_relation_size('\"by note\"'), \
    (SELECT reltuples FROM pg_class WHERE relname = 'Order Lines'), \
    (SELECT relallvisible FROM pg_class WHERE relname = 'Order Lines') FROM \"Order Lines\"";

#[test]
fn a_kept_database_is_restored_equal_for_every_run_across_restarts() {
    for server in servers() {
        let scratch = scratch();
        let base = own(
            SCHEMA,
            &["INSERT INTO \"Order Lines\" SELECT 100000 + nextval('numbers'), 'new'; DELETE FROM fast;"],
        );
        let work = own_work(&base, 2, 10);
        let mut target = provided(&server, scratch.path(), &base, &work);
        assert!(!databases(&mut target).is_kept("abc123").unwrap());
        databases(&mut target).keep("abc123").unwrap();
        databases(&mut target).restore("abc123").unwrap();
        let content = values(&target, CONTENT);
        assert_eq!(content[..5], ["4500", "11250000", "n1", "100", "1"], "{}", server.version);
        assert!(content[8].parse::<u32>().unwrap() > 10, "{content:?}");
        for _ in 0..2 {
            let before = target.counters().unwrap();
            let done = execute(&mut target, &base, Part::Scripts, &work);
            assert_succeeded(&done);
            let after = target.counters().unwrap();
            let value = |name: &str| {
                let of = |counters: &lab::engine::Counters| {
                    counters.cumulative.iter().find(|metric| metric.name == name).unwrap().value
                };
                of(&after) - of(&before)
            };
            assert!(value("transactions") >= 20.0, "{} {}", server.version, value("transactions"));
            assert!(value("log_bytes") > 0.0);
            assert_ne!(values(&target, CONTENT), content);
            let state = target.post_run_state(&work).unwrap();
            assert!(state.total_bytes.unwrap() > 100_000, "{state:?}");
            target.clean().unwrap();
            target.prepare(&work).unwrap();
            assert!(databases(&mut target).is_kept("abc123").unwrap());
            assert!(!databases(&mut target).is_kept("abc").unwrap());
            databases(&mut target).restore("abc123").unwrap();
            assert_eq!(values(&target, CONTENT), content, "{}", server.version);
        }
        // The same name again, and a run that begins from nothing.
        databases(&mut target).make_empty().unwrap();
        assert_eq!(values(&target, "SELECT count(*) FROM pg_class WHERE relname = 'fast'"), ["0"]);
        databases(&mut target).keep("abc123").unwrap();
        databases(&mut target).restore("abc123").unwrap();
        assert_eq!(values(&target, "SELECT count(*) FROM pg_class WHERE relname = 'fast'"), ["0"]);
        let error = databases(&mut target).restore("missing").unwrap_err().to_string();
        assert!(error.contains("fathom_kept_missing") && error.contains("does not exist"), "{error}");
        target.stop(false).unwrap();
    }
}

#[test]
fn settings_and_quoted_names_of_a_database_are_in_its_copies() {
    let schema = "CREATE SCHEMA \"a, b\"; CREATE TABLE \"a, b\".t (a int); CREATE TYPE mood AS ENUM ('o''k');
        DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = \"a, b\", public', current_database());
        EXECUTE format('ALTER DATABASE %I SET jit = off', current_database()); END $$;";
    for server in servers() {
        let scratch = scratch();
        let base =
            own(schema, &["INSERT INTO t VALUES (1);\nSELECT 1 / (current_setting('jit') = 'off')::int;"]);
        let mut target = provided(&server, scratch.path(), &base, &own_work(&base, 1, 1));
        databases(&mut target).keep("x").unwrap();
        for _ in 0..2 {
            databases(&mut target).restore("x").unwrap();
            once(&mut target, &base).unwrap();
            assert_eq!(values(&target, "SELECT count(*) FROM \"a, b\".t"), ["1"], "{}", server.version);
        }
        target.stop(false).unwrap();
    }
}

#[test]
fn sessions_that_a_script_left_open_do_not_stop_a_copy() {
    for server in crate::support::newest() {
        let scratch = scratch();
        let base = own("CREATE TABLE t (a int)", &["SELECT 1"]);
        let mut target = provided(&server, scratch.path(), &base, &own_work(&base, 1, 1));
        let work = own_work(&base, 3, 3);
        let connector = databases(&mut target).connector(super::support::plan(&base, Part::Scripts, &work));
        let pool = lab::client::ClientPool::assemble(&connector, &work, 1).unwrap();
        databases(&mut target).keep("x").unwrap();
        databases(&mut target).restore("x").unwrap();
        drop(pool);
        once(&mut target, &with_scripts(&base, Protocol::Simple, &["INSERT INTO t VALUES (1);"])).unwrap();
        provide(&mut target, &base, &work);
        assert_eq!(values(&target, "SELECT count(*) FROM t"), ["0"]);
        target.stop(false).unwrap();
    }
}
