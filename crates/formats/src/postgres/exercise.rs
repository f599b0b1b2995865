//! One function that asks every view everything, for fuzzing.

use super::attribute::{Attribute, Columns};
use super::btree::{IndexTuple, Meta, Opaque};
use super::catalog::Layout;
use super::checksum::page_checksum;
use super::compression::{Method, unpack};
use super::control::Control;
use super::heap::TupleHeader;
use super::page::Page;
use super::{brin, log, maps, relmap, transaction, varlena};

/// The largest value that is unpacked, bytes.
const VALUE_BYTES_MAX: usize = 1 << 16;

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
    read_tuples(&page, &mut damage);
    read_brin(&page, &mut damage);
    let _ = (maps::visibility(&page, 7), maps::free_space(&page, 7), transaction::status(bytes, 9, 8192));
    let _ = relmap::read(bytes, &mut damage);
    let _ = (log::RecordHeader::read(bytes), log::is_page_of(bytes, 0));
    for (manager, info) in [(0, 0x50), (1, 0x80), (2, 0x10), (2, 0x20), (3, 0x10), (4, 0), (6, 0x30)] {
        let header = log::RecordHeader { bytes: 24, previous: 0, info, manager, crc: 0 };
        let _ = (header.file_change(bytes), header.is_whole(bytes, bytes));
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
    let _ = (0..2000).filter_map(|entry| brin::map_entry(page, entry)).count();
    for item in page.items() {
        if let Some(tuple) = page.item_bytes(item).and_then(brin::Tuple::read) {
            tuple.check(item, 3, 16, damage);
            let _ = (tuple.is_all_null(2), tuple.has_null(2, 3), tuple.data());
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
            let _ = (entry.data(), entry.pivot_tid(), entry.separator(), entry.heap_tids().count());
        }
        if let Some((value, _)) = varlena::read(tuple) {
            let _ = value.plain(VALUE_BYTES_MAX, &mut buffer);
        }
        let _ = layout.row(tuple).and_then(|row| row.column());
    }
}
