//! `fathom structure` and `fathom decode` from the outside.

use crate::bench::Bench;

fn database(bench: &Bench, name: &str) {
    let connection = rusqlite::Connection::open(bench.path().join(name)).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT NOT NULL); CREATE INDEX i ON t (b);
             CREATE TABLE u (a TEXT PRIMARY KEY) WITHOUT ROWID;
             WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 20000)
             INSERT INTO t (b) SELECT printf('%08x', x * 2654435761 % 4294967296) FROM n;
             INSERT INTO u SELECT b FROM t; DELETE FROM u;",
        )
        .unwrap();
}

#[test]
fn levels_are_printed_stored_listed_and_shown_again_and_the_file_is_not_touched() {
    let bench = Bench::new();
    database(&bench, "a.db");
    let before = std::fs::read(bench.path().join("a.db")).unwrap();
    let (out, err) = bench.expect(0, &["structure", "a.db", "-j", "2"]);
    assert!(out.contains("Strip maps") && out.contains("table, tree by rowid"), "{out}");
    assert!(err.contains("stored as structure 1"), "{err}");
    let (csv, _) = bench.expect(0, &["structure", "a.db", "--no-store", "--format", "csv", "--table", "t"]);
    assert!(csv.starts_with("table,index_id,index_depth,index_level,avg_fragmentation_pct,"), "{csv}");
    assert!(csv.lines().skip(1).all(|line| line.starts_with("t,")), "{csv}");
    let (json, _) = bench.expect(0, &["structure", "a.db", "--json", "--mode", "limited", "--whole-maps"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let strip = &json["objects"][0]["strip"];
    assert_eq!(strip["pages"].as_array().unwrap().len() as u64, strip["leaf_count"].as_u64().unwrap());
    let (list, _) = bench.expect(0, &["structure", "--list"]);
    assert!(
        list.contains("structure 1 ") && list.contains("structure 2 ") && list.contains("limited"),
        "{list}"
    );
    let (shown, _) = bench.expect(0, &["structure", "--show", "1"]);
    assert_eq!(shown, out);
    bench.expect(2, &["structure", "--show", "3"]);
    assert_eq!(std::fs::read(bench.path().join("a.db")).unwrap(), before);
}

#[test]
fn damage_is_left_out_and_told_and_nonsense_is_refused() {
    let bench = Bench::new();
    database(&bench, "a.db");
    let mut bytes = std::fs::read(bench.path().join("a.db")).unwrap();
    bytes[4096 * 20..4096 * 20 + 200].fill(0xee);
    std::fs::write(bench.path().join("b.db"), &bytes).unwrap();
    let (out, _) = bench.expect(1, &["structure", "b.db"]);
    assert!(out.contains("damaged") && out.contains("fathom check"), "{out}");
    std::fs::write(bench.path().join("c.db"), &bytes[..4096 * 30 + 5]).unwrap();
    let cut = bench.run(&["structure", "c.db", "--no-store"]);
    assert_ne!(cut.status.code(), Some(0));
    bench.write("page.html", "<html>saved page</html>");
    for words in [
        &["structure"][..],
        &["structure", "page.html"],
        &["structure", "absent.db"],
        &["structure", "a.db", "--table", "absent"],
        &["structure", "a.db", "-j", "0"],
        &["structure", "a.db", "--max-read-rate", "fast"],
        &["structure", "mysql://host/db"],
        &["structure", "postgres://nobody:hidden-word@127.0.0.1:1/none"],
    ] {
        let (out, err) = bench.expect(2, words);
        assert!(out.is_empty() && err.starts_with("error: "), "{words:?}: {err}");
        assert!(!err.contains("hidden-word"), "{err}");
    }
}

#[test]
fn every_column_is_explained() {
    let bench = Bench::new();
    for column in report::structure::COLUMNS {
        let (out, _) = bench.expect(0, &["explain", column]);
        assert!(out.contains(column) && out.len() > column.len() + 30, "{column}: {out}");
    }
}

#[test]
fn published_pages_are_named_by_their_numbers() {
    let bench = Bench::new();
    for (page, expected) in [
        ("5:1:1520544", "PFS page 188 of file 1"),
        ("5:1:1544808", "PFS page 191 of file 1"),
        ("1:1:1", "PFS page 0 of file 1"),
        ("2:1:2", "GAM page 0 of file 1"),
        ("2:1:3", "SGAM page 0 of file 1"),
        ("2:1:511232", "GAM page 1 of file 1"),
        ("sqlite:262145", "lock byte"),
        ("postgres:vm:0", "visibility map"),
        ("postgres:fsm:0", "its root"),
        ("innodb:16384", "XDES"),
        ("innodb:1", "IBUF_BITMAP"),
    ] {
        let (out, _) = bench.expect(0, &["decode", page]);
        assert!(out.lines().next().unwrap().contains(expected), "{page}: {out}");
    }
    let (out, _) = bench.expect(0, &["decode", "sqlite:2", "--auto-vacuum", "--page-size", "1024"]);
    assert!(out.contains("pointer map") && out.contains("pages 3 to 206"), "{out}");
}

#[test]
fn a_page_of_a_file_is_described_and_what_is_none_is_refused() {
    let bench = Bench::new();
    database(&bench, "a.db");
    let (out, _) = bench.expect(0, &["decode", "a.db:1"]);
    assert!(out.contains("sqlite_schema") && out.contains("cells"), "{out}");
    let (json, _) = bench.expect(0, &["decode", "a.db:2", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(json["title"].as_str().unwrap().contains("table interior page"), "{json}");
    assert!(json["facts"]["children"].as_str().unwrap().contains(','), "{json}");
    let connection = rusqlite::Connection::open(bench.path().join("a.db")).unwrap();
    let pages: u32 = connection.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
    drop(connection);
    let free =
        (1..=pages).map(|page| bench.expect(0, &["decode", &format!("a.db:{page}")]).0).collect::<Vec<_>>();
    assert!(free.iter().any(|out| out.contains("freelist trunk page")));
    assert!(free.iter().any(|out| out.contains("freelist leaf page")));
    bench.write("page.html", "<html>saved page</html>");
    bench.write("empty", "");
    for page in [
        "a.db",
        "a.db:0",
        "a.db:999999",
        "a.db:x",
        "page.html:1",
        "empty:0",
        "absent:1",
        "sqlite:0",
        "",
        ":",
        "::::",
    ] {
        let (out, err) = bench.expect(2, &["decode", page]);
        assert!(out.is_empty() && err.starts_with("error: "), "{page}: {err}");
    }
}
