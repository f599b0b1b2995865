//! The write-ahead log: pages and record headers.

pub mod changes;
mod main_data;

use crate::postgres::bytes::{u8_at, u16_at, u32_at, u64_at};
use crate::postgres::checksum::crc32c;
use crate::postgres::wal::main_data::main_data;

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

/// What the headers of all WAL pages of a cluster have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageIdentity {
    /// The major version, which has a magic number of its own; others accept any of 14 to 18.
    pub major: u32,
    /// The cluster.
    pub system_identifier: u64,
    /// Length of a segment, bytes.
    pub segment_bytes: u32,
    /// Length of a page, bytes.
    pub page_bytes: u32,
}

/// Bits of `xlp_info`: the page begins with the rest of a record; its header is the long one; all that are defined.
// EVIDENCE: xlog_internal.h XLP_FIRST_IS_CONTRECORD, XLP_LONG_HEADER, XLP_ALL_FLAGS
const LONG_HEADER: u16 = 0x0002;
const ALL_FLAGS: u16 = 0x000F;

impl PageIdentity {
    /// Says why the header of the page that should stand at a position is not valid; `None` if it is.
    // EVIDENCE: src/backend/access/transam/xlogreader.c XLogReaderValidatePageHeader; xlog_internal.h
    // XLogLongPageHeaderData: xlp_magic @0, xlp_info @2, xlp_tli @4, xlp_pageaddr @8, xlp_rem_len @16, xlp_sysid @24,
    // xlp_seg_size @32, xlp_xlog_blcksz @36
    #[must_use]
    pub fn fault(&self, page: &[u8], position: u64) -> Option<String> {
        let [magic, info] = [0, 2].map(|offset| u16_at(page, offset).unwrap_or(0));
        let address = u64_at(page, 8).unwrap_or(0);
        let show = |lsn: u64| format!("{:X}/{:X}", lsn >> 32, lsn & 0xFFFF_FFFF);
        if page.iter().all(|byte| *byte == 0) {
            return Some("zeros".to_owned());
        }
        if !self.is_magic(magic) {
            return Some(format!("magic {magic:#06x}, which PostgreSQL {} does not have", self.major));
        }
        if address != position {
            return Some(format!("the page of {}, not of {}", show(address), show(position)));
        }
        let is_first = position.is_multiple_of(u64::from(self.segment_bytes.max(1)));
        if info & !ALL_FLAGS != 0 || is_first != (info & LONG_HEADER != 0) {
            return Some(format!("info {info:#06x}"));
        }
        let found = is_first.then(|| Some((u64_at(page, 24)?, u32_at(page, 32)?, u32_at(page, 36)?)));
        let (system, segment, block) = found??;
        if system != self.system_identifier {
            return Some(format!("system identifier {system}, not {}", self.system_identifier));
        }
        let is_sized = segment == self.segment_bytes && block == self.page_bytes;
        (!is_sized).then(|| {
            let (segments, pages) = (self.segment_bytes, self.page_bytes);
            format!("segments of {segment} bytes and pages of {block} bytes, not {segments} and {pages}")
        })
    }

    // EVIDENCE: xlog_internal.h XLOG_PAGE_MAGIC of each major
    // OBSERVED: first page of a segment of 14.24, 15.18, 16.15, 17.11, 18.6
    fn is_magic(&self, magic: u16) -> bool {
        match self.major {
            14 => magic == 0xD10D,
            15 => magic == 0xD110,
            16 => magic == 0xD113,
            17 => magic == 0xD116,
            18 => magic == 0xD118,
            _ => magic & 0xFF00 == 0xD100,
        }
    }
}

/// The time line of a page.
#[must_use]
pub fn timeline_of_page(page: &[u8]) -> u32 {
    u32_at(page, 4).unwrap_or(0)
}

/// How many bytes of a record that another page began are left at the beginning of a page.
#[must_use]
pub fn rest_of_record(page: &[u8]) -> u32 {
    u32_at(page, 16).unwrap_or(0)
}

/// Whether a page of the WAL begins with the rest of a record that another page began.
// EVIDENCE: xlog_internal.h: xlp_info @2, XLP_FIRST_IS_CONTRECORD 0x0001
#[must_use]
pub fn continues_record(page: &[u8]) -> bool {
    u16_at(page, 2).is_some_and(|info| info & 1 != 0)
}

/// The header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// Length of the record with this header.
    pub bytes: u32,
    /// The transaction that wrote it; 0 for none.
    pub xid: u32,
    /// Position of the record before.
    pub previous: u64,
    /// What kind of record of its resource manager.
    pub info: u8,
    /// The resource manager.
    pub manager: u8,
    /// Checksum of what follows the header, then the header up to here.
    pub crc: u32,
}

impl RecordHeader {
    /// Reads a header; `None` if there is no record here.
    // EVIDENCE: xlogrecord.h: xl_tot_len @0, xl_xid @4, xl_prev @8, xl_info @16, xl_rmid @17, xl_crc @20
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<RecordHeader> {
        let header = RecordHeader {
            bytes: u32_at(bytes, 0)?,
            xid: u32_at(bytes, 4)?,
            previous: u64_at(bytes, 8)?,
            info: u8_at(bytes, 16)?,
            manager: u8_at(bytes, 17)?,
            crc: u32_at(bytes, 20)?,
        };
        let is_possible = (RECORD_HEADER_BYTES as u32..=RECORD_BYTES_MAX).contains(&header.bytes);
        is_possible.then_some(header)
    }

    /// Whether a record is whole: its header's bytes and what follows have the checksum.
    // EVIDENCE: xlogreader.c ValidXLogRecord: CRC-32C
    #[must_use]
    pub fn is_whole(&self, header: &[u8], body: &[u8]) -> bool {
        let sealed = header.get(..20).unwrap_or(header);
        crc32c(&[body, sealed].concat()) == self.crc
    }

    /// The redo position of a checkpoint record; `None` for other records.
    // EVIDENCE: rmgrlist.h RM_XLOG_ID 0; pg_control.h XLOG_CHECKPOINT_SHUTDOWN 0x00, XLOG_CHECKPOINT_ONLINE 0x10, and
    // struct CheckPoint: redo @0
    #[must_use]
    pub fn checkpoint_redo(&self, body: &[u8]) -> Option<u64> {
        let is_checkpoint = self.manager == 0 && matches!(self.info & 0xF0, 0x00 | 0x10);
        u64_at(main_data(body).filter(|_| is_checkpoint)?, 0)
    }

    /// Whether the rest of the segment is empty.
    // EVIDENCE: rmgrlist.h RM_XLOG_ID 0; pg_control.h XLOG_SWITCH 0x40
    #[must_use]
    pub fn is_switch(&self) -> bool {
        self.manager == 0 && self.info & 0xF0 == 0x40
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_of_a_segments_first_header_is_tested() {
        let identity =
            PageIdentity { major: 15, system_identifier: 7, segment_bytes: 1 << 24, page_bytes: 8192 };
        let mut page = vec![0; 8192];
        assert_eq!(identity.fault(&page, 1 << 24).as_deref(), Some("zeros"));
        page[..4].copy_from_slice(&[0x10, 0xD1, 0x02, 0]);
        page[8..16].copy_from_slice(&(1u64 << 24).to_le_bytes());
        page[24] = 7;
        page[32..36].copy_from_slice(&(1u32 << 24).to_le_bytes());
        page[36..40].copy_from_slice(&8192u32.to_le_bytes());
        assert_eq!(identity.fault(&page, 1 << 24), None);
        for offset in [0, 1, 2, 3, 8, 11, 24, 31, 32, 35, 36, 39] {
            let mut wrong = page.clone();
            wrong[offset] ^= 0x10;
            assert!(identity.fault(&wrong, 1 << 24).is_some(), "byte {offset}");
        }
        page[2] = 0;
        page[8..16].copy_from_slice(&((1u64 << 24) + 8192).to_le_bytes());
        assert_eq!(identity.fault(&page, (1 << 24) + 8192), None);
    }

    #[test]
    fn only_a_checkpoint_record_has_a_redo_position() {
        let body = [&[255u8, 8][..], &0x0200_0028_u64.to_le_bytes()].concat();
        let header = |manager, info| RecordHeader { bytes: 34, xid: 0, previous: 0, info, manager, crc: 0 };
        assert_eq!(header(0, 0x00).checkpoint_redo(&body), Some(0x0200_0028));
        assert_eq!(header(0, 0x10).checkpoint_redo(&body), Some(0x0200_0028));
        assert_eq!(header(0, 0x40).checkpoint_redo(&body), None);
        assert_eq!(header(1, 0x10).checkpoint_redo(&body), None);
    }

    #[test]
    fn a_record_is_no_shorter_than_its_header() {
        let mut bytes = [0u8; 24];
        bytes[0] = 46;
        bytes[8] = 0x28;
        (bytes[16], bytes[17]) = (0x20, 2);
        let header = RecordHeader::read(&bytes);
        assert_eq!(
            header,
            Some(RecordHeader { bytes: 46, xid: 0, previous: 0x28, info: 0x20, manager: 2, crc: 0 })
        );
        assert!(header.is_some_and(|header| !header.is_switch()));
        assert_eq!(RecordHeader::read(&[0; 24]), None);
    }
}
