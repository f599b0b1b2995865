//! Properties that hold for any bytes: nothing panics, nothing grows beyond its bound.

use proptest::prelude::*;

use crate::postgres::catalog::Layout;
use crate::postgres::file::control::Control;
use crate::postgres::file::{maps, relmap, transaction};
use crate::postgres::heap::TupleHeader;
use crate::postgres::index::btree::{IndexTuple, Meta, Opaque};
use crate::postgres::index::{hash, index_pages};
use crate::postgres::page::Page;
use crate::postgres::value::attribute::{Attribute, Columns, Length};
use crate::postgres::value::compression::{Method, unpack};
use crate::postgres::value::varlena;
use crate::postgres::wal;

/// Reads bytes as everything that a page can be, and gives the number of damages.
pub(crate) fn read_page_as_everything(bytes: &[u8], block: u32) -> usize {
    let mut damage = Vec::new();
    let page = Page::new(bytes);
    for special in [0, 16] {
        page.check_header(special, &mut damage);
    }
    page.check_items(8, true, &mut damage);
    if let Some(opaque) = Opaque::read(&page) {
        opaque.check(8176, block, 1000, &mut damage);
    }
    if let Some(meta) = Meta::read(&page) {
        meta.check(1000, &mut damage);
    }
    for method in [index_pages::Method::Hash, index_pages::Method::Gist, index_pages::Method::SpGist] {
        if let Some(opaque) = index_pages::Opaque::read(method, &page) {
            opaque.check(8176, &mut damage);
            let _ = (opaque.role(), opaque.is_being_split());
        }
        page.items().filter_map(|item| index_pages::entry(method, &page, item)).count();
    }
    let _ = (wal::RecordHeader::read(bytes), wal::is_page_of(bytes, 0));
    hash::read_everything(&page, block, &mut damage);
    let kinds =
        [(Length::Fixed(4), 4), (Length::Variable, 4), (Length::ZeroTerminated, 1), (Length::Fixed(64), 1)];
    let attributes = kinds.map(|(length, align_bytes)| Attribute { length, align_bytes });
    let layout = Layout::of_pg_attribute(18);
    let mut buffer = Vec::new();
    for item in page.items() {
        let Some(tuple) = page.item_bytes(item) else { continue };
        if let Some(header) = TupleHeader::read(tuple) {
            header.check(tuple, item.number, &mut damage);
            let mut columns =
                Columns::new(tuple.get(usize::from(header.hoff)..).unwrap_or(&[]), header.null_bitmap(tuple));
            attributes.iter().map_while(|attribute| columns.next_column(*attribute)).count();
        }
        if let Some(row) = layout.row(tuple) {
            let _ = row.column().and_then(|column| column.missing_value().map(|_| ()));
            let _ = (row.int2_vector("attacl"), row.oid_vector("attacl"), row.text("attname"));
        }
        if let Some(entry) = IndexTuple::read(tuple) {
            for pivot in [false, true] {
                entry.check(item, pivot, 4, &mut damage);
            }
            let _ = (entry.data(), entry.pivot_tid(), entry.separator(), entry.heap_tids().count());
        }
        if let Some((value, _)) = varlena::read(tuple) {
            assert!(value.plain(1 << 20, &mut buffer).is_none_or(|plain| plain.len() <= 1 << 20));
        }
    }
    for index in [0, 5, 32_671, u32::MAX] {
        let _ = (
            maps::visibility(&page, index),
            maps::free_space(&page, index),
            transaction::status(bytes, index, 8192),
        );
    }
    let _ = relmap::read(bytes, &mut damage);
    let _ = Control::read(bytes, &mut damage);
    damage.len()
}

/// A page with a plausible header, so that garbage reaches the inner readers.
fn plausible(mut bytes: Vec<u8>, items: u16) -> Vec<u8> {
    let lower = 24 + 4 * items;
    for (offset, value) in [(12, lower), (14, lower), (16, 8176), (18, 8192 | 4)] {
        bytes[offset..offset + 2].copy_from_slice(&u16::to_le_bytes(value));
    }
    bytes
}

/// Miri takes seconds for each item of a page.
const ITEMS_MAX: u16 = if cfg!(miri) { 8 } else { 300 };
const BYTES_MAX: usize = if cfg!(miri) { 400 } else { 9000 };
/// Random bytes of a page, repeated.
const RANDOM_BYTES: usize = if cfg!(miri) { 256 } else { 8192 };

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 3 } else { 200 }, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..BYTES_MAX), block: u32) {
        read_page_as_everything(&bytes, block);
    }

    #[test]
    fn garbage_behind_a_plausible_header_is_read_without_panic(
        bytes in proptest::collection::vec(any::<u8>(), RANDOM_BYTES..=RANDOM_BYTES), items in 0..ITEMS_MAX,
    ) {
        read_page_as_everything(&plausible(bytes.repeat(8192 / RANDOM_BYTES), items), 3);
    }

    #[test]
    fn unpacking_never_exceeds_the_recorded_size(packed in proptest::collection::vec(any::<u8>(), 0..600), raw in 0usize..5000) {
        let mut output = Vec::new();
        for method in [Method::Pglz, Method::Lz4] {
            let _ = unpack(method, &packed, raw, &mut output);
            prop_assert!(output.len() <= raw);
        }
    }
}
