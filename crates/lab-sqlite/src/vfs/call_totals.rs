//! What a meter tells: counts, times and bytes by role of the file and kind of call.

use std::ops::{AddAssign, Sub};
use std::time::Instant;

/// Header of a frame in the log: page number, size, salts, checksums.
// EVIDENCE: sqlite fileformat2 4.1
pub(in super::super) const FRAME_HEADER_BYTES: u64 = 24;
/// Header of the log, written when it begins at its start again.
// EVIDENCE: sqlite fileformat2 4.1
pub(in super::super) const LOG_HEADER_BYTES: u64 = 32;

/// What a file is for, as SQLite says when it opens it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Role {
    /// The database.
    Database,
    /// The write-ahead log.
    Log,
    /// A rollback journal of a database.
    Journal,
    /// Everything that is gone when the connection closes: temporary tables, sorts, statement journals.
    Temporary,
}

impl Role {
    /// Number of roles.
    pub(super) const COUNT: usize = 4;
    /// All of them, in the order of their numbers.
    pub(in super::super) const ALL: [Self; Self::COUNT] =
        [Self::Database, Self::Log, Self::Journal, Self::Temporary];
}

/// Kind of call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Call {
    /// Reads bytes of a file.
    Read,
    /// Writes bytes to a file.
    Write,
    /// Flushes a file to its device.
    Sync,
    /// The same, in a checkpoint.
    CheckpointSync,
    /// Cuts a file.
    Truncate,
    /// Takes or strengthens the lock on a file.
    Lock,
    /// Gives it back.
    Unlock,
    /// Takes a lock in the shared memory beside the log.
    SharedLock,
    /// Gives it back.
    SharedUnlock,
    /// Maps a piece of that shared memory.
    SharedMap,
    /// Opens a file.
    Open,
    /// Removes a file.
    Delete,
    /// Sleeps because somebody else has a lock.
    Sleep,
}

impl Call {
    /// Number of kinds.
    pub(super) const COUNT: usize = 13;
    /// All of them, in the order of their numbers.
    pub(in super::super) const ALL: [Self; Self::COUNT] = [
        Self::Read,
        Self::Write,
        Self::Sync,
        Self::CheckpointSync,
        Self::Truncate,
        Self::Lock,
        Self::Unlock,
        Self::SharedLock,
        Self::SharedUnlock,
        Self::SharedMap,
        Self::Open,
        Self::Delete,
        Self::Sleep,
    ];
}

/// Calls of one kind, added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct CallTotals {
    /// How many.
    pub(in super::super) count: u64,
    /// How long all of them took, in nanoseconds.
    pub(in super::super) time_ns: u64,
    /// Bytes that those without error moved.
    pub(in super::super) bytes: u64,
}

impl CallTotals {
    /// Time in seconds.
    pub(in super::super) fn seconds(&self) -> f64 {
        self.time_ns as f64 / 1e9
    }
}

impl AddAssign for CallTotals {
    fn add_assign(&mut self, other: Self) {
        self.count += other.count;
        self.time_ns += other.time_ns;
        self.bytes += other.bytes;
    }
}

impl Sub for CallTotals {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            count: self.count - earlier.count,
            time_ns: self.time_ns - earlier.time_ns,
            bytes: self.bytes - earlier.bytes,
        }
    }
}

/// One checkpoint that copied pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Checkpoint {
    /// When the checkpoint lock was taken.
    pub(in super::super) began: Instant,
    /// When it was given back.
    pub(in super::super) ended: Instant,
    /// Pages written to the database.
    pub(in super::super) pages: u64,
}

/// One reading of a meter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Totals {
    pub(super) calls: [[CallTotals; Call::COUNT]; Role::COUNT],
    /// Transactions that made the log longer than it had been since it was last empty, the bytes by which they did, and
    /// the time of the writes that grew it.
    pub(in super::super) log_growths: CallTotals,
    /// Frames of the log: headers of frames written.
    pub(in super::super) log_frames: u64,
    /// Pages by which commits made the database longer.
    pub(in super::super) pages_allocated: u64,
    /// Headers of the log written: how often it began at its start.
    pub(in super::super) log_starts: u64,
    /// Checkpoints that copied pages, from taking to giving back the checkpoint lock, and the bytes copied.
    pub(in super::super) checkpoints: CallTotals,
    /// Pages that checkpoints wrote to the database.
    pub(in super::super) checkpoint_pages: u64,
}

impl Totals {
    /// Calls of one kind on files of one role.
    pub(in super::super) fn of(&self, role: Role, call: Call) -> CallTotals {
        self.calls[role as usize][call as usize]
    }

    /// Calls of one kind on files of all roles.
    pub(in super::super) fn of_all(&self, call: Call) -> CallTotals {
        let mut sum = CallTotals::default();
        Role::ALL.iter().for_each(|role| sum += self.of(*role, call));
        sum
    }

    /// What happened since an earlier reading of the same meter.
    pub(in super::super) fn since(&self, earlier: &Self) -> Self {
        let mut calls = self.calls;
        for (role, earlier) in calls.iter_mut().zip(&earlier.calls) {
            for (call_totals, earlier) in role.iter_mut().zip(earlier) {
                *call_totals = *call_totals - *earlier;
            }
        }
        Self {
            calls,
            log_growths: self.log_growths - earlier.log_growths,
            log_frames: self.log_frames - earlier.log_frames,
            pages_allocated: self.pages_allocated - earlier.pages_allocated,
            log_starts: self.log_starts - earlier.log_starts,
            checkpoints: self.checkpoints - earlier.checkpoints,
            checkpoint_pages: self.checkpoint_pages - earlier.checkpoint_pages,
        }
    }

    /// All calls, whatever kind and role.
    pub(in super::super) fn call_count(&self) -> u64 {
        self.calls.iter().flatten().map(|call_totals| call_totals.count).sum()
    }
}
