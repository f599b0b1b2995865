//! What the user's own SQL may not do.

use super::support::{PROTOCOLS, Scene};

#[test]
fn other_files_and_settings_of_the_run_are_refused_with_a_reason() {
    for protocol in PROTOCOLS {
        let mut scene = Scene::with_schema("CREATE TABLE t (a)");
        scene.protocol(protocol);
        let outside = tempfile::tempdir().unwrap();
        let path = outside.path().join("other.db").display().to_string();
        for (statement, reason) in [
            (format!("ATTACH '{path}' AS other;"), format!("cannot attach or write database \"{path}\"")),
            (
                format!("ATTACH '{path}' || '' AS other;"),
                "cannot attach or write a database whose name is computed".to_owned(),
            ),
            (
                format!("ATTACH 'file:{path}?mode=rwc' AS other;"),
                "cannot attach or write database \"file:".to_owned(),
            ),
            (format!("VACUUM INTO '{path}';"), format!("cannot attach or write database \"{path}\"")),
            (format!("VACUUM INTO '{path}' || '2';"), "cannot attach".to_owned()),
            ("SELECT load_extension('x');".to_owned(), "cannot call load_extension".to_owned()),
            ("PRAGMA writable_schema = 1;".to_owned(), "cannot execute pragma writable_schema".to_owned()),
            (
                "PRAGMA temp_store_directory = '/';".to_owned(),
                "cannot execute pragma temp_store_directory".to_owned(),
            ),
            (
                "PRAGMA journal_mode = delete;".to_owned(),
                "cannot set pragma journal_mode in a script".to_owned(),
            ),
            (
                "PRAGMA main.synchronous = off;".to_owned(),
                "cannot set pragma synchronous in a script".to_owned(),
            ),
            ("PRAGMA hard_heap_limit = 1;".to_owned(), "cannot execute pragma hard_heap_limit".to_owned()),
        ] {
            let error = scene.once(&statement).unwrap_or_else(|| format!("{statement} was executed"));
            assert!(error.contains(&reason), "{protocol:?} {statement}: {error}");
            assert!(error.starts_with("0.sql:1: ") || error.starts_with("0.sql:1:1: "), "{error}");
            let parsed = scene.scripts(&[&statement]).parse_all().unwrap_err().to_string();
            let is_named =
                parsed.contains(&reason) || parsed.contains("cannot write a database with VACUUM INTO");
            assert!(is_named, "{statement}: {parsed}");
        }
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    }
}

#[test]
fn what_stays_in_the_database_is_allowed() {
    for protocol in PROTOCOLS {
        let mut scene = Scene::with_schema("CREATE TABLE t (a)");
        scene.protocol(protocol);
        for statement in [
            "ATTACH '' AS m; CREATE TABLE m.x (a); DETACH m;",
            "CREATE TEMP TABLE mine AS SELECT 1 AS a; DROP TABLE temp.mine;",
            "CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(body); INSERT INTO words VALUES ('a b'); SELECT * FROM words WHERE words MATCH 'b';",
            "CREATE VIRTUAL TABLE IF NOT EXISTS places USING rtree(id, x0, x1); INSERT INTO places VALUES (NULL, 1, 2);",
            "PRAGMA foreign_keys = on; PRAGMA journal_mode; PRAGMA page_size; PRAGMA integrity_check; PRAGMA table_info(t);",
            "SELECT name FROM pragma_table_info('t');",
            "PRAGMA user_version = 7; PRAGMA optimize; ANALYZE; REINDEX; VACUUM;",
            "PRAGMA wal_checkpoint(TRUNCATE);",
        ] {
            assert_eq!(scene.once(statement), None, "{protocol:?} {statement}");
        }
    }
}
