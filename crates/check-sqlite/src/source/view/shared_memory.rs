//! The -shm file beside a database in WAL mode: its locks, and what it says about the WAL.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// First byte of the read locks 0 to 4.
// EVIDENCE: sqlite walformat 2.3, "WAL Locks": WRITE 120, CKPT 121, RECOVER 122, READ(0) 123 to READ(4) 127
pub(super) const READ_LOCK_START: u64 = 123;
/// The byte on which each process that has the file open holds a shared lock.
// EVIDENCE: sqlite os_unix.c UNIX_SHM_DMS, "deadman switch"
pub(super) const INITIALISED_BYTE: u64 = 128;
/// Bytes of the header, which stands there twice.
// EVIDENCE: sqlite walformat 2.1, "The WAL-Index Header"
const HEADER_BYTES: usize = 48;
/// Attempts to read both copies while a writer changes them.
const ATTEMPT_COUNT: usize = 1000;

/// What the wal-index says about the WAL: up to where it is committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WalIndex {
    /// Frames that belong to committed transactions.
    pub(crate) frame_count: u32,
    /// Salts of the WAL's generation, as they stand in its header.
    pub(crate) salt: (u32, u32),
}

impl WalIndex {
    /// Reads the header; `None` when its two copies never agree, or it was not made yet.
    pub(super) fn read(file: &File) -> Option<Self> {
        for _ in 0..ATTEMPT_COUNT {
            let mut bytes = [0; 2 * HEADER_BYTES];
            file.read_exact_at(&mut bytes, 0).ok()?;
            let (first, second) = bytes.split_at(HEADER_BYTES);
            if first == second {
                return Self::of(first);
            }
            std::thread::yield_now();
        }
        None
    }

    fn of(header: &[u8]) -> Option<Self> {
        // Numbers in the byte order of the machine; salts byte for byte as in the WAL.
        let native =
            |offset: usize| Some(u32::from_ne_bytes(header.get(offset..offset + 4)?.try_into().ok()?));
        let big = |offset: usize| Some(u32::from_be_bytes(header.get(offset..offset + 4)?.try_into().ok()?));
        let is_made = header.get(12).is_some_and(|byte| *byte != 0);
        is_made.then_some(())?;
        Some(Self { frame_count: native(16)?, salt: (big(32)?, big(36)?) })
    }
}
