//! How transactions ended, from `pg_xact`, `pg_multixact` and `pg_twophase`.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use formats::postgres::control::Control;
use formats::postgres::heap::{FIRST_NORMAL_XID, TupleHeader, mask};
use formats::postgres::transaction::{
    BLOCKS_PER_SEGMENT, MEMBERS_MAX, SegmentPosition, Status, is_update, member_places, multi_offset,
    multi_offset_place, precedes, status, status_place,
};
use formats::postgres::{Oid, Xid};

use crate::source::Tree;

/// The longest segment of these logs that is read, bytes: 32 blocks of 32 KiB.
const SEGMENT_BYTES_MAX: u64 = 1 << 20;

/// Whether a row version is there for everyone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Inserted by a committed transaction and not deleted by one.
    Live,
    /// Aborted or deleted.
    Dead,
    /// Depends on a prepared transaction, or on what cannot be looked up.
    Open,
}

/// The logs of a stopped cluster, read once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transactions {
    pub(crate) commits: BTreeMap<u32, Vec<u8>>,
    pub(crate) multi_offsets: BTreeMap<u32, Vec<u8>>,
    pub(crate) multi_members: BTreeMap<u32, Vec<u8>>,
    /// Pages of zeros of `pg_xact`.
    pub(crate) zero_pages: HashSet<u32>,
    pub(crate) block_bytes: usize,
    /// From where on the logs must be there; `None` where that is not known.
    pub(crate) needed: Option<Needed>,
    next_multi: u32,
    next_multi_offset: u32,
    oldest_xid: Xid,
    oldest_multi: u32,
    next_xid: Xid,
    is_first_epoch: bool,
    has_prepared: bool,
    /// Of these and later ones nothing is concluded.
    horizon_xid: Option<Xid>,
    /// Whether a transaction without an end in pg_xact may be active, although it is older.
    may_be_active: bool,
}

/// The transaction that was looked up last: rows that stand together come from the same.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LastLookup {
    last: Option<(Xid, Option<Status>)>,
    /// One whose end is in the log, or need not be, and whether rows said that it committed.
    pub(crate) kept: Option<(Xid, bool)>,
}

impl Transactions {
    /// Reads the logs under a data directory. What is missing is treated as not known.
    ///
    /// Memory: two bits for each transaction since the oldest that is kept, at most 512 MiB.
    pub(crate) fn load(tree: &Tree, control: &Control, horizon_xid: Option<Xid>) -> Transactions {
        let commits = segments(tree, "pg_xact");
        let prepared = tree.files(Path::new("pg_twophase")).is_ok_and(|files| !files.is_empty());
        Transactions {
            zero_pages: zero_pages(&commits, control.block_bytes as usize),
            commits,
            needed: None,
            multi_offsets: segments(tree, "pg_multixact/offsets"),
            multi_members: segments(tree, "pg_multixact/members"),
            block_bytes: control.block_bytes as usize,
            next_multi: control.next_multi,
            next_multi_offset: control.next_multi_offset,
            oldest_xid: control.oldest_xid,
            oldest_multi: control.oldest_multi,
            next_xid: control.next_xid as Xid,
            is_first_epoch: control.next_xid >> 32 == 0,
            has_prepared: prepared,
            horizon_xid,
            may_be_active: false,
        }
    }

    /// Takes a horizon that the WAL gave, read to its end after pg_xact was: transactions that ended since the redo
    /// position are excluded, those that have no end may be active still.
    pub(crate) fn set_horizon_of_wal(&mut self, horizon_xid: Xid) {
        self.horizon_xid = Some(horizon_xid);
        self.may_be_active = true;
    }

    /// The first transaction id that was never given out.
    pub(crate) fn next_xid(&self) -> Xid {
        self.next_xid
    }

    /// Whether transaction ids were never given out twice.
    pub(crate) fn has_first_epoch(&self) -> bool {
        self.is_first_epoch
    }

    /// No older transaction stands in a table, given what the catalog says of it (0: nothing). In a cluster that does
    /// not stand still that of all tables goes for those of which it says nothing.
    // EVIDENCE: src/backend/access/transam/xlog.c CreateCheckPoint: oldestXid is read before buffers are written, so what
    // VACUUM froze to move it on is in the files when the control file has it
    pub(crate) fn oldest_xid_in(&self, frozen_xid: Xid) -> Xid {
        let of_all = frozen_xid < FIRST_NORMAL_XID && self.horizon_xid.is_some();
        if of_all { self.oldest_xid } else { frozen_xid }
    }

    /// The same for multixacts.
    pub(crate) fn oldest_multi_in(&self, min_multi: u32) -> u32 {
        if min_multi == 0 && self.horizon_xid.is_some() { self.oldest_multi } else { min_multi }
    }

    /// Whether only what is older than a moment is known.
    pub(crate) fn has_horizon(&self) -> bool {
        self.horizon_xid.is_some()
    }

    /// The first multixact that was never given out.
    pub(crate) fn next_multi(&self) -> u32 {
        self.next_multi
    }

    /// How a transaction ended; `None` if the log does not reach it.
    #[inline]
    pub(crate) fn status(&self, xid: Xid, memory: &mut LastLookup) -> Option<Status> {
        match memory.last {
            Some((last, status)) if last == xid => status,
            _ => {
                let status = self.look_up(xid);
                memory.last = Some((xid, status));
                status
            }
        }
    }

    fn look_up(&self, xid: Xid) -> Option<Status> {
        if xid < FIRST_NORMAL_XID {
            return Some(Status::Committed);
        }
        // Before the horizon the log is cut away, and its old segments may be reused.
        if precedes(xid, self.oldest_xid) || !precedes(xid, self.next_xid) {
            return None;
        }
        let place = status_place(xid, self.block_bytes);
        let status = status(self.commits.get(&place.segment)?, xid, self.block_bytes)?;
        // Lost, or what a crash left of a transaction with very many parts.
        let is_told =
            status != Status::InProgress || !self.zero_pages.contains(&page_of(place, self.block_bytes));
        is_told.then_some(status)
    }

    /// The transaction that updated or deleted under a multixact; `Ok(None)` if all members only lock, `Err` if the
    /// logs do not tell.
    pub(crate) fn updater(&self, multi: u32) -> Result<Option<Xid>, ()> {
        let first = self.multi_offset(multi).ok_or(())?;
        let after = multi.wrapping_add(1).max(1);
        let end = if after == self.next_multi {
            self.next_multi_offset
        } else {
            self.multi_offset(after).ok_or(())?
        };
        let count = end.wrapping_sub(first);
        if count == 0 || count > MEMBERS_MAX {
            return Err(());
        }
        for index in 0..count {
            let (flag, xid) = member_places(first.wrapping_add(index), self.block_bytes);
            let flag = *byte_at(&self.multi_members, flag).ok_or(())?;
            if is_update(flag) {
                return self
                    .multi_members
                    .get(&xid.segment)
                    .and_then(|segment| multi_offset(segment, xid))
                    .map(Some)
                    .ok_or(());
            }
        }
        Ok(None)
    }

    pub(crate) fn multi_offset(&self, multi: u32) -> Option<u32> {
        let place = multi_offset_place(multi, self.block_bytes);
        multi_offset(self.multi_offsets.get(&place.segment)?, place).filter(|offset| *offset != 0)
    }

    /// The transaction that is a member, by its number; `None` if the log does not reach it.
    pub(crate) fn member(&self, number: u32) -> Option<Xid> {
        let (_, xid) = member_places(number, self.block_bytes);
        multi_offset(self.multi_members.get(&xid.segment)?, xid)
    }

    /// Who updated or deleted a row version, if anyone did whose work may count.
    pub(crate) fn deleter(&self, header: &TupleHeader) -> Result<Option<Xid>, ()> {
        if header.infomask & mask::XMAX_INVALID != 0 || header.xmax == 0 || header.is_xmax_lock_only() {
            return Ok(None);
        }
        if header.is_xmax_multi() { self.updater(header.xmax) } else { Ok(Some(header.xmax)) }
    }

    /// Whether a row version is there for everyone, in a cluster that is stopped.
    #[inline]
    pub(crate) fn fate(&self, header: &TupleHeader, memory: &mut LastLookup) -> Fate {
        if header.infomask & mask::MOVED != 0 {
            return Fate::Open;
        }
        let inserted = if !header.is_xmin_frozen() && header.infomask & mask::XMIN_INVALID != 0 {
            return Fate::Dead;
        } else if !self.had_ended(header.xmin) {
            return Fate::Open;
        } else if header.is_xmin_frozen() || header.infomask & mask::XMIN_COMMITTED != 0 {
            Fate::Live
        } else {
            self.fate_of_work(header.xmin, memory)
        };
        if inserted != Fate::Live {
            return inserted;
        }
        if header.infomask & mask::XMAX_INVALID != 0 {
            return Fate::Live;
        }
        match self.deleter(header) {
            Ok(None) => Fate::Live,
            Ok(Some(xid)) if !self.had_ended(xid) => Fate::Open,
            Ok(Some(_)) if header.infomask & mask::XMAX_COMMITTED != 0 && !header.is_xmax_multi() => {
                Fate::Dead
            }
            Ok(Some(xid)) => match self.fate_of_work(xid, memory) {
                Fate::Live => Fate::Dead,
                Fate::Dead => Fate::Live,
                Fate::Open => Fate::Open,
            },
            Err(()) => Fate::Open,
        }
    }

    /// Whether a row version was there for everyone at some time, deleted since or not.
    pub(crate) fn was_inserted(&self, header: &TupleHeader, memory: &mut LastLookup) -> bool {
        if header.infomask & mask::MOVED != 0 || !self.had_ended(header.xmin) {
            return false;
        }
        header.is_xmin_frozen()
            || header.infomask & mask::XMIN_INVALID == 0
                && (header.infomask & mask::XMIN_COMMITTED != 0
                    || self.fate_of_work(header.xmin, memory) == Fate::Live)
    }

    /// Whether a transaction had ended at the moment that is looked at; always in a cluster that is stopped.
    #[inline]
    pub(crate) fn had_ended(&self, xid: Xid) -> bool {
        self.horizon_xid.is_none_or(|horizon| xid < FIRST_NORMAL_XID || precedes(xid, horizon))
    }

    /// Whether a transaction had committed at the moment that is compared.
    pub(crate) fn had_committed(&self, xid: Xid) -> bool {
        self.had_ended(xid) && self.fate_of_work(xid, &mut LastLookup::default()) == Fate::Live
    }

    /// Whether a transaction's work counts: `Live` if it committed, `Dead` if it did not.
    fn fate_of_work(&self, xid: Xid, memory: &mut LastLookup) -> Fate {
        // EVIDENCE: src/backend/access/heap/heapam.c heap_abort_speculative: xmin becomes 0
        if xid == 0 {
            return Fate::Dead;
        }
        match self.status(xid, memory) {
            Some(Status::Committed) => Fate::Live,
            Some(Status::Aborted) => Fate::Dead,
            Some(Status::InProgress) if !self.has_prepared && !self.may_be_active => Fate::Dead,
            Some(Status::InProgress | Status::SubCommitted) | None => Fate::Open,
        }
    }
}

fn byte_at(segments: &BTreeMap<u32, Vec<u8>>, place: SegmentPosition) -> Option<&u8> {
    segments.get(&place.segment)?.get(place.offset_bytes)
}

fn page_of(place: SegmentPosition, block_bytes: usize) -> u32 {
    place.segment * BLOCKS_PER_SEGMENT as u32 + (place.offset_bytes / block_bytes.max(1)) as u32
}

/// Pages of zeros, by number.
fn zero_pages(segments: &BTreeMap<u32, Vec<u8>>, block_bytes: usize) -> HashSet<u32> {
    let mut found = HashSet::new();
    for (number, bytes) in segments {
        let first = number.saturating_mul(BLOCKS_PER_SEGMENT as u32);
        let pages = bytes.chunks_exact(block_bytes.max(1)).zip(first..);
        found.extend(pages.filter(|(page, _)| page.iter().all(|byte| *byte == 0)).map(|(_, page)| page));
    }
    found
}

/// Reads the segment files of a log; names are hexadecimal numbers.
fn segments(tree: &Tree, directory: &str) -> BTreeMap<u32, Vec<u8>> {
    let mut found = BTreeMap::new();
    for (name, part) in tree.files(Path::new(directory)).unwrap_or_default() {
        let Ok(number) = Oid::from_str_radix(&name, 16) else { continue };
        if let Ok(bytes) = part.read(SEGMENT_BYTES_MAX.min(part.bytes)) {
            found.insert(number, bytes);
        }
    }
    found
}

/// From where on the logs are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Needed {
    pub(crate) xid: Xid,
    pub(crate) multi: u32,
    /// Where the members of that multixact begin, if that is known.
    pub(crate) member: Option<u32>,
}
