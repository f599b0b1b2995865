//! Scripts that run: on embedded SQLite, and on PostgreSQL where there is one.

use results::model::RunState;
use skips::{Capability, skip};

use crate::bench::{Bench, signal, text, until_met, wait_for};

/// Engines that are here.
fn targets() -> Vec<&'static str> {
    let mut targets = vec!["sqlite"];
    match lab_postgres::find_servers(&[]).is_empty() {
        true => skip(Capability::Postgres, "no PostgreSQL server binaries"),
        false => targets.push("postgres"),
    }
    targets
}

#[test]
fn built_in_scripts_run_over_the_tables_of_pgbench_and_every_transaction_is_counted() {
    for target in targets() {
        let bench = Bench::new();
        let words =
            ["run", "-b", "tpcb-like@3", "-b", "select-only", "-s", "2", "-c", "2", "-F", "70", "-t", target];
        let more = ["--set", "transactions=60", "--set", "durability=none", "--ceilings", "never"];
        let (out, _) = bench.finish(&[&words[..], &more].concat());
        assert!(out.contains("one run per configuration has no interval"), "{out}");
        let stored = bench.stored();
        let run = stored.runs.iter().find(|run| run.counts()).unwrap();
        assert_eq!((run.run.state, run.run.transactions()), (RunState::Valid, 60), "{target}");
        let counted: Vec<u64> = run.run.scripts.iter().map(|script| script.transactions).collect();
        assert_eq!(counted.iter().sum::<u64>(), 60, "{target}: {counted:?}");
        assert!(counted[0] > counted[1], "{target}: {counted:?}");
    }
}

#[test]
fn the_tables_of_pgbench_have_the_rows_of_their_scale() {
    let counts = "SELECT count(*) FROM pgbench_accounts HAVING count(*) = 200000 AND max(aid) = 200000 AND max(bid) = 2; -- expect: rows = 1
SELECT count(*) FROM pgbench_accounts WHERE bid = 1 HAVING count(*) = 100000 AND sum(abalance) = 0; -- expect: rows = 1
SELECT count(*) FROM pgbench_tellers HAVING count(*) = 20 AND min(tid) = 1 AND max(bid) = 2; -- expect: rows = 1
SELECT count(*) FROM pgbench_branches HAVING count(*) = 2 AND max(bid) = :scale; -- expect: rows = 1
";
    for target in targets() {
        let bench = Bench::new();
        bench.write("counts.sql", counts);
        let words = ["run", "counts.sql", "-i", "-s", "2", "-t", target, "--set", "transactions=2"];
        bench.finish(&[&words[..], &["--ceilings", "never"]].concat());
        let stored = bench.stored();
        let run = stored.runs.iter().find(|run| run.counts()).unwrap();
        assert_eq!(run.run.scripts[0].failed(), 0, "{target}");
    }
}

#[test]
fn a_schema_makes_the_tables_and_definitions_are_variables() {
    for target in targets() {
        let bench = Bench::new();
        bench.write(
            "schema.sql",
            "CREATE TABLE t (id int PRIMARY KEY, n int);\nINSERT INTO t VALUES (1, 0);\n",
        );
        bench.write("up.sql", "UPDATE t SET n = n + :step WHERE id = 1; -- expect: rows = 1\n");
        for protocol in ["simple", "prepared"] {
            let words =
                ["run", "up.sql", "--schema", "schema.sql", "-D", "step=2", "-M", protocol, "-t", target];
            let more =
                ["--set", "transactions=20", "--ceilings", "never", "--log-transactions", "-L", "60000"];
            bench.finish(&[&words[..], &more].concat());
            let stored = bench.stored();
            assert_eq!(stored.runs.iter().find(|run| run.counts()).unwrap().run.transactions(), 20);
            let (log, _) = bench.expect(0, &["export", "--format", "pgbench-log"]);
            assert_eq!(log.lines().count(), 20, "{target}, {protocol}: {log}");
        }
    }
}

#[test]
fn a_statement_that_fails_is_named_with_its_line() {
    for target in targets() {
        let bench = Bench::new();
        bench.write("wrong.sql", "SELECT 1;\nSELECT n FROM nowhere;\n");
        let output = bench.run(&["run", "wrong.sql", "-t", target, "-T", "1", "--ceilings", "never"]);
        let err = text(&output.stdout) + &text(&output.stderr);
        assert_ne!(output.status.code(), Some(0), "{target}: {err}");
        assert!(err.contains("wrong.sql:2") && err.contains("nowhere"), "{target}: {err}");
    }
}

#[test]
fn an_interrupted_search_resumes_by_the_printed_command() {
    let (bench, output) = until_met("a signal before the end of the search", || {
        let bench = Bench::new();
        bench.write("one.sql", "SELECT 1;\n");
        let words = ["run", "one.sql", "-T", "1", "--find-max-rate", "--slo", "max<1ns", "--rates-max", "3"];
        let child = bench.start(&[&words[..], &["--ceilings", "never", "--again"]].concat());
        wait_for("a finished run", || (bench.counting() >= 1).then_some(()));
        signal(&child, "INT");
        let output = child.wait_with_output().unwrap();
        (output.status.code() == Some(2)).then_some((bench, output))
    });
    let err = text(&output.stderr);
    assert!(err.contains("this command resumes the search:"), "{err}");
    let command = err.lines().find_map(|line| line.strip_prefix("  fathom run ")).unwrap();
    assert!(!command.contains("--again"), "{command}");
    let output = bench.shell(&format!("fathom run {command}"));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let (studies, _) = bench.expect(0, &["list", "--studies"]);
    assert_eq!(studies.lines().filter(|line| line.starts_with("study ")).count(), 4, "{studies}");
}

#[test]
fn what_never_ends_after_a_run_ends_with_an_interrupt() {
    const ENDLESS: &str =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n;\n";
    for target in targets() {
        let bench = Bench::new();
        bench.write("one.sql", "SELECT 1;\n");
        bench.write("endless.sql", ENDLESS);
        let spec = "name = \"endless\"\nquestion = \"does it end?\"\n[workload]\nscripts = [ { file = \"one.sql\" } ]\n\
                    after = \"endless.sql\"\n[parameters]\nduration = \"200ms\"\n";
        bench.write("endless.toml", spec);
        let mut child = bench.start(&["run", "endless.toml", "-t", target, "--ceilings", "never"]);
        // Wherever it is by then, usually behind the run: it ends.
        std::thread::sleep(std::time::Duration::from_secs(8));
        assert!(child.try_wait().unwrap().is_none(), "{target}");
        signal(&child, "INT");
        let status = wait_for("the end of what comes after the run", || child.try_wait().unwrap());
        assert_eq!(status.code(), Some(2), "{target}");
    }
}
