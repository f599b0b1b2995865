//! One worker: claims extents, keeps its queue full, and shows what arrives.

mod pieces;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::extent::{Content, Extent};
use super::governor::Governor;
use super::options::{MakeBackend, ScanOptions};
use super::order::{Claim, ExtentOrder};
use super::queue::queue_options;
use super::source::Sources;
use super::totals::Totals;
use crate::backend::{Backend, BackendError, BackendOptions, Completion, Operation, Request};
use crate::buffer::BUFFER_ALIGNMENT_BYTES;
use crate::counters::thread_cpu_ns;
use crate::file::OpenFile;

/// The longest sleep of a worker that has to wait for the governor, so that a stop is noticed.
const SLEEP_MAX: Duration = Duration::from_millis(100);

/// What all workers share.
pub(super) struct Shared<'a> {
    sources: &'a Sources,
    order: &'a ExtentOrder,
    options: &'a ScanOptions,
    buffer_bytes: usize,
    governor: Arc<Governor>,
    next_number: AtomicU64,
    broken: AtomicBool,
}

impl<'a> Shared<'a> {
    pub(super) fn new(sources: &'a Sources, order: &'a ExtentOrder, options: &'a ScanOptions) -> Self {
        let unit = BUFFER_ALIGNMENT_BYTES as u64;
        let is_aligned = sources.ranges().iter().all(|range| range.start.is_multiple_of(unit));
        // A read that begins between two blocks has to fetch what lies before.
        let slack_bytes = if is_aligned { 0 } else { BUFFER_ALIGNMENT_BYTES };
        Shared {
            sources,
            order,
            options,
            buffer_bytes: options.extent_bytes + slack_bytes,
            governor: options
                .governor
                .clone()
                .unwrap_or_else(|| Arc::new(Governor::new(options.rate_bytes_per_s_max))),
            next_number: AtomicU64::new(0),
            broken: AtomicBool::new(false),
        }
    }

    /// Ends the scan early.
    pub(super) fn stop(&self) {
        self.broken.store(true, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        let asked = self.options.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
        asked || self.broken.load(Ordering::Relaxed)
    }

    fn claim(&self) -> Next {
        if self.is_stopped() || self.next_number.load(Ordering::Relaxed) >= self.order.extent_count() {
            return Next::Nothing;
        }
        if let Err(wait) = self.governor.reserve(self.options.extent_bytes) {
            return Next::NotBefore(wait);
        }
        // The only thing that workers compete for. Nothing else is published through it: relaxed suffices.
        match self.order.claim(self.next_number.fetch_add(1, Ordering::Relaxed)) {
            Some(claim) => {
                // Small files, and the ends of others: the limit is on bytes, not on claims.
                self.governor.give_back(self.options.extent_bytes.saturating_sub(claim.length_bytes));
                Next::Claim(claim)
            }
            None => Next::Nothing,
        }
    }
}

enum Next {
    Claim(Claim),
    NotBefore(Duration),
    Nothing,
}

/// One extent under way.
struct UnderWay {
    claim: Claim,
    open: Arc<OpenFile>,
}

impl UnderWay {
    /// Where a read begins that contains the byte `skip_bytes` behind the start of the claim, how many bytes before
    /// that come with it, and how long it is when it shall contain `length_bytes` from there.
    fn aligned(&self, skip_bytes: usize, length_bytes: usize) -> (u64, usize, usize) {
        let alignment_bytes = self.open.alignment_bytes;
        let wanted_bytes = self.claim.offset_bytes + skip_bytes as u64;
        let before_bytes = (wanted_bytes % alignment_bytes as u64) as usize;
        let whole_bytes = (before_bytes + length_bytes).next_multiple_of(alignment_bytes);
        (wanted_bytes - before_bytes as u64, before_bytes, whole_bytes)
    }
}

/// One worker with its queue. Lives on one thread.
pub(super) struct Worker<'a> {
    shared: &'a Shared<'a>,
    backend: Box<dyn Backend>,
    under_way: Vec<Option<UnderWay>>,
    /// The file that the backend has for each slot.
    set: Vec<Option<Arc<OpenFile>>>,
    free: Vec<usize>,
    completions: Vec<Completion>,
    totals: Totals,
    cpu_ns_before: u64,
}

impl<'a> Worker<'a> {
    pub(super) fn new(shared: &'a Shared<'a>, make_backend: MakeBackend<'_>) -> Result<Self, BackendError> {
        let cpu_ns_before = thread_cpu_ns();
        let extent_count = usize::try_from(shared.order.extent_count()).unwrap_or(usize::MAX);
        let queue = queue_options(shared.options.depth, shared.buffer_bytes, extent_count);
        let queue = BackendOptions { no_uring_reason: shared.sources.no_uring_reason(), ..queue };
        let slot_count = queue.depth;
        let backend = make_backend(&queue).inspect_err(|_| shared.stop())?;
        let totals = Totals { backend: Some(backend.facts()), ..Totals::default() };
        Ok(Worker {
            shared,
            backend,
            under_way: (0..slot_count).map(|_| None).collect(),
            set: vec![None; slot_count],
            free: (0..slot_count).rev().collect(),
            completions: Vec::with_capacity(slot_count),
            totals,
            cpu_ns_before,
        })
    }

    /// Works until nothing is left or the scan is stopped.
    pub(super) fn run(&mut self, visit: &mut dyn FnMut(Extent<'_>)) -> io::Result<()> {
        loop {
            let wait = self.fill_queue(visit)?;
            if self.backend.in_flight() > 0 {
                self.backend.wait(&mut self.completions)?;
                // Not drained: a piece that is read again adds to the list what ends meanwhile.
                while !self.completions.is_empty() {
                    // The device gets its next read before the next extent is looked at, the first time into a spare
                    // buffer: hosts of virtual disks report many reads at once, and would have nothing to do.
                    self.fill_queue(visit)?;
                    self.backend.submit()?;
                    let completion = self.completions.remove(0);
                    self.complete(completion, visit)?;
                }
            } else {
                match wait {
                    Some(wait) => {
                        let asleep_since = Instant::now();
                        thread::sleep(wait.min(SLEEP_MAX));
                        self.waited_since(asleep_since);
                    }
                    None => return Ok(()),
                }
            }
        }
    }

    /// The sums of this worker.
    pub(super) fn finish(mut self) -> Totals {
        // The buffers go first: giving them back takes processor time too.
        drop(self.backend);
        self.totals.cpu_ns = thread_cpu_ns().saturating_sub(self.cpu_ns_before);
        self.totals
    }

    /// Starts reads until as many as wanted are under way. Tells how long to wait when the governor holds it back.
    fn fill_queue(&mut self, visit: &mut dyn FnMut(Extent<'_>)) -> io::Result<Option<Duration>> {
        while self.backend.in_flight() < self.shared.options.depth {
            let Some(slot) = self.free.pop() else { break };
            // Those whose memory is still on its way have lain at the bottom since the start, the first one on top.
            if slot >= self.backend.ready_slots() {
                self.free.push(slot);
                return Ok(None);
            }
            let asked_at = Instant::now();
            let next = self.shared.claim();
            self.waited_since(asked_at);
            let claim = match next {
                Next::Claim(claim) => claim,
                next => {
                    self.free.push(slot);
                    return Ok(match next {
                        Next::NotBefore(wait) => Some(wait),
                        _ => None,
                    });
                }
            };
            match self.shared.sources.open(claim.file_index) {
                Ok(open) => self.start(slot, UnderWay { claim, open })?,
                Err(error) => {
                    self.free.push(slot);
                    self.unreadable(&claim, 0..claim.length_bytes, &error, visit);
                    self.done(&claim);
                }
            }
        }
        Ok(None)
    }

    fn waited_since(&mut self, start: Instant) {
        self.totals.claim_wait_ns += u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    }

    fn start(&mut self, slot: usize, under_way: UnderWay) -> io::Result<()> {
        let is_set = self.set[slot].as_ref().is_some_and(|set| Arc::ptr_eq(set, &under_way.open));
        if !is_set {
            self.backend.set_file(slot, Arc::clone(&under_way.open.file))?;
            self.set[slot] = Some(Arc::clone(&under_way.open));
        }
        let (offset_bytes, _, length_bytes) = under_way.aligned(0, under_way.claim.length_bytes);
        self.under_way[slot] = Some(under_way);
        self.backend.start(read(slot, offset_bytes, length_bytes));
        Ok(())
    }

    fn complete(&mut self, completion: Completion, visit: &mut dyn FnMut(Extent<'_>)) -> io::Result<()> {
        let slot = completion.slot;
        let under_way = self.under_way[slot].take().expect("a completion has its extent");
        let claim = under_way.claim;
        let (_, before_bytes, _) = under_way.aligned(0, claim.length_bytes);
        let whole = before_bytes..before_bytes + claim.length_bytes;
        match completion.outcome {
            Ok(bytes) if bytes >= whole.end => {
                self.totals.counts(claim.file_index).read_bytes += claim.length_bytes as u64;
                let bytes = &self.backend.buffer(slot)[whole];
                self.delivered(&under_way, claim.offset_bytes, bytes);
                let content = Content::Bytes(bytes);
                visit(Extent { file_index: claim.file_index, offset_bytes: claim.offset_bytes, content });
            }
            // Short or not at all: once more, piece by piece.
            _ => self.read_in_pieces(slot, &under_way, visit)?,
        }
        self.done(&claim);
        self.free.push(slot);
        Ok(())
    }

    /// Shows the bytes collected before `end`, if there are any.
    fn readable(
        &mut self,
        under_way: &UnderWay,
        end: usize,
        bytes: &mut Vec<u8>,
        visit: &mut dyn FnMut(Extent<'_>),
    ) {
        let claim = &under_way.claim;
        if !bytes.is_empty() {
            self.totals.counts(claim.file_index).read_bytes += bytes.len() as u64;
            let offset_bytes = claim.offset_bytes + (end - bytes.len()) as u64;
            self.delivered(under_way, offset_bytes, bytes);
            visit(Extent { file_index: claim.file_index, offset_bytes, content: Content::Bytes(bytes) });
            bytes.clear();
        }
    }

    fn unreadable(
        &mut self,
        claim: &Claim,
        part: std::ops::Range<usize>,
        error: &io::Error,
        visit: &mut dyn FnMut(Extent<'_>),
    ) {
        let length_bytes = part.len() as u64;
        self.totals.counts(claim.file_index).unreadable_bytes += length_bytes;
        let offset_bytes = claim.offset_bytes + part.start as u64;
        self.shared.sources.failed(claim.file_index, offset_bytes, length_bytes, error);
        let content = Content::Unreadable { length_bytes, error };
        visit(Extent { file_index: claim.file_index, offset_bytes, content });
    }

    fn delivered(&self, under_way: &UnderWay, offset_bytes: u64, bytes: &[u8]) {
        let page_bytes = self.shared.options.retry_bytes;
        self.shared.sources.delivered(&under_way.open, page_bytes, offset_bytes, bytes);
    }

    fn done(&self, claim: &Claim) {
        let extent_count = self.shared.order.extent_count_of(claim.file_index);
        self.shared.sources.extent_done(claim.file_index, extent_count);
        if let Some(progress_bytes) = &self.shared.options.progress_bytes {
            progress_bytes.fetch_add(claim.length_bytes as u64, Ordering::Relaxed);
        }
    }
}

fn read(slot: usize, offset_bytes: u64, length_bytes: usize) -> Request {
    // The file has the index of the slot.
    Request { slot, operation: Operation::Read, file_index: slot, offset_bytes, length_bytes }
}
