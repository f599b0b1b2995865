//! Objects in batches, and the place in them where a check stopped.

use std::collections::{BTreeMap, HashMap};

use results::stopped_cluster::{StoppedCluster, StoredLedger};

use crate::btree::seams::{Half, Seam};
use crate::catalog::Storage;
use crate::gin::blocks::Record;
use crate::heap::packed::PackedValue;
use crate::matching::ledger::{Ledger, Side};
use crate::matching::sums::Sums;
use crate::plan::Plan;
use crate::plan::objects::PlanFile;

/// Tables with all that belongs to them, dealt with at the same time.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Everything but B-trees: read first.
    pub(crate) first: Vec<PlanFile>,
    /// B-trees.
    pub(crate) second: Vec<PlanFile>,
}

/// How far a check is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) batch: usize,
    /// 0 tables, 1 indexes.
    pub(crate) pass: u64,
    /// Bytes of the pass that are dealt with.
    pub(crate) bytes: u64,
}

impl Position {
    pub(crate) fn start() -> Position {
        Position { batch: 0, pass: 0, bytes: 0 }
    }

    /// Where a check stopped. In a cluster whose files may have changed since it is looked for by the file's name;
    /// where that is gone, the pass starts over.
    pub(crate) fn of(stopped: &StoppedCluster, batches: &[Batch], by_name: bool) -> Position {
        let batch = usize::try_from(stopped.batch_index).unwrap_or(usize::MAX);
        let place = Position { batch, pass: stopped.pass_index, bytes: stopped.claimed_bytes };
        if !by_name {
            return place;
        }
        for (number, batch) in batches.iter().enumerate() {
            for (pass, files) in [(0, &batch.first), (1, &batch.second)] {
                if let Some(at) = files.iter().position(|file| file.shown == stopped.next_file) {
                    let before = files.get(..at).map_or(0, bytes_of);
                    let within =
                        files.get(at).map_or(0, |file| stopped.next_offset_bytes.min(file.part.bytes));
                    return Position { batch: number, pass, bytes: before + within };
                }
            }
        }
        Position { bytes: 0, ..place }
    }
}

/// Bytes of files when they were listed.
pub(crate) fn bytes_of(files: &[PlanFile]) -> u64 {
    files.iter().map(|file| file.part.bytes).sum()
}

/// The rest of files after so many bytes of them were dealt with, all of them in order.
pub(crate) fn rest_of(files: &[PlanFile], claimed_bytes: u64, block_bytes: u64) -> Vec<PlanFile> {
    let mut left = claimed_bytes;
    let mut rest = Vec::new();
    for file in files {
        let done = left.min(file.part.bytes);
        left -= done;
        if done == file.part.bytes && done > 0 {
            continue;
        }
        let mut file = file.clone();
        file.first_block = file.first_block.saturating_add((done / block_bytes) as u32);
        file.part.offset_bytes += done;
        file.part.bytes -= done;
        rest.push(file);
    }
    rest
}

impl Plan {
    /// All files, in batches of so many tables and what belongs to them; in one without a number.
    pub(crate) fn batches(&self, object_batch: Option<usize>) -> Vec<Batch> {
        let per_batch = object_batch.unwrap_or(usize::MAX).max(1);
        let groups = self.groups();
        let mut numbers: Vec<u32> = groups.values().copied().collect();
        numbers.sort_unstable();
        numbers.dedup();
        let batch_of_group: HashMap<u32, usize> =
            numbers.iter().enumerate().map(|(position, group)| (*group, position / per_batch)).collect();
        // What no relation is known for comes with the first.
        let batch_of = |file: &PlanFile| {
            let group = file.relation.and_then(|relation| groups.get(&relation));
            group.and_then(|group| batch_of_group.get(group)).copied().unwrap_or(0)
        };
        let mut batches: BTreeMap<usize, Batch> = BTreeMap::new();
        for file in &self.first_files {
            batches.entry(batch_of(file)).or_default().first.push(file.clone());
        }
        for file in &self.second_files {
            batches.entry(batch_of(file)).or_default().second.push(file.clone());
        }
        batches.into_values().collect()
    }

    /// For each relation the table that it belongs to: itself, that of the index, the owner of the TOAST table.
    fn groups(&self) -> HashMap<u32, u32> {
        let owners: HashMap<u32, u32> =
            self.tables.iter().filter_map(|(table, plan)| Some((plan.toast_number?, *table))).collect();
        (0..self.relations.len() as u32)
            .map(|number| {
                let relation = &self.relations[number as usize];
                let table = match (&relation.storage, &relation.index) {
                    (Storage::Heap, _) | (_, None) => number,
                    (_, Some(index)) => self.number_of(relation.database, index.table).unwrap_or(number),
                };
                (number, owners.get(&table).copied().unwrap_or(table))
            })
            .collect()
    }
}

impl Sums {
    /// Puts the sums of a batch under way into a stopped check.
    pub(crate) fn store(&self, stopped: &mut StoppedCluster) {
        for (is_links, ledgers) in [(false, &self.entries), (true, &self.links)] {
            for (object, ledger) in ledgers.iter() {
                stopped.sums.push(StoredLedger { object, is_links, buckets: ledger.parts() });
            }
        }
        stopped.sums.sort_by_key(|ledger| (ledger.object, ledger.is_links));
        stopped.boundaries = self.boundaries.iter().map(|(number, codes)| (*number, codes.all())).collect();
        stopped.boundaries.sort_unstable();
        stopped.unique_keys = self.unique_keys.iter().map(|(number, codes)| (*number, codes.all())).collect();
        stopped.unique_keys.sort_unstable();
        let seams = self.seams.all().into_iter();
        stopped.seams = seams
            .map(|(seam, half)| {
                (seam.index, seam.left, seam.right, half.side == Side::Witness, half.key.into_vec())
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
    }

    /// The sums of a batch under way, as they were when the check was stopped.
    pub(crate) fn restored(plan: &Plan, stopped: &StoppedCluster) -> Sums {
        let mut sums = Sums::new(plan);
        for stored in stopped.sums.iter().filter(|stored| plan.relation(stored.object).is_some()) {
            let ledgers = if stored.is_links { &mut sums.links } else { &mut sums.entries };
            ledgers.insert(stored.object, Ledger::of_parts(&stored.buckets));
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
            let side = if *is_right { Side::Witness } else { Side::Claim };
            let half = Half { side, key: key.clone().into() };
            sums.seams.restore(Seam { index: *index, left: *left, right: *right }, half);
        }
        for (index, left, right) in &stopped.broken_seams {
            sums.seams.keep_broken(Seam { index: *index, left: *left, right: *right });
        }
        for (index, records) in &stopped.gin {
            for record in records {
                sums.gin.push(*index, Record(*record), u64::MAX);
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
