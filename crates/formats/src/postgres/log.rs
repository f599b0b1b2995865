//! The write-ahead log: pages, record headers, and the record that cuts a relation.

use super::Oid;
use super::bytes::{u8_at, u16_at, u32_at, u64_at};

/// Length of a page header; the first page of a segment has a longer one.
// EVIDENCE: src/include/access/xlog_internal.h XLogPageHeaderData (20 bytes, aligned), XLogLongPageHeaderData
pub const PAGE_HEADER_BYTES: u64 = 24;
/// Length of the header of a segment's first page.
pub const LONG_PAGE_HEADER_BYTES: u64 = 40;
/// Length of a record's header.
// EVIDENCE: src/include/access/xlogrecord.h XLogRecord
pub const RECORD_HEADER_BYTES: usize = 24;
/// The longest record.
// EVIDENCE: src/include/access/xlogrecord.h XLogRecordMaxSize
pub const RECORD_BYTES_MAX: u32 = 1020 << 20;

/// Whether a page of the log is the one that belongs at a position.
// EVIDENCE: xlog_internal.h: xlp_magic @0 (0xD10D in 14 to 0xD118 in 18), xlp_pageaddr @8. Segments are reused: what
// stands behind the end of the log has an older address
#[must_use]
pub fn is_page_of(page: &[u8], position: u64) -> bool {
    u16_at(page, 0).is_some_and(|magic| magic & 0xFF00 == 0xD100) && u64_at(page, 8) == Some(position)
}

/// The header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// Length of the record with this header.
    pub bytes: u32,
    /// Position of the record before.
    pub previous: u64,
    /// What kind of record of its resource manager.
    pub info: u8,
    /// The resource manager.
    pub manager: u8,
}

impl RecordHeader {
    /// Reads a header; `None` if there is no record here.
    // EVIDENCE: xlogrecord.h: xl_tot_len @0, xl_xid @4, xl_prev @8, xl_info @16, xl_rmid @17, xl_crc @20
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<RecordHeader> {
        let header = RecordHeader {
            bytes: u32_at(bytes, 0)?,
            previous: u64_at(bytes, 8)?,
            info: u8_at(bytes, 16)?,
            manager: u8_at(bytes, 17)?,
        };
        let is_possible = (RECORD_HEADER_BYTES as u32..=RECORD_BYTES_MAX).contains(&header.bytes);
        is_possible.then_some(header)
    }

    /// Whether the rest of the segment is empty.
    // EVIDENCE: rmgrlist.h RM_XLOG_ID 0; pg_control.h XLOG_SWITCH 0x40
    #[must_use]
    pub fn is_switch(&self) -> bool {
        self.manager == 0 && self.info & 0xF0 == 0x40
    }

    /// Whether the record cuts a relation.
    // EVIDENCE: rmgrlist.h RM_SMGR_ID 2; storage_xlog.h XLOG_SMGR_TRUNCATE 0x20
    #[must_use]
    pub fn is_truncation(&self) -> bool {
        self.manager == 2 && self.info & 0xF0 == 0x20
    }
}

/// A relation that was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncation {
    /// Blocks that stay.
    pub blocks: u32,
    /// Database; 0 for shared relations.
    pub database: Oid,
    /// File number.
    pub file_number: Oid,
}

impl Truncation {
    /// Bytes of such a record behind its header.
    pub const BYTES: usize = 22;

    /// Reads what follows the header of a record that cuts a relation.
    // EVIDENCE: xlogrecord.h XLR_BLOCK_ID_DATA_SHORT 255 and a length before the data; storage_xlog.h
    // xl_smgr_truncate: blkno @0, tablespace @4, database @8, file number @12, flags @16
    #[must_use]
    pub fn read(body: &[u8]) -> Option<Truncation> {
        if u8_at(body, 0)? != 255 || u8_at(body, 1)? < 20 {
            return None;
        }
        Some(Truncation {
            blocks: u32_at(body, 2)?,
            database: u32_at(body, 10)?,
            file_number: u32_at(body, 14)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_truncation_is_told_from_other_records() {
        let mut bytes = [0u8; 46];
        bytes[0] = 46;
        bytes[8] = 0x28;
        (bytes[16], bytes[17]) = (0x20, 2);
        (bytes[24], bytes[25], bytes[26], bytes[34], bytes[39]) = (255, 20, 7, 5, 0x40);
        let header = RecordHeader::read(&bytes);
        assert_eq!(header, Some(RecordHeader { bytes: 46, previous: 0x28, info: 0x20, manager: 2 }));
        assert!(header.is_some_and(|header| header.is_truncation() && !header.is_switch()));
        let read = Truncation::read(&bytes[24..]);
        assert_eq!(read, Some(Truncation { blocks: 7, database: 5, file_number: 0x4000 }));
        assert_eq!(RecordHeader::read(&[0; 24]), None);
        assert_eq!(Truncation::read(&[255, 4, 0]), None);
    }
}
