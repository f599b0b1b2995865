//! Row pointers that are not matched in the ordinary way: in memory, and beyond a limit in files without a name.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use check::matching::side::Side;
use formats::postgres::Tid;

use crate::heap::exception_code;
use crate::matching::exception::Exception;

/// Codes between two that a run on disk keeps in memory: 4 KiB of them.
const RUN_STEP_CODES: usize = 512;
/// So few codes stay in memory: a file of their own for each table would be too many files.
const SPILL_CODES_MIN: usize = RUN_STEP_CODES;
/// Bytes of a code.
const CODE_BYTES: usize = 8;

/// So many pairs are looked at one by one: more in one index than anybody mends by hand.
const PAIRS_MAX: usize = 1 << 16;

/// A fact of a side as one number: 63 bits of its hash, then the side.
pub(crate) fn boundary_code(side: Side, fact: u128) -> u64 {
    ((fact as u64) << 1) | side as u64
}

/// Codes of one table. Merges by addition.
#[derive(Debug, Default)]
pub(crate) struct Codes {
    kept: Vec<u64>,
    runs: Vec<CodeRun>,
    /// The file that runs are added to, and its length in bytes.
    file: Option<(Arc<File>, u64)>,
}

/// Ascending codes in a file without a name; the runs of one worker share it.
#[derive(Debug)]
struct CodeRun {
    file: Arc<File>,
    /// Where they begin, in bytes.
    start_bytes: u64,
    count: usize,
    /// Every so many codes the next one.
    steps: Vec<u64>,
}

impl Codes {
    /// Adds a code; gives the bytes that it takes.
    pub(crate) fn push(&mut self, code: u64) {
        self.kept.push(code);
    }

    /// Adds what another worker collected.
    pub(crate) fn merge(&mut self, mut other: Codes) {
        self.kept.append(&mut other.kept);
        self.runs.append(&mut other.runs);
    }

    /// Moves what is in memory to a file. Where that cannot be, or is too little for one, it stays in memory.
    pub(crate) fn spill(&mut self) {
        if self.kept.len() < SPILL_CODES_MIN {
            return;
        }
        self.kept.sort_unstable();
        let file = match self.file.take() {
            Some(file) => Ok(file),
            None => tempfile::tempfile().map(|file| (Arc::new(file), 0)),
        };
        let Ok((file, start_bytes)) = file else { return };
        let written = CodeRun::write(&self.kept, &file, start_bytes);
        let end = start_bytes + (self.kept.len() * CODE_BYTES) as u64;
        self.file = Some((file, end));
        if let Ok(run) = written {
            self.runs.push(run);
            self.kept = Vec::new();
        }
    }

    /// Facts that both sides stated, as [`boundary_code`] gives them; at most [`PAIRS_MAX`].
    pub(crate) fn pairs(&self, memory_bytes_max: u64) -> Vec<u64> {
        let mut pairs = Vec::new();
        for part in 0..self.part_count(memory_bytes_max) {
            let mut codes = self.part(part, memory_bytes_max, |code| code >> 1);
            codes.sort_unstable();
            let both = codes.windows(2).filter(|pair| match pair {
                [a, b] => a != b && a >> 1 == b >> 1,
                _ => false,
            });
            pairs.extend(both.flat_map(<[u64]>::first).map(|code| code >> 1).take(PAIRS_MAX - pairs.len()));
        }
        pairs
    }

    /// Codes that stand more than once, each once; at most [`PAIRS_MAX`].
    pub(crate) fn repeated(&self, memory_bytes_max: u64) -> Vec<u64> {
        let mut repeated = Vec::new();
        for part in 0..self.part_count(memory_bytes_max) {
            let mut codes = self.part(part, memory_bytes_max, |code| code);
            codes.sort_unstable();
            let again = codes.windows(2).filter(|pair| matches!(pair, [a, b] if a == b));
            let mut found: Vec<u64> = again.flat_map(<[u64]>::first).copied().collect();
            found.dedup();
            repeated.extend(found.into_iter().take(PAIRS_MAX - repeated.len()));
        }
        repeated
    }

    /// In how many parts the codes are looked at, so that each fits the memory.
    fn part_count(&self, memory_bytes_max: u64) -> u64 {
        let count = self.kept.len() + self.runs.iter().map(|run| run.count).sum::<usize>();
        ((count * CODE_BYTES) as u64).div_ceil(memory_bytes_max.max(1)).max(1)
    }

    /// The codes of a part: those whose number falls into it.
    fn part(&self, part: u64, memory_bytes_max: u64, number: fn(u64) -> u64) -> Vec<u64> {
        let parts = self.part_count(memory_bytes_max);
        let is_of_part = |code: &u64| number(*code) % parts == part;
        let mut codes: Vec<u64> = self.kept.iter().copied().filter(is_of_part).collect();
        let mut step_codes = Vec::new();
        for run in &self.runs {
            for step in 0..run.steps.len() {
                run.step(step, &mut step_codes);
                codes.extend(step_codes.iter().copied().filter(is_of_part));
            }
        }
        codes
    }

    /// All codes, in no order.
    pub(crate) fn all(&self) -> Vec<u64> {
        let mut all = self.kept.clone();
        self.runs.iter().for_each(|run| all.extend(run.all()));
        all
    }
}

impl CodeRun {
    fn write(codes: &[u64], file: &Arc<File>, start_bytes: u64) -> std::io::Result<CodeRun> {
        let mut at = start_bytes;
        let mut bytes = Vec::with_capacity(RUN_STEP_CODES * CODE_BYTES);
        for step in codes.chunks(RUN_STEP_CODES) {
            bytes.clear();
            step.iter().for_each(|code| bytes.extend(code.to_le_bytes()));
            file.write_all_at(&bytes, at)?;
            at += bytes.len() as u64;
        }
        let steps = codes.iter().step_by(RUN_STEP_CODES).copied().collect();
        Ok(CodeRun { file: Arc::clone(file), start_bytes, count: codes.len(), steps })
    }

    /// The codes of a step.
    fn step(&self, step: usize, codes: &mut Vec<u64>) {
        codes.clear();
        let start = step * RUN_STEP_CODES;
        let count = RUN_STEP_CODES.min(self.count.saturating_sub(start));
        let mut bytes = vec![0; count * CODE_BYTES];
        if self.file.read_exact_at(&mut bytes, self.start_bytes + (start * CODE_BYTES) as u64).is_ok() {
            codes.extend(bytes.as_chunks::<CODE_BYTES>().0.iter().map(|code| u64::from_le_bytes(*code)));
        }
    }

    fn all(&self) -> Vec<u64> {
        let (mut all, mut codes) = (Vec::with_capacity(self.count), Vec::new());
        for step in 0..self.steps.len() {
            self.step(step, &mut codes);
            all.append(&mut codes);
        }
        all
    }

    /// The first code that is not below.
    fn first_from(&self, wanted: u64) -> Option<u64> {
        let after = self.steps.partition_point(|step| *step < wanted);
        let mut codes = Vec::new();
        // It stands in the step before the first that begins above, or begins that one.
        for step in [after.saturating_sub(1), after] {
            self.step(step, &mut codes);
            if let Some(code) = codes.iter().find(|code| **code >= wanted) {
                return Some(*code);
            }
        }
        None
    }
}

/// So many changed blocks of tables are remembered one by one; beyond, the table is left out as a whole.
const CHANGED_BLOCKS_MAX: usize = 1 << 20;

/// Blocks of tables that changed since the redo point of the last checkpoint. Merges by addition.
#[derive(Debug, Default)]
pub(crate) struct ChangedBlocks {
    by_table: HashMap<u32, HashSet<u32>>,
    count: usize,
}

impl ChangedBlocks {
    /// Adds a block; `false` if there are too many.
    pub(crate) fn insert(&mut self, table: u32, block: u32) -> bool {
        let blocks = self.by_table.entry(table).or_default();
        let is_kept = self.count < CHANGED_BLOCKS_MAX || blocks.contains(&block);
        if is_kept && blocks.insert(block) {
            self.count += 1;
        }
        is_kept
    }

    /// Adds the blocks of another worker; gives the tables with too many.
    pub(crate) fn merge(&mut self, other: ChangedBlocks) -> Vec<u32> {
        let pairs =
            |(table, blocks): (u32, HashSet<u32>)| blocks.into_iter().map(move |block| (table, block));
        let mut all = other.by_table.into_iter().flat_map(pairs);
        let mut left_out: Vec<u32> = all
            .by_ref()
            .filter(|(table, block)| !self.insert(*table, *block))
            .map(|(table, _)| table)
            .collect();
        left_out.dedup();
        left_out
    }

    /// Whether a block of the table changed.
    pub(crate) fn has(&self, table: u32) -> bool {
        self.by_table.contains_key(&table)
    }

    /// Tables with blocks that changed, and how many.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (u32, u64)> {
        self.by_table.iter().map(|(table, blocks)| (*table, blocks.len() as u64))
    }
}

/// Row pointers of a table that are not matched in the ordinary way, to be looked up.
#[derive(Debug, Default)]
pub(crate) struct Exceptions {
    codes: Codes,
    /// One bit per block of the table: has any.
    blocks: Vec<u64>,
    /// Blocks that changed: entries of their rows are not compared.
    changed: HashSet<u32>,
}

impl Exceptions {
    pub(crate) fn new(mut codes: Codes) -> Exceptions {
        codes.kept.sort_unstable();
        let mut blocks = Vec::new();
        let mut mark = |code: u64| {
            let block = code >> (16 + Exception::BITS);
            let word = block as usize / 64;
            if blocks.len() <= word {
                blocks.resize(word + 1, 0u64);
            }
            if let Some(bits) = blocks.get_mut(word) {
                *bits |= 1 << (block % 64);
            }
        };
        codes.kept.iter().for_each(|code| mark(*code));
        let mut step_codes = Vec::new();
        for run in &codes.runs {
            for step in 0..run.steps.len() {
                run.step(step, &mut step_codes);
                step_codes.iter().for_each(|code| mark(*code));
            }
        }
        Exceptions { codes, blocks, changed: HashSet::new() }
    }

    /// The exceptions of all tables that have any.
    pub(crate) fn of_tables(
        codes: &mut HashMap<u32, Codes>,
        changed: &ChangedBlocks,
    ) -> HashMap<u32, Exceptions> {
        let mut exceptions: HashMap<u32, Exceptions> =
            codes.drain().map(|(table, codes)| (table, Exceptions::new(codes))).collect();
        for (table, blocks) in &changed.by_table {
            exceptions.entry(*table).or_default().changed = blocks.clone();
        }
        exceptions
    }

    /// Blocks of the table that changed.
    pub(crate) fn changed(&self) -> &HashSet<u32> {
        &self.changed
    }

    /// What is special about a row pointer; "not live" wins.
    #[inline]
    pub(crate) fn of(&self, tid: Tid) -> Option<Exception> {
        if !self.changed.is_empty() && self.changed.contains(&tid.block) {
            return Some(Exception::NotLive);
        }
        let bits = *self.blocks.get(tid.block as usize / 64)?;
        if bits >> (tid.block % 64) & 1 == 0 {
            return None;
        }
        let wanted = exception_code(tid, Exception::NotLive);
        let at = self.codes.kept.partition_point(|code| *code < wanted);
        let in_memory = self.codes.kept.get(at).copied();
        let on_disk = self.codes.runs.iter().filter_map(|run| run.first_from(wanted)).min();
        let found = in_memory.into_iter().chain(on_disk).min()?;
        Exception::ALL.into_iter().find(|exception| exception_code(tid, *exception) == found)
    }

    /// The codes, to be kept.
    pub(crate) fn codes(&self) -> &Codes {
        &self.codes
    }

    /// Bytes in memory.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let steps: usize = self.codes.runs.iter().map(|run| run.steps.len()).sum();
        ((self.codes.kept.len() + self.blocks.len() + steps) * CODE_BYTES) as u64
    }

    /// Bytes in files.
    pub(crate) fn temporary_bytes(&self) -> u64 {
        self.codes.runs.iter().map(|run| (run.count * CODE_BYTES) as u64).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_spilled_is_found_as_what_was_kept() {
        let tid = |number: u64| Tid { block: (number / 7 * 3) as u32, item: (number % 7 + 1) as u16 };
        let code = |number| {
            let kind = Exception::ALL[if number % 5 == 0 { number as usize / 5 % 4 } else { 0 }];
            exception_code(tid(number), kind)
        };
        let (mut in_memory, mut spilled) = (Codes::default(), Codes::default());
        for number in (0..5_000).filter(|number| number % 3 != 0) {
            in_memory.push(code(number));
            spilled.push(code(number));
            if number % 1_201 == 1 {
                spilled.spill();
            }
        }
        assert!(!spilled.runs.is_empty() && !spilled.kept.is_empty());
        let mut all = spilled.all();
        all.sort_unstable();
        let (in_memory, spilled) = (Exceptions::new(in_memory), Exceptions::new(spilled));
        assert_eq!(all, in_memory.codes.kept);
        assert!(spilled.temporary_bytes() > 0 && spilled.memory_bytes() < in_memory.memory_bytes());
        for number in 0..5_200 {
            assert_eq!(spilled.of(tid(number)), in_memory.of(tid(number)), "{number}");
        }
    }
}
