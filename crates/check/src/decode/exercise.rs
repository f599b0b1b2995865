//! One function that decodes any bytes as a page of every engine, for fuzzing.

use formats::postgres::file_name::Fork;
use formats::sqlite::BtreePage;

use super::{Decoded, Map, innodb, postgres, sqlite, sqlite_geometry, sqlserver};

/// Decodes some bytes as every kind of page of every engine, under numbers taken from their start. Nothing may panic;
/// returns how many facts came out, so that a caller can see that something was looked at.
///
/// The body of the fuzz target and of the smoke run on the stable compiler.
pub fn exercise(bytes: &[u8]) -> usize {
    let word = |offset: usize| {
        bytes.get(offset..).and_then(|rest| rest.first_chunk()).map_or(0, |word| u32::from_be_bytes(*word))
    };
    let (number, other) = (word(0), word(4));
    let mut all: Vec<Decoded> = Vec::new();
    for page_bytes in [other, bytes.len() as u32, 16_384] {
        all.push(innodb::place(number, page_bytes, other & 1 == 1));
        for map in [Map::Main, Map::FreeSpace, Map::Visibility] {
            all.push(postgres::place(map, number, page_bytes as usize));
        }
    }
    all.push(sqlserver::place((other & 1 == 1).then_some(other), other as u16, number));
    all.push(innodb::page(number, bytes));
    all.push(sqlserver::page(number, bytes, bytes));
    let _ = (formats::innodb::is_first_page(bytes), sqlserver::is_first_page(bytes));
    let _ = postgres::is_page(bytes, bytes.len());
    for fork in [Fork::Main, Fork::FreeSpace, Fork::Visibility, Fork::Init] {
        all.push(postgres::page(fork, number, bytes, Some(other & 1 == 1)));
        all.push(postgres::page(fork, number, bytes, None));
    }
    for page_bytes in [512u32, 4096, 65536] {
        let Some(geometry) = sqlite_geometry(page_bytes, other & 1 == 1) else { continue };
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
        all.push(decoded);
    }
    all.iter().map(|decoded| decoded.facts.len() + decoded.damage.len()).sum()
}
