//! `decode` against bytes of every kind: nothing panics, and everything ends.
#![allow(clippy::unwrap_used)]

use check::Engine;
use check::decode::{Decoded, file};
use rusqlite::Connection;
use stats::random::Random;

static ENGINES: [&Engine; 4] =
    [&check_sqlite::ENGINE, &check_postgres::ENGINE, &check_sqlserver::ENGINE, &check_innodb::ENGINE];

/// Some bytes as every kind of page of every engine, under numbers taken from their start.
fn all(bytes: &[u8]) -> Vec<Decoded> {
    let word = |offset: usize| {
        bytes.get(offset..).and_then(|rest| rest.first_chunk()).map_or(0, |word| u32::from_be_bytes(*word))
    };
    let (number, other) = (word(0), word(4));
    [
        check_sqlite::decode::exercise(number, other, bytes),
        check_postgres::decode::exercise(number, other, bytes),
        check_sqlserver::decode::exercise(number, other, bytes),
        check_innodb::decode::exercise(number, other, bytes),
    ]
    .concat()
}

/// Facts of all of that.
fn exercise(bytes: &[u8]) -> usize {
    all(bytes).iter().map(|decoded| decoded.facts.len() + decoded.damage.len()).sum()
}

/// Debug output of the standard library and of derived implementations.
const DEBUG_SIGNS: &[&str] = &["{", "}", "Some(", "None", "Ok(", "Err(", "::", "[", "]"];

#[test]
fn every_value_is_in_words_whatever_the_bytes_are() {
    let mut seed = 1u64;
    for round in 0..200 {
        let mut bytes = vec![0u8; 8192];
        for byte in bytes.iter_mut().take(if round % 2 == 0 { 8192 } else { 96 }) {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *byte = (seed >> 56) as u8;
        }
        // Kinds of pages that exist, so that their contents are described as well.
        bytes[0] = 1;
        bytes[1] = (round % 20) as u8;
        for decoded in all(&bytes) {
            let facts = decoded.facts.iter().map(|(_, value)| value);
            for text in facts.chain(&decoded.damage).chain([&decoded.title]) {
                let is_debug = DEBUG_SIGNS.iter().any(|sign| text.contains(sign));
                // Names in a file may hold anything.
                assert!(!is_debug || !text.is_ascii(), "{}: {text}", decoded.title);
            }
        }
    }
}

/// A database with trees, long values and free pages.
const SHAPE: &str = "PRAGMA page_size = 512; CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT); CREATE INDEX i ON t (b);
    CREATE TABLE w (a TEXT PRIMARY KEY, b TEXT) WITHOUT ROWID;
    WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 60)
    INSERT INTO t SELECT x, printf('%-*s', x * 17, x) FROM n; INSERT INTO w SELECT b, a FROM t; DELETE FROM w WHERE b < 20;";

fn database(vacuum: &str) -> Vec<u8> {
    let place = tempfile::NamedTempFile::new().unwrap();
    let connection = Connection::open(place.path()).unwrap();
    connection.execute_batch(&format!("PRAGMA auto_vacuum = {vacuum}; {SHAPE}")).unwrap();
    drop(connection);
    std::fs::read(place.path()).unwrap()
}

#[test]
fn seeded_bytes_of_every_engine_make_nothing_panic() {
    let mut random = Random::new(7);
    let pages = database("none");
    let mut facts = 0;
    for length in [0, 1, 3, 7, 38, 96, 100, 511, 512, 4096, 8192, 16_384] {
        for _ in 0..40 {
            let mut bytes: Vec<u8> = (0..length).map(|_| random.next_u64() as u8).collect();
            facts += exercise(&bytes);
            // Real pages with some bytes changed come further.
            let start = random.next_u64() as usize % (pages.len() - 512);
            let real = &pages[start / 512 * 512..];
            bytes.iter_mut().zip(real).for_each(|(byte, real)| *byte = *real);
            for _ in 0..length.min(4) {
                let place = random.next_u64() as usize % length;
                bytes[place] = random.next_u64() as u8;
            }
            facts += exercise(&bytes);
            formats::innodb::exercise(&bytes);
        }
    }
    assert!(facts > 10_000, "{facts}");
}

#[test]
fn a_map_of_sql_server_whose_number_is_near_2_to_the_32_is_described() {
    for kind in [8u8, 9, 10, 11, 16, 17] {
        for number in [u32::MAX, u32::MAX - 1, 0xffff_fff8, 0xffff_f000, u32::MAX - 8087] {
            let mut page = [0xff; 8192];
            page[..2].copy_from_slice(&[1, kind]);
            page[32..36].copy_from_slice(&number.to_le_bytes());
            page[..4].copy_from_slice(&[1, kind, 0, 0]);
            assert!(exercise(&page) > 0);
        }
    }
}

#[test]
fn every_page_of_a_changed_file_is_described_or_refused() {
    let mut random = Random::new(11);
    let place = tempfile::NamedTempFile::new().unwrap();
    for vacuum in ["none", "full"] {
        let whole = database(vacuum);
        let page_count = (whole.len() / 512) as u64;
        for _ in 0..12 {
            let mut bytes = whole.clone();
            for _ in 0..24 {
                // Not the magic number: another engine's file would be decoded.
                let page = 1 + random.next_u64() % (page_count - 1);
                let within = [random.next_u64() % 16, random.next_u64() % 512];
                let offset = page * 512 + within[(random.next_u64() % 2) as usize];
                bytes[offset as usize] = random.next_u64() as u8;
            }
            std::fs::write(place.path(), &bytes).unwrap();
            for page in (1..=page_count as u32 + 1).step_by(7) {
                let _ = file(&ENGINES, place.path(), page);
            }
        }
    }
}
