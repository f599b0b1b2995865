//! Any bytes as a PostgreSQL page, tuple, map or control file: nothing may panic, hang or grow.
#![no_main]

use formats::postgres::attribute::{Attribute, Columns};
use formats::postgres::btree::{IndexTuple, Meta, Opaque};
use formats::postgres::catalog::Layout;
use formats::postgres::checksum::page_checksum;
use formats::postgres::compression::{Method, unpack};
use formats::postgres::control::Control;
use formats::postgres::heap::TupleHeader;
use formats::postgres::page::Page;
use formats::postgres::{log, maps, relmap, transaction, varlena};
use libfuzzer_sys::fuzz_target;

/// The largest value that is unpacked, bytes.
const VALUE_BYTES_MAX: usize = 1 << 16;

fuzz_target!(|bytes: &[u8]| {
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
    read_tuples(&page);
    let _ = (maps::visibility(&page, 7), maps::free_space(&page, 7), transaction::status(bytes, 9, 8192));
    let _ = relmap::read(bytes, &mut damage);
    let _ = (log::RecordHeader::read(bytes), log::Truncation::read(bytes), log::is_page_of(bytes, 0));
    let _ = Control::read(bytes, &mut damage);
    let mut buffer = Vec::new();
    for method in [Method::Pglz, Method::Lz4] {
        let _ = unpack(method, bytes, VALUE_BYTES_MAX, &mut buffer);
    }
});

fn read_tuples(page: &Page<'_>) {
    let layout = Layout::of_pg_attribute(17);
    let attributes = [(4, b'i'), (-1, b'i'), (-2, b'c'), (64, b'c'), (-1, b'd')];
    let attributes = attributes.map(|(length, align)| Attribute::new(length, align));
    let (mut damage, mut buffer) = (Vec::new(), Vec::new());
    for item in page.items() {
        let Some(tuple) = page.item_bytes(item) else { continue };
        if let Some(header) = TupleHeader::read(tuple) {
            header.check(tuple, item.number, &mut damage);
            let data = tuple.get(usize::from(header.hoff)..).unwrap_or(&[]);
            let mut columns = Columns::new(data, header.null_bitmap(tuple));
            attributes.iter().flatten().map_while(|attribute| columns.next_column(*attribute)).count();
        }
        if let Some(entry) = IndexTuple::read(tuple) {
            entry.check(item, item.number % 2 == 0, 4, &mut damage);
            let _ = (entry.data(), entry.pivot_tid(), entry.separator(), entry.heap_tids().count());
        }
        if let Some((value, _)) = varlena::read(tuple) {
            let _ = value.plain(VALUE_BYTES_MAX, &mut buffer);
        }
        let _ = layout.row(tuple).and_then(|row| row.column());
    }
}
