//! The memory of a queue: all of it there from the start, or growing while the queue is used already.
//!
//! On a virtual machine memory that the host has to find first comes at 0.3 to 1 GB/s: making 8 MiB costs as much time
//! as reading 30. A queue that grows begins with the first part; a thread of its own faults in the rest meanwhile.
//! When it is dropped, the memory is kept for the next queue of the process.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::buffer::{AlignedBuffer, HUGE_PAGE_BYTES};

/// The most memory that is kept for later, in bytes.
const KEPT_BYTES_MAX: usize = 32 << 20;

/// Memory that waits for the next queue, the latest last.
static KEPT: Mutex<Vec<Growing>> = Mutex::new(Vec::new());

/// The memory of one queue.
pub(super) enum QueueMemory {
    /// All in memory.
    Whole(AlignedBuffer),
    /// In memory from its start up to a point that moves. `None` only while it is dropped.
    Growing(Option<Growing>),
}

/// Memory that a thread is faulting in, or has.
#[derive(Clone, Debug)]
pub(super) struct Growing {
    buffer: Arc<AlignedBuffer>,
    ready_bytes: Arc<AtomicUsize>,
    /// Held while a part is faulted in, so that no part is once it is ready: from then on it belongs to its user.
    faulting: Arc<Mutex<()>>,
}

impl QueueMemory {
    /// Takes `length_bytes`; when it grows, at least the first `first_bytes` are ready.
    ///
    /// # Errors
    /// When there is no memory.
    pub(super) fn new(length_bytes: usize, first_bytes: usize, grows: bool) -> io::Result<Self> {
        if !grows {
            return AlignedBuffer::on_huge_pages(length_bytes).map(QueueMemory::Whole);
        }
        let fits = |kept: &Growing| kept.buffer.length_bytes() == length_bytes;
        let kept = {
            let mut all = kept();
            all.iter().rposition(fits).map(|position| all.remove(position))
        };
        let growing = match kept {
            Some(growing) => growing,
            None => Growing::new(length_bytes)?,
        };
        growing.demand(first_bytes)?;
        Ok(QueueMemory::Growing(Some(growing)))
    }

    pub(super) fn buffer(&self) -> &AlignedBuffer {
        match self {
            QueueMemory::Whole(buffer) => buffer,
            QueueMemory::Growing(growing) => &growing.as_ref().expect("it goes only when dropped").buffer,
        }
    }

    /// The bytes from the start that are in memory.
    pub(super) fn ready_bytes(&self) -> usize {
        match self {
            QueueMemory::Whole(buffer) => buffer.length_bytes(),
            QueueMemory::Growing(growing) => growing.as_ref().map_or(0, Growing::ready_bytes),
        }
    }
}

impl Drop for QueueMemory {
    fn drop(&mut self) {
        if let QueueMemory::Growing(growing) = self
            && let Some(growing) = growing.take()
        {
            keep(growing);
        }
    }
}

/// Begins to fault in the memory of `queue_count` queues of `length_bytes`, for queues that will be made soon. That
/// there is none will be said when they are.
pub(super) fn prepare(queue_count: usize, length_bytes: usize) {
    let room_count = KEPT_BYTES_MAX / length_bytes.max(1);
    // A statement of its own: the list must be free again when something is kept.
    let kept_count = kept().iter().filter(|kept| kept.buffer.length_bytes() == length_bytes).count();
    for _ in kept_count..queue_count.min(room_count) {
        match Growing::new(length_bytes) {
            Ok(growing) => keep(growing),
            Err(_) => return,
        }
    }
}

fn keep(growing: Growing) {
    let mut all = kept();
    all.push(growing);
    let mut bytes: usize = all.iter().map(|kept| kept.buffer.length_bytes()).sum();
    while bytes > KEPT_BYTES_MAX {
        bytes -= all.remove(0).buffer.length_bytes();
    }
}

/// The list stays whole between two statements, so a panic elsewhere does not spoil it.
fn kept() -> MutexGuard<'static, Vec<Growing>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Growing {
    /// Reserves memory and lets a thread fault it in; where there is no thread, it is faulted in here.
    fn new(length_bytes: usize) -> io::Result<Self> {
        let buffer = AlignedBuffer::reserve_on_huge_pages(length_bytes)?;
        let growing =
            Growing { buffer: Arc::new(buffer), ready_bytes: Arc::default(), faulting: Arc::default() };
        let worker = growing.clone();
        let started = thread::Builder::new().name("memory".to_owned()).spawn(move || worker.grow());
        if started.is_err() {
            growing.demand(length_bytes)?;
        }
        Ok(growing)
    }

    fn ready_bytes(&self) -> usize {
        // Pairs with the release in `grow_to`: what is ready is in memory for whoever reads this.
        self.ready_bytes.load(Ordering::Acquire)
    }

    /// Faults in what is not there, part by part, until nobody else wants the memory. Where that is refused the
    /// queue stays as short as it is.
    fn grow(self) {
        while !self.next_part().is_empty()
            && Arc::strong_count(&self.buffer) > 1
            && self.grow_by_part().is_ok()
        {}
    }

    /// Faults in at least the first `first_bytes`.
    fn demand(&self, first_bytes: usize) -> io::Result<()> {
        while self.ready_bytes() < first_bytes {
            self.grow_by_part()?;
        }
        Ok(())
    }

    fn next_part(&self) -> Range<usize> {
        let start = self.ready_bytes();
        start..(start + HUGE_PAGE_BYTES).min(self.buffer.length_bytes())
    }

    /// Faults in the part behind what is ready. Where the kernel has no advice for it each page is touched: that
    /// would race with the user of a part that another thread has made ready meanwhile, hence the lock.
    fn grow_by_part(&self) -> io::Result<()> {
        let _faulting = self.faulting.lock().unwrap_or_else(PoisonError::into_inner);
        let part = self.next_part();
        if part.is_empty() {
            return Ok(());
        }
        self.buffer.fault_in(part.clone())?;
        self.ready_bytes.store(part.end, Ordering::Release);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn memory_grows_to_its_end_and_begins_with_what_was_demanded() {
        let length_bytes = 3 * HUGE_PAGE_BYTES + 12345;
        let memory = QueueMemory::new(length_bytes, HUGE_PAGE_BYTES + 1, true).unwrap();
        assert!(memory.ready_bytes() > HUGE_PAGE_BYTES);
        let memory = QueueMemory::new(length_bytes, length_bytes, true).unwrap();
        assert_eq!(memory.ready_bytes(), length_bytes);
    }

    #[test]
    fn memory_that_is_kept_stays_within_its_bound() {
        // Miri touches a page at a time.
        let factors = if cfg!(miri) { 17..20 } else { 1..20 };
        for factor in factors {
            drop(QueueMemory::new(factor << 20, 1, true).unwrap());
        }
        let bytes: usize = kept().iter().map(|kept| kept.buffer.length_bytes()).sum();
        assert!(bytes <= KEPT_BYTES_MAX, "{bytes}");
        prepare(1000, 1 << 20);
        let bytes: usize = kept().iter().map(|kept| kept.buffer.length_bytes()).sum();
        assert!(bytes <= KEPT_BYTES_MAX, "{bytes}");
    }

    #[test]
    fn memory_of_a_length_that_cannot_be_is_an_error() {
        assert!(QueueMemory::new(0, 0, true).is_err());
        assert!(QueueMemory::new(usize::MAX, 1, true).is_err());
    }
}
