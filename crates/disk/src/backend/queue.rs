//! A number of transfers under way at the same time: the trait, and what goes in and comes out.

use std::fs::File;
use std::io;
use std::sync::Arc;

use super::shape::BackendFacts;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Fills the buffer of the slot from the file.
    Read,
    /// Writes the buffer of the slot to the file.
    Write,
    /// Makes what was written durable (fdatasync(2)); offset and length are ignored.
    FlushData,
}

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The slot, below `depth`; nothing may be under way in it.
    pub slot: usize,
    /// What to do.
    pub operation: Operation,
    /// The file, by the index under which it was set.
    pub file_index: usize,
    /// Where in the file.
    pub offset_bytes: u64,
    /// How much; at most the size of a buffer.
    pub length_bytes: usize,
}

/// The end of one request.
#[derive(Debug)]
pub struct Completion {
    /// The slot, free again.
    pub slot: usize,
    /// The bytes transferred, which can be fewer than asked for, or why there are none.
    pub outcome: io::Result<usize>,
}

/// A number of transfers under way at the same time. To be used on the thread that made it.
pub trait Backend {
    /// What it turned out to be.
    fn facts(&self) -> BackendFacts;

    /// The number of slots.
    fn depth(&self) -> usize;

    /// The number of slots, from the first, whose buffers are in memory: at least 1. All, unless the queue grows; a
    /// slot beyond must not be used.
    fn ready_slots(&self) -> usize {
        self.depth()
    }

    /// The number of requests under way.
    fn in_flight(&self) -> usize;

    /// Puts `file` under `file_index`, in place of what was there. No request for that index may be under way.
    ///
    /// # Errors
    /// When the ring refuses to register the file.
    fn set_file(&mut self, file_index: usize, file: Arc<File>) -> io::Result<()>;

    /// Queues a request. It may reach the kernel only with the next [`Backend::submit`] or
    /// [`Backend::wait`].
    fn start(&mut self, request: Request);

    /// Hands queued requests to the kernel and does not wait, so that the device works while the caller does.
    ///
    /// # Errors
    /// When the queue itself is broken.
    fn submit(&mut self) -> io::Result<()>;

    /// Hands queued requests to the kernel, waits until one is complete, and appends all that are complete. Returns
    /// at once when nothing is under way.
    ///
    /// # Errors
    /// When the queue itself is broken. What happens to one request is in its completion.
    fn wait(&mut self, completions: &mut Vec<Completion>) -> io::Result<()>;

    /// The buffer of a slot in which nothing is under way.
    fn buffer(&self, slot: usize) -> &[u8];

    /// The buffer of a slot in which nothing is under way, to be filled.
    fn buffer_mut(&mut self, slot: usize) -> &mut [u8];
}
