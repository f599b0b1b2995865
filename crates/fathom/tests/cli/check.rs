//! `fathom check` and `fathom corrupt` from the outside.

use crate::bench::{Bench, signal, wait_for};

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
    let lines: Vec<serde_json::Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let object = &lines[0];
    assert_eq!((&object["kind"], &object["finding_count"]), (&"object".into(), &1.into()), "{object}");
    let finding = lines.iter().find(|line| line["kind"] == "finding").unwrap();
    assert_eq!(object["cause_rule"], finding["rule"]);
    let rule = finding["rule"].as_str().unwrap();
    let (explained, _) = bench.expect(0, &["explain", rule]);
    assert!(explained.contains(rule) && explained.contains("What to do"), "{explained}");
}

#[test]
fn damage_against_a_definition_is_found_by_the_command_that_is_printed() {
    let bench = Bench::new();
    let connection = rusqlite::Connection::open(bench.path().join("a.db")).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT NOT NULL UNIQUE, c INT CHECK (c < 1000));
             WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 900)
             INSERT INTO t SELECT x, printf('%08x', x * 2654435761 % 4294967296), x FROM n;",
        )
        .unwrap();
    let classes = [
        ("duplicate-key", "sqlite-unique"),
        ("null-in-not-null", "sqlite-not-null"),
        ("check-violated", "sqlite-check"),
        ("stale-page", "sqlite-entry-without-row"),
    ];
    for (class, rule) in classes {
        let copy = format!("{class} 'copy'.db");
        let words = ["corrupt", "a.db", "--class", class, "--seed", "3", "--copy-to", &copy];
        let (out, _) = bench.expect(0, &words);
        let printed = out.lines().last().unwrap().strip_prefix("find it with: ").unwrap();
        let output = bench.shell(printed);
        let found = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{printed}: {found}");
        assert!(found.contains(rule), "{class}: {found}");
    }
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

#[test]
fn checks_are_stored_listed_and_shown_again() {
    let bench = Bench::new();
    database(&bench, "a.db");
    let (_, err) = bench.expect(0, &["check", "a.db", "--level", "read"]);
    assert!(err.contains("stored as check 1"), "{err}");
    bench.expect(0, &["corrupt", "a.db", "--class", "lost-entry", "--copy-to", "b.db"]);
    let (said, _) = bench.expect(1, &["check", "b.db"]);
    bench.expect(0, &["check", "a.db"]);
    bench.expect(0, &["check", "a.db", "--no-store"]);
    let (list, _) = bench.expect(0, &["list", "--checks"]);
    let lines: Vec<&str> = list.lines().filter(|line| line.starts_with("check ")).collect();
    assert_eq!(lines.len(), 3, "{list}");
    assert!(lines[1].contains("b.db, 28 pages, level full: damage found: 1 finding"), "{list}");
    let (again, _) = bench.expect(0, &["report", "--check", "2"]);
    assert!(again.contains(said.trim()), "{again}");
    assert!(again.contains("no check at level read"), "{again}");
    let (again, _) = bench.expect(0, &["report", "--check", "3"]);
    assert!(again.contains("% of a plain read"), "{again}");
    let (shown, _) = bench.expect(0, &["show", "--check", "2"]);
    assert!(shown.lines().last().is_some_and(|line| line.contains("\"exit_code\":1")), "{shown}");
    let (_, err) = bench.expect(2, &["report", "--check", "4"]);
    assert!(err.contains("no check 4"), "{err}");
    let (studies, _) = bench.expect(0, &["list", "--studies"]);
    assert!(studies.contains("checks: 3"), "{studies}");
}

#[test]
fn a_check_that_cannot_be_stored_is_a_check_all_the_same() {
    let bench = Bench::new();
    database(&bench, "a.db");
    bench.write("file", "");
    let (out, err) = bench.expect(0, &["check", "a.db", "--results", "file/below"]);
    assert!(out.contains("no damage found") && err.contains("not stored"), "{err}");
}

#[test]
fn the_classes_of_all_engines_are_listed_and_a_directory_that_is_no_cluster_is_refused() {
    let bench = Bench::new();
    let (out, _) = bench.expect(0, &["corrupt"]);
    assert!(
        out.contains("(SQLite)")
            && out.contains("(SQL Server)")
            && out.contains("(PostgreSQL)")
            && out.contains("stale-page"),
        "{out}"
    );
    let arguments = ["corrupt", ".", "--class", "stale-page", "--copy-to", "copy"];
    let (_, err) = bench.expect(2, &arguments);
    assert!(err.contains("neither a PostgreSQL data directory"), "{err}");
    let (_, err) = bench.expect(2, &["check", "mysql://host/db"]);
    assert!(err.contains("postgres://"), "{err}");
    let (_, err) = bench.expect(2, &["check", "."]);
    assert!(err.contains("nor a base backup"), "{err}");
    let (_, err) = bench.expect(2, &["check", ".", "--checkpoint"]);
    assert!(err.contains("--checkpoint needs a server") && err.contains("\nhint: "), "{err}");
}

/// A relation file by itself: blocks that were added and never used are all zeros.
fn relation_file(bench: &Bench) -> Vec<std::path::PathBuf> {
    let file = std::fs::File::create(bench.path().join("16384")).unwrap();
    file.set_len(32 << 20).unwrap();
    names(bench)
}

fn names(bench: &Bench) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(bench.path()).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    names.sort();
    names
}

#[test]
fn a_check_that_is_killed_leaves_nothing_behind_and_the_same_command_does_it_anew() {
    let bench = Bench::new();
    let mut before = relation_file(&bench);
    // At this rate it would take eight hours.
    let words = ["check", "16384", "--resume", "stopped.json", "--max-read-rate"];
    let mut child = bench.start(&[&words[..], &["1KiB"]].concat());
    let descriptors = format!("/proc/{}/fd", child.id());
    wait_for("the file being read", || {
        let mut open = std::fs::read_dir(&descriptors).ok()?.flatten();
        let is_there =
            |path: std::path::PathBuf| std::fs::read_link(path).is_ok_and(|path| path.ends_with("16384"));
        open.any(|entry| is_there(entry.path())).then_some(())
    });
    signal(&child, "KILL");
    child.wait().unwrap();
    let (out, _) = bench.expect(0, &[&words[..], &["1GiB"]].concat());
    assert!(out.contains("no damage found"), "{out}");
    let results = bench.results();
    before.extend(results.exists().then_some(results));
    before.sort();
    assert_eq!(names(&bench), before);
}

#[test]
fn an_incomplete_verification_is_no_success_where_full_is_required() {
    let bench = Bench::new();
    database(&bench, "a.db");
    let (_, err) = bench.expect(2, &["check", "a.db", "--require", "full", "--level", "page"]);
    assert!(err.contains("--require full needs --level full"), "{err}");
    let (out, _) = bench.expect(0, &["check", "a.db", "--level", "page"]);
    assert!(out.contains("no damage found at level page: headers and checksums"), "{out}");
    // SQLite refuses to evaluate a function that only the application has: the index is not verified.
    let connection = rusqlite::Connection::open(bench.path().join("a.db")).unwrap();
    connection
        .create_scalar_function(
            "own",
            1,
            rusqlite::functions::FunctionFlags::SQLITE_DETERMINISTIC,
            |context| context.get::<i64>(0),
        )
        .unwrap();
    connection
        .execute_batch("CREATE TABLE o (x INT); INSERT INTO o VALUES (1); CREATE INDEX oi ON o (own(x));")
        .unwrap();
    drop(connection);
    let (out, _) = bench.expect(0, &["check", "a.db"]);
    assert!(out.lines().last().unwrap().starts_with("no damage found in what was checked ("), "{out}");
    let (_, err) = bench.expect(2, &["check", "a.db", "--require", "full"]);
    let line = err.lines().find(|line| line.starts_with("not fully verified")).unwrap();
    assert!(line.contains("not checked") || line.contains("not compared"), "{line}");
    bench.expect(0, &["corrupt", "a.db", "--class", "lost-entry", "--copy-to", "b.db"]);
    bench.expect(1, &["check", "b.db", "--require", "full"]);
}

#[test]
fn a_slow_check_in_a_pipe_says_how_far_it_is() {
    let bench = Bench::new();
    database(&bench, "a.db");
    // 28 pages of 4096 bytes at 64,000 bytes per second: more than a second.
    let slow = ["check", "a.db", "--max-read-rate", "64kB/s", "--page-batch", "1", "-j", "1"];
    let (_, err) = bench.expect(0, &slow);
    assert!(err.lines().any(|line| line.starts_with("pages: ") && line.contains(" of 112.0 KiB (")), "{err}");
    let (_, err) = bench.expect(0, &["check", "a.db", "--max-read-rate", "30MB"]);
    assert!(!err.contains("pages: "), "{err}");
}

#[test]
fn the_classes_of_damage_are_listed_by_engine_and_in_the_help() {
    let bench = Bench::new();
    let (all, _) = bench.expect(0, &["corrupt", "--list"]);
    let (one, _) = bench.expect(0, &["corrupt", "--list", "sqlserver"]);
    assert!(one.starts_with("classes of damage (SQL Server):") && !one.contains("(SQLite)"), "{one}");
    assert!(
        all.contains("(SQLite)") && all.contains("(PostgreSQL)") && all.contains("(SQL Server)"),
        "{all}"
    );
    let (help, _) = bench.expect(0, &["corrupt", "--help"]);
    assert!(help.contains("classes of damage (PostgreSQL):") && help.contains("lost-entry"), "{help}");
    bench.expect(2, &["corrupt", "a.db", "--list"]);
}
