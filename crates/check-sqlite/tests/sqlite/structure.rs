//! How the trees of SQLite files lie on their pages: the published shape at 1/1000 of its size, beside dbstat, in all
//! modes, with a log, and around damage.
#![allow(clippy::unwrap_used)]

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use check::progress::Silent;
use check::structure::Options;
use check_sqlite::structure;
use results::structure::{ObjectStructure, StorageKind, StructureMode, StructureReport};
use rusqlite::Connection;
use stats::identities::{IndexLevel, level_records};
use stats::pages::pages_for_rows;

const ROWS: u64 = 50_000;

/// The three ways of the published experiment; keys are drawn from a sequence, so that all runs make the same file.
const SHAPE: &str = "
    PRAGMA page_size = 8192; PRAGMA journal_mode = off; PRAGMA synchronous = off; PRAGMA cache_size = -100000;
    CREATE TABLE heap (id BLOB NOT NULL, pad TEXT NOT NULL);
    CREATE UNIQUE INDEX heap_id ON heap (id);
    CREATE TABLE random_keys (id BLOB PRIMARY KEY, pad TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE ordered_keys (id BLOB PRIMARY KEY, pad TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE loaded (id BLOB NOT NULL, pad TEXT NOT NULL);
    WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 50000)
    INSERT INTO heap SELECT
        CAST(printf('%08x%08x', x * 2654435761 % 4294967296, x * 40503 % 4294967296) AS BLOB), printf('%-1024s', 'x')
        FROM n;
    INSERT INTO random_keys SELECT id, pad FROM heap ORDER BY rowid;
    INSERT INTO ordered_keys SELECT id, pad FROM heap ORDER BY id;
    INSERT INTO loaded SELECT id, pad FROM heap ORDER BY id;";

struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new(statements: &str) -> Place {
        let place = Place { directory: tempfile::tempdir().unwrap() };
        Connection::open(place.path()).unwrap().execute_batch(statements).unwrap();
        place
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("a.db")
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) {
        let file = std::fs::OpenOptions::new().write(true).open(self.path()).unwrap();
        file.write_all_at(bytes, offset).unwrap();
    }
}

fn measured(path: &Path, options: &Options) -> StructureReport {
    let report = structure(path, options, &mut Silent);
    assert!(report.accounting.is_balanced(), "{:?}", report.accounting);
    report
}

fn in_mode(mode: StructureMode) -> Options {
    Options { mode, ..Options::default() }
}

fn object<'r>(report: &'r StructureReport, name: &str) -> &'r ObjectStructure {
    let is_named = |object: &&ObjectStructure| object.index.as_ref().unwrap_or(&object.table) == name;
    report.objects.iter().find(is_named).unwrap()
}

fn assert_identities(object: &ObjectStructure) {
    let name = object.index.as_ref().unwrap_or(&object.table);
    let level_of = |level: &results::structure::LevelStructure| IndexLevel {
        page_count: level.page_count,
        fragment_count: level.fragment_count,
        record_count: level.record_count.unwrap(),
        record_bytes_mean: level.avg_record_size_bytes.unwrap_or(0.0),
    };
    for pair in object.levels.windows(2) {
        let outcome = level_records(&level_of(&pair[1]), &level_of(&pair[0]));
        assert!(outcome.is_consistent(), "{name} level {}: {outcome:?}", pair[1].index_level);
    }
    for level in &object.levels {
        assert_eq!(level.avg_fragment_size_pages, level_of(level).fragment_pages_mean(), "{name}");
        assert_eq!(level.successor_count, level.page_count - 1, "{name}");
        // Cells and their pointers are all that is not free; one reference of an inner page is no cell.
        let cells = level.record_count.unwrap() - if level.index_level > 0 { level.page_count } else { 0 };
        let bytes = cells as f64 * (level.avg_record_size_bytes.unwrap_or(0.0) + 2.0);
        let used = level.room_bytes.unwrap() - level.free_bytes.unwrap();
        assert_eq!(bytes.round() as u64, used, "{name} level {}", level.index_level);
    }
    assert_eq!(object.levels.last().unwrap().page_count, 1, "{name} has one root");
}

#[test]
fn rows_of_the_published_shape_lie_as_published_and_as_dbstat_says() {
    let place = Place::new(SHAPE);
    let report =
        measured(&place.path(), &Options { worker_count: 2, with_system: true, ..Options::default() });
    assert_eq!(report.exit_code(), 0, "{:?}", report.unfinished);
    assert_eq!(report.left_out, []);
    report
        .objects
        .iter()
        .filter(|object| object.levels[0].record_count > Some(0))
        .for_each(assert_identities);
    for name in ["heap", "loaded"] {
        let table = object(&report, name);
        assert_eq!((table.kind, table.index_id), (StorageKind::RowidTree, 1));
        assert_eq!(Some(table.levels[0].page_count), pages_for_rows(ROWS, 7), "{name}");
        assert_eq!((table.levels[0].page_count, table.levels[0].record_count), (7143, Some(ROWS)));
        assert!(table.levels[0].avg_fragmentation_pct < 20.0, "{:?}", table.levels[0]);
    }
    let random = object(&report, "random_keys");
    let ordered = object(&report, "ordered_keys");
    assert_eq!((random.kind, ordered.kind), (StorageKind::ClusteredTree, StorageKind::ClusteredTree));
    // Rows above the leaves are rows, too: 7 in each page of any level, but for the last on each level.
    let pages: u64 = ordered.levels.iter().map(|level| level.page_count).sum();
    assert!((7143..=7143 + ordered.levels.len() as u64).contains(&pages), "{pages}");
    for tree in [random, ordered] {
        let inner: u64 =
            tree.levels[1..].iter().map(|level| level.record_count.unwrap() - level.page_count).sum();
        assert_eq!(tree.levels[0].record_count.unwrap() + inner, ROWS);
    }
    let (random, ordered) = (&random.levels[0], &ordered.levels[0]);
    assert!(random.avg_fragmentation_pct > 90.0 && ordered.avg_fragmentation_pct < 20.0, "{ordered:?}");
    let fill = random.avg_page_space_used_pct.unwrap();
    assert!((60.0..=80.0).contains(&fill), "{fill}");
    assert!(random.backward_pct > 20.0 && ordered.backward_count == 0, "{random:?}");
    let strip = object(&report, "ordered_keys").strip.clone().unwrap();
    assert!(strip.leaf_count == ordered.page_count && strip.pages.is_sorted(), "{}", strip.step);
    assert_like_dbstat(&place.path(), &report);
}

/// Pages by kind, unused bytes, and the order of the leaves.
fn assert_like_dbstat(path: &Path, report: &StructureReport) {
    let connection = Connection::open(path).unwrap();
    let mut statement = connection
        .prepare(
            "SELECT name, sum(pagetype = 'leaf'), sum(pagetype = 'internal'), sum(pagetype = 'overflow'),
                    sum(unused) FILTER (WHERE pagetype <> 'overflow')
             FROM dbstat GROUP BY name",
        )
        .unwrap();
    let rows = statement.query_map([], |row| {
        Ok((row.get::<_, String>(0)?, [row.get::<_, u64>(1)?, row.get(2)?, row.get(3)?, row.get(4)?]))
    });
    let mut count = 0;
    for row in rows.unwrap() {
        let (name, theirs) = row.unwrap();
        let ours = object(report, &name);
        let inner = ours.levels[1..].iter().map(|level| level.page_count).sum();
        let free = ours.levels.iter().map(|level| level.free_bytes.unwrap()).sum();
        let figures = [ours.levels[0].page_count, inner, ours.overflow_page_count.unwrap(), free];
        assert_eq!(figures, theirs, "{name}: leaves, inner pages, overflow pages, unused bytes");
        let mut leaves = connection
            .prepare("SELECT pageno FROM dbstat WHERE name = ?1 AND pagetype = 'leaf' ORDER BY path")
            .unwrap();
        let leaves = leaves.query_map([&name], |row| row.get(0)).unwrap();
        let leaves: Vec<u64> = leaves.map(Result::unwrap).collect();
        let jumps = leaves.windows(2).filter(|pair| pair[1] != pair[0] + 1).count() as u64;
        assert_eq!(ours.levels[0].fragment_count, jumps + 1, "{name}");
        count += 1;
    }
    assert_eq!(count, report.objects.len());
}

/// Long values, deleted rows, several page sizes, vacuum modes, reserved bytes being rare.
const MIXED: &str = "
    CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b BLOB);
    CREATE INDEX t_a ON t (a);
    CREATE TABLE w (a TEXT, b INT, PRIMARY KEY (a, b)) WITHOUT ROWID;
    WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 3000)
    INSERT INTO t SELECT x, printf('%.*c', x % 300, 'k') || x, zeroblob(x % 1000 * (x % 7 = 0) * 10) FROM n;
    INSERT INTO w SELECT substr(a, 1, 40), id FROM t;
    DELETE FROM t WHERE id % 3 = 0;
    CREATE TABLE gone (x); INSERT INTO gone SELECT b FROM t; DROP TABLE gone;";

#[test]
fn files_of_all_page_sizes_and_vacuum_modes_agree_with_dbstat_in_every_page() {
    for page_size in [512, 1024, 4096, 65536] {
        for vacuum in ["none", "full", "incremental"] {
            let place = Place::new(&format!(
                "PRAGMA page_size = {page_size}; PRAGMA auto_vacuum = {vacuum}; {MIXED}"
            ));
            let options = Options { with_system: true, ..Options::default() };
            let report = measured(&place.path(), &options);
            assert_eq!((report.exit_code(), report.left_out.as_slice()), (0, [].as_slice()));
            assert_like_dbstat(&place.path(), &report);
            // Every page has a use: that the sums agree shows that none is counted twice.
            let of_trees: u64 = report.objects.iter().map(|object| object.page_count).sum();
            let fact = |name: &str| {
                let found = report.facts.iter().find(|(fact, _)| fact == name).unwrap();
                found.1.parse::<u64>().unwrap()
            };
            let special = fact("pages of pointer maps and locks");
            assert_eq!(
                of_trees + special + report.free_page_count.unwrap(),
                fact("pages"),
                "{page_size} {vacuum}"
            );
        }
    }
}

#[test]
fn limited_and_sampled_read_few_pages_and_agree_with_detailed() {
    let place = Place::new(SHAPE);
    let detailed = measured(&place.path(), &Options::default());
    let limited = measured(&place.path(), &in_mode(StructureMode::Limited));
    let sampled = measured(&place.path(), &in_mode(StructureMode::Sampled));
    let one = measured(&place.path(), &Options { table: Some("HEAP".to_owned()), ..Options::default() });
    assert_eq!(one.objects.len(), 2);
    for full in &detailed.objects {
        let name = full.index.as_ref().unwrap_or(&full.table);
        let brief = object(&limited, name);
        assert_eq!(full.strip, brief.strip);
        for (full, brief) in full.levels.iter().zip(&brief.levels) {
            assert_eq!((full.page_count, full.fragment_count), (brief.page_count, brief.fragment_count));
            let expected = if full.index_level == 0 { None } else { full.record_count };
            assert_eq!(brief.record_count, expected);
        }
        // Trees with fewer than 10,000 leaves are looked at whole.
        assert_eq!(object(&sampled, name).levels, full.levels, "{name}");
        if full.table == "heap" {
            assert_eq!(object(&one, name), full);
        }
    }
    // The inner pages of a tree with rows in them, and few of all others.
    assert!(limited.counters.extra_read_count < 3000, "{}", limited.counters.extra_read_count);
    let absent =
        measured(&place.path(), &Options { table: Some("nothing".to_owned()), ..Options::default() });
    assert!(absent.unfinished.unwrap().contains("\"nothing\""));
}

#[test]
fn a_sample_of_a_large_tree_estimates_and_says_so() {
    let place = Place::new(
        "PRAGMA page_size = 512; PRAGMA synchronous = off; CREATE TABLE t (a);
         WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 30000)
         INSERT INTO t SELECT printf('%.*c', 140 + x % 60, 'x') FROM n;",
    );
    let detailed = measured(&place.path(), &Options::default());
    let sampled = measured(&place.path(), &in_mode(StructureMode::Sampled));
    let (full, part) = (&detailed.objects[0].levels[0], &sampled.objects[0].levels[0]);
    assert!(part.is_estimate && part.looked_at_count == full.page_count.div_ceil(100), "{part:?}");
    let ratio = part.record_count.unwrap() as f64 / 30_000.0;
    assert!((0.9..1.1).contains(&ratio), "{ratio}");
    assert_eq!((part.page_count, part.fragment_count), (full.page_count, full.fragment_count));
}

#[test]
fn what_the_log_has_is_laid_over_the_file() {
    let place = Place::new("PRAGMA journal_mode = wal; CREATE TABLE t (a, b); CREATE INDEX i ON t (a);");
    let writer = Connection::open(place.path()).unwrap();
    writer.execute_batch("PRAGMA wal_autocheckpoint = 0;").unwrap();
    writer
        .execute_batch(
            "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 5000)
             INSERT INTO t SELECT x * 7919 % 5003, printf('%0100d', x) FROM n;",
        )
        .unwrap();
    let with_log = measured(&place.path(), &Options { worker_count: 2, ..Options::default() });
    assert_eq!(object(&with_log, "t").levels[0].record_count, Some(5000));
    assert!(with_log.facts.iter().any(|(name, _)| name == "WAL frames applied"));
    writer.execute_batch("PRAGMA wal_checkpoint(TRUNCATE);").unwrap();
    assert_eq!(measured(&place.path(), &Options::default()).objects, with_log.objects);
}

#[test]
fn damage_costs_what_lies_below_it_and_no_more() {
    let place = Place::new(&format!("PRAGMA page_size = 4096; {MIXED}"));
    let clean = measured(&place.path(), &Options::default());
    let before = object(&clean, "t_a").clone();
    let strip = object(&clean, "t").strip.clone().unwrap();
    let leaf = strip.pages[strip.pages.len() / 2];
    place.write_at((leaf - 1) * 4096, &[0xff; 64]);
    for mode in [StructureMode::Detailed, StructureMode::Sampled] {
        let report = measured(&place.path(), &in_mode(mode));
        assert_eq!((report.accounting.damaged_count, report.exit_code()), (1, 1));
        let table = object(&report, "t");
        assert_eq!(table.levels[0].page_count, strip.leaf_count, "its place in the tree is known");
        assert_eq!((table.levels[0].looked_at_count, table.unclear_page_count), (strip.leaf_count - 1, 1));
        assert!(table.notes[0].contains("left out"), "{:?}", table.notes);
        assert_eq!(object(&report, "t_a").levels, before.levels, "another tree is as it was");
    }
    // The root: everything below is out of reach, everything else is not.
    let root: u64 = Connection::open(place.path())
        .unwrap()
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = 't'", [], |row| row.get(0))
        .unwrap();
    place.write_at((root - 1) * 4096, &[0; 4096]);
    let report = measured(&place.path(), &Options::default());
    assert_eq!(object(&report, "t").levels, []);
    assert!(
        report.left_out.iter().any(|gap| gap.what.contains("outside all b-trees")),
        "{:?}",
        report.left_out
    );
    assert_eq!(object(&report, "t_a").levels, before.levels);
}

#[test]
fn a_file_cut_short_and_random_bytes_are_measured_as_far_as_they_go() {
    let place = Place::new(&format!("PRAGMA page_size = 1024; {MIXED}"));
    let whole = std::fs::read(place.path()).unwrap();
    let mut state = 7u64;
    let mut next = || {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) as usize
    };
    for round in 0..60 {
        let mut bytes = whole.clone();
        for _ in 0..next() % 200 {
            let place = next() % bytes.len();
            bytes[place] = next() as u8;
        }
        if round % 3 == 0 {
            bytes.truncate(next() % bytes.len());
        }
        std::fs::write(place.path(), &bytes).unwrap();
        for mode in [StructureMode::Detailed, StructureMode::Sampled, StructureMode::Limited] {
            // Whatever it finds, it ends, and accounts for every page.
            measured(&place.path(), &in_mode(mode));
        }
    }
    std::fs::write(place.path(), &whole[..whole.len() / 2]).unwrap();
    let half = measured(&place.path(), &Options::default());
    assert!(half.accounting.unreadable_count > 0 && half.exit_code() != 0, "{:?}", half.accounting);
}

#[test]
fn every_page_of_a_tree_is_decoded_with_the_tree_that_dbstat_names() {
    for vacuum in ["none", "full"] {
        let place = Place::new(&format!(
            "PRAGMA page_size = 512; PRAGMA auto_vacuum = {vacuum};
             CREATE TABLE short (id INTEGER PRIMARY KEY, word TEXT); CREATE INDEX words ON short (word);
             CREATE TABLE long (id BLOB PRIMARY KEY, pad TEXT) WITHOUT ROWID; CREATE TABLE empty (id INTEGER);
             WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 3000)
             INSERT INTO short SELECT x, printf('%08x', x * 2654435761 % 4294967296) FROM n;
             INSERT INTO long SELECT word, printf('%-2000s', id) FROM short WHERE id <= 40;"
        ));
        let connection = Connection::open(place.path()).unwrap();
        let mut rows = connection.prepare("SELECT name, pageno, pagetype FROM dbstat").unwrap();
        let pages: Vec<(String, u32, String)> = rows
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert!(pages.len() > 200, "{}", pages.len());
        let mut named = 0;
        for (name, page, kind) in pages {
            let decoded = check::decode::file(&[&check_sqlite::ENGINE], &place.path(), page).unwrap();
            let belongs =
                decoded.facts.iter().find(|(fact, _)| fact == "belongs to").map(|(_, tree)| tree.as_str());
            let cost = decoded.facts.iter().any(|(fact, _)| fact == "pages read for that");
            assert_eq!(cost, kind == "overflow" && vacuum == "none", "{decoded:?}");
            let expected = match name.as_str() {
                "words" => "index words of table short (root page ".to_owned(),
                other => format!("table {other} (root page "),
            };
            assert!(
                belongs.is_some_and(|tree| tree.starts_with(&expected)),
                "{vacuum} {page} {name}: {belongs:?}"
            );
            named += 1;
        }
        assert!(named > 150, "{vacuum}: {named}");
    }
}
