//! Transfers under way at the same time: one trait, two ways to the kernel, chosen at run time and named in results.
//!
//! A backend has `depth` slots. Each slot has one buffer and at most one request under way. Between
//! [`Backend::start`] and the completion of the same slot the buffer belongs to the kernel; at all other times it can
//! be read and filled. Nothing is allocated per request.

mod faulty;
mod memory;
mod queue;
mod shape;
mod threads;
mod uring;

use std::io;

use serde::{Deserialize, Serialize};

pub use faulty::{Fault, FaultPlan, FaultyBackend};
pub use queue::{Backend, Completion, Operation, Request};
pub use shape::{BackendFacts, BackendOptions, DEPTH_MAX};
pub use threads::ThreadBackend;
pub use uring::UringBackend;

use crate::buffer::BUFFER_BYTES_MAX;
use shape::stride_bytes;

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

#[cfg(test)]
mod suite;
