//! Which extent of which file comes next: a pure function of a running number.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// How the extents of several files follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScanOrder {
    /// All files as one drive: one file after the other, all workers next to each other in it.
    #[default]
    AllAsOne,
    /// Each file as its own drive: the files take turns, each is read in order, all are read at the same time.
    EachItsOwn,
}

/// A part of a file, at most one extent long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) file_index: usize,
    pub(super) offset_bytes: u64,
    pub(super) length_bytes: usize,
}

/// The order of all extents. Memory: 40 bytes a file or so; nothing per extent.
#[derive(Debug)]
pub(super) struct ExtentOrder {
    extent_bytes: u64,
    ranges: Vec<Range<u64>>,
    /// Stretches of running numbers with one rule each, by their first number, ascending.
    stretches: Vec<Stretch>,
    /// File indices in the order in which stretches refer to them.
    files: Vec<usize>,
    extent_count: u64,
}

/// Numbers from `first_number` on go round over `files[first_file..first_file + file_count]`, beginning with the
/// extent `first_extent` of each.
#[derive(Debug)]
struct Stretch {
    first_number: u64,
    first_extent: u64,
    first_file: usize,
    file_count: usize,
}

impl ExtentOrder {
    /// Orders the extents of the byte ranges of files; `ranges[i]` is that of file `i` and may be empty.
    pub(super) fn new(order: ScanOrder, extent_bytes: usize, ranges: Vec<Range<u64>>) -> Self {
        let extent_bytes = extent_bytes as u64;
        let counts: Vec<u64> =
            ranges.iter().map(|range| range.end.saturating_sub(range.start).div_ceil(extent_bytes)).collect();
        let mut files: Vec<usize> = (0..ranges.len()).filter(|&file| counts[file] > 0).collect();
        let stretches = match order {
            ScanOrder::AllAsOne => one_after_the_other(&files, &counts),
            ScanOrder::EachItsOwn => {
                // Longest first, so that the files which still have extents are always a prefix. The sort is stable.
                files.sort_by_key(|&file| std::cmp::Reverse(counts[file]));
                in_turns(&files, &counts)
            }
        };
        let extent_count = counts.iter().sum();
        ExtentOrder { extent_bytes, ranges, stretches, files, extent_count }
    }

    /// The number of extents of all files.
    pub(super) fn extent_count(&self) -> u64 {
        self.extent_count
    }

    /// The extents of one file.
    pub(super) fn extent_count_of(&self, file_index: usize) -> u64 {
        let range = &self.ranges[file_index];
        range.end.saturating_sub(range.start).div_ceil(self.extent_bytes)
    }

    /// The extent with a running number; `None` after the last.
    pub(super) fn claim(&self, number: u64) -> Option<Claim> {
        if number >= self.extent_count {
            return None;
        }
        let after = self.stretches.partition_point(|stretch| stretch.first_number <= number);
        let stretch = &self.stretches[after - 1];
        let within = number - stretch.first_number;
        let file_count = stretch.file_count as u64;
        let file_index = self.files[stretch.first_file + (within % file_count) as usize];
        let extent_index = stretch.first_extent + within / file_count;
        let range = &self.ranges[file_index];
        let offset_bytes = range.start + extent_index * self.extent_bytes;
        let length_bytes = (range.end - offset_bytes).min(self.extent_bytes) as usize;
        Some(Claim { file_index, offset_bytes, length_bytes })
    }
}

fn one_after_the_other(files: &[usize], counts: &[u64]) -> Vec<Stretch> {
    let mut first_number = 0;
    let mut stretches = Vec::with_capacity(files.len());
    for (first_file, &file) in files.iter().enumerate() {
        stretches.push(Stretch { first_number, first_extent: 0, first_file, file_count: 1 });
        first_number += counts[file];
    }
    stretches
}

/// `files` by falling count. One stretch for each count that occurs: in it the same files take turns.
fn in_turns(files: &[usize], counts: &[u64]) -> Vec<Stretch> {
    let mut stretches = Vec::new();
    let (mut first_number, mut first_extent) = (0, 0);
    let mut file_count = files.len();
    while file_count > 0 {
        let shortest = counts[files[file_count - 1]];
        if shortest > first_extent {
            stretches.push(Stretch { first_number, first_extent, first_file: 0, file_count });
            first_number += (shortest - first_extent) * file_count as u64;
            first_extent = shortest;
        }
        file_count -= 1;
    }
    stretches
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn claims(order: ScanOrder, ranges: Vec<Range<u64>>) -> Vec<(usize, u64, usize)> {
        let order = ExtentOrder::new(order, 10, ranges);
        assert_eq!(order.claim(order.extent_count()), None);
        assert_eq!(order.claim(u64::MAX), None);
        (0..order.extent_count())
            .map(|number| order.claim(number).unwrap())
            .map(|claim| (claim.file_index, claim.offset_bytes, claim.length_bytes))
            .collect()
    }

    #[test]
    fn as_one_drive_files_follow_each_other() {
        let found = claims(ScanOrder::AllAsOne, vec![0..25, 0..0, 5..16]);
        assert_eq!(found, [(0, 0, 10), (0, 10, 10), (0, 20, 5), (2, 5, 10), (2, 15, 1)]);
    }

    #[test]
    fn as_own_drives_files_take_turns_until_each_ends() {
        let found = claims(ScanOrder::EachItsOwn, vec![0..10, 0..35, 0..0, 0..20]);
        let expected =
            [(1, 0, 10), (3, 0, 10), (0, 0, 10), (1, 10, 10), (3, 10, 10), (1, 20, 10), (1, 30, 5)];
        assert_eq!(found, expected);
    }

    #[test]
    fn both_orders_cover_each_byte_once() {
        let ranges: Vec<Range<u64>> = (0..40u64).map(|file| file..file + (file * 7919) % 97).collect();
        for order in [ScanOrder::AllAsOne, ScanOrder::EachItsOwn] {
            let mut found = claims(order, ranges.clone());
            found.sort_unstable();
            for (file_index, range) in ranges.iter().enumerate() {
                let mut next = range.start;
                for &(_, offset_bytes, length_bytes) in found.iter().filter(|claim| claim.0 == file_index) {
                    assert_eq!(offset_bytes, next);
                    next += length_bytes as u64;
                }
                assert_eq!(next, range.end);
            }
        }
    }

    #[test]
    fn nothing_to_read_has_no_extents() {
        for order in [ScanOrder::AllAsOne, ScanOrder::EachItsOwn] {
            assert_eq!(claims(order, Vec::new()), []);
            assert_eq!(claims(order, vec![3..3, 0..0]), []);
        }
    }
}
