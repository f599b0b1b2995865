//! What scripts do under each protocol.

use std::sync::Arc;

use lab::own::Part;
use script::BUILTINS;

use super::support::{PROTOCOLS, SCHEMA, Scene, text};

#[test]
fn the_built_in_scripts_of_pgbench_run_under_every_protocol() {
    for protocol in PROTOCOLS {
        let mut scene = Scene::with_schema(SCHEMA);
        let scripts: Vec<_> = BUILTINS.iter().map(|builtin| builtin.script).collect();
        scene.scripts(&scripts).protocol(protocol);
        scene.parse_all().unwrap();
        let dispatch = scene.run(3, 120);
        for client in &dispatch.clients {
            assert_eq!(client.error, None, "{protocol:?}");
        }
        assert_eq!(dispatch.scripts.iter().map(|script| script.transactions).sum::<u64>(), 120);
        let writes = dispatch.scripts[0].transactions + dispatch.scripts[1].transactions;
        assert_eq!(scene.ask("SELECT count(*) FROM pgbench_history"), writes.to_string());
        let sums =
            "SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(delta) FROM pgbench_history)";
        assert_eq!(scene.ask(sums), "1");
        assert_eq!(
            scene.ask("SELECT typeof(delta), typeof(aid) FROM pgbench_history LIMIT 1"),
            "integer|integer"
        );
        assert!(dispatch.scripts[0].statements.iter().all(|statement| {
            statement.executions == dispatch.scripts[0].transactions
                && statement.latency.count() == statement.executions
        }));
    }
}

#[test]
fn values_reach_sqlite_with_their_types() {
    for protocol in PROTOCOLS {
        let mut scene = Scene::with_schema("CREATE TABLE t (n, v, w)");
        scene.own.definitions.push(("word".to_owned(), "it".to_owned()));
        scene.own.definitions.push(("zip".to_owned(), "007".to_owned()));
        scene.protocol(protocol);
        let quoted = |name: &str| match protocol {
            lab::own::Protocol::Simple => format!("':{name}'"),
            _ => format!(":{name}"),
        };
        let script = format!(
            "\\set i -9223372036854775807 - 1\n\\set d 0.1 + 0.2\n\\set b 1 = 1\n\\set n NULL\n\
             INSERT INTO t VALUES (1, :i, {});\nINSERT INTO t VALUES (2, :d, {});\n\
             INSERT INTO t VALUES (3, :b, :n);",
            quoted("word"),
            quoted("zip"),
        );
        assert_eq!(scene.once(&script), None, "{protocol:?}");
        let found = scene.ask("SELECT n, typeof(v), abs(v - 0.3) < 1e-9, typeof(w), w FROM t ORDER BY n");
        assert_eq!(found, "1|integer|0|text|it;2|real|1|text|007;3|integer|0|null|NULL", "{protocol:?}");
    }
}

#[test]
fn gset_and_aset_store_the_values_of_rows() {
    for protocol in PROTOCOLS {
        let mut scene = Scene::with_schema("CREATE TABLE t (a, b); CREATE TABLE u (x);");
        scene.protocol(protocol);
        let script = "SELECT 7 AS a, 2.5 AS b \\gset p_\n\\set c :p_a + 1\nINSERT INTO t VALUES (:c, :p_b);\n\
                      SELECT 1 AS x \\; SELECT 2 AS y \\aset\nINSERT INTO u VALUES (:x), (:y);";
        assert_eq!(scene.once(script), None, "{protocol:?}");
        assert_eq!(scene.ask("SELECT * FROM t"), "8|2.5");
        assert_eq!(scene.ask("SELECT x FROM u"), "1;2");
        let error = scene.once("SELECT a AS p FROM t WHERE a = 99 \\gset\n").unwrap();
        assert!(error.contains("expected one row, got 0"), "{error}");
    }
}

#[test]
fn a_combined_statement_is_executed_in_turn_with_its_own_parameters() {
    for protocol in PROTOCOLS {
        let mut scene = Scene::with_schema("CREATE TABLE t (a, b)");
        scene.protocol(protocol);
        let script = "\\set x 1\n\\set y 2\nCREATE TEMP TABLE IF NOT EXISTS s (v) \\; INSERT INTO s VALUES (:y) \\; \
                      INSERT INTO t SELECT :x, v FROM s \\; DELETE FROM s;";
        scene.scripts(&[script]);
        assert_eq!(scene.run(1, 3).clients[0].error, None, "{protocol:?}");
        assert_eq!(scene.ask("SELECT * FROM t"), "1|2;1|2;1|2");
    }
}

#[test]
fn a_trigger_is_one_statement_with_semicolons_in_it() {
    let mut scene = Scene::with_schema(
        "CREATE TABLE t (a); CREATE TABLE log (a);
         CREATE TRIGGER copy AFTER INSERT ON t BEGIN INSERT INTO log VALUES (new.a)\\; END;
         CREATE TEMP TRIGGER IF NOT EXISTS mine AFTER INSERT ON t BEGIN SELECT 1; SELECT 2; END;
         CREATE TRIGGER twice AFTER INSERT ON t WHEN CASE new.a WHEN 5 THEN 1 END BEGIN
             INSERT INTO log VALUES (2 * new.a); UPDATE log SET a = CASE a WHEN 10 THEN 11 ELSE a END;
         END;",
    );
    assert_eq!(scene.once("INSERT INTO t VALUES (5);"), None);
    assert_eq!(scene.ask("SELECT a FROM log ORDER BY a"), "5;11");
}

#[test]
fn rows_are_those_returned_or_changed() {
    let mut scene = Scene::with_schema("CREATE TABLE t (a); INSERT INTO t VALUES (1), (2), (3);");
    // A BEGIN behind an UPDATE changes nothing, although sqlite3_changes still has the former number.
    let script = "UPDATE t SET a = a + 1; -- expect: rows = 3
BEGIN; -- expect: rows = 0
SELECT a FROM t; -- expect: rows = 3
DELETE FROM t WHERE a > 2; -- expect: rows = 2
CREATE INDEX t_a ON t (a); -- expect: rows = 0
INSERT INTO t VALUES (9) RETURNING a; -- expect: rows = 1
END;";
    assert_eq!(scene.once(script), None);
    let error = scene.once("SELECT a FROM t; -- expect: rows = 1").unwrap();
    assert_eq!(error, "0.sql:1: expected rows = 1, got 2");
}

#[test]
fn pipelines_execute_at_once_and_are_refused_with_protocol_simple() {
    for protocol in PROTOCOLS {
        let mut scene = Scene::with_schema("CREATE TABLE t (a)");
        scene.protocol(protocol);
        let script = "\\startpipeline\nINSERT INTO t VALUES (1);\n\\syncpipeline\nINSERT INTO t VALUES (2);\n\\endpipeline\n";
        let error = scene.once(script);
        match protocol {
            lab::own::Protocol::Simple => assert!(error.unwrap().contains("cannot use pipeline mode")),
            _ => assert_eq!((error, scene.ask("SELECT a FROM t").as_str()), (None, "1;2")),
        }
    }
}

#[test]
fn unicode_and_huge_values_arrive_as_they_are() {
    for protocol in PROTOCOLS {
        let mut scene = Scene::with_schema(
            "CREATE TABLE \"größe\" (v); INSERT INTO \"größe\" VALUES (printf('%.*c', 3000000, 'x') || '€')",
        );
        scene.protocol(protocol);
        let place = if protocol == lab::own::Protocol::Simple { "':v'" } else { ":v" };
        let script =
            format!("SELECT v FROM \"größe\" LIMIT 1 \\gset\nINSERT INTO \"größe\" VALUES ({place});");
        assert_eq!(scene.once(&script), None);
        assert_eq!(
            scene.ask("SELECT count(*), count(DISTINCT v), max(length(v)) FROM \"größe\""),
            "2|1|3000001"
        );
    }
}

#[test]
fn a_value_with_a_nul_byte_is_bound_and_not_put_into_a_text() {
    for protocol in PROTOCOLS {
        let mut scene = Scene::with_schema("CREATE TABLE t (v)");
        scene.protocol(protocol);
        let place = if protocol == lab::own::Protocol::Simple { "':v'" } else { ":v" };
        let script = format!("SELECT 'a' || char(0) || 'b' AS v \\gset\nINSERT INTO t VALUES ({place});");
        match (protocol, scene.once(&script)) {
            (lab::own::Protocol::Simple, error) => assert!(error.unwrap().contains("NUL byte")),
            (_, error) => {
                assert_eq!(error, None);
                assert_eq!(scene.ask("SELECT hex(v) FROM t"), "610062");
            }
        }
    }
}

#[test]
fn what_comes_after_reads_what_the_scripts_did() {
    let mut scene = Scene::with_schema("CREATE TABLE t (a)");
    scene.own.after = Some(text("after.sql", "SELECT count(*) AS n FROM t;"));
    assert_eq!(scene.once("INSERT INTO t VALUES (1);"), None);
    let plan = scene.plan(Part::After);
    assert_eq!(scene.run_plan(Arc::clone(&plan), 1, 1).clients[0].error, None);
    let rows = plan.take_rows();
    assert_eq!((rows[0].columns[0].as_str(), rows[0].rows[0][0].as_deref()), ("n", Some("1")));
}
