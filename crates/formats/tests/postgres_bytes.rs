//! The views of PostgreSQL's pages and files against pages that a server wrote, changed and made up.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use formats::postgres::btree::Opaque;
use formats::postgres::exercise;
use formats::postgres::page::Page;
use proptest::prelude::*;

/// The corpus: pages of a small cluster of PostgreSQL 15, one of a kind each, and some of its small files.
fn corpus() -> Vec<PathBuf> {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/postgres_page");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn pages_that_a_server_wrote_have_sound_headers_and_line_pointers() {
    let (mut item_count, mut tree_count) = (0, 0);
    for file in corpus() {
        let bytes = std::fs::read(&file).unwrap();
        let page = Page::new(&bytes);
        if bytes.len() != 8192 || page.is_new() {
            continue;
        }
        let mut damage = Vec::new();
        page.check_header(page.special().len(), &mut damage);
        assert_eq!(damage, [], "{}", file.display());
        item_count += page.items().filter(|item| page.item_bytes(*item).is_some()).count();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        tree_count += u32::from(name.starts_with("btree") && Opaque::read(&page).is_some());
    }
    assert!(item_count > 500 && tree_count >= 3, "{item_count} {tree_count}");
}

/// A sequence that is the same each time.
fn next_random(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize
}

#[test]
fn the_corpus_of_the_fuzz_target_and_its_neighbours_make_no_view_panic() {
    let files = corpus();
    assert!(files.len() >= 15, "{}", files.len());
    let mut state = 0x9e37_79b9_7f4a_7c15;
    for file in files {
        let original = std::fs::read(file).unwrap();
        for round in 0..60 {
            let mut bytes = original.clone();
            // The seed itself first; then with bytes changed, doubled or cut off.
            for _ in 0..round % 9 {
                let length = bytes.len();
                let place = match next_random(&mut state) % 3 {
                    0 => next_random(&mut state) % 130,
                    1 => length.saturating_sub(1 + next_random(&mut state) % 64),
                    _ => next_random(&mut state) % length.max(1),
                };
                match next_random(&mut state) % 10 {
                    0 => bytes.truncate(place),
                    1 => bytes.extend_from_within(..place.min(600).min(length)),
                    2 => bytes.iter_mut().skip(place).take(8).for_each(|byte| *byte = 0xff),
                    3 => bytes.iter_mut().skip(place).take(2).for_each(|byte| *byte = byte.rotate_left(1)),
                    _ => {
                        let value = next_random(&mut state) as u8;
                        bytes.iter_mut().skip(place).take(1).for_each(|byte| *byte = value);
                    }
                }
            }
            exercise(&bytes);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_a_view_panic(bytes in prop::collection::vec(any::<u8>(), 0..9000)) {
        exercise(&bytes);
    }
}
