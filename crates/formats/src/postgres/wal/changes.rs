//! What WAL records say about files: relations truncated, created and dropped, and transaction status truncated.

use crate::postgres::bytes::{u8_at, u32_at, u64_at};
use crate::postgres::primitive::{Oid, Xid};
use crate::postgres::wal::RecordHeader;
use crate::postgres::wal::main_data::main_data;

/// The longest record whose body is looked at, bytes: a commit with a million dropped files and as many messages.
pub const BODY_BYTES_MAX: u64 = 64 << 20;

/// A change of files that a record tells of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileChange {
    /// A relation was cut; database (0 for shared relations) and file number.
    Cut(Oid, Oid),
    /// The file of a relation was made.
    Made(Oid, Oid),
    /// The files of relations are removed: a transaction ended that dropped them, or that had made them and failed. Empty
    /// if it did neither.
    Dropped(Vec<(Oid, Oid)>),
    /// A database was made, moved or dropped.
    Database(Oid),
    /// A row of a shared catalog was changed in its place; its file number. DROP DATABASE begins so.
    SharedRow(Oid),
    /// `pg_xact` was cut: no older transaction is needed.
    TransactionsCut(Xid),
    /// `pg_multixact` was cut: no older multixact is needed, and no member before that place.
    MultixactsCut {
        /// The oldest that stays.
        multi: u32,
        /// Where its members begin.
        member: u32,
    },
    /// A base backup ended that had started at this position.
    BackupEnd(u64),
}

impl RecordHeader {
    /// Whether the record may tell of a change of files: its body is worth a look.
    // EVIDENCE: rmgrlist.h: XLOG 0, XACT 1, SMGR 2, CLOG 3, DBASE 4, MULTIXACT 6; pg_control.h XLOG_BACKUP_END 0x50;
    // xact.h XLOG_XACT_OPMASK 0x70, COMMIT 0x00, ABORT 0x20, COMMIT_PREPARED 0x30, ABORT_PREPARED 0x40,
    // XLOG_XACT_HAS_INFO 0x80; storage_xlog.h XLOG_SMGR_CREATE 0x10, TRUNCATE 0x20; clog.h CLOG_TRUNCATE 0x10;
    // multixact.h XLOG_MULTIXACT_TRUNCATE_ID 0x30; heapam_xlog.h HEAP 10, XLOG_HEAP_OPMASK 0x70, XLOG_HEAP_INPLACE 0x70
    #[must_use]
    pub fn may_change_files(&self) -> bool {
        match (self.manager, self.info & 0xF0) {
            (0, 0x50) | (2, 0x10 | 0x20) | (3, 0x10) | (4, _) | (6, 0x30) | (10, 0x70 | 0xF0) => true,
            (1, info) => info & 0x80 != 0 && matches!(info & 0x70, 0x00 | 0x20 | 0x30 | 0x40),
            _ => false,
        }
    }

    /// The transactions that a record ends: its own and those of its subtransactions, or a prepared one. `None` for
    /// records that end none; without a list where it cannot be read.
    // EVIDENCE: xact.h: XLOG_XACT_OPMASK 0x70; COMMIT 0x00, ABORT 0x20 end the transaction of the record's header;
    // COMMIT_PREPARED 0x30, ABORT_PREPARED 0x40 one that the body names: time @0, flags @8, then, each if its flag is set,
    // database (1), subtransactions (2), files (4), messages (8, 16 bytes each), then the transaction (0x10)
    #[must_use]
    pub fn transaction_end(&self, body: &[u8]) -> Option<EndedTransaction> {
        if self.manager != 1 {
            return None;
        }
        match self.info & 0x70 {
            0x00 | 0x20 => Some(EndedTransaction::OfHeader),
            0x30 | 0x40 => Some(
                prepared_xid(self.info, body).map_or(EndedTransaction::Unknown, EndedTransaction::Prepared),
            ),
            _ => None,
        }
    }

    /// Reads what follows the header of such a record: `None` if it cannot be read.
    // EVIDENCE: xlogbackup/xlog.c XLOG_BACKUP_END: the position of the start; storage_xlog.h xl_smgr_create:
    // tablespace @0, database @4, file number @8; xl_smgr_truncate: blocks @0, tablespace @4, database @8, file number
    // @12; dbcommands_xlog.h: the database @0 in all; clog.h xl_clog_truncate: the page (4 bytes until 16, 8 from 17),
    // the oldest transaction, its database; multixact.h xl_multixact_truncate: endTruncOff @8, endTruncMemb @16
    pub fn file_change(&self, body: &[u8]) -> Option<FileChange> {
        if self.manager == 10 {
            let shared = first_block_relation(body)?.filter(|(database, _)| *database == 0);
            return Some(
                shared.map_or(FileChange::Dropped(Vec::new()), |(_, file)| FileChange::SharedRow(file)),
            );
        }
        let data = main_data(body)?;
        let word = |offset| u32_at(data, offset);
        Some(match (self.manager, self.info & 0xF0) {
            (0, 0x50) => FileChange::BackupEnd(u64_at(data, 0)?),
            (1, _) => FileChange::Dropped(dropped(data)?),
            (2, 0x10) => FileChange::Made(word(4)?, word(8)?),
            (2, 0x20) => FileChange::Cut(word(8)?, word(12)?),
            (3, 0x10) => FileChange::TransactionsCut(word(data.len().saturating_sub(8))?),
            (4, _) => FileChange::Database(word(0)?),
            (6, 0x30) => FileChange::MultixactsCut { multi: word(8)?, member: word(16)? },
            _ => FileChange::Dropped(Vec::new()),
        })
    }
}

/// Which transaction a record ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedTransaction {
    /// The one in the record's header.
    OfHeader,
    /// A prepared one.
    Prepared(Xid),
    /// One that cannot be read.
    Unknown,
}

/// The prepared transaction that a record ends.
fn prepared_xid(info: u8, body: &[u8]) -> Option<Xid> {
    let data = main_data(body)?;
    let flags = if info & 0x80 != 0 { u32_at(data, 8)? } else { 0 };
    let mut at = if info & 0x80 != 0 { 12 } else { 8 };
    if flags & 1 != 0 {
        at += 8;
    }
    // Statistics that were dropped (0x100) have another length in each major.
    if flags & 0x100 != 0 {
        return None;
    }
    for (flag, bytes) in [(2, 4), (4, 12), (8, 16)] {
        if flags & flag != 0 {
            at += 4 + bytes * u32_at(data, at)? as usize;
        }
    }
    u32_at(data, at).filter(|_| flags & 0x10 != 0)
}

/// Database and file number of the first block that a record names; the inner `None` if it names none.
// EVIDENCE: xlogrecord.h XLogRecordBlockHeader: id @0, fork_flags @1, data_length @2; BKPBLOCK_HAS_IMAGE 0x10:
// XLogRecordBlockImageHeader: length @0, hole_offset @2, bimg_info @4, then the hole's length (2 bytes) if
// BKPIMAGE_HAS_HOLE 0x01 and the image is compressed; then tablespace, database, file number. bimg_info beside the hole:
// 14 compressed 0x02, BKPIMAGE_APPLY 0x04; from 15 apply 0x02, compressed 0x04, 0x08 or 0x10: two bits if it is compressed
fn first_block_relation(body: &[u8]) -> Option<Option<(Oid, Oid)>> {
    // The largest id of a block.
    if u8_at(body, 0)? > 32 {
        return Some(None);
    }
    let mut at = 4;
    if u8_at(body, 1)? & 0x10 != 0 {
        let info = u8_at(body, at + 4)?;
        at += if info & 1 != 0 && (info & 0x1E).count_ones() > 1 { 7 } else { 5 };
    }
    Some(Some((u32_at(body, at + 4)?, u32_at(body, at + 8)?)))
}

/// The relations whose files go when a transaction ends.
// EVIDENCE: xact.h xl_xact_commit, xl_xact_abort: time @0, flags @8; then, each if its flag is set, database (1, eight
// bytes), subtransactions (2, a count and four bytes each), files (4, a count, and tablespace, database and file number
// each)
fn dropped(data: &[u8]) -> Option<Vec<(Oid, Oid)>> {
    let flags = u32_at(data, 8)?;
    if flags & 4 == 0 {
        return Some(Vec::new());
    }
    let mut at = 12;
    if flags & 1 != 0 {
        at += 8;
    }
    if flags & 2 != 0 {
        at += 4 + 4 * u32_at(data, at)? as usize;
    }
    let count = u32_at(data, at)? as usize;
    let list = data.get(at + 4..)?.get(..count.checked_mul(12)?)?;
    list.chunks_exact(12).map(|file| Some((u32_at(file, 4)?, u32_at(file, 8)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(manager: u8, info: u8) -> RecordHeader {
        RecordHeader { bytes: 100, xid: 0, previous: 0, info, manager, crc: 0 }
    }

    fn words(list: &[u32]) -> Vec<u8> {
        list.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn body(prefix: &[u8], data: &[u8]) -> Vec<u8> {
        [prefix, &[255, data.len() as u8], data].concat()
    }

    #[test]
    fn files_that_a_commit_drops_are_read_behind_its_subtransactions() {
        let data = words(&[1, 2, 1 | 2 | 4, 5, 1663, 2, 900, 901, 2, 1663, 5, 16384, 1663, 5, 16390]);
        let commit = header(1, 0x80);
        let wanted = FileChange::Dropped(vec![(5, 16384), (5, 16390)]);
        assert!(commit.may_change_files());
        assert_eq!(commit.file_change(&body(&[], &data)), Some(wanted));
        assert_eq!(commit.file_change(&body(&[], &data[..50])), None);
        let without = words(&[1, 2, 1, 5, 1663]);
        assert_eq!(commit.file_change(&body(&[], &without)), Some(FileChange::Dropped(Vec::new())));
        assert!(!header(1, 0).may_change_files() && !header(10, 0x10).may_change_files());
    }

    #[test]
    fn the_end_of_a_prepared_transaction_names_it_in_its_body() {
        let data = words(&[1, 2, 1 | 2 | 0x10, 5, 1663, 1, 901, 900]);
        let ended = header(1, 0xB0).transaction_end(&body(&[], &data));
        assert_eq!(ended, Some(EndedTransaction::Prepared(900)));
        assert_eq!(header(1, 0xB0).transaction_end(&body(&[], &data[..20])), Some(EndedTransaction::Unknown));
        assert_eq!(header(1, 0x20).transaction_end(&[]), Some(EndedTransaction::OfHeader));
        assert_eq!(header(1, 0x10).transaction_end(&[]), None);
        assert_eq!(header(2, 0x10).transaction_end(&[]), None);
    }

    #[test]
    fn a_row_changed_in_place_names_its_shared_catalog() {
        let place = |database: u32| words(&[1664, database, 1262, 0]);
        let in_place = header(10, 0x70);
        assert!(in_place.may_change_files() && !header(10, 0x00).may_change_files());
        let wanted = Some(FileChange::SharedRow(1262));
        assert_eq!(in_place.file_change(&[&[0, 0x20, 4, 0][..], &place(0)].concat()), wanted);
        for (info, hole) in [(0x05, &[][..]), (0x03, &[]), (0x07, &[9, 0]), (0x0B, &[9, 0]), (0x02, &[])] {
            let image = [&[0, 0x30, 4, 0, 1, 1, 2, 2, info][..], hole, &place(0)].concat();
            assert_eq!(in_place.file_change(&image), wanted, "{info:#x}");
        }
        let own = in_place.file_change(&[&[0, 0x20, 4, 0][..], &place(5)].concat());
        assert_eq!(own, Some(FileChange::Dropped(Vec::new())));
        assert_eq!(in_place.file_change(&[255, 2, 1, 0]), Some(FileChange::Dropped(Vec::new())));
        assert_eq!(in_place.file_change(&[0, 0x20, 4]), None);
    }

    #[test]
    fn a_record_may_begin_with_its_origin_and_the_outer_transaction() {
        let cut = body(&[253, 1, 0, 252, 9, 0, 0, 0], &words(&[7, 1663, 5, 16384, 7]));
        assert_eq!(header(2, 0x20).file_change(&cut), Some(FileChange::Cut(5, 16384)));
        let named = [&[0u8][..], &cut].concat();
        assert_eq!(header(2, 0x20).file_change(&named), None);
    }

    #[test]
    fn the_oldest_transaction_stands_behind_a_page_of_four_or_eight_bytes() {
        for page in [&[4u32][..], &[4, 0]] {
            let data = words(&[page, &[131_072, 5]].concat());
            let change = header(3, 0x10).file_change(&body(&[], &data));
            assert_eq!(change, Some(FileChange::TransactionsCut(131_072)));
        }
        let multis = body(&[], &words(&[5, 1, 2048, 1, 4100]));
        let wanted = FileChange::MultixactsCut { multi: 2048, member: 4100 };
        assert_eq!(header(6, 0x30).file_change(&multis), Some(wanted));
    }
}
