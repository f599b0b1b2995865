//! What refuses, deadlocks, and goes away: how failures of statements are told apart and survived.

use lab::client::ClientPool;
use lab::engine::Target;
use lab::own::{OnError, OwnWorkload, Part, Protocol};
use results::scripts::FailureKind;

use super::support::{
    PROTOCOLS, assert_succeeded, databases, errors, execute, failed_statements, first_failure, once, own,
    own_work, plan, provided, values, with_scripts,
};
use crate::support::{newest, scratch, servers};

#[test]
fn errors_have_the_place_and_the_kind_and_the_client_goes_on_where_it_may() {
    for server in servers() {
        let scratch = scratch();
        let base = own("CREATE TABLE t (a int PRIMARY KEY CHECK (a > 0))", &["SELECT 1"]);
        let mut target = provided(&server, scratch.path(), &base, &own_work(&base, 1, 1));
        for protocol in PROTOCOLS {
            for (script, place, kind) in [
                (
                    "\\set a 1234567\nSELECT :a,\n  :a frm x y;",
                    "script-0.sql:3:10: syntax error at or near \"x\" (42601)",
                    FailureKind::Other,
                ),
                (
                    "SELECT 'é' FROM nowhere;",
                    "script-0.sql:1:17: relation \"nowhere\" does not exist (42P01)",
                    FailureKind::Other,
                ),
                (
                    "INSERT INTO t VALUES (7) ON CONFLICT DO NOTHING;\nINSERT INTO t VALUES (7);",
                    "script-0.sql:2: duplicate key value violates unique constraint \"t_pkey\" (23505)",
                    FailureKind::Constraint,
                ),
                (
                    "BEGIN;\nINSERT INTO t VALUES (-1);\nEND;",
                    "script-0.sql:2: new row for relation \"t\" violates check constraint \"t_a_check\" (23514)",
                    FailureKind::Constraint,
                ),
            ] {
                let own =
                    OwnWorkload { on_error: OnError::Continue, ..with_scripts(&base, protocol, &[script]) };
                let done = execute(&mut target, &own, Part::Scripts, &own_work(&own, 2, 6));
                assert_succeeded(&done);
                let record = &done.scripts[0];
                assert_eq!((record.transactions, record.failed()), (0, 6), "{protocol:?} {script}");
                assert_eq!(failed_statements(record), [(kind, 6)], "{} {protocol:?}", server.version);
                assert_eq!(first_failure(&done), place, "{} {protocol:?}", server.version);
                let abort = OwnWorkload { on_error: OnError::Abort, ..own };
                assert_eq!(once(&mut target, &abort).unwrap_err(), place);
            }
        }
        target.stop(false).unwrap();
    }
}

#[test]
fn serialization_failures_and_deadlocks_are_tried_again() {
    let schema = "CREATE TABLE t (a int PRIMARY KEY, n bigint); INSERT INTO t VALUES (1, 0), (2, 0)";
    for server in newest() {
        let scratch = scratch();
        let base = own(schema, &["SELECT 1"]);
        let mut target = provided(&server, scratch.path(), &base, &own_work(&base, 1, 1));
        for protocol in PROTOCOLS {
            let serializable = "BEGIN ISOLATION LEVEL SERIALIZABLE;
                SELECT sum(n) AS n FROM t \\gset
                UPDATE t SET n = n + 1 WHERE a = 1 + (:client_id % 2);
                END;";
            let own = OwnWorkload { max_tries: 0, ..with_scripts(&base, protocol, &[serializable]) };
            let done = execute(&mut target, &own, Part::Scripts, &own_work(&own, 4, 200));
            assert_succeeded(&done);
            let record = &done.scripts[0];
            assert_eq!((record.transactions, record.failed()), (200, 0), "{protocol:?}");
            let kinds = failed_statements(record);
            assert!(kinds.iter().all(|(kind, _)| *kind == FailureKind::Serialization), "{kinds:?}");
            assert_eq!(record.retries, kinds.iter().map(|(_, count)| count).sum::<u64>());
            assert!(record.retries > 0);
        }
        let deadlock = "\\set first 1 + :client_id % 2
            \\set second 3 - :first
            BEGIN;
            SET LOCAL deadlock_timeout = '10ms';
            UPDATE t SET n = n + 1 WHERE a = :first;
            \\sleep 30 ms
            UPDATE t SET n = n + 1 WHERE a = :second;
            END;";
        let own = OwnWorkload { max_tries: 50, ..with_scripts(&base, Protocol::Prepared, &[deadlock]) };
        let error = once(&mut target, &own).unwrap_err();
        assert!(error.contains("permission denied to set parameter \"deadlock_timeout\""), "{error}");
        let deadlock =
            deadlock.replace("SET LOCAL deadlock_timeout = '10ms';", "SET LOCAL lock_timeout = '5s';");
        let own = OwnWorkload { max_tries: 50, ..with_scripts(&base, Protocol::Prepared, &[&deadlock]) };
        let done = execute(&mut target, &own, Part::Scripts, &own_work(&own, 2, 4));
        assert_succeeded(&done);
        assert_eq!(done.scripts[0].transactions, 4);
        let kinds = failed_statements(&done.scripts[0]);
        assert!(
            kinds.iter().all(|(kind, _)| *kind == FailureKind::Deadlock) && !kinds.is_empty(),
            "{kinds:?}"
        );
        // A lock that is not available: counted apart, and tried as often as allowed.
        let locked = "BEGIN;
            SELECT n FROM t WHERE a = 1 FOR UPDATE NOWAIT;
            \\sleep 20 ms
            END;";
        let own = OwnWorkload { max_tries: 2, ..with_scripts(&base, Protocol::Simple, &[locked]) };
        let done = execute(&mut target, &own, Part::Scripts, &own_work(&own, 8, 40));
        assert_succeeded(&done);
        let record = &done.scripts[0];
        assert_eq!(record.transactions + record.failed(), 40);
        assert!(record.failures.iter().all(|failure| failure.kind == FailureKind::Locked));
        assert!(record.failed() > 0 && record.retries > 0);
        target.stop(false).unwrap();
    }
}

#[test]
fn a_copy_in_a_script_is_refused_and_the_connection_goes_on() {
    for server in servers() {
        let scratch = scratch();
        let base = own("CREATE TABLE t (a int)", &["SELECT 1"]);
        let mut target = provided(&server, scratch.path(), &base, &own_work(&base, 1, 1));
        for protocol in PROTOCOLS {
            for copy in ["COPY t FROM STDIN;", "COPY (SELECT generate_series(1, 100000)) TO STDOUT;"] {
                let script = format!("INSERT INTO t VALUES (1);\n{copy}");
                let own =
                    OwnWorkload { on_error: OnError::Continue, ..with_scripts(&base, protocol, &[&script]) };
                let done = execute(&mut target, &own, Part::Scripts, &own_work(&own, 1, 3));
                assert_succeeded(&done);
                assert_eq!(done.scripts[0].failed(), 3, "{} {protocol:?} {copy}", server.version);
                assert!(
                    first_failure(&done).contains("script-0.sql:2: COPY FROM STDIN and"),
                    "{}",
                    first_failure(&done)
                );
                if protocol == Protocol::Simple {
                    continue;
                }
                // In a pipeline the client ends at worst, and does not hang.
                let piped = format!("\\startpipeline\nSELECT 1;\n{copy}\nSELECT 2;\n\\endpipeline");
                let error = once(&mut target, &with_scripts(&base, protocol, &[&piped])).unwrap_err();
                assert!(error.contains("script-0.sql:3: COPY FROM STDIN"), "{error}");
            }
        }
        target.stop(false).unwrap();
    }
}

#[test]
fn scripts_are_executed_as_a_role_that_reads_no_files_and_runs_no_programs() {
    for server in servers() {
        let scratch = scratch();
        let schema = "CREATE EXTENSION pgcrypto; CREATE TABLE t (a text); CREATE SCHEMA s";
        let base = own(schema, &["SELECT 1"]);
        let mut target = provided(&server, scratch.path(), &base, &own_work(&base, 1, 1));
        for refused in [
            "COPY t TO PROGRAM 'cat > /tmp/never'",
            "COPY t FROM '/etc/passwd'",
            "COPY t TO '/tmp/never'",
            "SELECT pg_read_file('/etc/passwd')",
            "SELECT pg_ls_dir('.')",
            "SELECT lo_import('/etc/passwd')",
            "CREATE EXTENSION file_fdw",
            "CREATE EXTENSION plpython3u",
            "CREATE DATABASE other",
            "CREATE ROLE other",
            "ALTER SYSTEM SET work_mem = '1MB'",
            "ALTER ROLE fathom_own SUPERUSER",
            "SET ROLE fathom",
            "SET SESSION AUTHORIZATION fathom",
            "CREATE FUNCTION f() RETURNS int LANGUAGE c AS '/lib/x86_64-linux-gnu/libc.so.6', 'system'",
        ] {
            let error = once(&mut target, &with_scripts(&base, Protocol::Simple, &[refused])).unwrap_err();
            let is_refused = [
                "ermission denied",
                "must be superuser",
                "must have",
                "is not available",
                "not allowed",
                "could not open extension control file",
            ]
            .iter()
            .any(|word| error.contains(word));
            assert!(is_refused, "{} {refused}: {error}", server.version);
        }
        assert_eq!(values(&target, "SELECT tableowner FROM pg_tables WHERE tablename = 't'"), ["fathom_own"]);
        target.stop(false).unwrap();
    }
}

#[test]
fn a_killed_backend_ends_its_client_with_what_the_server_said() {
    for server in newest() {
        let scratch = scratch();
        let base = own("CREATE TABLE t (a int)", &["SELECT 1"]);
        let mut target = provided(&server, scratch.path(), &base, &own_work(&base, 1, 1));
        for protocol in PROTOCOLS {
            let own = OwnWorkload {
                on_error: OnError::Continue,
                ..with_scripts(&base, protocol, &["SELECT pg_terminate_backend(pg_backend_pid());"])
            };
            let done = execute(&mut target, &own, Part::Scripts, &own_work(&own, 2, 10));
            let errors = errors(&done);
            assert_eq!(errors.len(), 2, "{errors:?}");
            assert!(
                errors[0].contains("terminating connection due to administrator command (57P01)"),
                "{errors:?}"
            );
        }
        // The server ends in the middle of a pipeline.
        let own = with_scripts(
            &base,
            Protocol::Prepared,
            &[
                "\\startpipeline\nSELECT 1;\nSELECT pg_terminate_backend(pg_backend_pid());\nSELECT 2;\n\\endpipeline",
            ],
        );
        let error = once(&mut target, &own).unwrap_err();
        assert!(error.contains("57P01"), "{error}");
        target.stop(false).unwrap();
    }
}

#[test]
fn a_statement_that_waits_is_cancelled_from_outside() {
    for server in newest() {
        let scratch = scratch();
        let base = own("CREATE TABLE t (a int)", &["SELECT pg_sleep(100);"]);
        let work = own_work(&base, 2, 2);
        let mut target = provided(&server, scratch.path(), &base, &work);
        let connector = databases(&mut target).connector(plan(&base, Part::Scripts, &work));
        let mut pool = ClientPool::assemble(&connector, &work, 1).unwrap();
        assert_eq!(target.clients().unwrap().clients_seen().unwrap(), Some(2));
        pool.release();
        pool.wait(&mut |_| target.clients().unwrap().interrupt().unwrap());
        let errors = errors(&pool.dismiss());
        assert_eq!(errors.len(), 2);
        assert!(errors[0].contains("57014"), "{errors:?}");
        target.stop(false).unwrap();
    }
}
