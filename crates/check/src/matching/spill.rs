//! Records sorted into numbered parts: written part by part in any order, read back a part at a time.
//!
//! Parts collect bytes in buffers of their own. What they hand on stays in memory up to a limit, and is written to one file
//! without a name beyond it. Where nothing can be written it stays in memory.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// Bytes that a part collects before it hands them on.
const CHUNK_BYTES_MAX: u64 = 16 << 10;
const CHUNK_BYTES_MIN: u64 = 512;

/// Bits of a written chunk's length; the others are its place.
const LENGTH_BITS: u32 = 20;

#[derive(Debug, Default)]
struct Part {
    open: Vec<u8>,
    kept: Vec<Vec<u8>>,
    /// Place in the file and length of what was written, as one number: there are many.
    written: Vec<u64>,
    length_bytes: u64,
}

/// Bytes in parts.
#[derive(Debug)]
pub struct Spill {
    parts: Vec<Part>,
    chunk_bytes: usize,
    kept_bytes: u64,
    kept_bytes_max: u64,
    /// Made when the first chunk is written.
    file: Option<File>,
    written_bytes: u64,
}

impl Spill {
    /// Makes empty parts. `buffer_bytes_max` bounds the buffers of all parts together, down to 512 bytes each, and
    /// `kept_bytes_max` what stays in memory of what they hand on.
    #[must_use]
    pub fn new(part_count: usize, buffer_bytes_max: u64, kept_bytes_max: u64) -> Self {
        let share = buffer_bytes_max / (part_count as u64).max(1);
        Self {
            parts: (0..part_count).map(|_| Part::default()).collect(),
            chunk_bytes: share.clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX) as usize,
            kept_bytes: 0,
            kept_bytes_max,
            file: None,
            written_bytes: 0,
        }
    }

    /// How many parts there are.
    #[must_use]
    pub fn part_count(&self) -> usize {
        self.parts.len()
    }

    /// Bytes of a part.
    #[must_use]
    pub fn length_bytes(&self, part: usize) -> u64 {
        self.parts.get(part).map_or(0, |part| part.length_bytes)
    }

    /// Adds what a function writes to the end of a part.
    pub fn push(&mut self, number: usize, write: impl FnOnce(&mut Vec<u8>)) {
        let Some(part) = self.parts.get_mut(number) else { return };
        let before = part.open.len();
        write(&mut part.open);
        part.length_bytes += (part.open.len() - before) as u64;
        if part.open.len() >= self.chunk_bytes {
            self.close(number);
        }
    }

    /// Hands the open bytes of a part on: kept as long as they fit, then written.
    fn close(&mut self, number: usize) {
        let Some(part) = self.parts.get_mut(number) else { return };
        let length = part.open.len() as u64;
        if length == 0 {
            return;
        }
        if self.kept_bytes + length > self.kept_bytes_max
            && length < 1 << LENGTH_BITS
            && append(&mut self.file, &part.open, self.written_bytes).is_ok()
        {
            part.written.push(self.written_bytes << LENGTH_BITS | length);
            self.written_bytes += length;
            part.open.clear();
            return;
        }
        // Where nothing can be written it stays in memory.
        part.open.shrink_to_fit();
        self.kept_bytes += length;
        part.kept.push(std::mem::take(&mut part.open));
    }

    /// Hands on what is open in all parts, and gives the buffers back.
    pub fn seal(&mut self) {
        for number in 0..self.parts.len() {
            self.close(number);
            if let Some(part) = self.parts.get_mut(number) {
                part.open = Vec::new();
                part.written.shrink_to_fit();
            }
        }
    }

    /// The bytes of a part. What was added at one time stays together; the order is not kept.
    ///
    /// # Errors
    /// When what was written cannot be read back.
    pub fn read(&self, number: usize) -> io::Result<Vec<u8>> {
        let Some(part) = self.parts.get(number) else { return Ok(Vec::new()) };
        let mut bytes = Vec::with_capacity(part.length_bytes as usize);
        part.kept.iter().for_each(|kept| bytes.extend_from_slice(kept));
        for written in &part.written {
            let file = self.file.as_ref().ok_or(io::ErrorKind::NotFound)?;
            let start = bytes.len();
            bytes.resize(start + (written & ((1 << LENGTH_BITS) - 1)) as usize, 0);
            file.read_exact_at(bytes.get_mut(start..).unwrap_or_default(), written >> LENGTH_BITS)?;
        }
        bytes.extend_from_slice(&part.open);
        Ok(bytes)
    }

    /// Empties a part. Its place in the file is not used again.
    pub fn clear(&mut self, number: usize) {
        let Some(part) = self.parts.get_mut(number) else { return };
        self.kept_bytes -= part.kept.drain(..).map(|kept| kept.len() as u64).sum::<u64>();
        part.written.clear();
        part.open.clear();
        part.length_bytes = 0;
    }

    /// Drops what was handed on and stays in memory; gives its bytes.
    pub fn drop_kept(&mut self) -> u64 {
        for part in &mut self.parts {
            let dropped = part.kept.drain(..).map(|kept| kept.len() as u64).sum::<u64>();
            part.length_bytes -= dropped;
        }
        std::mem::take(&mut self.kept_bytes)
    }

    /// Bytes that were handed on and stay in memory, and the places of the others.
    #[must_use]
    pub fn kept_bytes(&self) -> u64 {
        let places: usize = self.parts.iter().map(|part| part.written.capacity()).sum();
        self.kept_bytes + (places * size_of::<u64>()) as u64
    }

    /// Bytes written to the file.
    #[must_use]
    pub fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// The file, once something was written.
    #[must_use]
    pub fn file(&self) -> Option<&File> {
        self.file.as_ref()
    }
}

fn append(file: &mut Option<File>, bytes: &[u8], offset_bytes: u64) -> io::Result<()> {
    if file.is_none() {
        *file = Some(tempfile::tempfile()?);
    }
    file.as_ref().map_or(Ok(()), |file| file.write_all_at(bytes, offset_bytes))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn parts_read_back_what_was_added_wherever_it_is_kept() {
        for kept_bytes_max in [0, 20_000, u64::MAX] {
            let mut spill = Spill::new(3, 0, kept_bytes_max);
            let mut expected = vec![Vec::new(); 3];
            for number in 0..10_000u32 {
                let part = number as usize % 3;
                spill.push(part, |bytes| bytes.extend(number.to_le_bytes()));
                expected[part].push(number);
            }
            spill.seal();
            assert_eq!(spill.written_bytes() == 0, kept_bytes_max == u64::MAX);
            assert_eq!(spill.file().is_none(), kept_bytes_max == u64::MAX);
            for (part, expected) in expected.iter().enumerate() {
                let bytes = spill.read(part).unwrap();
                assert_eq!(bytes.len() as u64, spill.length_bytes(part));
                let mut numbers: Vec<u32> =
                    bytes.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
                numbers.sort_unstable();
                assert_eq!(numbers, *expected);
            }
            assert_eq!(spill.drop_kept() == 0, kept_bytes_max == 0);
            assert_eq!(spill.read(0).unwrap().len() as u64, spill.length_bytes(0));
            if let Some(file) = spill.file() {
                file.set_len(0).unwrap();
                assert!(spill.read(0).is_err());
            }
        }
    }
}
