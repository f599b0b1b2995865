//! One function that asks every view everything, for fuzzing.

use super::{
    AllocationUnit, Block, Boot, ExtentMap, FileHeader, Header, Iam, LobRecord, Media, PageKind, Rowset,
    RowsetColumn, SetKind, Stream, audit_protection, audit_records, links_of, pfs_byte, restore,
};

/// Bytes of records that are read on one page. In random bytes every slot may lead to a record as long as the page; pages
/// that the server wrote use each byte once.
const RECORD_BYTES_MAX: usize = 2 * super::PAGE_BYTES;

/// Asks every view of SQL Server's pages and backups everything about some bytes. Nothing may panic; what comes back
/// does not matter.
///
/// The body of the fuzz target and of the smoke run on the stable compiler.
pub fn exercise(bytes: &[u8]) {
    let mut page = bytes.to_vec();
    restore(&mut page);
    for page in [bytes, &page] {
        let header = Header::new(page);
        let mut texts = 0;
        let mut see =
            |damage: super::Damage| texts += damage.expected_text().len() + damage.found_text().len();
        header.audit(&mut see);
        audit_protection(page, &header, &mut see);
        let mut before: Option<Vec<u8>> = None;
        let mut left_bytes = RECORD_BYTES_MAX;
        for kind in [header.kind, PageKind::Data, PageKind::Index, PageKind::TextTree] {
            let header = Header { kind, ..header };
            let show = |_, record: &super::Record<'_>| {
                let Some(left) = left_bytes.checked_sub(record.bytes.len()) else { return };
                left_bytes = left;
                let _ = (record.child(&header), record.forward(), record.back_pointer());
                for index in 0..record.variable_count() {
                    let Some(variable) = record.variable(index) else { continue };
                    let _ = (links_of(variable, true), links_of(variable, false));
                }
                if let Ok(lob) = LobRecord::new(record.bytes) {
                    let _ = lob.links().count();
                }
                let _ = (AllocationUnit::new(record), Rowset::new(record));
                if let Some(column) = RowsetColumn::new(record) {
                    for place in [column.leaf, column.inner] {
                        if let Some(value) = column.value(record, place).bytes() {
                            let _ = column.type_info.out_of_range(value);
                            let _ = before.as_deref().map(|before| column.type_info.compare(before, value));
                            before = Some(value.to_vec());
                        }
                    }
                }
            };
            audit_records(page, &header, show, |damage| drop(damage.found_text()));
        }
        let _ = (Boot::new(page), FileHeader::new(page), pfs_byte(page, 8087));
        for kind in [PageKind::Gam, PageKind::Sgam, PageKind::DifferentialMap, PageKind::BulkMap] {
            let _ = ExtentMap::new(page, kind).map(|map| map.extents().count());
        }
        let _ = Iam::new(page).map(|iam| iam.single_pages().count() + iam.extents.extents().count());
        let _ = (
            Block::new(page),
            Stream::new(page),
            Media::new(page),
            SetKind::new(page),
            Block::has_checksum(page),
        );
    }
    walk(bytes);
}

/// Follows blocks and streams as a backup has them. Each turn goes on by a header at least, so that it ends.
fn walk(bytes: &[u8]) {
    let mut at = 0;
    while let Some(block) = bytes.get(at..).and_then(Block::new) {
        at += usize::from(block.streams_offset);
        let mut is_open = !block.has_no_streams();
        while let Some(stream) = bytes.get(at..).and_then(Stream::new).filter(|_| is_open) {
            is_open = !stream.ends_block();
            let end =
                (at as u64 + super::backup::STREAM_HEADER_BYTES as u64).saturating_add(stream.length_bytes);
            let Ok(next) = usize::try_from(Block::aligned(end)) else { return };
            at = next;
        }
        if is_open && !block.has_no_streams() {
            return;
        }
    }
}
