//! Databases with a past: random changes of rows and definitions, under all options, must be silent at every stop.
#![allow(clippy::unwrap_used)]

use crate::support::{Shape, checked, create, fill, options, verdict};
use results::check::CheckLevel;
use rusqlite::Connection;

/// Numbers that follow from a seed (SplitMix64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % count
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

/// What may happen: `$n` a number below 6, `$k` one from 2 to 9, `$r` one below 40. What cannot be done at the time is
/// refused by SQLite and changes nothing.
const CHANGES: &[&str] = &[
    "INSERT INTO t(a, b, c, d, e, f) SELECT a + $r, b || $k, c, randomblob($r * 40), 'new' || hex(randomblob(8)), f FROM t LIMIT $r",
    "DELETE FROM t WHERE id % $k = $n",
    "UPDATE t SET b = b || 'x', a = a + $k WHERE id % $k = $n",
    "UPDATE t SET d = zeroblob($r * 300) WHERE id % $k = $n",
    "UPDATE OR IGNORE t SET id = id + 100000 * $k WHERE id % $k = $n",
    "INSERT OR REPLACE INTO w SELECT 'k' || $r, id, zeroblob($r * 50) FROM t LIMIT $r",
    "DELETE FROM w WHERE n % $k = $n",
    "UPDATE w SET v = v || 'y' WHERE n % $k = $n",
    "INSERT INTO s(y, z, late) SELECT a, b, 'l' || $r FROM t LIMIT $r",
    "DELETE FROM s WHERE x % $k = $n",
    "INSERT OR IGNORE INTO g(p) SELECT id + $r FROM t LIMIT $r",
    "DELETE FROM g WHERE p % $k = $n",
    "CREATE INDEX IF NOT EXISTS x$n ON t(abs(a) + $k, b COLLATE NOCASE DESC) WHERE a % $k <> 1",
    "CREATE INDEX IF NOT EXISTS x$n ON t(e DESC, c) WHERE c IS NOT NULL",
    "CREATE UNIQUE INDEX IF NOT EXISTS x$n ON w(n, k COLLATE RTRIM, v)",
    "CREATE INDEX IF NOT EXISTS x$n ON g(r, q DESC)",
    "DROP INDEX IF EXISTS x$n",
    "ALTER TABLE t ADD COLUMN n$n TEXT DEFAULT 'later' CHECK (length(n$n) < 50)",
    "ALTER TABLE t ADD COLUMN n$n INT AS (a * $k) VIRTUAL",
    "ALTER TABLE t DROP COLUMN n$n",
    "ALTER TABLE t RENAME COLUMN n$n TO n$k",
    "CREATE TABLE IF NOT EXISTS m$n(p INTEGER PRIMARY KEY, q TEXT NOT NULL, r REAL, u ANY) STRICT",
    "CREATE TABLE IF NOT EXISTS m$n(q COLLATE NOCASE, p INT, r, PRIMARY KEY(p DESC, q)) WITHOUT ROWID",
    "INSERT OR IGNORE INTO m$n(p, q, r) SELECT id * $k, 'q' || e, $r * 0.5 FROM t LIMIT $r",
    "ALTER TABLE m$n RENAME TO m$k",
    "DROP TABLE IF EXISTS m$n",
    "INSERT INTO docs(title, body) SELECT 't' || $r, b || ' ' || e FROM t LIMIT $r",
    "DELETE FROM docs WHERE rowid % $k = $n",
    "INSERT INTO docs(docs) VALUES('optimize')",
    "INSERT OR REPLACE INTO boxes SELECT id, a, a + $k, -$k, $r FROM t LIMIT $r",
    "DELETE FROM boxes WHERE id % $k = $n",
    "BEGIN; DELETE FROM t; DROP TABLE w; ROLLBACK",
    "BEGIN; SAVEPOINT p; DELETE FROM s WHERE x % $k = $n; ROLLBACK TO p; UPDATE s SET z = 'z$r' WHERE x % $k = 1; COMMIT",
    "PRAGMA incremental_vacuum($r)",
    "PRAGMA wal_checkpoint(PASSIVE)",
    "VACUUM",
    "REINDEX",
    "ANALYZE",
];

fn change(connection: &Connection, chance: &mut Chance) {
    let change = chance.of(CHANGES);
    let numbers = [("$n", chance.below(6)), ("$k", 2 + chance.below(8)), ("$r", chance.below(40))];
    let sql =
        numbers.iter().fold(change.to_owned(), |sql, (name, number)| sql.replace(name, &number.to_string()));
    if connection.execute_batch(&sql).is_err() && !connection.is_autocommit() {
        connection.execute_batch("ROLLBACK").unwrap();
    }
}

#[test]
fn random_histories_are_silent_at_every_stop_with_and_without_a_log() {
    for seed in 0..6 {
        let chance = &mut Chance(seed);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("history.db");
        let shape = Shape {
            page_size: 512 << chance.below(5),
            auto_vacuum: (seed % 3) as u8,
            encoding: chance.of(&["UTF-8", "UTF-16le", "UTF-16be"]),
            reserved: chance.of(&[0, 0, 16]),
        };
        let connection = create(&path, &shape);
        fill(&connection, 40 + chance.below(100) as u32);
        let more = "CREATE VIRTUAL TABLE docs USING fts5(title, body); CREATE VIRTUAL TABLE boxes USING rtree(id, a, b, c, d);";
        connection.execute_batch(more).unwrap();
        if seed % 2 == 0 {
            connection.execute_batch("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=20").unwrap();
        }
        for _stop in 0..5 {
            (0..12).for_each(|_| change(&connection, chance));
            // The connection stays open: what is in the log stays there.
            let report = checked(&path, &options(CheckLevel::Full));
            let text = report::findings::text(&report, &check_sqlite::RULES);
            assert_eq!(verdict(&path, "integrity_check"), ["ok"], "seed {seed} {shape:?}");
            assert_eq!((report.finding_count(), report.exit_code()), (0, 0), "seed {seed} {shape:?}: {text}");
            assert_eq!(report.accounting.clean_count, report.accounting.page_count, "seed {seed}: {text}");
        }
    }
}
