//! Transfers under way at the same time: one trait, two ways to the kernel, chosen at run time and named in results.
//!
//! A backend has `depth` slots. Each slot has one buffer and at most one request under way. Between
//! [`Backend::start`] and the completion of the same slot the buffer belongs to the kernel; at all other times it can
//! be read and filled. Nothing is allocated per request.

mod faulty;
mod memory;
mod threads;
mod uring;

use std::fs::File;
use std::io;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use faulty::{Fault, FaultPlan, FaultyBackend};
pub use threads::ThreadBackend;
pub use uring::UringBackend;

use crate::buffer::{BUFFER_ALIGNMENT_BYTES, BUFFER_BYTES_MAX};

/// The most slots of one backend. Devices queue 64 to 1024 requests; more only wait in the kernel.
pub const DEPTH_MAX: usize = 1024;

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

/// Which way to the kernel to take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BackendChoice {
    /// io_uring where the kernel allows it, else threads.
    #[default]
    Auto,
    /// io_uring or an error.
    Uring,
    /// One thread per slot, with pread(2) and pwrite(2).
    Threads,
}

/// The shape of a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackendOptions {
    /// The number of slots, 1 to [`DEPTH_MAX`].
    pub depth: usize,
    /// The size of each buffer in bytes. Buffers begin at multiples of [`BUFFER_ALIGNMENT_BYTES`].
    pub buffer_bytes: usize,
    /// How many files can be set at the same time.
    pub file_count_max: usize,
    /// Whether files are registered with the ring: cheaper per request, dearer per file.
    pub register_files: bool,
    /// Whether to ask the device for completions instead of waiting for its interrupt. Only where the device has
    /// queues for it, the file is direct, and nothing is flushed.
    pub poll: bool,
    /// Whether the queue may be used before all its buffers are in memory, and leaves them to the next one that
    /// grows: for queues whose making is part of what is waited for. What the buffers contain is then left open.
    pub grows: bool,
    /// Why io_uring must not be taken although the kernel has it; it is then refused.
    pub no_uring_reason: Option<&'static str>,
}

/// What a backend turned out to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackendFacts {
    /// `io_uring` or `pread threads`.
    pub engine: String,
    /// Whether the buffers are registered with the ring.
    pub registered_buffers: bool,
    /// Whether the files are registered with the ring.
    pub registered_files: bool,
    /// Whether completions are polled for.
    pub polled: bool,
    /// Why it is not what would be preferred.
    pub fallback_reason: Option<String>,
}

/// Why there is no backend.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// The shape is impossible.
    #[error(
        "cannot queue {depth} transfers of {buffer_bytes} bytes: a queue holds 1 to {DEPTH_MAX} transfers and at most {BUFFER_BYTES_MAX} bytes"
    )]
    Shape {
        /// The number of slots asked for.
        depth: usize,
        /// The bytes of a buffer asked for.
        buffer_bytes: usize,
    },
    /// io_uring was asked for and cannot be had.
    #[error("cannot use io_uring: {source}; let fathom choose, or ask for threads")]
    NoUring {
        /// What the operating system said.
        source: io::Error,
    },
    /// There is no memory or no thread.
    #[error("could not set up {depth} transfers of {buffer_bytes} bytes: {source}")]
    Setup {
        /// The number of slots asked for.
        depth: usize,
        /// The bytes of a buffer asked for.
        buffer_bytes: usize,
        /// What the operating system said.
        source: io::Error,
    },
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

/// Makes a backend.
///
/// # Errors
/// When the shape is impossible, io_uring was demanded and cannot be had, or memory or threads are short.
pub fn open_backend(
    choice: BackendChoice,
    options: &BackendOptions,
) -> Result<Box<dyn Backend>, BackendError> {
    let &BackendOptions { depth, buffer_bytes, .. } = options;
    let all_bytes = stride_bytes(buffer_bytes).checked_mul(depth);
    let is_possible = (1..=DEPTH_MAX).contains(&depth)
        && buffer_bytes > 0
        && all_bytes.is_some_and(|b| b <= BUFFER_BYTES_MAX);
    if !is_possible {
        return Err(BackendError::Shape { depth, buffer_bytes });
    }
    let setup = |source| BackendError::Setup { depth, buffer_bytes, source };
    let reason = match choice {
        BackendChoice::Threads => None,
        BackendChoice::Uring | BackendChoice::Auto => match uring(options) {
            Ok(backend) => return Ok(Box::new(backend)),
            Err(source) if choice == BackendChoice::Uring => return Err(BackendError::NoUring { source }),
            Err(source) => Some(format!("io_uring cannot be used: {source}")),
        },
    };
    Ok(Box::new(ThreadBackend::new(options, reason).map_err(setup)?))
}

fn uring(options: &BackendOptions) -> io::Result<UringBackend> {
    match options.no_uring_reason {
        Some(reason) => Err(io::Error::other(reason)),
        None => UringBackend::new(options),
    }
}

/// Begins to bring the memory of queues that grow into memory, for `queue_count` queues that are going to be made with
/// the same shape. Returns at once; costs a thread for each queue, for as long as that takes.
pub fn prepare_queues(queue_count: usize, options: &BackendOptions) {
    let length_bytes = stride_bytes(options.buffer_bytes).checked_mul(options.depth);
    if let Some(length_bytes) = length_bytes.filter(|bytes| (1..=BUFFER_BYTES_MAX).contains(bytes)) {
        memory::prepare(queue_count, length_bytes);
    }
}

/// The distance between two buffers in one piece of memory; saturates, so that a check of the sum still fails.
fn stride_bytes(buffer_bytes: usize) -> usize {
    buffer_bytes.checked_next_multiple_of(BUFFER_ALIGNMENT_BYTES).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod suite;
