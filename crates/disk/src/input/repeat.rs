//! Reading again, past the page cache where that is possible, so that the device is asked and not the memory.

use rustix::fs::{Advice, fadvise};

use super::file::File;
use super::record::InputRecord;

/// Single reads that are repeated in the end, at most: a second on a device that does ten thousand in a second.
const REPEATED_MAX: usize = 10_000;
/// Readings of a place that differed, beyond those that showed it.
const MORE_READINGS: usize = 4;

impl InputRecord {
    /// Reads again what was read apart from passes, and compares. Gives how many reads that were.
    ///
    /// I/O: at most 10,000 reads, those of each file in order.
    pub fn repeat_single_reads(&self) -> u64 {
        let _entered = self.enter();
        let mut count = 0;
        for (path, reads) in self.single_reads() {
            if reads.is_empty() || path.starts_with("/proc") {
                continue;
            }
            let Ok(file) = File::open(&path) else { continue };
            for (offset, length) in reads {
                if count >= REPEATED_MAX {
                    return count as u64;
                }
                read_anew(&file, offset, length as usize);
                count += 1;
            }
        }
        count as u64
    }

    /// Reads the places that differed some more times, so that a report says how often they do. Gives how many reads
    /// that were.
    pub fn repeat_differing(&self) -> u64 {
        let _entered = self.enter();
        self.reconcile();
        let mut count = 0;
        for place in self.settle().iter().take(REPEATED_MAX / MORE_READINGS / 10) {
            let Ok(file) = File::open(&place.path) else { continue };
            for _ in 0..MORE_READINGS {
                read_anew(&file, place.offset_bytes, place.length_bytes as usize);
                count += 1;
            }
        }
        count
    }
}

fn read_anew(file: &File, offset_bytes: u64, length: usize) {
    let mut bytes = vec![0; length];
    // Advice only; where it is not taken the memory is what is read again.
    let _ = fadvise(&**file, offset_bytes, std::num::NonZeroU64::new(length as u64), Advice::DontNeed);
    // An error is in the record.
    let _ = file.read_exact_at(&mut bytes, offset_bytes);
}
