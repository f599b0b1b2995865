//! The write-ahead log: its header, its frames and the running sum over them.

use super::damage::{Damage, Fault};
use super::read::u32_at;

/// Bytes of the header of the log.
pub const WAL_HEADER_SIZE_BYTES: usize = 32;
/// Bytes in front of the page in each frame.
pub const FRAME_HEADER_SIZE_BYTES: usize = 24;
/// First number of a log whose sums read words low byte first; one more: high byte first.
// EVIDENCE: sqlite fileformat2 4.1, "WAL Header Format"
pub const WAL_MAGIC: u32 = 0x377f_0682;
/// The one version of the format of the log.
// EVIDENCE: sqlite fileformat2 4.1, "WAL Header Format"
pub const WAL_VERSION: u32 = 3_007_000;

/// The header of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WalHeader {
    /// Bytes per page in the frames.
    pub page_size_bytes: u32,
    /// Rises with each checkpoint that starts the log anew.
    pub checkpoint_sequence: u32,
    /// Two numbers that each frame of the current generation repeats.
    pub salt: (u32, u32),
    /// The sum with which the first frame goes on.
    pub sum: WalSum,
}

/// The running sum of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WalSum {
    is_big_endian: bool,
    first: u32,
    second: u32,
}

/// The header of one frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHeader {
    /// The page that the frame holds.
    pub page: u32,
    /// Pages of the database after the transaction in its last frame, 0 in the others.
    pub page_count_after_commit: u32,
    /// The numbers that must repeat those of the log's header.
    pub salt: (u32, u32),
    /// The sum over the log up to here.
    pub sum: (u32, u32),
}

impl WalSum {
    /// A sum with these halves.
    #[must_use]
    pub fn new(is_big_endian: bool, (first, second): (u32, u32)) -> Self {
        Self { is_big_endian, first, second }
    }

    /// The sum after more bytes. Bytes behind the last multiple of 8 do not count.
    // EVIDENCE: sqlite fileformat2 4.2, "Checksum Algorithm"
    #[must_use]
    pub fn after(mut self, bytes: &[u8]) -> Self {
        for pair in bytes.chunks_exact(8) {
            let word = |offset: usize| {
                let value = u32_at(pair, offset).unwrap_or(0);
                if self.is_big_endian { value } else { value.swap_bytes() }
            };
            self.first = self.first.wrapping_add(word(0)).wrapping_add(self.second);
            self.second = self.second.wrapping_add(word(4)).wrapping_add(self.first);
        }
        self
    }

    /// The two halves of the sum.
    #[must_use]
    pub fn halves(&self) -> (u32, u32) {
        (self.first, self.second)
    }
}

impl WalHeader {
    /// Reads the header of a log; gives each broken invariant to `damage`.
    ///
    /// SQLite ignores a log with any of these and uses the database file alone.
    pub fn new(bytes: &[u8], page_size_bytes: u32, mut damage: impl FnMut(Damage)) -> Self {
        let word = |offset: usize| u32_at(bytes, offset).unwrap_or(0);
        let mut test = |fault, offset, expected: u32, found: u32| {
            if expected != found {
                damage(Damage::new(
                    fault,
                    offset,
                    u64::from(expected)..=u64::from(expected),
                    u64::from(found),
                ));
            }
        };
        let magic = word(0);
        test(Fault::WalMagic, 0, WAL_MAGIC, magic & !1);
        test(Fault::WalVersion, 4, WAL_VERSION, word(4));
        let stored_size = if word(8) == 1 { 65536 } else { word(8) };
        test(Fault::WalPageSize, 8, page_size_bytes, stored_size);
        let start = WalSum { is_big_endian: magic & 1 == 1, first: 0, second: 0 };
        let sum = start.after(bytes.get(..24).unwrap_or_default());
        test(Fault::WalChecksum, 24, sum.first, word(24));
        test(Fault::WalChecksum, 28, sum.second, word(28));
        Self { page_size_bytes: stored_size, checkpoint_sequence: word(12), salt: (word(16), word(20)), sum }
    }
}

impl FrameHeader {
    /// Reads the header of a frame.
    // EVIDENCE: sqlite fileformat2 4.1, "WAL Frame Header Format"
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        let word = |offset: usize| u32_at(bytes, offset).unwrap_or(0);
        Self {
            page: word(0),
            page_count_after_commit: word(4),
            salt: (word(8), word(12)),
            sum: (word(16), word(20)),
        }
    }

    /// Whether the frame belongs to the log and its bytes are those that were written; returns the sum after it.
    #[must_use]
    pub fn continues(&self, header: &WalHeader, before: WalSum, frame: &[u8]) -> Option<WalSum> {
        let head = frame.get(..8)?;
        let page = frame.get(FRAME_HEADER_SIZE_BYTES..)?;
        if self.salt != header.salt || self.page == 0 {
            return None;
        }
        let sum = before.after(head).after(page);
        (sum.halves() == self.sum).then_some(sum)
    }
}
