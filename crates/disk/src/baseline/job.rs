//! One job of a row: a full queue, refilled as transfers end, counted by windows of time.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use super::stream::Stream;
use super::window::{ShortTransfers, Window};
use crate::backend::{
    Backend, BackendChoice, BackendError, BackendFacts, BackendOptions, Completion, Operation, Request,
    open_backend,
};
use crate::buffer::fill_incompressible;

/// Every so many bytes of a written buffer get a stamp of their own, so that no device finds a block twice.
const STAMP_BYTES: usize = 4096;

/// So many requests are handed over at once. One system call for a whole batch is cheapest, but a device that serves
/// a batch before it reports any of it (virtio disks whose host works through the queue in one go) then rests while
/// the next batch is made, and gives a fifth less; with one call for each request the calls cost a third more.
const HAND_OVER_COUNT: usize = 4;

/// What a job does.
#[derive(Clone, Debug)]
pub(super) struct JobPlan {
    pub(super) file: Arc<File>,
    pub(super) stream: Stream,
    pub(super) transfer_bytes: usize,
    pub(super) outstanding: usize,
    pub(super) writes: bool,
    pub(super) choice: BackendChoice,
    pub(super) poll: bool,
    /// What ends before this is not counted.
    pub(super) ramp_ns: u64,
    pub(super) window_ns: u64,
    pub(super) window_count: usize,
    /// After so many transfers the job ends, whatever the time (`number_ios`).
    pub(super) transfers_max: u64,
}

/// Why a job ended before its time.
#[derive(Debug)]
pub(super) enum JobError {
    Backend(BackendError),
    Transfer { operation: Operation, offset_bytes: u64, source: io::Error },
    Queue(io::Error),
}

/// A job that is ready to start.
pub(super) struct Job {
    plan: JobPlan,
    backend: Box<dyn Backend>,
    slots: Vec<SlotTransfer>,
    written_count: u64,
}

#[derive(Clone, Copy, Debug)]
struct SlotTransfer {
    operation: Operation,
    offset_bytes: u64,
    started_ns: u64,
}

impl Job {
    /// Makes queue and buffers. With polling it first tries one read, and waits for interrupts when that is refused.
    pub(super) fn new(plan: JobPlan, job_seed: u64) -> Result<Self, JobError> {
        let options = BackendOptions {
            depth: plan.outstanding,
            buffer_bytes: plan.transfer_bytes,
            file_count_max: 1,
            register_files: true,
            poll: plan.poll,
            grows: false,
            no_uring_reason: None,
        };
        let mut backend = open_backend(plan.choice, &options).map_err(JobError::Backend)?;
        backend.set_file(0, Arc::clone(&plan.file)).map_err(JobError::Queue)?;
        if plan.poll && !reads_one(backend.as_mut(), plan.transfer_bytes) {
            let options = BackendOptions { poll: false, ..options };
            backend = open_backend(plan.choice, &options).map_err(JobError::Backend)?;
            backend.set_file(0, Arc::clone(&plan.file)).map_err(JobError::Queue)?;
        }
        Ok(Job::with_backend(plan, backend, job_seed))
    }

    fn with_backend(plan: JobPlan, mut backend: Box<dyn Backend>, job_seed: u64) -> Self {
        if plan.writes {
            let slot_seed = |slot: usize| job_seed.wrapping_add(slot as u64).wrapping_mul(2).wrapping_add(1);
            (0..plan.outstanding)
                .for_each(|slot| fill_incompressible(backend.buffer_mut(slot), slot_seed(slot)));
        }
        let empty = SlotTransfer { operation: Operation::Read, offset_bytes: 0, started_ns: 0 };
        let slots = vec![empty; plan.outstanding];
        Job { plan, backend, slots, written_count: 0 }
    }

    pub(super) fn facts(&self) -> BackendFacts {
        self.backend.facts()
    }

    /// Runs from `start` for all windows; what ends later is waited for and not counted.
    pub(super) fn run(mut self, start: Instant) -> Result<Vec<Window>, JobError> {
        let mut windows: Vec<Window> = (0..self.plan.window_count).map(|_| Window::new()).collect();
        let JobPlan { ramp_ns, window_ns, .. } = self.plan;
        let end_ns = ramp_ns.saturating_add(window_ns * self.plan.window_count as u64);
        let now_ns = || u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let mut fresh: Vec<usize> = Vec::with_capacity(HAND_OVER_COUNT);
        let mut started_count = 0;
        for slot in 0..self.plan.outstanding {
            started_count += 1;
            self.start_next(slot, &mut fresh, &now_ns)?;
        }
        let mut completions: Vec<Completion> = Vec::with_capacity(self.plan.outstanding);
        while self.backend.in_flight() > 0 {
            self.stamp_fresh(&mut fresh, &now_ns);
            self.backend.wait(&mut completions).map_err(JobError::Queue)?;
            while !completions.is_empty() {
                // A completion counts as seen when its turn comes: what it waited in the queue behind others is part
                // of its latency, as it is for any program that takes them one after the other.
                let ended_ns = now_ns();
                let measured_ns = ended_ns.checked_sub(ramp_ns);
                let mut window = measured_ns.and_then(|ns| windows.get_mut((ns / window_ns) as usize));
                let group_count = completions.len().min(HAND_OVER_COUNT);
                for completion in completions.drain(..group_count) {
                    let slot = completion.slot;
                    let bytes = self.outcome(completion)?;
                    if let Some(window) = &mut window {
                        self.record(window, slot, bytes, ended_ns);
                    }
                    if ended_ns < end_ns && started_count < self.plan.transfers_max {
                        started_count += 1;
                        self.start_next(slot, &mut fresh, &now_ns)?;
                    }
                }
            }
        }
        Ok(windows)
    }

    /// What moved fewer bytes than asked for is no transfer: at the end of a file any number of them takes no time.
    fn record(&self, window: &mut Window, slot: usize, moved_bytes: usize, ended_ns: u64) {
        let SlotTransfer { operation, offset_bytes, started_ns } = self.slots[slot];
        if moved_bytes == self.plan.transfer_bytes {
            window.record(moved_bytes, ended_ns.saturating_sub(started_ns));
        } else {
            let moved_bytes = moved_bytes as u64;
            window.record_short(ShortTransfers { count: 1, operation, offset_bytes, moved_bytes });
        }
    }

    fn outcome(&self, completion: Completion) -> Result<usize, JobError> {
        let SlotTransfer { operation, offset_bytes, .. } = self.slots[completion.slot];
        completion.outcome.map_err(|source| JobError::Transfer { operation, offset_bytes, source })
    }

    /// Latency begins right before requests are handed over, and not when their slots became free: what lies between
    /// is time of ours, and Little's law shows it.
    fn stamp_fresh(&mut self, fresh: &mut Vec<usize>, now_ns: &impl Fn() -> u64) {
        let handed_over_ns = now_ns();
        fresh.drain(..).for_each(|slot| self.slots[slot].started_ns = handed_over_ns);
    }

    fn start_next(
        &mut self,
        slot: usize,
        fresh: &mut Vec<usize>,
        now_ns: &impl Fn() -> u64,
    ) -> Result<(), JobError> {
        let (operation, offset_bytes) = self.plan.stream.draw();
        if operation == Operation::Write {
            self.written_count += 1;
            stamp(self.backend.buffer_mut(slot), self.written_count);
        }
        self.slots[slot] = SlotTransfer { operation, offset_bytes, started_ns: 0 };
        let length_bytes = self.plan.transfer_bytes;
        self.backend.start(Request { slot, operation, file_index: 0, offset_bytes, length_bytes });
        fresh.push(slot);
        if fresh.len() == HAND_OVER_COUNT {
            self.stamp_fresh(fresh, now_ns);
            self.backend.submit().map_err(JobError::Queue)?;
        }
        Ok(())
    }
}

/// Makes each block of a buffer different from all written before.
pub(super) fn stamp(buffer: &mut [u8], number: u64) {
    for block in buffer.chunks_mut(STAMP_BYTES) {
        if let Some(place) = block.first_chunk_mut::<8>() {
            *place = number.to_le_bytes();
        }
    }
}

/// Says whether the queue can read from the start of the file at all.
fn reads_one(backend: &mut dyn Backend, length_bytes: usize) -> bool {
    backend.start(Request {
        slot: 0,
        operation: Operation::Read,
        file_index: 0,
        offset_bytes: 0,
        length_bytes,
    });
    let mut completions = Vec::new();
    let waited = backend.wait(&mut completions);
    waited.is_ok() && completions.iter().all(|completion| completion.outcome.is_ok())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::backend::{Fault, FaultyBackend};
    use crate::baseline::Pattern;
    use crate::file::{Access, OpenFile};

    const SIZE_BYTES: usize = 1 << 20;

    fn plan(file: &tempfile::NamedTempFile, pattern: Pattern) -> JobPlan {
        std::fs::write(file.path(), vec![1; SIZE_BYTES]).unwrap();
        let open = OpenFile::open(file.path(), Access::ReadWrite, true).unwrap();
        JobPlan {
            file: open.file,
            stream: Stream::new(&pattern, 0, SIZE_BYTES as u64, 1).unwrap(),
            transfer_bytes: pattern.transfer_bytes as usize,
            outstanding: pattern.outstanding as usize,
            writes: pattern.writes(),
            choice: BackendChoice::Auto,
            poll: false,
            // No clock ends these jobs, so that a busy machine changes nothing.
            ramp_ns: 0,
            window_ns: 3_600_000_000_000,
            window_count: 1,
            transfers_max: 64,
        }
    }

    fn faulty_job(plan: JobPlan, fault: impl Fn(u64) -> Option<Fault> + 'static) -> Job {
        let options = BackendOptions {
            depth: plan.outstanding,
            buffer_bytes: plan.transfer_bytes,
            file_count_max: 1,
            register_files: false,
            poll: false,
            grows: false,
            no_uring_reason: None,
        };
        let mut inner = open_backend(plan.choice, &options).unwrap();
        inner.set_file(0, Arc::clone(&plan.file)).unwrap();
        Job::with_backend(
            plan,
            Box::new(FaultyBackend::new(inner, Box::new(move |serial, _| fault(serial)))),
            1,
        )
    }

    fn sum(windows: &[Window]) -> Window {
        let mut sum = Window::new();
        windows.iter().for_each(|window| sum.merge(window));
        sum
    }

    #[test]
    fn asking_for_polling_works_whether_the_device_can_or_not() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let plan = JobPlan { poll: true, ..plan(&file, Pattern::read(4096, 100, 4)) };
        let sum = sum(&Job::new(plan, 1).unwrap().run(Instant::now()).unwrap());
        assert_eq!((sum.latencies.count, sum.transferred_bytes), (64, 64 * 4096));
    }

    #[test]
    fn short_transfers_are_counted_apart_and_the_first_is_named() {
        for (pattern, operation, bytes) in [
            (Pattern::read(4096, 0, 1), Operation::Read, 512),
            (Pattern::read(4096, 0, 1), Operation::Read, 0),
            (Pattern::write(4096, 0, 1), Operation::Write, 512),
        ] {
            let file = tempfile::NamedTempFile::new().unwrap();
            let plan = plan(&file, pattern);
            let job = faulty_job(plan, move |serial| (serial % 2 == 1).then_some(Fault::Short { bytes }));
            let sum = sum(&job.run(Instant::now()).unwrap());
            assert_eq!((sum.latencies.count, sum.transferred_bytes), (32, 32 * 4096));
            let moved_bytes = bytes as u64;
            let short = ShortTransfers { count: 32, operation, offset_bytes: 4096, moved_bytes };
            assert_eq!(sum.short, Some(short));
        }
    }

    #[test]
    fn reads_behind_the_end_of_a_file_that_was_cut_are_no_transfers() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let plan = plan(&file, Pattern::read(4096, 0, 2));
        file.as_file().set_len(0).unwrap();
        let sum = sum(&Job::new(plan, 1).unwrap().run(Instant::now()).unwrap());
        assert_eq!((sum.latencies.count, sum.transferred_bytes), (0, 0));
        let short = sum.short.unwrap();
        assert_eq!((short.count, short.moved_bytes), (64, 0));
    }

    #[test]
    fn an_error_ends_the_job_and_names_its_place() {
        for (pattern, errno) in
            [(Pattern::read(4096, 0, 1), libc::EIO), (Pattern::write(4096, 0, 1), libc::ENOSPC)]
        {
            let file = tempfile::NamedTempFile::new().unwrap();
            let job = faulty_job(plan(&file, pattern), move |serial| {
                (serial == 3).then_some(Fault::Error { errno })
            });
            let Err(JobError::Transfer { operation, offset_bytes, source }) = job.run(Instant::now()) else {
                panic!("the error was lost");
            };
            assert_eq!((offset_bytes, source.raw_os_error()), (3 * 4096, Some(errno)));
            assert_eq!(operation == Operation::Write, pattern.writes());
        }
    }

    #[test]
    fn no_two_blocks_that_are_written_are_equal() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let plan = plan(&file, Pattern::write(8192, 0, 4));
        Job::new(plan, 1).unwrap().run(Instant::now()).unwrap();
        let content = std::fs::read(file.path()).unwrap();
        let mut blocks: Vec<&[u8]> =
            content.chunks(4096).filter(|block| block.iter().any(|&byte| byte != 1)).collect();
        let count = blocks.len();
        assert_eq!(count, 128);
        blocks.sort_unstable();
        blocks.dedup();
        assert_eq!(blocks.len(), count);
    }
}
