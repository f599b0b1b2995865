//! Scripts as clients execute them: built-in ones, protocols, pipelines, values of results.

use lab::engine::Target;
use lab::own::{OwnWorkload, Part, Plan, Protocol, WeightedScript};

use results::scripts::FailureKind;

use super::support::{
    PROTOCOLS, assert_succeeded, execute, failed_statements, first_failure, once, own, own_work, parse,
    provided, text, values, with_scripts,
};
use crate::support::{newest, scratch, servers};

const PGBENCH: &str = "CREATE TABLE pgbench_branches(bid int PRIMARY KEY, bbalance int, filler char(88));
    CREATE TABLE pgbench_tellers(tid int PRIMARY KEY, bid int, tbalance int, filler char(84));
    CREATE TABLE pgbench_accounts(aid int PRIMARY KEY, bid int, abalance int, filler char(84));
    CREATE TABLE pgbench_history(tid int, bid int, aid int, delta int, mtime timestamp, filler char(22));
    INSERT INTO pgbench_branches SELECT i, 0, '' FROM generate_series(1, 1) AS i;
    INSERT INTO pgbench_tellers SELECT i, 1, 0, '' FROM generate_series(1, 10) AS i;
    INSERT INTO pgbench_accounts SELECT i, 1, 0, '' FROM generate_series(1, 100000) AS i;";

#[test]
fn the_builtin_scripts_run_with_every_protocol_on_every_major() {
    for server in servers() {
        let scratch = scratch();
        let mut base = own(PGBENCH, &[]);
        base.scripts = script::BUILTINS
            .iter()
            .map(|builtin| WeightedScript { sql: text(builtin.name, builtin.script), weight: 1 })
            .collect();
        let work = own_work(&base, 4, 120);
        let mut target = provided(&server, scratch.path(), &base, &work);
        for (round, protocol) in PROTOCOLS.into_iter().enumerate() {
            let own = OwnWorkload { protocol, ..base.clone() };
            parse(&mut target, &own).unwrap();
            let done = execute(&mut target, &own, Part::Scripts, &work);
            assert_succeeded(&done);
            let context = format!("{} {protocol:?}", server.version);
            assert_eq!(done.scripts.iter().map(|script| script.transactions).sum::<u64>(), 120, "{context}");
            for script in &done.scripts {
                assert!(script.transactions > 10, "{context}: {}", script.file);
                for statement in &script.statements {
                    assert_eq!(statement.executions, script.transactions, "{context}: {}", statement.text);
                }
            }
            // The money that was moved is in all tables, of all protocols so far.
            let sums = values(
                &target,
                "SELECT (SELECT sum(bbalance) FROM pgbench_branches) = (SELECT sum(tbalance) FROM pgbench_tellers), \
                 (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(delta) FROM pgbench_history)",
            );
            assert_eq!(sums[1], "t", "{context} {round}");
        }
        target.stop(false).unwrap();
    }
}

#[test]
fn values_of_results_become_variables_with_every_protocol() {
    let schema = "CREATE TABLE seen (a text, b text, c text, d text)";
    for server in newest() {
        let scratch = scratch();
        let base = own(schema, &["SELECT 1"]);
        let mut target = provided(&server, scratch.path(), &base, &own_work(&base, 1, 1));
        for protocol in PROTOCOLS {
            let gset = "TRUNCATE seen;
                SELECT 7 AS a, NULL::int AS b, 'x''y' AS \"c\" \\gset p_
                INSERT INTO seen SELECT ':p_a', ':p_b' FROM (VALUES (1)) AS v;
                INSERT INTO seen VALUES (:p_a::text);";
            let gset = if protocol == Protocol::Simple {
                gset
            } else {
                "TRUNCATE seen;
                SELECT 7 AS a, NULL::int AS b, 'x''y' AS \"c\" \\gset p_
                INSERT INTO seen VALUES (:p_a, :p_b, :p_c, :undefined);"
            };
            once(&mut target, &with_scripts(&base, protocol, &[gset])).unwrap();
            let seen = values(&target, "SELECT a, b, c, d IS NULL FROM seen");
            match protocol {
                Protocol::Simple => assert_eq!(seen, ["7", "", "", "t", "7", "", "", "t"]),
                _ => assert_eq!(seen, ["7", "", "x'y", "t"], "{protocol:?}"),
            }
        }
        // Combined statements are of the simple protocol: \gset takes the last result, \aset all of them.
        let combined = "TRUNCATE seen;
            SELECT 1 AS one \\; SELECT 2 AS two UNION ALL SELECT 3 ORDER BY 1 \\; SELECT 4 AS four \\aset
            SELECT 5 AS five \\; SELECT 6 AS six \\gset
            INSERT INTO seen VALUES (':one', ':two', ':four', ':six');
            INSERT INTO seen VALUES (':five');";
        once(&mut target, &with_scripts(&base, Protocol::Simple, &[combined])).unwrap();
        let seen = values(&target, "SELECT concat_ws(',', a, b, c, d) FROM seen ORDER BY 1 DESC");
        assert_eq!(seen, [":five", "1,3,4,6"]);
        for (script, expected) in [
            ("SELECT 1 AS a WHERE false \\gset", "script-0.sql:1: expected one row, got 0"),
            ("SELECT generate_series(1, 3) AS a \\gset", "got 3"),
            ("CREATE TEMP TABLE t () \\gset", "got 0"),
        ] {
            for protocol in PROTOCOLS {
                let error = once(&mut target, &with_scripts(&base, protocol, &[script])).unwrap_err();
                assert!(error.contains(expected), "{error}");
            }
        }
        target.stop(false).unwrap();
    }
}

#[test]
fn answers_and_requests_larger_than_all_buffers_are_taken() {
    for server in newest() {
        let scratch = scratch();
        let base = own("CREATE TABLE t (a text)", &["SELECT 1"]);
        let mut target = provided(&server, scratch.path(), &base, &own_work(&base, 1, 1));
        let long = format!("INSERT INTO t VALUES ('{}');", "x".repeat(5_000_000));
        let script = format!(
            "{long}
             SELECT repeat('y', 100000000);
             SELECT repeat('z', 20000000) AS a \\gset
             SELECT g, repeat('w', 1000) FROM generate_series(1, 30000) AS g;
             SELECT 1;"
        );
        for protocol in PROTOCOLS {
            let done = once(&mut target, &with_scripts(&base, protocol, &[&script])).unwrap();
            assert_eq!(done.scripts[0].transactions, 1, "{protocol:?}");
        }
        assert_eq!(values(&target, "SELECT sum(length(a)) FROM t"), ["15000000"]);
        let large = "SELECT repeat('y', 100000000) AS a \\gset";
        let error = once(&mut target, &with_scripts(&base, Protocol::Simple, &[large])).unwrap_err();
        assert!(error.contains("the rows of one answer take more than 64 MiB of memory"), "{error}");
        target.stop(false).unwrap();
    }
}

#[test]
fn pipelines_send_statements_without_waiting_and_report_the_first_error_with_its_place() {
    for server in servers() {
        let scratch = scratch();
        let schema = "CREATE TABLE t (a int PRIMARY KEY); CREATE TABLE n (a int); INSERT INTO n VALUES (0)";
        let base = own(schema, &["SELECT 1"]);
        let mut target = provided(&server, scratch.path(), &base, &own_work(&base, 1, 1));
        for protocol in [Protocol::Extended, Protocol::Prepared] {
            let many: String = (0..300).map(|_| "SELECT repeat('x', 10000);\n").collect();
            let script = format!(
                "TRUNCATE t;
                 \\set a 0
                 \\startpipeline
                 \\set a :a + 1
                 INSERT INTO t VALUES (:a);
                 \\syncpipeline
                 {many}
                 INSERT INTO t VALUES (:a + 10);
                 \\endpipeline
                 SELECT 1;"
            );
            let own = with_scripts(&base, protocol, &[&script]);
            let done = execute(&mut target, &own, Part::Scripts, &own_work(&own, 1, 3));
            assert_succeeded(&done);
            assert_eq!(done.scripts[0].transactions, 3);
            assert_eq!(values(&target, "SELECT a FROM t ORDER BY 1"), ["1", "11"]);
            // The statements behind the error are skipped, those behind the synchronization point are not.
            let script = "TRUNCATE t;
\\startpipeline
INSERT INTO t VALUES (1);
\\syncpipeline
INSERT INTO t VALUES (2);
INSERT INTO t VALUES (1);
INSERT INTO t VALUES (3);
\\syncpipeline
INSERT INTO t VALUES (4);
\\endpipeline
INSERT INTO t VALUES (5);";
            let own = with_scripts(&base, protocol, &[script]);
            let error = once(&mut target, &own).unwrap_err();
            assert!(error.starts_with("script-0.sql:6: duplicate key"), "{error}");
            assert_eq!(values(&target, "SELECT a FROM t ORDER BY 1"), ["1", "4"], "{}", server.version);
            // A client that goes on prepares again what was skipped.
            let own = OwnWorkload { on_error: lab::own::OnError::Continue, ..own };
            let done = execute(&mut target, &own, Part::Scripts, &own_work(&own, 1, 3));
            assert_succeeded(&done);
            assert_eq!((done.scripts[0].transactions, done.scripts[0].failed()), (0, 3));
            assert_eq!(failed_statements(&done.scripts[0]), [(FailureKind::Constraint, 3)]);
            assert_eq!(first_failure(&done), error);
            // Failures that a retry helps against are retried, pipeline and all.
            let script = "\\startpipeline
                BEGIN ISOLATION LEVEL REPEATABLE READ;
                SELECT count(*) FROM n;
                UPDATE n SET a = a + 1;
                END;
                \\endpipeline";
            let own = OwnWorkload { max_tries: 0, ..with_scripts(&base, protocol, &[script]) };
            let done = execute(&mut target, &own, Part::Scripts, &own_work(&own, 4, 100));
            assert_succeeded(&done);
            assert_eq!((done.scripts[0].transactions, done.scripts[0].failed()), (100, 0));
            assert_eq!(values(&target, "SELECT a % 100 FROM n"), ["0"], "{}", server.version);
        }
        target.stop(false).unwrap();
    }
}

#[test]
fn a_pipeline_is_refused_where_the_protocol_has_none() {
    let own = own("", &["\\startpipeline\nSELECT 1;\n\\endpipeline"]);
    let refused = Plan::new(&own, Part::Scripts, results::EngineId::Postgres, &own_work(&own, 1, 1));
    if let Ok(Some(_)) = refused {
        for server in newest() {
            let scratch = scratch();
            let base = OwnWorkload { schema: Some(text("schema.sql", "SELECT 1")), ..own.clone() };
            let mut target = provided(&server, scratch.path(), &base, &own_work(&base, 1, 1));
            let error = once(&mut target, &base).unwrap_err();
            assert!(error.contains("cannot use pipeline mode with the simple query protocol"), "{error}");
        }
    }
}
