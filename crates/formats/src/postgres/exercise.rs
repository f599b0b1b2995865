//! One function that asks every view everything, for fuzzing.

use crate::postgres::catalog::Layout;
use crate::postgres::checksum::page_checksum;
use crate::postgres::damage::Damage;
use crate::postgres::file::control::Control;
use crate::postgres::file::free_space::{FreeSpaceContext, check_free_space};
use crate::postgres::file::{maps, relmap, transaction};
use crate::postgres::heap::TupleHeader;
use crate::postgres::index::btree::{IndexTuple, Meta, Opaque};
use crate::postgres::index::{brin, brin_summary, gin, gist, hash, spgist};
use crate::postgres::page::{Item, Page};
use crate::postgres::value::attribute::{Attribute, Columns, Length};
use crate::postgres::value::compression::{Method, unpack};
use crate::postgres::value::varlena;
use crate::postgres::{sequence, wal};

/// The largest value that is unpacked, bytes.
const VALUE_BYTES_MAX: usize = 1 << 14;
/// Parts of the exercise, each a function that reads one kind of bytes.
const PARTS: &[fn(&Page<'_>, &mut Vec<Damage>)] =
    &[read_tuples, read_spgist, read_brin, read_gin, read_hash, read_maps, read_log, read_files];

/// Asks every view of PostgreSQL's pages, maps, log and small files everything about some bytes. Nothing may panic,
/// hang or grow; what comes back does not matter.
///
/// The body of the smoke run on the stable compiler.
pub fn exercise(bytes: &[u8]) {
    PARTS.iter().for_each(|part| run(bytes, *part));
}

/// One part of [`exercise`]: the low byte of the checksum, which no part compares, says which.
///
/// The body of the fuzz target: a fuzzer learns more from eight inputs than from eight readings of one.
pub fn exercise_part(bytes: &[u8]) {
    let choice = Page::new(bytes).header().checksum as usize % PARTS.len();
    PARTS.get(choice).iter().for_each(|part| run(bytes, **part));
}

fn run(bytes: &[u8], part: fn(&Page<'_>, &mut Vec<Damage>)) {
    let mut damage = Vec::new();
    let page = Page::new(bytes);
    page.check_header(16, &mut damage);
    part(&page, &mut damage);
}

fn read_spgist(page: &Page<'_>, damage: &mut Vec<Damage>) {
    for block in [spgist::META, spgist::ROOT, 7] {
        spgist::check_page(page, (block, 100), damage, &mut Vec::new());
    }
    for (_, tuple) in tuples(page) {
        if let Some(inner) = spgist::InnerTuple::read(tuple) {
            let _ = (inner.prefix(), inner.nodes().count());
        }
        if let Some(leaf) = spgist::LeafTuple::read(tuple) {
            let _ = (leaf.data(), leaf.null_bitmap());
        }
    }
}

fn read_hash(page: &Page<'_>, damage: &mut Vec<Damage>) {
    hash::read_everything(page, page.bytes().len() as u32, damage);
}

fn read_maps(page: &Page<'_>, damage: &mut Vec<Damage>) {
    let _ = (maps::visibility(page, 7), maps::free_space(page, 7), maps::frozen_not_visible(page));
    let _ = transaction::status(page.bytes(), 9, 8192);
    for block in [0, 1, 2] {
        let context = FreeSpaceContext { block, has_whole_pages_only: block == 1, may_be_torn: block == 2 };
        check_free_space(page, context, damage);
    }
    sequence::check_sequence(page, damage);
}

fn read_log(page: &Page<'_>, _: &mut Vec<Damage>) {
    let bytes = page.bytes();
    let _ = (wal::RecordHeader::read(bytes), wal::is_page_of(bytes, 0));
    for (manager, info) in [(0, 0x50), (1, 0x80), (2, 0x10), (2, 0x20), (3, 0x10), (4, 0), (6, 0x30)] {
        let header = wal::RecordHeader { bytes: 24, xid: 0, previous: 0, info, manager, crc: 0 };
        let _ = (header.file_change(bytes), header.checkpoint_redo(bytes), header.transaction_end(bytes));
    }
    let _ = wal::RecordHeader::read(bytes).map(|header| header.is_whole(bytes, bytes));
}

fn read_files(page: &Page<'_>, damage: &mut Vec<Damage>) {
    let bytes = page.bytes();
    let _ = page_checksum(bytes, 1);
    let _ = relmap::read(bytes, damage);
    let _ = Control::read(bytes, damage);
    let mut buffer = Vec::new();
    for method in [Method::Pglz, Method::Lz4] {
        let _ = unpack(method, bytes, VALUE_BYTES_MAX, &mut buffer);
    }
}

/// The tuples of a page, as many as the limit of bytes allows.
fn tuples<'a>(page: &Page<'a>) -> impl Iterator<Item = (Item, &'a [u8])> + use<'a> {
    let page = *page;
    let mut limit = page.tuple_limit();
    let claimed = page.items().filter_map(move |item| Some((item, page.item_bytes(item)?)));
    claimed.filter(move |(_, tuple)| limit.allows(tuple))
}

fn read_brin(page: &Page<'_>, damage: &mut Vec<Damage>) {
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
    for (item, tuple) in tuples(page) {
        if let Some(tuple) = brin::Tuple::read(tuple) {
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

fn read_gin(page: &Page<'_>, damage: &mut Vec<Damage>) {
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
    for (item, tuple) in tuples(page) {
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

fn read_tuples(page: &Page<'_>, damage: &mut Vec<Damage>) {
    page.check_items(8, true, damage);
    if let Some(opaque) = Opaque::read(page) {
        opaque.check(usize::from(page.header().special), 1, 100, damage);
    }
    if let Some(meta) = Meta::read(page) {
        meta.check(100, damage);
    }
    if let Some(opaque) = gist::Opaque::read(page) {
        opaque.check(usize::from(page.header().special), 1, 100, damage);
        let _ = opaque.follows();
    }
    let layout = Layout::of_pg_attribute(17);
    let attributes = [(4, b'i'), (-1, b'i'), (-2, b'c'), (64, b'c'), (-1, b'd')];
    let attributes = attributes.map(|(length, align)| Attribute::new(length, align));
    let mut buffer = Vec::new();
    for (item, tuple) in tuples(page) {
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
        let _ = layout.row(tuple).and_then(|row| row.column());
    }
}
