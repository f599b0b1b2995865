//! The scripts of pgbench's own regression tests that need a server, on one.

use lab::own::Protocol;

use super::support::{once, own, own_work, provided, with_scripts};
use crate::support::{newest, scratch};
use cases::{At, FAILURES};
use lab::engine::Target;
use running::RUNNING;

#[path = "../../../../script/tests/pgbench/cases.rs"]
#[allow(dead_code)]
mod cases;
#[path = "../../../../script/tests/pgbench/running.rs"]
mod running;

const SCHEMA: &str =
    "CREATE TABLE pgbench_accounts(aid int PRIMARY KEY, bid int, abalance int, filler char(84));
    INSERT INTO pgbench_accounts SELECT i, 1, 0, '' FROM generate_series(1, 100000) AS i;
    CREATE UNLOGGED TABLE seeded_random(seed INT8 NOT NULL, rand TEXT NOT NULL, val INTEGER NOT NULL);
    CREATE UNLOGGED TABLE xy (x integer, y integer);
    INSERT INTO xy VALUES (1, 2);";

/// Scripts that the server fails, as those tests want it.
const FAILED: [(&str, &str); 4] = [
    ("server parameter logging 1, 3 and 5", "invalid input syntax for type json"),
    ("server parameter logging 2 and 4", "division by zero"),
    ("server parameter logging 6", "invalid input syntax for type smallint: \"1a\""),
    ("copy in script", "COPY"),
];

#[test]
fn scripts_of_the_tests_of_pgbench_run_and_fail_on_a_server_as_they_do_there() {
    for server in newest() {
        let scratch = scratch();
        let base = own(SCHEMA, &["SELECT 1"]);
        let mut target = provided(&server, scratch.path(), &base, &own_work(&base, 1, 1));
        for (name, text, has_parameters) in RUNNING {
            let protocols = match has_parameters {
                true => vec![Protocol::Extended, Protocol::Prepared],
                false => vec![Protocol::Simple],
            };
            for protocol in protocols {
                let done = once(&mut target, &with_scripts(&base, protocol, &[text]));
                match (FAILED.iter().find(|(failed, _)| *failed == name), done) {
                    (Some((_, message)), Err(error)) => assert!(error.contains(message), "{name}: {error}"),
                    (None, Ok(done)) => assert_eq!(done.scripts[0].transactions, 1, "{name}"),
                    (_, other) => panic!("{name} {protocol:?}: {other:?}"),
                }
            }
        }
        for (name, text, at, message) in FAILURES {
            // \syncpipeline and the like are of the protocols with parameters, which those tests use for all.
            let script = with_scripts(&base, Protocol::Prepared, &[text]);
            if at == At::Server {
                let error = once(&mut target, &script).unwrap_err();
                assert!(error.contains(message), "{name}: {error}");
            }
        }
        target.stop(false).unwrap();
    }
}
