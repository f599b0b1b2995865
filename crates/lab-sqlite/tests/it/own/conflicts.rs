//! Transactions that conflict, under every journal mode and protocol: what they commit is what they would one by one.

use lab::own::OnError;
use results::scripts::FailureKind;

use super::support::{PROTOCOLS, Scene};

/// Reads a balance, and writes what follows from it: two of them that overlap cannot both commit.
const PAY: &str = "\\set id random(1, 5)
\\set d random(-50, 50)
BEGIN;
SELECT v AS old FROM a WHERE id = :id \\gset
UPDATE a SET v = :old + :d WHERE id = :id; -- expect: rows = 1
INSERT INTO h VALUES (:id, :d);
END;";

#[test]
fn no_payment_is_lost_whatever_the_journal_mode_the_protocol_and_the_threads() {
    for journal_mode in ["wal", "delete", "truncate", "memory"] {
        for (protocol, jobs) in PROTOCOLS.into_iter().zip([1, 2, 6]) {
            let mut scene = Scene::empty(&[("journal_mode", journal_mode), ("synchronous", "off")]);
            scene.make(
                "CREATE TABLE a (id INTEGER PRIMARY KEY, v INT); CREATE TABLE h (id INT, delta INT);
                 INSERT INTO a VALUES (1, 0), (2, 0), (3, 0), (4, 0), (5, 0);",
            );
            scene.scripts(&[PAY, "SELECT sum(v) FROM a;"]).protocol(protocol).on_error(OnError::Abort, 0);
            let plan = scene.plan(lab::own::Part::Scripts);
            let dispatch = scene.run_on(plan, 6, 300, jobs);
            for client in &dispatch.clients {
                assert_eq!(client.error, None, "{journal_mode} {protocol:?}");
            }
            let kinds = dispatch.scripts.iter().flat_map(|script| &script.statements);
            for failure in kinds.flat_map(|statement| &statement.failures) {
                assert!(matches!(failure.kind, FailureKind::Locked | FailureKind::Serialization));
            }
            let payments = dispatch.scripts[0].transactions;
            assert_eq!(scene.ask("SELECT count(*) FROM h"), payments.to_string());
            let wrong = "SELECT count(*) FROM a WHERE v <> (SELECT total(delta) FROM h WHERE h.id = a.id)";
            assert_eq!(scene.ask(wrong), "0", "{journal_mode} {protocol:?} {jobs}");
        }
    }
}
