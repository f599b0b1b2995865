//! The shape of a backend: what it is asked to be, and what it turned out to be.

use serde::{Deserialize, Serialize};

use crate::buffer::BUFFER_ALIGNMENT_BYTES;

/// The most slots of one backend. Devices queue 64 to 1024 requests; more only wait in the kernel.
pub const DEPTH_MAX: usize = 1024;

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

/// The distance between two buffers in one piece of memory; saturates, so that a check of the sum still fails.
pub(super) fn stride_bytes(buffer_bytes: usize) -> usize {
    buffer_bytes.checked_next_multiple_of(BUFFER_ALIGNMENT_BYTES).unwrap_or(usize::MAX)
}
