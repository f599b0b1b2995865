//! A backend that fails on purpose, so that what stands above it can be tested.

use std::fs::File;
use std::io;
use std::sync::Arc;

use super::{Backend, BackendFacts, Completion, Operation, Request};

/// What goes wrong with one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Only the first bytes are transferred, and the completion says so.
    Short {
        /// How many, at most. For direct writes a multiple of the alignment.
        bytes: usize,
    },
    /// Nothing is transferred and the completion has this error number, such as `EIO` or `ENOSPC`.
    Error {
        /// The error number.
        errno: i32,
    },
    /// Only the first bytes are transferred, and the completion claims all. What a read did not get is zero.
    Torn {
        /// How many. For direct writes a multiple of the alignment.
        bytes: usize,
    },
    /// The transfer goes to another place of the file, and the completion claims success.
    Misplaced {
        /// Where.
        offset_bytes: u64,
    },
}

/// Decides for the request with a running number, from 0, what goes wrong with it.
pub type FaultPlan = Box<dyn FnMut(u64, &Request) -> Option<Fault>>;

/// A backend behind which another one does the work, except where the plan says otherwise.
pub struct FaultyBackend {
    inner: Box<dyn Backend>,
    plan: FaultPlan,
    started_count: u64,
    /// For each slot: what the completion of the request under way has to be changed to.
    changes: Vec<Option<Change>>,
    /// Requests that end without having reached the inner backend.
    refused: Vec<Completion>,
}

#[derive(Clone, Copy, Debug)]
struct Change {
    is_read: bool,
    kept_bytes: usize,
    claimed_bytes: usize,
}

impl FaultyBackend {
    /// Puts `plan` before `inner`.
    pub fn new(inner: Box<dyn Backend>, plan: FaultPlan) -> Self {
        let changes = vec![None; inner.depth()];
        FaultyBackend { inner, plan, started_count: 0, changes, refused: Vec::new() }
    }

    /// Starts a request of which only the first `kept_bytes` count, and of which `claimed_bytes` are claimed.
    fn start_cut(&mut self, request: Request, kept_bytes: usize, claimed_bytes: usize) {
        let kept_bytes = kept_bytes.min(request.length_bytes);
        let is_read = request.operation == Operation::Read;
        self.changes[request.slot] = Some(Change { is_read, kept_bytes, claimed_bytes });
        // A read is made whole and cut afterwards: a shorter one might not be aligned.
        let length_bytes = if is_read { request.length_bytes } else { kept_bytes };
        self.inner.start(Request { length_bytes, ..request });
    }
}

impl Backend for FaultyBackend {
    fn facts(&self) -> BackendFacts {
        let facts = self.inner.facts();
        BackendFacts { engine: format!("{} with faults", facts.engine), ..facts }
    }

    fn depth(&self) -> usize {
        self.inner.depth()
    }

    fn ready_slots(&self) -> usize {
        self.inner.ready_slots()
    }

    fn in_flight(&self) -> usize {
        self.inner.in_flight() + self.refused.len()
    }

    fn set_file(&mut self, file_index: usize, file: Arc<File>) -> io::Result<()> {
        self.inner.set_file(file_index, file)
    }

    fn start(&mut self, request: Request) {
        let fault = (self.plan)(self.started_count, &request);
        self.started_count += 1;
        match fault {
            None => self.inner.start(request),
            Some(Fault::Error { errno }) => {
                let outcome = Err(io::Error::from_raw_os_error(errno));
                self.refused.push(Completion { slot: request.slot, outcome });
            }
            Some(Fault::Misplaced { offset_bytes }) => self.inner.start(Request { offset_bytes, ..request }),
            Some(Fault::Short { bytes }) => self.start_cut(request, bytes, bytes),
            Some(Fault::Torn { bytes }) => self.start_cut(request, bytes, request.length_bytes),
        }
    }

    fn submit(&mut self) -> io::Result<()> {
        self.inner.submit()
    }

    fn wait(&mut self, completions: &mut Vec<Completion>) -> io::Result<()> {
        if !self.refused.is_empty() {
            completions.append(&mut self.refused);
            return Ok(());
        }
        let first = completions.len();
        self.inner.wait(completions)?;
        for completion in &mut completions[first..] {
            let Some(change) = self.changes[completion.slot].take() else { continue };
            let Ok(bytes) = &mut completion.outcome else { continue };
            if change.is_read {
                let lost = self.inner.buffer_mut(completion.slot).get_mut(change.kept_bytes..*bytes);
                lost.unwrap_or_default().fill(0);
                *bytes = change.claimed_bytes.min(*bytes);
            } else if *bytes == change.kept_bytes {
                *bytes = change.claimed_bytes.max(*bytes);
            }
        }
        Ok(())
    }

    fn buffer(&self, slot: usize) -> &[u8] {
        self.inner.buffer(slot)
    }

    fn buffer_mut(&mut self, slot: usize) -> &mut [u8] {
        self.inner.buffer_mut(slot)
    }
}
