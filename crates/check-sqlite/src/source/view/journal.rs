//! The rollback journal beside a database.

use disk::input::File;
use std::io;
use std::path::Path;

use crate::source::reader::Brake;
use crate::source::view::{View, beside};

/// The first bytes of a rollback journal that SQLite would play back.
// EVIDENCE: sqlite fileformat2 3, "The Rollback Journal"
const JOURNAL_MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
/// Bytes of the header that mean something.
const HEADER_BYTES: usize = 28;
/// Every so many bytes of a page count for its checksum.
// EVIDENCE: sqlite fileformat2 3, checksum of a page record: every 200th byte, from the end
const CHECKSUM_STEP: usize = 200;
/// Page records that are counted in a journal whose header is damaged, at most.
const RECORD_COUNT_MAX: u64 = 1 << 20;
/// Looks at the journal while a writer begins or ends a transaction.
const LOOK_COUNT: usize = 20;

/// What the journal means for the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Journal {
    /// None, one that was ended, or one of a transaction that a living process is in.
    Idle,
    /// SQLite will roll the transaction back before it reads the database.
    Hot,
    /// Its first bytes are damaged: SQLite deletes it, and rolls nothing back.
    Damaged(JournalDamage),
}

/// A journal whose first bytes are neither right nor zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JournalDamage {
    pub(crate) magic: [u8; 8],
    /// Page records behind the header whose checksums are right.
    pub(crate) record_count: u64,
}

impl Journal {
    /// Looks at the journal of a database whose shared lock is held.
    pub(crate) fn of(path: &Path, database: &File, brake: &Brake) -> io::Result<Self> {
        let mut found = Self::Idle;
        for _ in 0..LOOK_COUNT {
            let Some(journal) = open(path)? else { return Ok(Self::Idle) };
            let mut header = [0; HEADER_BYTES];
            // EVIDENCE: sqlite pager.c hasHotJournal: a journal is hot when nobody holds RESERVED and its first byte is
            // not zero; pager.c readJournalHdr: another magic number ends the roll-back without an error
            match journal.read_exact_at(&mut header, 0) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(Self::Idle),
                other => other?,
            }
            if header.first() == Some(&0) || View::has_writer(database) {
                return Ok(Self::Idle);
            }
            let now = Self::of_header(&journal, &header, brake)?;
            // A writer that ends its transaction right now removes the journal first and its lock then.
            if now == found {
                return Ok(now);
            }
            found = now;
        }
        Ok(found)
    }

    fn of_header(journal: &File, header: &[u8; HEADER_BYTES], brake: &Brake) -> io::Result<Self> {
        let mut magic = [0; 8];
        magic.copy_from_slice(header.get(..8).unwrap_or(&[0; 8]));
        if magic == JOURNAL_MAGIC {
            return Ok(Self::Hot);
        }
        let record_count = record_count(journal, header, brake)?;
        Ok(Self::Damaged(JournalDamage { magic, record_count }))
    }
}

fn open(path: &Path) -> io::Result<Option<File>> {
    match disk::input::File::open(beside(path, "-journal")) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Page records whose checksums are right, up to the first other one.
// EVIDENCE: sqlite fileformat2 3: nonce at 12, sector size at 20, page size at 24; records of page number, page, checksum
fn record_count(journal: &File, header: &[u8; HEADER_BYTES], brake: &Brake) -> io::Result<u64> {
    let word = |at: usize| {
        header.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_be_bytes)
    };
    let (nonce, sector, page_size) = (word(12), word(20), word(24));
    if !(512..=65536).contains(&page_size) || !(32..=65536).contains(&sector) {
        return Ok(0);
    }
    let length = journal.metadata()?.len();
    let mut record = vec![0; page_size as usize + 8];
    for index in 0..RECORD_COUNT_MAX {
        let offset = u64::from(sector) + index * record.len() as u64;
        brake.go_on(offset, length)?;
        brake.wait(record.len());
        if journal.read_exact_at(&mut record, offset).is_err() {
            return Ok(index);
        }
        let page = record.get(4..page_size as usize + 4).unwrap_or_default();
        let stored = record.last_chunk::<4>().map_or(0, |bytes| u32::from_be_bytes(*bytes));
        let mut at = page.len().saturating_sub(CHECKSUM_STEP);
        let mut sum = nonce;
        while at > 0 {
            sum = sum.wrapping_add(page.get(at).copied().map_or(0, u32::from));
            at = at.saturating_sub(CHECKSUM_STEP);
        }
        if sum != stored {
            return Ok(index);
        }
    }
    Ok(RECORD_COUNT_MAX)
}
