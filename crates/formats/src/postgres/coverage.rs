//! Which bytes of a page are claimed by tuples.

use crate::postgres::primitive::{BLOCK_SIZE_MAX, MAX_ALIGN};

/// Units of eight bytes in the largest page, as bits.
const COVERAGE_WORDS: usize = BLOCK_SIZE_MAX / MAX_ALIGN / 64;

/// Which eight byte units of a page are claimed.
pub(super) struct Coverage {
    units: [u64; COVERAGE_WORDS],
}

impl Coverage {
    pub(super) fn new() -> Coverage {
        Coverage { units: [0; COVERAGE_WORDS] }
    }

    /// Claims a range; `false` if a part of it is claimed already. The start is aligned, the range in the page.
    #[inline]
    pub(super) fn claim(&mut self, start_bytes: usize, length_bytes: usize) -> bool {
        let first = start_bytes / MAX_ALIGN;
        let end = (start_bytes + length_bytes).div_ceil(MAX_ALIGN);
        let shift = first % 64;
        // Most tuples are short, and their units stand in one word.
        if (1..=64 - shift).contains(&(end - first))
            && let Some(units) = self.units.get_mut(first / 64)
        {
            let mask = (u64::MAX >> (64 - (end - first))) << shift;
            let free = *units & mask == 0;
            *units |= mask;
            return free;
        }
        self.claim_long(first, end)
    }

    /// Claims units, from the first up to the end.
    fn claim_long(&mut self, first: usize, end: usize) -> bool {
        let mut free = true;
        // At most 64 words, a page being at most 32 KiB.
        for word in first / 64..=(end.saturating_sub(1)) / 64 {
            let from = first.max(word * 64) - word * 64;
            let to = end.min((word + 1) * 64).saturating_sub(word * 64);
            if to <= from {
                continue;
            }
            let mask = (u64::MAX >> (64 - (to - from))) << from;
            if let Some(units) = self.units.get_mut(word) {
                free &= *units & mask == 0;
                *units |= mask;
            }
        }
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coverage_spans_words_without_gaps() {
        let mut coverage = Coverage::new();
        assert!(coverage.claim(0, 4096));
        assert!(coverage.claim(4096, 4096));
        assert!(!coverage.claim(4088, 8));
        assert!(!coverage.claim(8184, 8));
        assert!(coverage.claim(8192, 8));
    }
}
