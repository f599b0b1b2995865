//! What the calls of SQLite to its files cost: counts, times and bytes, per role of the file and kind of call.
//!
//! Every thread adds to a shard of its own, so that clients share no cache line and adding needs no locked
//! instruction; a reader adds the shards up. Counters only grow: a figure of a run is the difference of two readings.

use std::cell::Cell;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::call_totals::{Call, CallTotals, Checkpoint, FRAME_HEADER_BYTES, LOG_HEADER_BYTES, Role, Totals};
use super::clock::{Clock, Ticks};

/// Shards of a meter: number 0 for all threads that have none of their own, number 1 for threads that are no clients,
/// the others for one thread each.
const SHARD_COUNT: usize = 130;
/// The shard that any thread may add to.
const SHARED: usize = 0;
/// The shard of threads that are no clients.
const APART: usize = 1;
/// The smallest page: what is written to a database in smaller pieces is none.
// EVIDENCE: sqlite fileformat2 1.2
const PAGE_BYTES_MIN: u64 = 512;
/// Checkpoints of which the times are kept; a night of them must not fill the results.
const CHECKPOINTS_KEPT_MAX: usize = 10_000;

#[derive(Debug, Default)]
struct Cumulative {
    count: AtomicU64,
    ticks: AtomicU64,
    bytes: AtomicU64,
}

impl Cumulative {
    fn add(&self, index: ShardIndex, ticks: u64, bytes: u64) {
        index.add(&self.count, 1);
        index.add(&self.ticks, ticks);
        if bytes > 0 {
            index.add(&self.bytes, bytes);
        }
    }

    fn read(&self, clock: &Clock) -> CallTotals {
        CallTotals {
            count: self.count.load(Ordering::Relaxed),
            time_ns: clock.nanoseconds(self.ticks.load(Ordering::Relaxed)),
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
    pages_allocated: AtomicU64,
    checkpoints: Cumulative,
    checkpoint_pages: AtomicU64,
}

/// Where a thread adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ShardIndex(usize);

impl ShardIndex {
    /// Adds to a counter of this index's shard. With one thread in the index nobody comes between reading and writing.
    fn add(self, counter: &AtomicU64, amount: u64) {
        if self.0 == SHARED || self.0 == APART {
            counter.fetch_add(amount, Ordering::Relaxed);
        } else {
            counter.store(counter.load(Ordering::Relaxed) + amount, Ordering::Relaxed);
        }
    }
}

/// Seats that nobody has, and the first that nobody ever had. The mutex orders what one thread wrote in a index before
/// what the next one reads there.
static SEATS: Mutex<(Vec<usize>, usize)> = Mutex::new((Vec::new(), APART + 1));

/// Gives a thread's index back when the thread ends.
struct Lease(ShardIndex);

impl Lease {
    fn take() -> Self {
        let (free, next) = &mut *SEATS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = free.pop() {
            return Self(ShardIndex(index));
        }
        if *next == SHARD_COUNT {
            return Self(ShardIndex(SHARED));
        }
        *next += 1;
        Self(ShardIndex(*next - 1))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // What the thread does from now on goes to the shared index.
        THREAD.with(|thread| thread.index.set(Some(ShardIndex(SHARED))));
        if self.0 != ShardIndex(SHARED) {
            SEATS.lock().unwrap_or_else(PoisonError::into_inner).0.push(self.0.0);
        }
    }
}

/// What is known about the calling thread. Plain cells without destructors: usable to the thread's last breath.
struct Thread {
    /// `None` until the first timed call.
    index: Cell<Option<ShardIndex>>,
    /// Set while this thread holds the checkpoint lock. A checkpoint begins and ends within one call to SQLite, so a
    /// thread has one at most.
    checkpoint_began: Cell<Option<(Instant, Ticks)>>,
    checkpoint_bytes: Cell<u64>,
    checkpoint_pages: Cell<u64>,
    /// Did a write of the transaction under way make the log longer? A thread writes one transaction at a time.
    log_grew: Cell<bool>,
    /// Was the last frame header that of a commit, whose page is still to come?
    commit_begun: Cell<bool>,
}

thread_local! {
    static THREAD: Thread = const {
        Thread {
            index: Cell::new(None),
            checkpoint_began: Cell::new(None),
            checkpoint_bytes: Cell::new(0),
            checkpoint_pages: Cell::new(0),
            log_grew: Cell::new(false),
            commit_begun: Cell::new(false),
        }
    };
    static LEASE: Lease = Lease::take();
}

/// ShardIndex of the calling thread.
fn index() -> ShardIndex {
    THREAD.with(|thread| match thread.index.get() {
        Some(index) => index,
        None => {
            let index = LEASE.try_with(|lease| lease.0).unwrap_or(ShardIndex(SHARED));
            thread.index.set(Some(index));
            index
        }
    })
}

/// Counts what the calling thread does from now on, and until it ends, apart from the clients: it does the run's own
/// checkpoints. Totals contain it all the same.
pub(in super::super) fn count_apart() {
    THREAD.with(|thread| thread.index.set(Some(ShardIndex(APART))));
}

/// Counts and times of one instrumented VFS.
#[derive(Debug)]
pub(in super::super) struct Meter {
    clock: Clock,
    shards: Box<[Shard]>,
    /// End of the longest write to the log since it was last empty. Only growing writes store to it, and SQLite has
    /// one writer at a time.
    log_end_bytes: AtomicI64,
    /// Pages of the database as the last commit left it. Only writers store to it, of which there is one at a time.
    database_pages: AtomicU64,
    /// The last checkpoints. Behind a mutex, which SQLite's own checkpoint lock keeps free for the one that ends.
    checkpoints_kept: Mutex<Vec<Checkpoint>>,
}

impl Meter {
    pub(in super::super) fn new() -> Self {
        let shards = (0..SHARD_COUNT).map(|_| Shard::default()).collect();
        let (clock, log_end_bytes) = (Clock::get(), AtomicI64::new(0));
        let (database_pages, checkpoints_kept) = (AtomicU64::new(0), Mutex::default());
        Self { clock, shards, log_end_bytes, database_pages, checkpoints_kept }
    }

    /// Adds the shards up. Exact when no timed call is under way.
    pub(in super::super) fn read(&self) -> Totals {
        let mut totals = Totals::default();
        self.shards.iter().for_each(|shard| self.add_shard(&mut totals, shard));
        totals
    }

    /// The part of [`Self::read`] that threads did which count apart from the clients.
    pub(in super::super) fn read_apart(&self) -> Totals {
        let mut totals = Totals::default();
        self.add_shard(&mut totals, &self.shards[APART]);
        totals
    }

    fn add_shard(&self, totals: &mut Totals, shard: &Shard) {
        for (role, cumulatives) in totals.calls.iter_mut().zip(&shard.calls) {
            for (call_totals, cumulative) in role.iter_mut().zip(cumulatives) {
                *call_totals += cumulative.read(&self.clock);
            }
        }
        totals.log_growths += shard.log_growths.read(&self.clock);
        totals.log_frames += shard.log_frames.load(Ordering::Relaxed);
        totals.log_starts += shard.log_starts.load(Ordering::Relaxed);
        totals.pages_allocated += shard.pages_allocated.load(Ordering::Relaxed);
        totals.checkpoints += shard.checkpoints.read(&self.clock);
        totals.checkpoint_pages += shard.checkpoint_pages.load(Ordering::Relaxed);
    }

    /// Length of the log's file, in bytes: frames that a checkpoint has made free included.
    #[cfg(test)]
    pub(in super::super) fn log_size_bytes(&self) -> u64 {
        self.log_end_bytes.load(Ordering::Relaxed).unsigned_abs()
    }

    /// Time before a call.
    #[inline]
    pub(in super::super) fn now(&self) -> Ticks {
        self.clock.now()
    }

    /// Ticks since an earlier reading of [`Self::now`].
    pub(in super::super) fn ticks_since(&self, earlier: Ticks) -> u64 {
        self.clock.since(earlier)
    }

    /// Length of so many ticks, in nanoseconds.
    pub(in super::super) fn nanoseconds(&self, ticks: u64) -> u64 {
        self.clock.nanoseconds(ticks)
    }

    /// Adds a call that began at `began` and has just returned.
    pub(in super::super) fn add(&self, role: Role, call: Call, began: Ticks, bytes: u64) {
        let (ticks, index) = (self.clock.since(began), index());
        self.shard(index).calls[role as usize][call as usize].add(index, ticks, bytes);
    }

    /// Adds a sync, apart when this thread is in a checkpoint.
    pub(super) fn add_sync(&self, role: Role, began: Ticks) {
        let in_checkpoint = THREAD.with(|thread| thread.checkpoint_began.get().is_some());
        self.add(role, if in_checkpoint { Call::CheckpointSync } else { Call::Sync }, began, 0);
    }

    /// Adds a write; `bytes` is 0 when it ended in an error.
    pub(super) fn add_write(&self, role: Role, began: Ticks, offset_bytes: i64, bytes: u64) {
        let (ticks, index) = (self.clock.since(began), index());
        let shard = self.shard(index);
        shard.calls[role as usize][Call::Write as usize].add(index, ticks, bytes);
        match role {
            Role::Log => self.add_log_write(index, ticks, offset_bytes, bytes),
            Role::Database => THREAD.with(|thread| {
                if thread.checkpoint_began.get().is_some() {
                    index.add(&shard.checkpoint_pages, 1);
                    thread.checkpoint_bytes.set(thread.checkpoint_bytes.get() + bytes);
                    thread.checkpoint_pages.set(thread.checkpoint_pages.get() + 1);
                } else if bytes >= PAGE_BYTES_MIN {
                    // Without a write-ahead log pages go where they belong.
                    let pages = (offset_bytes.unsigned_abs() + bytes) / bytes;
                    self.database_has(pages.max(self.database_pages.load(Ordering::Relaxed)));
                }
            }),
            Role::Journal | Role::Temporary => {}
        }
    }

    fn add_log_write(&self, index: ShardIndex, ticks: u64, offset_bytes: i64, bytes: u64) {
        let shard = self.shard(index);
        // No page is that small, so the size of a write tells a header from a page.
        if bytes == FRAME_HEADER_BYTES {
            index.add(&shard.log_frames, 1);
        } else if bytes == LOG_HEADER_BYTES && offset_bytes == 0 {
            index.add(&shard.log_starts, 1);
        }
        let end_bytes = offset_bytes + bytes as i64;
        if bytes > 0 && end_bytes > self.log_end_bytes.load(Ordering::Relaxed) {
            let before_bytes = self.log_end_bytes.fetch_max(end_bytes, Ordering::Relaxed);
            index.add(&shard.log_growths.ticks, ticks);
            index.add(&shard.log_growths.bytes, (end_bytes - before_bytes).max(0) as u64);
            THREAD.with(|thread| thread.log_grew.set(true));
        }
        // The page of a commit's frame ends the transaction: a growth is counted once for each.
        if bytes >= PAGE_BYTES_MIN
            && THREAD.with(|thread| thread.commit_begun.replace(false) && thread.log_grew.replace(false))
        {
            index.add(&shard.log_growths.count, 1);
        }
    }

    /// Takes in the header of a frame: that of a commit says how many pages the database has after it.
    // EVIDENCE: sqlite fileformat2 4.1, bytes 4 to 7 of the frame header
    pub(super) fn add_frame(&self, header: &[u8; FRAME_HEADER_BYTES as usize]) {
        let pages = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
        THREAD.with(|thread| thread.commit_begun.set(pages > 0));
        if pages > 0 {
            self.database_has(u64::from(pages));
        }
    }

    fn database_has(&self, pages: u64) {
        let before = self.database_pages.load(Ordering::Relaxed);
        if pages != before {
            self.database_pages.store(pages, Ordering::Relaxed);
            let index = index();
            index.add(&self.shard(index).pages_allocated, pages.saturating_sub(before));
        }
    }

    /// Notes that a database was found with this length. An empty one is new; of another the pages are those that were
    /// seen so far.
    pub(super) fn database_size_is(&self, size_bytes: i64) {
        if size_bytes == 0 {
            self.database_pages.store(0, Ordering::Relaxed);
        }
    }

    /// Notes that the log was found with this length, or cut to it.
    pub(super) fn log_size_is(&self, size_bytes: i64) {
        self.log_end_bytes.store(size_bytes, Ordering::Relaxed);
    }

    /// Notes that this thread has the checkpoint lock.
    pub(super) fn checkpoint_begins(&self) {
        THREAD.with(|thread| {
            thread.checkpoint_began.set(Some((Instant::now(), self.now())));
            thread.checkpoint_bytes.set(0);
            thread.checkpoint_pages.set(0);
        });
    }

    /// Notes that this thread gave the checkpoint lock back. One that had nothing to copy does not count.
    pub(super) fn checkpoint_ends(&self) {
        THREAD.with(|thread| {
            let (bytes, pages) = (thread.checkpoint_bytes.replace(0), thread.checkpoint_pages.replace(0));
            let began = thread.checkpoint_began.take().filter(|_| pages > 0);
            let Some((began, began_ticks)) = began else { return };
            let (ended, index) = (Instant::now(), index());
            let ticks = self.clock.since(began_ticks);
            self.shard(index).checkpoints.add(index, ticks, bytes);
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

    fn shard(&self, index: ShardIndex) -> &Shard {
        &self.shards[index.0]
    }
}
