//! `fathom run my.sql`.

use crate::bench::{Bench, text};

/// A bench with a script that needs no table.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("one.sql", "SELECT 1;\n");
    bench
}

#[test]
fn scripts_become_a_study_of_one_configuration_with_one_run() {
    let bench = bench();
    bench.write(
        "it's \"2\".sql",
        "\\set id random(1, 10 * :scale)\nSELECT :id, '\"\"\"\\\\', E'\\t\u{1}''';\n",
    );
    let line = ["run", "one.sql@3", "it's \"2\".sql", "-c", "4", "-T", "5", "--dry-run", "--json"];
    let (out, _) = bench.expect(0, &line);
    assert!(out.contains("\"runs\": 1,") && out.contains("one-it-s-2"), "{out}");
    let (out, _) = bench.expect(0, &["run", "one.sql", "-c", "1,4", "-M", "simple,prepared", "--dry-run"]);
    assert!(out.contains("4 cells x 6 repetitions"), "{out}");
}

#[test]
fn the_options_of_pgbench_set_the_parameters_that_they_stand_for() {
    let bench = bench();
    let line = [
        "run",
        "one.sql",
        "-i",
        "-s",
        "2",
        "-F",
        "70,100",
        "-L",
        "2.5",
        "--max-tries",
        "3",
        "-R",
        "10",
        "-n",
        "-r",
    ];
    let mut words = line.to_vec();
    words.extend(["-c", "2", "-j", "2", "-D", "a=1", "--random-seed", "5", "--dry-run"]);
    let (_, err) = bench.expect(2, &words);
    assert!(err.contains("`a` is no parameter"), "{err}");
    bench.write("one.sql", "SELECT :a;\n");
    let (out, _) = bench.expect(0, &words);
    assert!(out.contains("fillfactor=70") && out.contains("seed 5"), "{out}");
    let (_, err) = bench.expect(2, &["run", "one.sql", "-L", "soon", "--dry-run"]);
    assert!(err.contains("latency_limit") && err.contains("soon"), "{err}");
    let (_, err) = bench.expect(2, &["run", "one.sql", "-M", "binary", "--dry-run"]);
    assert!(err.contains("binary") && err.contains("prepared"), "{err}");
}

#[test]
fn built_in_scripts_are_listed_and_found_by_their_beginning() {
    let bench = bench();
    let (out, _) = bench.expect(0, &["run", "-b", "list"]);
    assert_eq!(out.lines().count(), 3, "{out}");
    assert!(out.contains("select-only"), "{out}");
    let (out, _) = bench.expect(0, &["run", "-b", "tpcb@2", "-b", "sel", "--dry-run"]);
    assert!(out.starts_with("tpcb-like-select-only:"), "{out}");
    let (_, err) = bench.expect(2, &["run", "-b", "tpcc"]);
    assert!(err.contains("\"tpcc\" is not a built-in script") && err.contains("tpcb-like"), "{err}");
    let (_, err) = bench.expect(2, &["run", "-b", "s"]);
    assert!(err.contains("several") && err.contains("simple-update, select-only"), "{err}");
}

#[test]
fn a_script_that_cannot_be_is_named_with_the_reason() {
    let bench = bench();
    bench.write("empty.sql", " \n");
    std::fs::write(bench.path().join("latin.sql"), b"SELECT 1;\nSELECT '\xe9';\n").unwrap();
    std::fs::create_dir(bench.path().join("dir.sql")).unwrap();
    bench.write("wrong.sql", "SELECT 1;\n\\set a random(1,\n");
    for (words, phrases) in [
        (&["absent.sql"][..], &["could not read script \"absent.sql\"", "No such file"][..]),
        (&["dir.sql"], &["\"dir.sql\"", "it is a directory"]),
        (&["empty.sql"], &["\"empty.sql\" is empty"]),
        (&["latin.sql"], &["\"latin.sql\" is not UTF-8", "line 2", "0xe9"]),
        (&["wrong.sql"], &["wrong.sql:2"]),
        (&["one.sql@x"], &["invalid weight specification: @x"]),
        (&["one.sql@0"], &["weights of all scripts are 0"]),
        (&["one.sql", "a-a"], &["\"a-a\" is not a script"]),
        (&["quick.toml", "-b", "tpcb-like"], &["\"quick.toml\" is not a script"]),
        (&["quick.toml", "a-a"], &["\"quick.toml\" and \"a-a\" are two experiments"]),
        (&["quick.toml", "-D", "a=1"], &["--define applies to scripts"]),
        (&["quick.toml", "-i"], &["--initialize applies to scripts"]),
        (&["one.sql", "-F", "70"], &["--initialize"]),
        (&["one.sql", "-D", "1a=1"], &["invalid variable name: \"1a\""]),
        (&["one.sql", "-i", "--schema", "one.sql"], &["--schema"]),
        (&[], &["<EXPERIMENT"]),
        (&["one.sql", "-t", "1000"], &["-t is the target", "transactions=1000"]),
    ] {
        let mut line = vec!["run"];
        line.extend(words);
        line.push("--dry-run");
        let (out, err) = bench.expect(2, &line);
        assert_eq!(out, "");
        for phrase in phrases {
            assert!(err.contains(phrase), "{words:?} does not say {phrase}:\n{err}");
        }
    }
    assert!(!bench.results().exists());
}

#[test]
fn no_engine_executes_no_scripts() {
    let bench = bench();
    let (_, err) = bench.expect(2, &["run", "one.sql", "-t", "noop"]);
    assert!(err.contains("no engine that could execute SQL"), "{err}");
    let output = bench.run(&["run", "one.sql", "-t", "noop", "--dry-run"]);
    assert!(text(&output.stdout).contains("cannot run"), "{}", text(&output.stdout));
}
