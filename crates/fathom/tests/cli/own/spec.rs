//! `fathom run` and `show` with a spec that has a workload of its own in files beside it.

use lab::own::Load;
use lab::spec::{Experiment, Request};
use results::model::Scale;

use crate::bench::Bench;

const SPEC: &str = r#"name = "orders"
question = "What does the type of a note cost?"
metric = "notes"
better = "larger"
[workload]
schema = "sql/schema.sql"
load = { copy = "orders.csv", header = true }
scripts = [ { file = "sql/pay.sql", weight = 2 }, "sql/read.sql" ]
after = "sql/after.sql"
[factors]
note = ["text", "blob"]
[parameters]
step = 1
connections = 2
transactions = 40
"#;

/// A spec in a directory of its own, away from where the program runs.
fn bench() -> Bench {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.path().join("specs/sql")).unwrap();
    for (name, text) in [
        ("orders.toml", SPEC),
        ("orders.csv", "id,note\n1,a\n2,\n3,\"c,d\"\n"),
        (
            "sql/schema.sql",
            "-- fathom: note=text\nCREATE TABLE orders (id int, note text);\n-- fathom: note=blob\n\
             CREATE TABLE orders (id int, note {{note}});\n",
        ),
        ("sql/pay.sql", "UPDATE orders SET note = note || ':step' WHERE id = :step; -- expect: rows = 1\n"),
        ("sql/read.sql", "SELECT * FROM orders WHERE id = {{step}}; -- expect: rows = 1\n"),
        ("sql/after.sql", "SELECT count(note) AS notes, count(*) AS orders_count FROM orders;\n"),
    ] {
        bench.write(&format!("specs/{name}"), text);
    }
    bench
}

const RUN: [&str; 6] = ["run", "specs/orders.toml", "-t", "sqlite", "--repetitions", "1"];

#[test]
fn a_spec_with_files_runs_and_what_is_stored_of_it_needs_none_of_them() {
    let bench = bench();
    bench.finish(&RUN);
    let stored = bench.stored();
    assert_eq!(stored.runs.len(), 2);
    for run in &stored.runs {
        let metric =
            |name: &str| run.run.metrics.iter().find(|metric| metric.name == name).map(|one| one.value);
        assert_eq!((metric("notes"), metric("orders_count")), (Some(2.0), Some(3.0)));
    }
    std::fs::remove_dir_all(bench.path().join("specs/sql")).unwrap();
    let spec = Experiment::parse("stored.toml", &stored.study.spec_toml).unwrap();
    let resolved = spec.resolve(&Request::plain(Scale::Full, &lab_sqlite::ENGINE)).unwrap();
    let own = resolved.work(&resolved.cells()[1], 1).own.unwrap();
    assert!(own.schema.as_ref().unwrap().text.contains("note blob"));
    assert!(matches!(&own.load, Some(Load::Copy { table, .. }) if table == "orders"));
    bench.write("stored.toml", &stored.study.spec_toml);
    let (_, err) = bench.expect(0, &["run", "stored.toml", "-t", "sqlite", "--repetitions", "1"]);
    assert!(!err.contains("run 3"), "{err}");
    assert_eq!(bench.stored().runs.len(), 2, "the same study");
}

#[test]
fn what_a_spec_is_made_of_is_said_before_it_runs() {
    let bench = bench();
    let (out, _) = bench.expect(0, &[&RUN[..], &["--dry-run"]].concat());
    for line in [
        "own workload: schema sql/schema.sql; load of \"",
        "orders.csv\" into orders; after sql/after.sql",
        "scripts: sql/pay.sql (2 of 3), sql/read.sql (1 of 3)",
        "own factors: note (text, blob)",
        "space: at least",
    ] {
        assert!(out.contains(line), "\"{line}\" is missing in:\n{out}");
    }
    let (_, err) = bench.expect(0, &["show", "specs/orders.toml"]);
    assert!(err.contains("own factors: note (text, blob)"), "{err}");
    let (out, _) =
        bench.expect(0, &["show", "specs/orders.toml", "--sql", "-t", "sqlite", "--set", "note=blob"]);
    assert!(out.contains("note blob") && !out.contains("note text"), "{out}");
}

#[test]
fn a_mistake_is_shown_in_its_file_before_anything_runs() {
    let bench = bench();
    let (_, err) = bench.expect(2, &[&RUN[..], &["--set", "stepp=2"]].concat());
    assert!(err.contains("`stepp`") && err.contains("did you mean `step`"), "{err}");
    bench.write("specs/sql/pay.sql", "SELECT 1;\n  SELECT {{stepp}};\n");
    let (_, err) = bench.expect(2, &RUN);
    assert!(err.contains("sql/pay.sql:2:10") && err.contains("did you mean `step`"), "{err}");
    std::fs::remove_file(bench.path().join("specs/sql/pay.sql")).unwrap();
    let (_, err) = bench.expect(2, &RUN);
    assert!(err.contains("could not read \"sql/pay.sql\"") && err.contains("orders.toml:8:"), "{err}");
    assert!(!bench.results().join("results.db").exists());
}
