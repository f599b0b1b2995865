//! The views of SQL Server's pages against real files, and against bytes of every kind.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use formats::sqlserver::{
    Boot, FileHeader, Header, PAGE_BYTES, audit_protection, audit_records, exercise, pfs_byte, protect,
    restore,
};
use proptest::prelude::*;

#[path = "../../check-sqlserver/tests/sqlserver/made.rs"]
#[allow(dead_code)]
mod made;

/// Data files by name: those that the tests of the checker make, then real ones, where the shared folder is there.
fn files() -> Vec<(String, Vec<u8>)> {
    let made =
        [("made, checksum", made::Protection::Checksum), ("made, torn page bits", made::Protection::Torn)];
    let made = made.map(|(name, protection)| (name.to_owned(), made::database(protection)));
    let read = |path: PathBuf| (path.display().to_string(), std::fs::read(path).unwrap());
    made.into_iter().chain(real_files().into_iter().map(read)).collect()
}

/// Real data files; none, and a skip that is counted, when the shared folder is absent.
fn real_files() -> Vec<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/sqlserver");
    let folder =
        std::env::var_os("FATHOM_SQLSERVER_DATA").map_or_else(|| PathBuf::from(folder), PathBuf::from);
    let Ok(entries) = std::fs::read_dir(&folder) else {
        let reason = format!("there is no folder \"{}\" with real files", folder.display());
        skips::skip(skips::Capability::Shared, reason);
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "mdf"));
    files.sort();
    files
}

#[test]
fn allocated_pages_of_files_have_no_damage() {
    for (name, bytes) in files() {
        let mut pages: Vec<Vec<u8>> = bytes.chunks_exact(PAGE_BYTES).map(<[u8]>::to_vec).collect();
        let mut damages = Vec::new();
        let mut record_count = 0;
        for page in &mut pages {
            let before = page.clone();
            restore(page);
            let mut again = page.clone();
            protect(&mut again);
            let header = Header::new(&before);
            let mut own = Vec::new();
            audit_protection(&before, &header, |damage| own.push(damage));
            assert!(!own.is_empty() || again == before, "page {} is not made the same again", header.page);
        }
        let pfs = pages[1].clone();
        for (index, page) in pages.iter().enumerate() {
            if !pfs_byte(&pfs, index as u32).unwrap().is_allocated() {
                continue;
            }
            let header = Header::new(page);
            header.audit(|damage| damages.push((index, damage)));
            if matches!(header.kind.name(), "data" | "index" | "text mix" | "text tree") {
                audit_records(
                    page,
                    &header,
                    |_, _| record_count += 1,
                    |damage| damages.push((index, damage)),
                );
            }
        }
        assert_eq!(damages, [], "{name}");
        assert!(record_count > if name.starts_with("made") { 200 } else { 5000 }, "{name}: {record_count}");
        let boot = Boot::new(&pages[9]).unwrap();
        assert!((655..=706).contains(&boot.version) && boot.created.is_in_range());
        assert_eq!(FileHeader::new(&pages[0]).unwrap().file, 1);
    }
}

#[test]
fn changed_pages_of_files_make_no_view_panic() {
    for (number, (_, bytes)) in files().iter().enumerate() {
        let mut seed = 0x9e37_79b9_7f4a_7c15u64 + number as u64;
        let mut next = move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize
        };
        for page in bytes.chunks_exact(PAGE_BYTES) {
            let mut page = page.to_vec();
            for _ in 0..8 {
                // The parts that lead elsewhere more often than the rest.
                let place = match next() % 3 {
                    0 => next() % 96,
                    1 => PAGE_BYTES - 1 - next() % 64,
                    _ => next() % PAGE_BYTES,
                };
                page[place] = next() as u8;
            }
            exercise(&page);
        }
    }
}

#[test]
fn a_page_whose_slots_all_lead_to_one_long_record_is_read_four_times_at_most() {
    // A record of 6,000 bytes at offset 96: one fixed part of 2,000 bytes, one variable column for the rest.
    let mut page = vec![0u8; PAGE_BYTES];
    page[..2].copy_from_slice(&[1, 1]);
    page[96..100].copy_from_slice(&[0x30, 0, 0xd0, 7]);
    let bitmap = 96 + 2000;
    page[bitmap..bitmap + 7].copy_from_slice(&[1, 0, 0, 1, 0, 0x70, 0x17]);
    page[22..24].copy_from_slice(&900u16.to_le_bytes());
    page[30..32].copy_from_slice(&6200u16.to_le_bytes());
    (0..900).for_each(|slot| page[PAGE_BYTES - 2 * (slot + 1)] = 96);
    let (mut lengths, mut damage_count) = (Vec::new(), 0);
    audit_records(
        &page,
        &Header::new(&page),
        |_, record| lengths.push(record.bytes.len()),
        |_| damage_count += 1,
    );
    assert_eq!(lengths, [6000; 6]);
    assert_eq!(damage_count, 5);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]
    #[test]
    fn no_bytes_make_a_view_panic(bytes in prop::collection::vec(any::<u8>(), 0..9000)) {
        exercise(&bytes);
    }
}

#[test]
fn the_corpus_of_the_fuzz_target_and_its_neighbours_make_no_view_panic() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/sqlserver_page");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 15);
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    let (mut record_count, mut kinds) = (0, std::collections::BTreeSet::new());
    for file in files {
        let original = std::fs::read(file).unwrap();
        let mut page = original.clone();
        restore(&mut page);
        let header = Header::new(&page);
        audit_records(&page, &header, |_, _| record_count += 1, |_| {});
        kinds.insert(header.kind.name());
        for round in 0..60 {
            let mut bytes = original.clone();
            // The seed itself first; then with bytes changed, doubled or cut off.
            for _ in 0..round % 9 {
                let place = match next() % 3 {
                    0 => next() % 130,
                    1 => bytes.len().saturating_sub(1 + next() % 64),
                    _ => next() % bytes.len().max(1),
                };
                match next() % 10 {
                    0 => bytes.truncate(place),
                    1 => bytes.extend_from_within(..place.min(600).min(bytes.len())),
                    2 => bytes.iter_mut().skip(place).take(8).for_each(|byte| *byte = 0xff),
                    3 => bytes.iter_mut().skip(place).take(2).for_each(|byte| *byte = byte.rotate_left(1)),
                    _ => {
                        let value = next() as u8;
                        bytes.iter_mut().skip(place).take(1).for_each(|byte| *byte = value);
                    }
                }
            }
            if round % 2 == 0 {
                protect(&mut bytes);
            }
            exercise(&bytes);
        }
    }
    assert!(
        record_count > 200 && kinds.len() >= 9,
        "the corpus is no longer what it was: {record_count}, {kinds:?}"
    );
}
