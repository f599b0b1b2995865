//! One function that decodes any bytes as a page of every engine, for fuzzing.

use formats::postgres::file_name::Fork;
use formats::sqlite::BtreePage;

use super::{Decoded, Map, innodb, postgres, sqlite, sqlite_geometry, sqlserver};

/// Decodes some bytes as every kind of page of every engine, under numbers taken from their start. Nothing may panic;
/// returns how many facts came out, so that a caller can see that something was looked at.
///
/// The body of the smoke run on the stable compiler.
pub fn exercise(bytes: &[u8]) -> usize {
    count(&all(bytes))
}

/// One part of [`exercise`], chosen by the last byte, for the bytes before it.
///
/// The body of the fuzz target: a fuzzer learns more from eight inputs than from eight readings of one.
pub fn exercise_part(bytes: &[u8]) -> usize {
    bytes.split_last().map_or(0, |(choice, bytes)| count(&part(choice % PARTS, bytes)))
}

fn count(decoded: &[Decoded]) -> usize {
    decoded.iter().map(|decoded| decoded.facts.len() + decoded.damage.len()).sum()
}

/// Parts into which [`exercise`] falls.
const PARTS: u8 = 8;

/// What every engine says of these bytes.
fn all(bytes: &[u8]) -> Vec<Decoded> {
    (0..PARTS).flat_map(|choice| part(choice, bytes)).collect()
}

fn part(choice: u8, bytes: &[u8]) -> Vec<Decoded> {
    let word = |offset: usize| {
        bytes.get(offset..).and_then(|rest| rest.first_chunk()).map_or(0, |word| u32::from_be_bytes(*word))
    };
    let (number, other) = (word(0), word(4));
    let blocks = |fork| {
        [Some(other & 1 == 1), None].map(|checksums| postgres::page(fork, number, bytes, checksums)).to_vec()
    };
    match choice {
        0 => places(number, other, bytes.len()),
        1 => {
            let _ = formats::innodb::is_first_page(bytes);
            vec![innodb::page(number, bytes)]
        }
        2 => {
            let _ = sqlserver::is_first_page(bytes);
            vec![sqlserver::page(number, bytes, bytes)]
        }
        3 => {
            let _ = postgres::is_page(bytes, bytes.len());
            blocks(Fork::Main)
        }
        4 => blocks(Fork::FreeSpace),
        5 => blocks(Fork::Visibility),
        6 => blocks(Fork::Init),
        _ => [512, 4096, 65536].iter().filter_map(|size| tree(number, other, *size, bytes)).collect(),
    }
}

/// What numbers alone say.
fn places(number: u32, other: u32, length: usize) -> Vec<Decoded> {
    let mut all = Vec::new();
    for page_bytes in [other, length as u32, 16_384] {
        all.push(innodb::place(number, page_bytes, other & 1 == 1));
        for map in [Map::Main, Map::FreeSpace, Map::Visibility] {
            all.push(postgres::place(map, number, page_bytes as usize));
        }
    }
    all.push(sqlserver::place((other & 1 == 1).then_some(other), other as u16, number));
    all
}

/// A page of SQLite in each of its uses.
fn tree(number: u32, other: u32, page_bytes: u32, bytes: &[u8]) -> Option<Decoded> {
    let geometry = sqlite_geometry(page_bytes, other & 1 == 1)?;
    let mut decoded = sqlite::place(number, geometry);
    let page = bytes.get(..page_bytes as usize).unwrap_or(bytes);
    sqlite::free_trunk(page, geometry, number, &mut decoded);
    sqlite::pointer_map(number, page, geometry, other, &mut decoded);
    sqlite::overflow(number, page, other & 1 == 1, &mut decoded);
    for start in [0, 100] {
        if let (Some(view), damage) = BtreePage::new(page, start, geometry) {
            sqlite::tree(number, &view, damage, &mut decoded);
        }
    }
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
