//! Shipped own workloads that answer their question in seconds.

use crate::bench::Bench;

#[test]
fn shipped_own_workloads_run_and_what_they_expect_holds() {
    for name in ["page-size", "wal-vs-delete-journal", "index-count"] {
        let bench = Bench::new();
        // One repetition: what they expect are means; one of them is a time, which no test may claim.
        bench.finish(&["run", name, "--mini", "--repetitions", "1", "--ceilings", "never"]);
        let (out, _) = bench.expect(0, &["report", "1"]);
        assert!(out.contains("No transaction failed"), "{name}: {out}");
        let held = out.lines().filter(|line| line.starts_with("held ")).count();
        assert!(held > 0 && !out.contains("not checked"), "{name}: {out}");
        if name != "wal-vs-delete-journal" {
            assert!(!out.contains("did not hold"), "{name}: {out}");
        }
    }
}

#[test]
fn an_expectation_that_does_not_hold_makes_the_run_invalid_with_its_place() {
    let bench = Bench::new();
    bench.write("t.sql", "CREATE TABLE t (id INTEGER PRIMARY KEY, n int);\nINSERT INTO t VALUES (1, 0);\n");
    bench.write("u.sql", "UPDATE t SET n = n + 1 WHERE id = 2; -- expect: rows = 1\n");
    let line = ["run", "u.sql", "--schema", "t.sql", "--set", "rows_total=10", "--set", "on_error=continue"];
    let (_, err) = bench.expect(1, &line);
    assert!(
        err.contains("expectations_hold: 10 of 10 executions: u.sql:1: expected rows = 1, got 0"),
        "{err}"
    );
    let (_, err) = bench.expect(2, &["run", "u.sql@1", "--schema", "t.sql", "-M", "prepared", "-t", "noop"]);
    assert!(!err.is_empty());
    bench.write("u.sql", "SELECT 1;\n-- expect: rows == 1\n");
    let (_, err) = bench.expect(2, &["run", "u.sql", "--dry-run"]);
    assert!(err.contains("invalid number of rows") && err.contains("u.sql:2:"), "{err}");
}
