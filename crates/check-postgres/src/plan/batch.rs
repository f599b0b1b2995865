//! Objects in batches, and the place in them where a check stopped.

use std::collections::{BTreeMap, HashMap};

use crate::catalog::Storage;
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

    /// Where that file is now at which a check stopped: files may have come and gone since. Where it is gone, the pass starts
    /// over.
    pub(crate) fn by_name(self, next_file: &str, next_offset_bytes: u64, batches: &[Batch]) -> Position {
        for (number, batch) in batches.iter().enumerate() {
            for (pass, files) in [(0, &batch.first), (1, &batch.second)] {
                if let Some(at) = files.iter().position(|file| file.shown == next_file) {
                    let before = files.get(..at).map_or(0, bytes_of);
                    let within = files.get(at).map_or(0, |file| next_offset_bytes.min(file.part.bytes));
                    return Position { batch: number, pass, bytes: before + within };
                }
            }
        }
        Position { bytes: 0, ..self }
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
