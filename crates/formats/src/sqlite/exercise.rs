//! One function that asks every view everything, for fuzzing.

use super::{
    BtreePage, Cell, Collation, Coverage, Encoding, FrameHeader, Geometry, HEADER_SIZE_BYTES, Header,
    KeyColumn, PageKind, PointerMapEntry, Record, Trunk, WalHeader, compare_keys, has_right_checksum,
};

/// Asks every view of SQLite's pages everything about some bytes. Nothing may panic; what comes back does not matter.
///
/// The body of the fuzz target and of the smoke run on the stable compiler.
pub fn exercise(bytes: &[u8], geometry: Geometry) {
    let mut damage_count = 0;
    let header = Header::new(bytes, |_| damage_count += 1);
    let _ = (header.geometry(), header.is_page_count_valid());
    let mut coverage = Coverage::default();
    for header_offset in [0, HEADER_SIZE_BYTES] {
        let (Some(view), _) = BtreePage::new(bytes, header_offset, geometry) else { continue };
        let _ = (view.free_bytes(), view.room_bytes());
        let mut previous = None;
        view.audit(
            &mut coverage,
            |index, cell, _| {
                let _ = (view.child(index), view.rowid(index));
                let cut = bytes.get(cell.offset..cell.offset + cell.size).unwrap_or_default();
                if !view.kind.is_leaf() && cell.size > 0 {
                    let alone = Cell::alone(cut, view.kind, geometry);
                    assert!(
                        alone.is_some_and(|alone| (alone.rowid, alone.local) == (cell.rowid, cell.local))
                    );
                }
                let record = Record::new(cell.local, cell.payload_bytes).0;
                if let Some(record) = record {
                    let _ = record.damage();
                    record.fields().take(5000).for_each(|field| {
                        let _ = record.value(field);
                    });
                    let columns = [KeyColumn { collation: Collation::NoCase, is_descending: true }; 3];
                    for encoding in [Encoding::Utf8, Encoding::Utf16Le, Encoding::Utf16Be] {
                        previous.iter().for_each(|previous| {
                            let _ = compare_keys(previous, &record, &columns, encoding);
                        });
                    }
                    previous = Some(record);
                }
            },
            |damage| {
                let _ = (damage.expected_text(), damage.found_text());
            },
        );
    }
    assert!(Trunk::new(bytes).0.leaves().count() * 4 <= bytes.len());
    (0..bytes.len() / 5).for_each(|index| {
        let _ = PointerMapEntry::new(bytes, index * 5);
    });
    let _ = has_right_checksum(bytes);
    for kind in [PageKind::TableInterior, PageKind::IndexInterior] {
        let _ = Cell::alone(bytes, kind, geometry);
    }
    let log = WalHeader::new(bytes, geometry.page_size_bytes, |_| {});
    let _ = FrameHeader::new(bytes).continues(&log, log.sum, bytes);
}
