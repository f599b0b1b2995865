//! One value for each page or extent of a file, in memory only where there are any: a page number in a damaged header may
//! be near 2^32, far behind all pages that are there.

use std::ops::Range;

/// Values that come into memory together.
const CHUNK: u32 = 1 << 16;

/// Values by number, all of them the default one at first.
#[derive(PartialEq)]
pub(crate) struct Intervals<T> {
    length: u32,
    default: T,
    chunks: Vec<Option<Box<[T]>>>,
}

impl<T: Copy> Intervals<T> {
    /// Makes `length` values; takes memory for none of them.
    pub(crate) fn new(length: u32, default: T) -> Self {
        Self { length, default, chunks: (0..length.div_ceil(CHUNK)).map(|_| None).collect() }
    }

    /// The value of a number; `None` past the end.
    pub(crate) fn get(&self, number: u32) -> Option<T> {
        if number >= self.length {
            return None;
        }
        let chunk = self.chunks.get((number / CHUNK) as usize)?.as_deref();
        chunk.map_or(Some(self.default), |chunk| chunk.get((number % CHUNK) as usize).copied())
    }

    /// The place of a value; `None` past the end, and where its memory would be more than what is left.
    pub(crate) fn slot(&mut self, number: u32, bytes_left: &mut Budget) -> Option<&mut T> {
        if number >= self.length {
            return None;
        }
        let first = number / CHUNK * CHUNK;
        let chunk = self.chunks.get_mut((number / CHUNK) as usize)?;
        if chunk.is_none() {
            let count = (self.length - first).min(CHUNK) as usize;
            bytes_left.take((count * size_of::<T>()) as u64)?;
            *chunk = Some(vec![self.default; count].into_boxed_slice());
        }
        chunk.as_deref_mut()?.get_mut((number % CHUNK) as usize)
    }

    /// Numbers whose values are in memory here or in `other`, ascending; values elsewhere are the default ones.
    pub(crate) fn numbers_with<U>(&self, other: &Intervals<U>) -> impl Iterator<Item = u32> + use<T, U> {
        let is_there = |chunk: u32| {
            let own = self.chunks.get(chunk as usize).is_some_and(Option::is_some);
            own || other.chunks.get(chunk as usize).is_some_and(Option::is_some)
        };
        let of_chunk = |chunk: u32| -> Range<u32> {
            let first = chunk * CHUNK;
            first..first.saturating_add(CHUNK).min(self.length)
        };
        let chunks = (0..self.chunks.len() as u32).filter(|chunk| is_there(*chunk));
        chunks.map(of_chunk).collect::<Vec<_>>().into_iter().flatten()
    }

    /// Bytes in memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.chunks.iter().flatten().map(|chunk| size_of_val(&**chunk)).sum()
    }
}

/// Memory that may still be taken.
pub(crate) struct Budget {
    pub(crate) bytes_left: u64,
    /// Whether something was refused.
    pub(crate) is_exceeded: bool,
}

impl Budget {
    /// Takes bytes, or takes none and remembers it.
    pub(crate) fn take(&mut self, bytes: u64) -> Option<()> {
        match self.bytes_left.checked_sub(bytes) {
            Some(left) => {
                self.bytes_left = left;
                Some(())
            }
            None => {
                self.is_exceeded = true;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_value_near_the_last_number_takes_the_memory_of_one_chunk() {
        let mut budget = Budget { bytes_left: u64::from(CHUNK) * 4 + 1, is_exceeded: false };
        let mut values = Intervals::new(u32::MAX, 7u32);
        *values.slot(u32::MAX - 1, &mut budget).unwrap() = 9;
        assert_eq!((values.get(u32::MAX - 1), values.get(0), values.get(u32::MAX)), (Some(9), Some(7), None));
        assert!(values.memory_bytes() <= CHUNK as usize * 4);
        let numbers = values.numbers_with(&Intervals::new(u32::MAX, 0u8));
        assert_eq!(numbers.last(), Some(u32::MAX - 1));
        assert!(values.slot(u32::MAX, &mut budget).is_none() && !budget.is_exceeded);
        assert!(values.slot(0, &mut budget).is_none() && budget.is_exceeded);
        assert_eq!(values.get(0), Some(7));
    }

    #[test]
    fn every_number_up_to_the_length_has_its_own_value() {
        let mut budget = Budget { bytes_left: u64::MAX, is_exceeded: false };
        for length in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 3] {
            let mut values = Intervals::new(length, 0);
            (0..length).for_each(|number| *values.slot(number, &mut budget).unwrap() = number);
            assert!((0..length).all(|number| values.get(number) == Some(number)));
            assert_eq!(values.get(length), None);
            assert!(values.numbers_with(&values).eq(0..length));
        }
    }
}
