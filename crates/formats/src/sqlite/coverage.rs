//! Which bytes of a page are in use: each at most once.

/// One bit per byte of a page of up to 65536 bytes; kept by the caller and used for page after page.
///
/// Cost: 8 KiB, and one or two words touched per cell of usual size.
#[derive(Debug, Clone)]
pub struct Coverage {
    words: Vec<u64>,
}

/// Words for the largest page.
const WORD_COUNT: usize = 65536 / 64;

impl Default for Coverage {
    fn default() -> Self {
        Self { words: vec![0; WORD_COUNT] }
    }
}

impl Coverage {
    /// Forgets all bytes of a page of that size.
    #[inline]
    pub fn clear(&mut self, page_size_bytes: usize) {
        let count = page_size_bytes.div_ceil(64);
        if let Some(words) = self.words.get_mut(..count) {
            words.fill(0);
        }
    }

    /// Takes `size` bytes from `start` into use; false when one of them was in use already or lies behind 65536.
    #[inline]
    #[must_use]
    pub fn claim(&mut self, start: usize, size: usize) -> bool {
        if size == 0 {
            return true;
        }
        let (Some(last), first_word) = (start.checked_add(size - 1), start / 64) else { return false };
        let last_word = last / 64;
        let head = u64::MAX << (start % 64);
        let tail = u64::MAX >> (63 - last % 64);
        let Some(words) = self.words.get_mut(first_word..=last_word) else { return false };
        if let [word] = words {
            let mask = head & tail;
            let is_free = *word & mask == 0;
            *word |= mask;
            return is_free;
        }
        let mut seen = 0;
        if let [first, middle @ .., end] = words {
            seen |= *first & head | *end & tail;
            *first |= head;
            *end |= tail;
            for word in middle {
                seen |= *word;
                *word = u64::MAX;
            }
        }
        seen == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_used_twice_are_seen_wherever_the_words_end() {
        for start in [0usize, 1, 60, 63, 64, 127, 4000] {
            for size in [1usize, 4, 63, 64, 65, 200] {
                let mut coverage = Coverage::default();
                assert!(coverage.claim(start, size));
                assert!(coverage.claim(start + size, 5));
                assert!(!coverage.claim(start + size - 1, 1));
                assert!(start == 0 || coverage.claim(start - 1, 1));
                coverage.clear(65536);
                assert!(coverage.claim(start, size));
            }
        }
    }

    #[test]
    fn bytes_behind_the_largest_page_are_refused() {
        let mut coverage = Coverage::default();
        assert!(!coverage.claim(65535, 2));
        assert!(!coverage.claim(usize::MAX, 2));
        assert!(coverage.claim(65535, 1));
    }
}
