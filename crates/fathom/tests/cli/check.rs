//! `fathom check` and `fathom corrupt` from the outside.

use crate::bench::Bench;

fn database(bench: &Bench, name: &str) {
    let connection = rusqlite::Connection::open(bench.path().join(name)).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT NOT NULL); CREATE INDEX i ON t (b);
             WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 3000)
             INSERT INTO t (b) SELECT printf('%08x', x * 2654435761 % 4294967296) FROM n;",
        )
        .unwrap();
}

fn bytes(bench: &Bench, name: &str) -> Vec<u8> {
    std::fs::read(bench.path().join(name)).unwrap()
}

#[test]
fn a_clean_database_is_clean_at_every_level_and_is_not_touched() {
    let bench = Bench::new();
    database(&bench, "a.db");
    let before = bytes(&bench, "a.db");
    for level in ["read", "page", "structure", "full"] {
        for jobs in ["1", "2"] {
            let (out, _) = bench.expect(0, &["check", "a.db", "--level", level, "-j", jobs]);
            assert!(out.contains("no damage found"), "{out}");
        }
    }
    assert_eq!(bytes(&bench, "a.db"), before);
}

#[test]
fn a_drill_damages_a_copy_and_the_command_it_names_finds_it() {
    let bench = Bench::new();
    database(&bench, "a.db");
    let before = bytes(&bench, "a.db");
    let (_, err) = bench.expect(2, &["corrupt", "a.db", "--class", "lost-entry"]);
    assert!(err.contains("--copy-to"), "{err}");
    let (out, _) = bench.expect(0, &["corrupt", "a.db", "--class", "lost-entry", "--copy-to", "b.db"]);
    assert!(out.contains("fathom check b.db"), "{out}");
    bench.expect(2, &["corrupt", "a.db", "--class", "lost-entry", "--copy-to", "b.db"]);
    assert_eq!(bytes(&bench, "a.db"), before);
    let (out, _) = bench.expect(1, &["check", "b.db", "--json"]);
    let finding: serde_json::Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
    assert_eq!(finding["kind"], "finding");
    let rule = finding["rule"].as_str().unwrap();
    let (explained, _) = bench.expect(0, &["explain", rule]);
    assert!(explained.contains(rule) && explained.contains("What to do"), "{explained}");
}

#[test]
fn what_is_no_database_is_refused_with_its_name() {
    let bench = Bench::new();
    bench.write("page.html", "<html>saved page</html>");
    let (out, err) = bench.expect(2, &["check", "page.html"]);
    assert!(out.is_empty() && err.contains("page.html"), "{err}");
    let (_, err) = bench.expect(2, &["check", "absent.db"]);
    assert!(err.contains("absent.db"), "{err}");
    bench.expect(2, &["check", "page.html", "--max-read-rate", "fast"]);
}
