//! One function that asks every view everything, for fuzzing.

use super::attribute::{Attribute, Columns, Length};
use super::btree::{IndexTuple, Meta, Opaque};
use super::catalog::Layout;
use super::checksum::page_checksum;
use super::compression::{Method, unpack};
use super::control::Control;
use super::free_space::{FreeSpaceContext, check_free_space};
use super::gin;
use super::heap::TupleHeader;
use super::page::Page;
use super::{brin, brin_summary, gist, hash, log, maps, relmap, sequence, spgist, transaction, varlena};

/// The largest value that is unpacked, bytes.
const VALUE_BYTES_MAX: usize = 1 << 16;
/// Tuples of a GIN page that are looked at.
const GIN_TUPLES_MAX: usize = 24;

/// Asks every view of PostgreSQL's pages, maps, log and small files everything about some bytes. Nothing may panic,
/// hang or grow; what comes back does not matter.
///
/// The body of the fuzz target and of the smoke run on the stable compiler.
pub fn exercise(bytes: &[u8]) {
    let mut damage = Vec::new();
    let page = Page::new(bytes);
    page.check_header(16, &mut damage);
    page.check_items(8, true, &mut damage);
    let _ = page_checksum(bytes, 1);
    if let Some(opaque) = Opaque::read(&page) {
        opaque.check(usize::from(page.header().special), 1, 100, &mut damage);
    }
    if let Some(meta) = Meta::read(&page) {
        meta.check(100, &mut damage);
    }
    if let Some(opaque) = gist::Opaque::read(&page) {
        opaque.check(usize::from(page.header().special), 1, 100, &mut damage);
        let _ = opaque.follows();
    }
    for block in [spgist::META, spgist::ROOT, 7] {
        spgist::check_page(&page, (block, 100), &mut damage, &mut Vec::new());
    }
    read_tuples(&page, &mut damage);
    read_brin(&page, &mut damage);
    read_gin(&page, &mut damage);
    hash::read_everything(&page, bytes.len() as u32, &mut damage);
    let _ = (maps::visibility(&page, 7), maps::free_space(&page, 7), transaction::status(bytes, 9, 8192));
    for block in [0, 1, 2] {
        let context = FreeSpaceContext { block, has_whole_pages_only: block == 1, may_be_torn: false };
        check_free_space(&page, context, &mut damage);
    }
    sequence::check_sequence(&page, &mut damage);
    let _ = maps::frozen_not_visible(&page);
    let _ = relmap::read(bytes, &mut damage);
    let _ = (log::RecordHeader::read(bytes), log::is_page_of(bytes, 0));
    for (manager, info) in [(0, 0x50), (1, 0x80), (2, 0x10), (2, 0x20), (3, 0x10), (4, 0), (6, 0x30)] {
        let header = log::RecordHeader { bytes: 24, xid: 0, previous: 0, info, manager, crc: 0 };
        let _ = (header.file_change(bytes), header.is_whole(bytes, bytes), header.checkpoint_redo(bytes));
        let _ = header.transaction_end(bytes);
    }
    let _ = Control::read(bytes, &mut damage);
    let mut buffer = Vec::new();
    for method in [Method::Pglz, Method::Lz4] {
        let _ = unpack(method, bytes, VALUE_BYTES_MAX, &mut buffer);
    }
}

fn read_brin(page: &Page<'_>, damage: &mut Vec<super::Damage>) {
    let kind = brin::Opaque::read(page).and_then(|opaque| opaque.check(1, 8184, damage));
    let meta = brin::Meta::read(page);
    if let Some(meta) = meta {
        meta.check(100, damage);
        let block_bytes = page.bytes().len();
        let _ = (kind, meta.map_place(77, block_bytes), meta.range_start(2, 7, block_bytes));
    }
    brin::check_item_states(page, damage);
    read_summary(page.bytes());
    let _ = (0..2000).filter_map(|entry| brin::map_entry(page, entry)).count();
    for item in page.items() {
        if let Some(tuple) = page.item_bytes(item).and_then(brin::Tuple::read) {
            tuple.check(item, 3, 16, damage);
            let _ = (tuple.is_all_null(2), tuple.has_null(2, 3));
            let mut buffer = Vec::new();
            let value = varlena::read(tuple.data()).map(|(value, _)| value);
            if let Some(bytes) = value.as_ref().and_then(|value| value.plain(VALUE_BYTES_MAX, &mut buffer)) {
                read_summary(bytes);
            }
        }
    }
}

fn read_summary(bytes: &[u8]) {
    for length in [Length::Fixed(4), Length::Variable, Length::ZeroTerminated] {
        let _ = brin_summary::MultiRanges::read(bytes, length);
    }
    let _ = brin_summary::BloomFilter::read(bytes).map(|filter| filter.may_contain(7));
}

fn read_gin(page: &Page<'_>, damage: &mut Vec<super::Damage>) {
    let Some(opaque) = gin::Opaque::read(page) else { return };
    for block in [0, 1, 2] {
        opaque.check(usize::from(page.header().special), block, 100, damage);
    }
    if let Some(meta) = gin::Meta::read(page) {
        meta.check(page, 100, damage);
    }
    let posting = gin::PostingPage::new(page, opaque);
    posting.check_length(true, damage);
    posting.check_items(7, 100, damage);
    posting.list().check(32, None, damage);
    let _ = (posting.right_bound(), posting.items().count());
    let attributes = [(4, b'i'), (-1, b'i'), (-2, b'c')].map(|(length, align)| Attribute::new(length, align));
    // In bytes of chance each tuple may be as long as the page.
    for item in page.items().take(GIN_TUPLES_MAX) {
        let Some(tuple) = page.item_bytes(item) else { continue };
        gin::PostingList::packed(tuple).check(0, None, damage);
        for kind in gin::Kind::ALL {
            let Some(entry) = gin::EntryTuple::read(tuple, kind, item, damage) else { continue };
            for columns in [1, 2] {
                let _ = (entry.column(columns), entry.category(columns));
                attributes.iter().flatten().filter_map(|attribute| entry.key(columns, *attribute)).count();
            }
            if let gin::Payload::Rows(list, _) = entry.payload {
                list.check(0, None, damage);
            }
        }
    }
}

fn read_tuples(page: &Page<'_>, damage: &mut Vec<super::Damage>) {
    let layout = Layout::of_pg_attribute(17);
    let attributes = [(4, b'i'), (-1, b'i'), (-2, b'c'), (64, b'c'), (-1, b'd')];
    let attributes = attributes.map(|(length, align)| Attribute::new(length, align));
    let mut buffer = Vec::new();
    for item in page.items() {
        let Some(tuple) = page.item_bytes(item) else { continue };
        if let Some(header) = TupleHeader::read(tuple) {
            header.check(tuple, item.number, damage);
            let data = tuple.get(usize::from(header.hoff)..).unwrap_or(&[]);
            let mut columns = Columns::new(data, header.null_bitmap(tuple));
            attributes.iter().flatten().map_while(|attribute| columns.next_column(*attribute)).count();
        }
        if let Some(entry) = IndexTuple::read(tuple) {
            entry.check(item, item.number % 2 == 0, 4, damage);
            for is_leaf in [false, true] {
                let _ = gist::check_tuple(&entry, item, is_leaf, (1, 100), damage);
            }
            let _ = (entry.data(), entry.pivot_tid(), entry.separator(), entry.heap_tids().count());
        }
        if let Some((value, _)) = varlena::read(tuple) {
            let _ = value.plain(VALUE_BYTES_MAX, &mut buffer);
        }
        if let Some(inner) = spgist::InnerTuple::read(tuple) {
            let _ = (inner.prefix(), inner.nodes().count());
        }
        if let Some(leaf) = spgist::LeafTuple::read(tuple) {
            let _ = (leaf.data(), leaf.null_bitmap());
        }
        let _ = layout.row(tuple).and_then(|row| row.column());
    }
}
