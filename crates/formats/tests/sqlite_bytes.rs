//! The views of SQLite pages against bytes of every kind: made by SQLite, changed, and made up.
#![allow(clippy::unwrap_used)]

use formats::sqlite::{BtreePage, Coverage, Geometry, Header, exercise};
use proptest::prelude::*;

fn database() -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pages.db");
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "PRAGMA page_size=1024; PRAGMA auto_vacuum=1; CREATE TABLE t(a, b TEXT, c REAL); CREATE INDEX i ON t(b, a);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
             INSERT INTO t SELECT i, 'text ' || i, i / 3.0 FROM n; INSERT INTO t VALUES (zeroblob(9000), 'long', 1);
             DELETE FROM t WHERE a % 3 = 0;",
        )
        .unwrap();
    connection.close().unwrap();
    std::fs::read(path).unwrap()
}

#[test]
fn pages_that_sqlite_made_have_no_damage() {
    let file = database();
    let mut damages = Vec::new();
    let header = Header::new(&file, |damage| damages.push(damage));
    let geometry = header.geometry().unwrap();
    assert!(header.is_page_count_valid() && geometry.auto_vacuum);
    let (mut trees, mut cells) = (0, 0);
    for (index, page) in file.chunks(1024).enumerate() {
        if geometry.is_pointer_map(index as u32 + 1) {
            continue;
        }
        let (view, damage) = BtreePage::new(page, if index == 0 { 100 } else { 0 }, geometry);
        let Some(view) = view else { continue };
        trees += 1;
        damages.extend(damage);
        view.audit(&mut Coverage::default(), |_, _, _| cells += 1, |damage| damages.push(damage));
    }
    assert_eq!(damages, []);
    assert!(trees > 10 && cells > 400, "{trees} {cells}");
}

#[test]
fn a_cell_is_damaged_exactly_when_the_audit_says_so() {
    let mut file = database();
    let header = Header::new(&file, |_| {});
    let geometry = header.geometry().unwrap();
    // One byte after the other, so that every way to be damaged is met.
    let (mut sound_count, mut damaged_count) = (0, 0);
    for page in 3..12 {
        for place in (0..1024).step_by(3) {
            let offset = page * 1024 + place;
            let before = std::mem::replace(&mut file[offset], (place % 251) as u8 | 0x80);
            if let Some(view) = BtreePage::new(&file[page * 1024..(page + 1) * 1024], 0, geometry).0 {
                view.audit(
                    &mut Coverage::default(),
                    |index, cell, _| {
                        let (alone, damage) = view.cell(index);
                        assert_eq!(damage.is_none(), cell.size > 0);
                        assert_eq!(
                            (alone.offset, alone.size, alone.rowid),
                            (cell.offset, cell.size, cell.rowid)
                        );
                        assert_eq!((alone.local, alone.overflow), (cell.local, cell.overflow));
                        if damage.is_none() { sound_count += 1 } else { damaged_count += 1 }
                    },
                    |_| {},
                );
            }
            file[offset] = before;
        }
    }
    assert!(sound_count > 1000 && damaged_count > 100, "{sound_count} {damaged_count}");
}

/// A sequence that is the same each time.
fn next_random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[test]
fn the_corpus_of_the_fuzz_target_and_its_neighbours_make_no_view_panic() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/sqlite_page");
    let mut files: Vec<_> = std::fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 15);
    let mut state = 0x9e37_79b9_7f4a_7c15;
    let mut tree_count = 0;
    for file in files {
        let original = std::fs::read(file).unwrap();
        for round in 0..200 {
            let mut bytes = original.clone();
            // The seed itself first; then with bytes changed, doubled or cut off.
            for _ in 0..round % 7 {
                let place = next_random(&mut state) as usize % bytes.len().max(1);
                match next_random(&mut state) % 8 {
                    0 => bytes.truncate(place),
                    1 => bytes.extend_from_within(..place.min(600)),
                    2 => bytes.iter_mut().skip(place).take(8).for_each(|byte| *byte = 0xff),
                    3 => bytes.iter_mut().take(12).for_each(|byte| *byte = byte.rotate_left(1)),
                    _ => {
                        let value = next_random(&mut state) as u8;
                        bytes.iter_mut().skip(place).take(1).for_each(|byte| *byte = value);
                    }
                }
            }
            for page_size_bytes in [512, 4096] {
                for reserved in [0, 31] {
                    let usable_bytes = page_size_bytes - reserved;
                    let geometry = Geometry { page_size_bytes, usable_bytes, auto_vacuum: true };
                    exercise(&bytes, geometry);
                    tree_count += u32::from(BtreePage::new(&bytes, 0, geometry).0.is_some());
                }
            }
        }
    }
    assert!(tree_count > 1000, "most of the corpus is no tree page any more: {tree_count}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_change_of_bytes_in_a_page_makes_a_view_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
    ) {
        thread_local! { static FILE: Vec<u8> = database(); }
        let mut file = FILE.with(Clone::clone);
        for (place, byte) in &changes {
            let place = place.index(file.len());
            file[place] = *byte;
        }
        let geometry = Geometry { page_size_bytes: 1024, usable_bytes: 1024, auto_vacuum: true };
        let (place, _) = changes[0];
        let page = place.index(file.len()) / 1024 * 1024;
        exercise(&file[page..page + 1024], geometry);
    }

    #[test]
    fn no_bytes_at_all_make_a_view_panic(
        kind in prop::sample::select(vec![2u8, 5, 10, 13, 0, 255]),
        mut bytes in prop::collection::vec(any::<u8>(), 0..1200),
        page_size_bytes in prop::sample::select(vec![512u32, 1024, 65536]),
        reserved in 0u32..32,
    ) {
        if let Some(first) = bytes.first_mut() {
            *first = kind;
        }
        exercise(&bytes, Geometry { page_size_bytes, usable_bytes: page_size_bytes - reserved, auto_vacuum: false });
    }
}
