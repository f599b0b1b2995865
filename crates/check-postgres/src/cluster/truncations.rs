//! Which files were cut, made and dropped since the moment that is looked at, from the write-ahead log.
//!
//! A table in a cluster that does not stand still may be shorter than its indexes and maps say: VACUUM cut it, and what
//! it did to those has not reached their files. The record of the cut is in the log before the file is cut, so whoever
//! sees a short file and finds no such record has found damage. So it is with files that are dropped, and with segments
//! of pg_xact and pg_multixact that VACUUM removes.
//!
//! A log that is not whole tells nothing: one that ends before the checkpoint, before the end of the backup, before what a
//! standby must reach, or before a later segment that belongs to it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Mutex;

use formats::postgres::control::Control;
use formats::postgres::heap::FIRST_NORMAL_XID;
use formats::postgres::transaction::precedes;
use formats::postgres::wal::changes::{BODY_BYTES_MAX, EndedTransaction, FileChange};
use formats::postgres::wal::{
    LONG_PAGE_HEADER_BYTES, PAGE_HEADER_BYTES, RECORD_HEADER_BYTES, RecordHeader, is_page_of,
};
use formats::postgres::{Oid, Xid};

use crate::cluster::Cluster;
use crate::cluster::state::Standing;
use crate::source::Tree;
use crate::source::part::Part;

/// How often the log is read on that a server writes meanwhile.
const READ_AGAIN_MAX: usize = 3;

/// Reads the log on when it is asked.
#[derive(Debug)]
pub(crate) struct Truncations {
    tree: Tree,
    page_bytes: u64,
    segment_bytes: u64,
    /// The log must be readable up to here, else nothing is known.
    needed_lsn: u64,
    /// Where the backup started whose end must be in the log.
    backup_lsn: Option<u64>,
    state: Mutex<State>,
    /// Answers about lengths at the start of the check.
    lengths: Mutex<HashMap<(Oid, Oid), bool>>,
}

#[derive(Debug, Default)]
struct State {
    /// Where the next record begins.
    next: u64,
    /// Where the one before began; 0 before the first.
    previous: u64,
    /// What records say.
    changes: Changes,
    /// Whether there is a record that may say more and cannot be read.
    is_unclear: bool,
    segments: BTreeMap<u64, Part>,
    page: Vec<u8>,
    page_lsn: Option<u64>,
}

/// What the log says since the moment that is looked at. Files by database and number.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    cut: HashSet<(Oid, Oid)>,
    made: HashSet<(Oid, Oid)>,
    dropped: HashSet<(Oid, Oid)>,
    databases: HashSet<Oid>,
    shared_rows: HashSet<Oid>,
    backups: HashSet<u64>,
    /// The oldest transaction that ended.
    pub(crate) ended_xid: Option<Xid>,
    /// Whether the end of some transaction could not be read.
    pub(crate) is_end_unclear: bool,
    /// What pg_xact was cut to.
    pub(crate) oldest_xid: Option<Xid>,
    /// What pg_multixact was cut to: multixact, and place of its members.
    pub(crate) oldest_multi: Option<(u32, u32)>,
}

impl Changes {
    fn add(&mut self, change: FileChange) {
        match change {
            FileChange::Cut(database, number) => drop(self.cut.insert((database, number))),
            FileChange::Made(database, number) => drop(self.made.insert((database, number))),
            FileChange::Dropped(files) => self.dropped.extend(files),
            FileChange::Database(database) => drop(self.databases.insert(database)),
            FileChange::SharedRow(number) => drop(self.shared_rows.insert(number)),
            FileChange::BackupEnd(start) => drop(self.backups.insert(start)),
            FileChange::TransactionsCut(xid) => {
                self.oldest_xid = self.oldest_xid.filter(|known| !precedes(*known, xid)).or(Some(xid));
            }
            FileChange::MultixactsCut { multi, member } => {
                let known = self.oldest_multi.filter(|(known, _)| !precedes(*known, multi));
                self.oldest_multi = known.or(Some((multi, member)));
            }
        }
    }

    fn add_end(&mut self, ended: EndedTransaction, writer: Xid) {
        let xid = match ended {
            EndedTransaction::OfHeader => writer,
            EndedTransaction::Prepared(xid) => xid,
            EndedTransaction::Unknown => {
                self.is_end_unclear = true;
                return;
            }
        };
        // Some commits have no transaction of their own.
        if xid >= FIRST_NORMAL_XID {
            self.ended_xid = self.ended_xid.filter(|known| precedes(*known, xid)).or(Some(xid));
        }
    }

    /// Whether a relation's files are those of the moment that is looked at, as long as they were or longer.
    pub(crate) fn is_whole(&self, database: Oid, file_number: Oid) -> bool {
        !self.cut.contains(&(database, file_number)) && self.is_there(database, file_number)
    }

    /// Whether a database was made, moved or dropped.
    pub(crate) fn has_changed(&self, database: Oid) -> bool {
        self.databases.contains(&database)
    }

    /// Databases that were made, moved or dropped.
    pub(crate) fn databases(&self) -> &HashSet<Oid> {
        &self.databases
    }

    /// Whether rows of a shared catalog were changed in their places; its file number is given.
    pub(crate) fn has_changed_in_place(&self, number: Oid) -> bool {
        self.shared_rows.contains(&number)
    }

    /// Whether a relation's files were neither made nor dropped.
    pub(crate) fn is_there(&self, database: Oid, file_number: Oid) -> bool {
        let file = (database, file_number);
        !self.made.contains(&file) && !self.dropped.contains(&file) && !self.databases.contains(&database)
    }
}

impl Truncations {
    /// Starts at the position from which replay would start. I/O: none until something is asked.
    pub(crate) fn new(cluster: &Cluster, control: &Control) -> Truncations {
        let (backup_end, backup_lsn) = match cluster.standing {
            Standing::Backup { end_lsn: Some(end), .. } => (end, None),
            Standing::Backup { start_lsn, end_lsn: None } => (0, Some(start_lsn)),
            _ => (0, None),
        };
        // The control file of a backup is copied last, and may be that of a later checkpoint.
        let from_lsn = match cluster.standing {
            Standing::Backup { start_lsn, .. } if start_lsn > 0 => start_lsn.min(control.redo_lsn),
            _ => control.redo_lsn,
        };
        // The record of the checkpoint begins there.
        let needed_lsn = (control.checkpoint_lsn + 1).max(backup_end).max(control.min_recovery_lsn);
        Truncations {
            tree: cluster.tree.clone(),
            page_bytes: u64::from(control.log_page_bytes),
            segment_bytes: u64::from(control.log_segment_bytes),
            needed_lsn,
            backup_lsn,
            state: Mutex::new(State { next: from_lsn, ..State::default() }),
            lengths: Mutex::default(),
        }
    }

    /// Whether a relation was not cut, made or dropped from the moment on that is looked at until now; `false` too when
    /// the log does not tell.
    ///
    /// I/O: the log from there on, once; later calls read what came since.
    pub(crate) fn is_whole(&self, database: Oid, file_number: Oid) -> bool {
        self.ask(|changes| changes.is_whole(database, file_number)).unwrap_or(false)
    }

    /// Asks what the log says from the moment on that is looked at until now; `None` when it is not whole.
    ///
    /// I/O: as [`Truncations::is_whole`].
    pub(crate) fn ask<T>(&self, question: impl FnOnce(&Changes) -> T) -> Option<T> {
        let is_possible = self.page_bytes.is_power_of_two()
            && (512..=65_536).contains(&self.page_bytes)
            && self.segment_bytes.is_power_of_two()
            && self.segment_bytes > self.page_bytes;
        let mut state = self.state.lock().ok().filter(|_| is_possible)?;
        for _ in 0..READ_AGAIN_MAX {
            state.segments = segments(&self.tree, self.segment_bytes);
            // The last page was perhaps not complete when it was read.
            state.page_lsn = None;
            // Each turn reads a record, and positions ascend: bounded by the bytes of the log.
            while self.record(&mut state).is_some() {}
            let has_end = self.backup_lsn.is_none_or(|start| state.changes.backups.contains(&start));
            if state.next < self.needed_lsn || !has_end || state.is_unclear {
                return None;
            }
            if self.is_end(&mut state) {
                return Some(question(&state.changes));
            }
        }
        None
    }

    /// Whether the log ends where no record was found: what was read last is still there, and no later segment belongs
    /// to the log.
    fn is_end(&self, state: &mut State) -> bool {
        let last = state.previous;
        if self.load(state, last - last % self.page_bytes).is_none() {
            return false;
        }
        let later = state.segments.range(state.next / self.segment_bytes + 1..).map(|(number, _)| *number);
        let later: Vec<u64> = later.collect();
        // A segment that is kept for later use bears its old address.
        let belongs = |number: u64| self.load(state, number.saturating_mul(self.segment_bytes)).is_some();
        !later.into_iter().any(belongs)
    }

    /// Whether a table whose length was taken at the start of the check was not cut before that; its first file is given.
    ///
    /// A table that is dropped or rewritten is cut without a record, its first file before all others.
    pub(crate) fn has_its_length(&self, database: Oid, file_number: Oid, first: &Part) -> bool {
        let known = self.lengths.lock().ok().and_then(|known| known.get(&(database, file_number)).copied());
        known.unwrap_or_else(|| {
            let is_there = disk::input::metadata(&first.path).is_ok_and(|metadata| metadata.len() > 0);
            let answer = first.bytes > 0 && is_there && self.is_whole(database, file_number);
            if let Ok(mut lengths) = self.lengths.lock() {
                lengths.insert((database, file_number), answer);
            }
            answer
        })
    }

    /// Reads the next record; `None` where the log ends.
    fn record(&self, state: &mut State) -> Option<()> {
        let mut at = state.next;
        let start = at + self.header_bytes(at);
        let mut bytes = [0; RECORD_HEADER_BYTES];
        self.payload(state, &mut at, &mut bytes)?;
        let header = RecordHeader::read(&bytes)?;
        if state.previous != 0 && header.previous != state.previous {
            return None;
        }
        let mut rest = u64::from(header.bytes) - RECORD_HEADER_BYTES as u64;
        let ended = header.transaction_end(&[]);
        if header.may_change_files() {
            if rest > BODY_BYTES_MAX {
                state.is_unclear = true;
                return None;
            }
            let mut body = vec![0; rest as usize];
            self.payload(state, &mut at, &mut body)?;
            // The server may be writing it.
            if !header.is_whole(&bytes, &body) {
                return None;
            }
            if let Some(ended) = header.transaction_end(&body) {
                state.changes.add_end(ended, header.xid);
            }
            match header.file_change(&body) {
                Some(change) => state.changes.add(change),
                None => state.is_unclear = true,
            }
            rest = 0;
        } else if let Some(ended) = ended {
            state.changes.add_end(ended, header.xid);
        }
        self.skip(&mut at, rest);
        if header.is_switch() && !at.is_multiple_of(self.segment_bytes) {
            at = (at / self.segment_bytes + 1) * self.segment_bytes;
        }
        (state.previous, state.next) = (start, at.next_multiple_of(8));
        Some(())
    }

    /// Bytes of the page header at a position; 0 inside a page.
    fn header_bytes(&self, at: u64) -> u64 {
        match (at % self.segment_bytes, at % self.page_bytes) {
            (0, _) => LONG_PAGE_HEADER_BYTES,
            (_, 0) => PAGE_HEADER_BYTES,
            _ => 0,
        }
    }

    /// Steps over bytes of records, and the page headers between them.
    fn skip(&self, at: &mut u64, mut bytes: u64) {
        // Bounded by the pages of the longest record.
        while bytes > 0 {
            *at += self.header_bytes(*at);
            let step = bytes.min(self.page_bytes - *at % self.page_bytes);
            *at += step;
            bytes -= step;
        }
    }

    /// Reads bytes of records; `None` where the log ends.
    fn payload(&self, state: &mut State, at: &mut u64, into: &mut [u8]) -> Option<()> {
        let mut done = 0;
        // Each turn ends a page or the buffer.
        while done < into.len() {
            *at += self.header_bytes(*at);
            let offset = (*at % self.page_bytes) as usize;
            self.load(state, *at - offset as u64)?;
            let step = (into.len() - done).min(self.page_bytes as usize - offset);
            into.get_mut(done..done + step)?.copy_from_slice(state.page.get(offset..offset + step)?);
            *at += step as u64;
            done += step;
        }
        Some(())
    }

    fn load(&self, state: &mut State, position: u64) -> Option<()> {
        if state.page_lsn == Some(position) {
            return Some(());
        }
        state.page_lsn = None;
        state.page.resize(self.page_bytes as usize, 0);
        let State { segments, page, .. } = state;
        let part = segments.get(&(position / self.segment_bytes))?;
        part.read_exact_at(page, position % self.segment_bytes).ok()?;
        if !is_page_of(page, position) {
            return None;
        }
        state.page_lsn = Some(position);
        Some(())
    }
}

/// Segment files of the log by number; of several time lines the newest.
// EVIDENCE: xlog_internal.h XLogFileName: time line, number / segments per 4 GiB, number % them, eight digits each
fn segments(tree: &Tree, segment_bytes: u64) -> BTreeMap<u64, Part> {
    let mut files = tree.files(Path::new("pg_wal")).unwrap_or_default();
    files.sort_by(|a, b| a.0.cmp(&b.0));
    let number = |name: &str| {
        let digits = |from: usize| u64::from_str_radix(name.get(from..from + 8)?, 16).ok();
        digits(0).filter(|_| name.len() == 24)?;
        Some(digits(8)? * ((1 << 32) / segment_bytes) + digits(16)?)
    };
    files.into_iter().filter_map(|(name, part)| Some((number(&name)?, part))).collect()
}

/// The end of the last segment file of the log: no block was changed later. `None` if there is none.
///
/// A segment that holds a position is there when a block with that position is written, and is removed or gets a higher
/// number only when the log has gone on.
pub(crate) fn log_files_end(tree: &Tree, control: &Control) -> Option<u64> {
    let segment_bytes = u64::from(control.log_segment_bytes);
    if !segment_bytes.is_power_of_two() {
        return None;
    }
    let last = *segments(tree, segment_bytes).last_key_value()?.0;
    Some(last.saturating_add(1).saturating_mul(segment_bytes))
}
