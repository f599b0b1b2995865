//! The sums of a batch under way, as a stopped check keeps them: sums, not rows; TIDs only of rows that not all see.

use check::matching::side::Side;
use check::matching::sums::{Difference, StoredSum};
use serde::{Deserialize, Serialize};

use crate::btree::seams::{Half, Seam};
use crate::gin::blocks::GinRecord;
use crate::heap::packed::PackedValue;
use crate::matching::sums::Sums;
use crate::plan::Plan;

/// The sums of a batch under way. Relations are numbers in the plan; lists are sorted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct StoredSums {
    /// Rows and entries, and links between blocks.
    pub(crate) differences: Vec<StoredDifference>,
    /// Blocks of the batch under way that are not counted as clean: relation, block, and whether they break rules by their own bytes.
    pub(crate) not_clean: Vec<(u32, u32, bool)>,
    /// Row pointers of the batch under way that are not matched in the ordinary way, by table, as codes.
    pub(crate) exceptions: Vec<(u32, Vec<u64>)>,
    /// Keys where two leaves of a unique index meet, by index, as codes.
    pub(crate) boundaries: Vec<(u32, Vec<u64>)>,
    /// Keys of unique indexes whose order is not known, by index, as codes.
    pub(crate) unique_keys: Vec<(u32, Vec<u64>)>,
    /// Sides of seams between blocks of B-trees: index, left and right block, whether it is the right side, and its key.
    pub(crate) seams: Vec<(u32, u32, u32, bool, Vec<u8>)>,
    /// Seams found broken: index, left and right block.
    pub(crate) broken_seams: Vec<(u32, u32, u32)>,
    /// Packed values by TOAST table: number, stored and plain bytes, method, block and line pointer of the row.
    pub(crate) packed_values: Vec<(u32, Vec<[u32; 6]>)>,
    /// Packed values that were too many to remember, by TOAST table.
    pub(crate) packed_left_out: Vec<(u32, u64)>,
    /// What blocks of GIN indexes say of each other, by index, in four words each.
    pub(crate) gin: Vec<(u32, Vec<[u32; 4]>)>,
    /// GIN indexes with more blocks than may be kept in memory.
    pub(crate) gin_left_out: Vec<u32>,
    /// Relations that changed since the moment that is looked at.
    pub(crate) moved: Vec<u32>,
    /// Tables with the last block of zeros, and the last that stood still.
    pub(crate) ends: Vec<(u32, [Option<u32>; 2])>,
    /// Indexes with an update that was cut off, with the number of blocks.
    pub(crate) unfinished: Vec<(u32, u64)>,
    /// Indexes with keys whose order is not known, with their number.
    pub(crate) order_not_known: Vec<(u32, u64)>,
}

/// Two sides of sums about one object, in buckets.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct StoredDifference {
    /// The object, by its number in the plan.
    pub(crate) object: u32,
    /// Whether these are links between blocks, not rows and entries.
    pub(crate) is_links: bool,
    /// The sums.
    pub(crate) sums: StoredSum,
}

impl Sums {
    /// The sums of a batch under way, as they are kept when a check is stopped.
    pub(crate) fn to_stored(&self) -> StoredSums {
        let mut stopped = StoredSums::default();
        for (is_links, differences) in [(false, &self.entries), (true, &self.links)] {
            for (object, difference) in differences.iter() {
                stopped.differences.push(StoredDifference { object, is_links, sums: difference.to_stored() });
            }
        }
        stopped.differences.sort_by_key(|difference| (difference.object, difference.is_links));
        stopped.boundaries = self.boundaries.iter().map(|(number, codes)| (*number, codes.all())).collect();
        stopped.boundaries.sort_unstable();
        stopped.unique_keys = self.unique_keys.iter().map(|(number, codes)| (*number, codes.all())).collect();
        stopped.unique_keys.sort_unstable();
        let seams = self.seams.all().into_iter();
        stopped.seams = seams
            .map(|(seam, half)| {
                (seam.index, seam.left, seam.right, half.side == Side::Found, half.key.into_vec())
            })
            .collect();
        stopped.seams.sort_unstable();
        let broken = self.seams.broken_so_far().iter();
        stopped.broken_seams = broken.map(|seam| (seam.index, seam.left, seam.right)).collect();
        let numbers = |values: &Vec<PackedValue>| values.iter().map(PackedValue::numbers).collect();
        stopped.packed_values = self.packed.iter().map(|(toast, values)| (*toast, numbers(values))).collect();
        stopped.packed_values.sort_unstable();
        stopped.packed_left_out =
            self.packed_left_out.iter().map(|(toast, count)| (*toast, *count)).collect();
        // Single blocks that changed are not kept: after a stop their tables are left out as a whole.
        let changed = self.changed.counts().map(|(table, _)| table);
        stopped.moved = self.moved.iter().copied().chain(changed).collect();
        stopped.moved.sort_unstable();
        stopped.moved.dedup();
        stopped.ends = self.ends.iter().map(|(table, ends)| (*table, *ends)).collect();
        stopped.ends.sort_unstable();
        stopped.gin = self
            .gin
            .records
            .iter()
            .map(|(index, records)| (*index, records.iter().map(|record| record.0).collect()))
            .collect();
        stopped.gin.sort_unstable();
        stopped.gin_left_out = self.gin_left_out.iter().copied().collect();
        stopped.gin_left_out.sort_unstable();
        stopped.not_clean =
            self.not_clean.iter().map(|((number, block), own)| (*number, *block, *own)).collect();
        stopped.not_clean.sort_unstable();
        stopped.unfinished = self.unfinished.iter().map(|(number, count)| (*number, *count)).collect();
        stopped.order_not_known =
            self.order_not_known.iter().map(|(number, count)| (*number, *count)).collect();
        stopped
    }

    /// The sums of a batch under way, as they were when the check was stopped.
    pub(crate) fn from_stored(plan: &Plan, stopped: &StoredSums) -> Sums {
        let mut sums = Sums::new(plan);
        for stored in stopped.differences.iter().filter(|stored| plan.relation(stored.object).is_some()) {
            let differences = if stored.is_links { &mut sums.links } else { &mut sums.entries };
            differences.insert(stored.object, Difference::from_stored(&stored.sums));
        }
        for (kept, codes) in [
            (&mut sums.exceptions, &stopped.exceptions),
            (&mut sums.boundaries, &stopped.boundaries),
            (&mut sums.unique_keys, &stopped.unique_keys),
        ] {
            for (relation, codes) in codes {
                let kept = kept.entry(*relation).or_default();
                codes.iter().for_each(|code| kept.push(*code));
            }
        }
        for (index, left, right, is_right, key) in &stopped.seams {
            let side = if *is_right { Side::Found } else { Side::Expected };
            let half = Half { side, key: key.clone().into() };
            sums.seams.restore(Seam { index: *index, left: *left, right: *right }, half);
        }
        for (index, left, right) in &stopped.broken_seams {
            sums.seams.keep_broken(Seam { index: *index, left: *left, right: *right });
        }
        for (index, records) in &stopped.gin {
            for record in records {
                sums.gin.push(*index, GinRecord(*record), u64::MAX);
            }
        }
        sums.gin_left_out = stopped.gin_left_out.iter().copied().collect();
        for (toast, values) in &stopped.packed_values {
            let kept = sums.packed.entry(*toast).or_default();
            kept.extend(values.iter().map(|numbers| PackedValue::of_numbers(*numbers)));
        }
        sums.packed_left_out = stopped.packed_left_out.iter().copied().collect();
        sums.moved = stopped.moved.iter().copied().collect();
        sums.ends = stopped.ends.iter().copied().collect();
        sums.not_clean =
            stopped.not_clean.iter().map(|(number, block, own)| ((*number, *block), *own)).collect();
        sums.unfinished = stopped.unfinished.iter().copied().collect();
        sums.order_not_known = stopped.order_not_known.iter().copied().collect();
        sums
    }
}
