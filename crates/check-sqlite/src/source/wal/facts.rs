//! What the frames of a WAL are.

use std::collections::BTreeMap;
use std::io::{self, Read};

/// What the WAL holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogFacts {
    /// Frames up to the last commit.
    pub(crate) committed_count: u64,
    /// Where frames that commit transactions stand behind one that does not continue the WAL.
    pub(crate) break_at: Option<Break>,
    /// The two numbers of the WAL's generation.
    pub(crate) salt: (u32, u32),
}

/// A frame of this generation that does not continue the WAL, though later ones commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Break {
    /// The frame, counted from 0.
    pub(crate) frame: u64,
    /// The checksum that it would have to have, as far as it has the right salt, and the one that it has.
    pub(crate) expected_sum: (u32, u32),
    pub(crate) found_sum: (u32, u32),
    /// Frames of this generation from it on, and transactions that they commit.
    pub(crate) frame_count: u64,
    pub(crate) commit_count: u64,
}

/// What reading the frames brought.
pub(super) struct FramesRead {
    pub(super) facts: LogFacts,
    pub(super) page_count: Option<u32>,
    pub(super) offsets: BTreeMap<u32, u64>,
}

/// Fills a buffer; false at the end of the WAL.
pub(super) fn fill(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match reader.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}
