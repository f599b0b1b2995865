//! `fathom show --sql`.

use crate::bench::Bench;

#[test]
fn every_shipped_experiment_has_sql_or_says_that_it_executes_none() {
    let bench = Bench::new();
    let mut shown = 0;
    for shipped in lab::spec::shipped() {
        for target in ["sqlite", "postgres", "noop"] {
            let output = bench.run(&["show", shipped.name, "--sql", "-t", target]);
            let out = crate::bench::text(&output.stdout);
            // An experiment that an engine cannot run is refused, and says why.
            if output.status.code() == Some(2) {
                assert!(!output.stderr.is_empty(), "{} on {target}", shipped.name);
                continue;
            }
            assert!(out.starts_with(&format!("-- {} on {target}", shipped.name)), "{out}");
            assert!(
                out.contains(';') || out.contains("executes no SQL") || out.contains("settings"),
                "{out}"
            );
            shown += 1;
        }
    }
    assert!(shown > 40, "{shown}");
}

#[test]
fn factors_that_change_the_sql_are_named_and_set_shows_another_configuration() {
    let bench = Bench::new();
    let (out, _) = bench.expect(0, &["show", "quick.toml", "--sql"]);
    assert!(out.contains("-- here: batch_size=1\n"), "{out}");
    assert!(out.contains("-- batch_size changes it (1, 5)"), "{out}");
    assert!(!out.contains("BEGIN IMMEDIATE"), "{out}");
    let (out, _) = bench.expect(0, &["show", "quick.toml", "--sql", "--set", "batch_size=5"]);
    assert!(
        out.contains("BEGIN IMMEDIATE;\nINSERT INTO fathom_rows DEFAULT VALUES;  -- 5 times\nCOMMIT;"),
        "{out}"
    );
    let (out, _) = bench.expect(0, &["show", "quick.toml", "--sql", "--set", "label=a,b"]);
    assert!(out.contains("-- label does not change it (a, b)"), "{out}");
}

#[test]
fn options_that_belong_to_the_sql_are_refused_without_it() {
    let bench = Bench::new();
    for words in [&["show", "quick.toml", "-t", "postgres"][..], &["show", "quick.toml", "--mini"]] {
        let (_, err) = bench.expect(2, words);
        assert!(err.contains("--sql"), "{err}");
    }
    let (_, err) = bench.expect(2, &["show", "quick.toml", "--sql", "-t", "oracle"]);
    assert!(err.contains("oracle") && err.contains("hint: use sqlite"), "{err}");
}

#[test]
fn what_is_shown_of_sqlite_runs_in_its_shell() {
    let bench = Bench::new();
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    let (out, _) = bench.expect(0, &["show", "random-insert", "--sql", "--mini"]);
    let executable: String =
        out.lines().filter(|line| !line.starts_with("--")).map(|line| line.to_owned() + "\n").collect();
    connection.execute_batch(&executable.replace("?1", "randomblob(16)")).unwrap();
}
