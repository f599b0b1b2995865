//! Holes of sparse files: where the last data ends, so that a hole of terabytes at the end is not read.

use std::fs::File;
use std::ops::Range;

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

/// Stretches of data that are looked for; a file with more of them counts as data up to its end.
const STRETCH_COUNT_MAX: usize = 1 << 16;
/// The shortest hole at the end of a file that is left out, bytes: shorter ones are read as the zeros that they are.
const HOLE_BYTES_MIN: u64 = 1 << 30;

/// The length of a file without a long hole at its end, rounded up to whole pages.
pub fn length_without_hole(file: &File, length: u64, page_bytes: u64) -> u64 {
    if length < HOLE_BYTES_MIN {
        return length;
    }
    let end = data_end(file, length).div_ceil(page_bytes.max(1)) * page_bytes;
    if length.saturating_sub(end) >= HOLE_BYTES_MIN { end } else { length }
}

/// Where the last data of a file ends; behind it there is only a hole.
pub fn data_end(file: &File, length: u64) -> u64 {
    let mut end = 0;
    for _ in 0..STRETCH_COUNT_MAX {
        match stretch_from(file, end, length) {
            Some(stretch) => end = stretch.end,
            None => return end,
        }
    }
    length
}

/// The next stretch of data from an offset on; `None` when only a hole follows. A file system that does not know of holes
/// has one stretch.
pub fn stretch_from(file: &File, at: u64, end: u64) -> Option<Range<u64>> {
    if at >= end {
        return None;
    }
    // EVIDENCE: lseek(2): SEEK_DATA fails with ENXIO when no data follows
    let start = match seek(file, SeekFrom::Data(at)) {
        Ok(start) => start,
        Err(Errno::NXIO) => return None,
        Err(_) => return Some(at..end),
    };
    let hole = seek(file, SeekFrom::Hole(start)).unwrap_or(end);
    (start < end).then_some(start..hole.clamp(start + 1, end))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::fs::FileExt as _;

    use super::*;

    #[test]
    fn a_long_hole_at_the_end_is_left_out_and_a_short_one_is_not() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[1; 5000], 0).unwrap();
        file.set_len(1 << 40).unwrap();
        assert!(data_end(&file, 1 << 40) < 1 << 20);
        assert_eq!(
            length_without_hole(&file, 1 << 40, 4096),
            data_end(&file, 1 << 40).next_multiple_of(4096)
        );
        assert_eq!(length_without_hole(&file, 1 << 20, 4096), 1 << 20);
        file.write_all_at(&[7], 5 << 30).unwrap();
        assert!(length_without_hole(&file, 1 << 40, 4096) > 5 << 30);
        file.write_all_at(&[7], (1 << 40) - 1).unwrap();
        assert_eq!(length_without_hole(&file, 1 << 40, 4096), 1 << 40);
    }
}
