//! Rows in bulk.

use lab::engine::Target;

use super::support::Scene;

fn load(scene: &mut Scene, table: &str, columns: &[&str], rows: &[&[Option<&str>]]) -> Result<u64, String> {
    let mut loader = scene.target.own_databases().unwrap().loader().map_err(|error| error.to_string())?;
    let columns: Vec<String> = columns.iter().map(|name| (*name).to_owned()).collect();
    loader.begin(table, &columns).map_err(|error| error.to_string())?;
    for row in rows {
        loader.row(row).map_err(|error| error.to_string())?;
    }
    loader.end().map_err(|error| error.to_string())
}

#[test]
fn text_becomes_what_the_column_is() {
    let mut scene = Scene::with_schema(
        "CREATE TABLE \"odd \"\"t\" (i INTEGER, r REAL, s TEXT, n NUMERIC, x, b BLOB, g AS (i + 1), \"order\" TEXT);
         CREATE TABLE strict (i INTEGER, b BLOB) STRICT;",
    );
    let all: [Option<&str>; 7] =
        [Some("12"), Some("1e3"), Some("007"), Some("1.5"), Some("9"), Some("\\x00ff"), None];
    let odd: [Option<&str>; 7] = [
        Some("twelve"),
        Some(""),
        Some("it's \"q\" x'41'"),
        Some("-0"),
        Some("a\0b"),
        Some("\\x0"),
        Some("größe 🦀"),
    ];
    assert_eq!(load(&mut scene, "odd \"t", &[], &[&all, &odd]), Ok(2));
    let found = scene.ask("SELECT i, typeof(i), r, typeof(r), s, n, typeof(n), x, typeof(x), hex(b), typeof(b), g, \"order\" FROM \"odd \"\"t\" LIMIT 1");
    assert_eq!(found, "12|integer|1000.0|real|007|1.5|real|9|text|00FF|blob|13|NULL");
    let found = scene.ask("SELECT i, r, s, n, hex(x), hex(b), \"order\" FROM \"odd \"\"t\" LIMIT 1 OFFSET 1");
    assert_eq!(found, "twelve||it's \"q\" x'41'|0|610062|5C7830|größe 🦀");
    assert_eq!(load(&mut scene, "strict", &["B", "i"], &[&[Some("\\x41"), Some("5")]]), Ok(1));
    assert_eq!(scene.ask("SELECT i, hex(b) FROM strict"), "5|41");
    let error = load(&mut scene, "strict", &[], &[&[Some("5"), None], &[Some("x"), None]]).unwrap_err();
    assert_eq!(
        error,
        "could not load row 2 of table \"strict\": cannot store TEXT value in INTEGER column strict.i"
    );
    assert_eq!(scene.ask("SELECT count(*) FROM strict"), "1");
}

#[test]
fn many_rows_and_huge_values_are_loaded_in_transactions() {
    let mut scene = Scene::with_schema("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)");
    let mut loader = scene.target.own_databases().unwrap().loader().unwrap();
    loader.begin("t", &[]).unwrap();
    for number in 1..=25_000 {
        loader.row(&[Some(number.to_string().as_str()), Some("some text")]).unwrap();
    }
    let huge = "é".repeat(10 << 20);
    for number in 25_001..25_004 {
        loader.row(&[Some(number.to_string().as_str()), Some(&huge)]).unwrap();
    }
    assert_eq!(loader.end().unwrap(), 25_003);
    drop(loader);
    assert_eq!(
        scene.ask("SELECT count(*), sum(a), max(length(b)) FROM t"),
        format!("25003|{}|{}", 25_003_u64 * 25_004 / 2, 10 << 20)
    );
}

#[test]
fn several_loaders_take_turns() {
    let mut scene = Scene::with_schema("CREATE TABLE t (a)");
    let loaders: Vec<_> = (0..4).map(|_| scene.target.own_databases().unwrap().loader().unwrap()).collect();
    std::thread::scope(|scope| {
        for mut loader in loaders {
            scope.spawn(move || {
                loader.begin("t", &["a".to_owned()]).unwrap();
                (0..30_000).for_each(|number| loader.row(&[Some(&number.to_string())]).unwrap());
                assert_eq!(loader.end().unwrap(), 30_000);
            });
        }
    });
    assert_eq!(scene.ask("SELECT count(*) FROM t"), "120000");
}

#[test]
fn what_is_not_there_is_named() {
    let mut scene = Scene::with_schema("CREATE TABLE t (a, b UNIQUE)");
    let error = load(&mut scene, "u", &[], &[]).unwrap_err();
    assert_eq!(error, "cannot load table \"u\": there is no such table\nhint: create it in the schema");
    let error = load(&mut scene, "t", &["a", "c"], &[]).unwrap_err();
    assert_eq!(
        error,
        "cannot load column \"c\" of table \"t\": there is no such column\nhint: use columns of a, b"
    );
    let error = load(&mut scene, "t", &[], &[&[Some("1"), None], &[Some("1")]]).unwrap_err();
    assert!(error.starts_with("cannot load row 2 of table \"t\": 1 values for 2 columns"), "{error}");
    let error = load(&mut scene, "t", &[], &[&[None, Some("x")], &[None, Some("x")]]).unwrap_err();
    assert_eq!(error, "could not load row 2 of table \"t\": UNIQUE constraint failed: t.b");
}
