//! Figures of pages, added up per level.

use results::structure::LevelStructure;

/// What one page holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageFigures {
    /// Records: rows or entries of a leaf, references of an inner page.
    pub record_count: u64,
    /// References that stand outside of any record (the right child of SQLite's inner pages); among `record_count`.
    pub(crate) bare_count: u64,
    /// Bytes of the records, without those of bare references.
    pub record_bytes: u64,
    /// The shortest record; `u64::MAX` without any.
    pub record_bytes_min: u64,
    /// The longest.
    pub record_bytes_max: u64,
    /// Deleted records that still take space.
    pub ghost_count: u64,
    /// Bytes that are free.
    pub free_bytes: u64,
    /// Bytes that could hold records and their slots.
    pub room_bytes: u64,
}

impl PageFigures {
    /// A page with so much room, of which so much is free, and no record yet.
    pub fn new(room_bytes: usize, free_bytes: usize) -> Self {
        Self {
            record_bytes_min: u64::MAX,
            room_bytes: room_bytes as u64,
            free_bytes: free_bytes.min(room_bytes) as u64,
            ..Self::default()
        }
    }

    /// Adds a record.
    #[inline]
    pub fn add_record(&mut self, bytes: usize) {
        let bytes = bytes as u64;
        self.record_count += 1;
        self.record_bytes += bytes;
        self.record_bytes_min = self.record_bytes_min.min(bytes);
        self.record_bytes_max = self.record_bytes_max.max(bytes);
    }

    /// Adds a reference that takes no space of a record.
    pub fn add_bare(&mut self) {
        self.record_count += 1;
        self.bare_count += 1;
    }
}

/// The sums of one level. Merges by addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelTally {
    sum: PageFigures,
    looked_at_count: u64,
    /// Pages with a successor.
    successor_count: u64,
    /// Those whose successor is the next physical page.
    adjacent_count: u64,
    /// Those whose successor has a smaller number.
    backward_count: u64,
}

impl Default for LevelTally {
    fn default() -> Self {
        Self {
            sum: PageFigures::new(0, 0),
            looked_at_count: 0,
            successor_count: 0,
            adjacent_count: 0,
            backward_count: 0,
        }
    }
}

impl LevelTally {
    /// Adds a page that was looked at.
    #[inline]
    pub fn add_page(&mut self, page: &PageFigures) {
        self.looked_at_count += 1;
        self.add_figures(page);
    }

    fn add_figures(&mut self, page: &PageFigures) {
        let sum = &mut self.sum;
        sum.record_count += page.record_count;
        sum.bare_count += page.bare_count;
        sum.record_bytes += page.record_bytes;
        sum.record_bytes_min = sum.record_bytes_min.min(page.record_bytes_min);
        sum.record_bytes_max = sum.record_bytes_max.max(page.record_bytes_max);
        sum.ghost_count += page.ghost_count;
        sum.free_bytes += page.free_bytes;
        sum.room_bytes += page.room_bytes;
    }

    /// Adds that one page follows another in the order of the level.
    pub fn add_link(&mut self, page: u64, successor: u64) {
        self.successor_count += 1;
        self.adjacent_count += u64::from(successor == page.wrapping_add(1));
        self.backward_count += u64::from(successor < page);
    }

    /// Adds the links of a level whose pages are listed in its order.
    pub fn add_order(&mut self, pages: &[u32]) {
        for pair in pages.windows(2) {
            if let &[page, successor] = pair {
                self.add_link(page.into(), successor.into());
            }
        }
    }

    /// Adds the links of pages in physical order that form so many runs.
    pub fn add_runs(&mut self, page_count: u64, run_count: u64) {
        self.successor_count += page_count.saturating_sub(1);
        self.adjacent_count += page_count.saturating_sub(run_count);
    }

    /// Adds what another worker saw.
    pub fn merge(&mut self, other: &LevelTally) {
        self.looked_at_count += other.looked_at_count;
        self.successor_count += other.successor_count;
        self.adjacent_count += other.adjacent_count;
        self.backward_count += other.backward_count;
        self.add_figures(&other.sum);
    }

    /// The columns of a level of `page_count` pages.
    ///
    /// Where fewer pages were looked at for want of time (`is_sampled`), counts are scaled up and marked as estimates;
    /// fill and sizes are those of the sample.
    pub fn level(&self, index_level: u32, page_count: u64, is_sampled: bool) -> LevelStructure {
        let sum = &self.sum;
        let has_looked = self.looked_at_count > 0;
        let is_estimate = is_sampled && has_looked && self.looked_at_count < page_count;
        let scaled = |count: u64| match is_estimate {
            true => (count as f64 * page_count as f64 / self.looked_at_count as f64).round() as u64,
            false => count,
        };
        let of_looked = |value: u64| has_looked.then_some(value);
        let stored_count = sum.record_count - sum.bare_count;
        let sizes = stored_count > 0;
        let fragment_count = page_count - self.adjacent_count.min(page_count.saturating_sub(1));
        LevelStructure {
            index_level,
            avg_fragmentation_pct: percent(self.successor_count - self.adjacent_count, self.successor_count),
            fragment_count,
            avg_fragment_size_pages: quotient(page_count, fragment_count),
            page_count,
            avg_page_space_used_pct: (sum.room_bytes > 0)
                .then(|| percent(sum.room_bytes - sum.free_bytes, sum.room_bytes)),
            record_count: of_looked(scaled(sum.record_count)),
            min_record_size_bytes: sizes.then_some(sum.record_bytes_min),
            max_record_size_bytes: sizes.then_some(sum.record_bytes_max),
            avg_record_size_bytes: sizes.then(|| quotient(sum.record_bytes, stored_count)),
            backward_pct: percent(self.backward_count, self.successor_count),
            backward_count: self.backward_count,
            successor_count: self.successor_count,
            free_bytes: of_looked(scaled(sum.free_bytes)),
            room_bytes: of_looked(scaled(sum.room_bytes)),
            ghost_record_count: of_looked(scaled(sum.ghost_count)),
            forwarded_record_count: None,
            looked_at_count: self.looked_at_count,
            is_estimate,
        }
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * quotient(part, whole)
}

/// 0 for a divisor of 0.
fn quotient(dividend: u64, divisor: u64) -> f64 {
    if divisor == 0 { 0.0 } else { dividend as f64 / divisor as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ordered(pages: &[u32]) -> LevelStructure {
        let mut tally = LevelTally::default();
        tally.add_order(pages);
        tally.level(0, pages.len() as u64, false)
    }

    #[test]
    fn a_level_in_physical_order_is_one_fragment() {
        let level = ordered(&[3, 4, 5, 6]);
        assert_eq!((level.avg_fragmentation_pct, level.fragment_count), (0.0, 1));
        assert_eq!((level.avg_fragment_size_pages, level.backward_count), (4.0, 0));
        let single = ordered(&[9]);
        assert_eq!((single.avg_fragmentation_pct, single.fragment_count), (0.0, 1));
    }

    #[test]
    fn each_jump_begins_a_fragment_and_jumps_back_are_told_apart() {
        let level = ordered(&[10, 11, 3, 4, 20]);
        assert_eq!((level.avg_fragmentation_pct, level.fragment_count), (50.0, 3));
        assert_eq!((level.backward_count, level.backward_pct), (1, 25.0));
        assert!((level.avg_fragment_size_pages - 5.0 / 3.0).abs() < 1e-12);
        assert_eq!(ordered(&[4, 3, 2, 1]).avg_fragmentation_pct, 100.0);
    }

    #[test]
    fn fill_is_what_is_not_free_and_sizes_leave_bare_references_out() {
        let mut page = PageFigures::new(8096, 748);
        (0..7).for_each(|_| page.add_record(1047));
        let mut tally = LevelTally::default();
        tally.add_page(&page);
        let level = tally.level(0, 1, false);
        // OBSERVED: a published row of sys.dm_db_index_physical_stats: 1047 bytes, 7 records, 91 %
        assert_eq!(level.avg_page_space_used_pct.map(f64::round), Some(91.0));
        assert_eq!((level.record_count, level.avg_record_size_bytes), (Some(7), Some(1047.0)));
        page.add_bare();
        let mut other = LevelTally::default();
        other.add_page(&page);
        tally.merge(&other);
        let level = tally.level(1, 2, false);
        assert_eq!((level.record_count, level.avg_record_size_bytes), (Some(15), Some(1047.0)));
    }

    #[test]
    fn a_sample_is_scaled_up_and_says_so() {
        let mut page = PageFigures::new(100, 50);
        page.add_record(10);
        let mut tally = LevelTally::default();
        tally.add_page(&page);
        let level = tally.level(0, 200, true);
        assert_eq!((level.record_count, level.is_estimate), (Some(200), true));
        assert_eq!((level.avg_page_space_used_pct, level.looked_at_count), (Some(50.0), 1));
        let unseen = LevelTally::default().level(0, 200, true);
        assert_eq!((unseen.record_count, unseen.avg_page_space_used_pct), (None, None));
    }
}
