//! What the calls of SQLite to its files cost: counts, times and bytes, per role of the file and kind of call.
//!
//! Every thread adds to a shard of its own, so that clients share no cache line; a reader adds the shards up.
//! Counters only grow: a figure of a run is the difference of two readings.

use std::cell::Cell;
use std::ops::{AddAssign, Sub};
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Shards of a meter. With more threads some share one, which costs time, not counts.
const SHARD_COUNT: usize = 64;
/// Header of a frame in the log: page number, size, salts, checksums.
// EVIDENCE: sqlite fileformat2 4.1
pub(in super::super) const FRAME_HEADER_BYTES: u64 = 24;
/// Header of the log, written when it begins at its start again.
// EVIDENCE: sqlite fileformat2 4.1
pub(in super::super) const LOG_HEADER_BYTES: u64 = 32;

/// Checkpoints of which the times are kept; a night of them must not fill the results.
const CHECKPOINTS_KEPT_MAX: usize = 10_000;

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
pub(in super::super) struct Tally {
    /// How many.
    pub(in super::super) count: u64,
    /// How long all of them took, in nanoseconds.
    pub(in super::super) time_ns: u64,
    /// Bytes that those without error moved.
    pub(in super::super) bytes: u64,
}

impl Tally {
    /// Time in seconds.
    pub(in super::super) fn seconds(&self) -> f64 {
        self.time_ns as f64 / 1e9
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.count += other.count;
        self.time_ns += other.time_ns;
        self.bytes += other.bytes;
    }
}

impl Sub for Tally {
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
    calls: [[Tally; Call::COUNT]; Role::COUNT],
    /// Writes that made the log longer than it had been since it was last empty, and the bytes that they added.
    pub(in super::super) log_growths: Tally,
    /// Frames of the log: headers of frames written.
    pub(in super::super) log_frames: u64,
    /// Headers of the log written: how often it began at its start.
    pub(in super::super) log_starts: u64,
    /// Checkpoints that copied pages, from taking to giving back the checkpoint lock, and the bytes copied.
    pub(in super::super) checkpoints: Tally,
    /// Pages that checkpoints wrote to the database.
    pub(in super::super) checkpoint_pages: u64,
}

impl Totals {
    /// Calls of one kind on files of one role.
    pub(in super::super) fn of(&self, role: Role, call: Call) -> Tally {
        self.calls[role as usize][call as usize]
    }

    /// Calls of one kind on files of all roles.
    pub(in super::super) fn of_all(&self, call: Call) -> Tally {
        let mut sum = Tally::default();
        Role::ALL.iter().for_each(|role| sum += self.of(*role, call));
        sum
    }

    /// What happened since an earlier reading of the same meter.
    pub(in super::super) fn since(&self, earlier: &Self) -> Self {
        let mut calls = self.calls;
        for (role, earlier) in calls.iter_mut().zip(&earlier.calls) {
            for (tally, earlier) in role.iter_mut().zip(earlier) {
                *tally = *tally - *earlier;
            }
        }
        Self {
            calls,
            log_growths: self.log_growths - earlier.log_growths,
            log_frames: self.log_frames - earlier.log_frames,
            log_starts: self.log_starts - earlier.log_starts,
            checkpoints: self.checkpoints - earlier.checkpoints,
            checkpoint_pages: self.checkpoint_pages - earlier.checkpoint_pages,
        }
    }

    /// All calls, whatever kind and role.
    pub(in super::super) fn call_count(&self) -> u64 {
        self.calls.iter().flatten().map(|tally| tally.count).sum()
    }
}

#[derive(Debug, Default)]
struct Cumulative {
    count: AtomicU64,
    time_ns: AtomicU64,
    bytes: AtomicU64,
}

impl Cumulative {
    fn add(&self, time: Duration, bytes: u64) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.time_ns.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
        if bytes > 0 {
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    fn read(&self) -> Tally {
        Tally {
            count: self.count.load(Ordering::Relaxed),
            time_ns: self.time_ns.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
        }
    }
}

/// One thread's part. Aligned so that no two share a cache line, nor a pair that the processor fetches together.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Shard {
    calls: [[Cumulative; Call::COUNT]; Role::COUNT],
    log_growths: Cumulative,
    log_frames: AtomicU64,
    log_starts: AtomicU64,
    checkpoints: Cumulative,
    checkpoint_pages: AtomicU64,
}

/// Number of the next thread that makes a timed call.
static THREAD_NEXT: AtomicUsize = AtomicUsize::new(0);

/// What is known about the calling thread. Plain cells without destructors: usable to the thread's last breath.
struct Thread {
    shard_index: Cell<usize>,
    /// Set while this thread holds the checkpoint lock. A checkpoint begins and ends within one call to SQLite, so a
    /// thread has one at most.
    checkpoint_began: Cell<Option<Instant>>,
    checkpoint_bytes: Cell<u64>,
    checkpoint_pages: Cell<u64>,
}

thread_local! {
    static THREAD: Thread = const {
        Thread {
            shard_index: Cell::new(usize::MAX),
            checkpoint_began: Cell::new(None),
            checkpoint_bytes: Cell::new(0),
            checkpoint_pages: Cell::new(0),
        }
    };
}

/// Counts and times of one instrumented VFS.
#[derive(Debug)]
pub(in super::super) struct Meter {
    shards: Box<[Shard]>,
    /// End of the longest write to the log since it was last empty. Only growing writes store to it, and SQLite has
    /// one writer at a time.
    log_end_bytes: AtomicI64,
    /// The last checkpoints. Behind a mutex, which SQLite's own checkpoint lock keeps free for the one that ends.
    checkpoints_kept: Mutex<Vec<Checkpoint>>,
}

impl Meter {
    pub(in super::super) fn new() -> Self {
        let shards = (0..SHARD_COUNT).map(|_| Shard::default()).collect();
        Self { shards, log_end_bytes: AtomicI64::new(0), checkpoints_kept: Mutex::default() }
    }

    /// Adds the shards up. Exact when no timed call is under way.
    pub(in super::super) fn read(&self) -> Totals {
        let mut totals = Totals::default();
        for shard in &self.shards {
            for (role, cumulatives) in totals.calls.iter_mut().zip(&shard.calls) {
                for (tally, cumulative) in role.iter_mut().zip(cumulatives) {
                    *tally += cumulative.read();
                }
            }
            totals.log_growths += shard.log_growths.read();
            totals.log_frames += shard.log_frames.load(Ordering::Relaxed);
            totals.log_starts += shard.log_starts.load(Ordering::Relaxed);
            totals.checkpoints += shard.checkpoints.read();
            totals.checkpoint_pages += shard.checkpoint_pages.load(Ordering::Relaxed);
        }
        totals
    }

    /// Length of the log's file, in bytes: frames that a checkpoint has made free included.
    #[cfg(test)]
    pub(in super::super) fn log_size_bytes(&self) -> u64 {
        self.log_end_bytes.load(Ordering::Relaxed).unsigned_abs()
    }

    /// Adds a call that began at `began` and has just returned.
    pub(in super::super) fn add(&self, role: Role, call: Call, began: Instant, bytes: u64) {
        self.shard().calls[role as usize][call as usize].add(began.elapsed(), bytes);
    }

    /// Adds a sync, apart when this thread is in a checkpoint.
    pub(super) fn add_sync(&self, role: Role, began: Instant) {
        let in_checkpoint = THREAD.with(|thread| thread.checkpoint_began.get().is_some());
        self.add(role, if in_checkpoint { Call::CheckpointSync } else { Call::Sync }, began, 0);
    }

    /// Adds a write; `bytes` is 0 when it ended in an error.
    pub(super) fn add_write(&self, role: Role, began: Instant, offset_bytes: i64, bytes: u64) {
        let time = began.elapsed();
        let shard = self.shard();
        shard.calls[role as usize][Call::Write as usize].add(time, bytes);
        match role {
            Role::Log => self.add_log_write(shard, time, offset_bytes, bytes),
            Role::Database => THREAD.with(|thread| {
                if thread.checkpoint_began.get().is_some() {
                    shard.checkpoint_pages.fetch_add(1, Ordering::Relaxed);
                    thread.checkpoint_bytes.set(thread.checkpoint_bytes.get() + bytes);
                    thread.checkpoint_pages.set(thread.checkpoint_pages.get() + 1);
                }
            }),
            Role::Journal | Role::Temporary => {}
        }
    }

    fn add_log_write(&self, shard: &Shard, time: Duration, offset_bytes: i64, bytes: u64) {
        // No page is that small, so the size of a write tells a header from a page.
        if bytes == FRAME_HEADER_BYTES {
            shard.log_frames.fetch_add(1, Ordering::Relaxed);
        } else if bytes == LOG_HEADER_BYTES && offset_bytes == 0 {
            shard.log_starts.fetch_add(1, Ordering::Relaxed);
        }
        let end_bytes = offset_bytes + bytes as i64;
        if bytes > 0 && end_bytes > self.log_end_bytes.load(Ordering::Relaxed) {
            let before_bytes = self.log_end_bytes.fetch_max(end_bytes, Ordering::Relaxed);
            shard.log_growths.add(time, (end_bytes - before_bytes).max(0) as u64);
        }
    }

    /// Notes that the log was found with this length, or cut to it.
    pub(super) fn log_size_is(&self, size_bytes: i64) {
        self.log_end_bytes.store(size_bytes, Ordering::Relaxed);
    }

    /// Notes that this thread has the checkpoint lock.
    pub(super) fn checkpoint_begins(&self) {
        THREAD.with(|thread| {
            thread.checkpoint_began.set(Some(Instant::now()));
            thread.checkpoint_bytes.set(0);
            thread.checkpoint_pages.set(0);
        });
    }

    /// Notes that this thread gave the checkpoint lock back. One that had nothing to copy does not count.
    pub(super) fn checkpoint_ends(&self) {
        THREAD.with(|thread| {
            let (bytes, pages) = (thread.checkpoint_bytes.replace(0), thread.checkpoint_pages.replace(0));
            let Some(began) = thread.checkpoint_began.take().filter(|_| pages > 0) else { return };
            let ended = Instant::now();
            self.shard().checkpoints.add(ended.duration_since(began), bytes);
            let mut kept = self.checkpoints_kept.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() < CHECKPOINTS_KEPT_MAX {
                kept.push(Checkpoint { began, ended, pages });
            }
        });
    }

    /// Hands over the checkpoints since the last call, in the order of their ends; at most 10,000.
    pub(in super::super) fn take_checkpoints(&self) -> Vec<Checkpoint> {
        std::mem::take(&mut *self.checkpoints_kept.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn shard(&self) -> &Shard {
        let index = THREAD.with(|thread| {
            let index = thread.shard_index.get();
            if index != usize::MAX {
                return index;
            }
            let index = THREAD_NEXT.fetch_add(1, Ordering::Relaxed) % SHARD_COUNT;
            thread.shard_index.set(index);
            index
        });
        &self.shards[index]
    }
}
