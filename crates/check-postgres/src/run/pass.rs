//! One pass over files in physical order: each block is looked at once, on the thread that read it.

use std::collections::HashMap;
use std::io::ErrorKind;

use check::findings::Findings;
use disk::scan::{Content, Extent};
use formats::postgres::file_name::Fork;
use formats::postgres::page::Page;
use results::check::{CheckLevel, Confidence};

use crate::btree::seams::Seams;
use crate::catalog::Storage;
use crate::cluster::state::Standing;
use crate::finding::BlockLocation;
use crate::matching::sink::RowSink as _;
use crate::matching::sums::Sums;
use crate::plan::Plan;
use crate::plan::objects::PlanFile;
use crate::rules;
use crate::run::context::{BlockScratch, PassContext};
use crate::run::state::{NOT_CLEAN_MAX, PassState};

/// How often a block is read again that looks damaged and changes meanwhile.
const READ_AGAIN_MAX: usize = 5;

/// Share of that memory for keys of B-tree blocks that wait for those of their neighbours.
const SEAM_SHARE: u64 = 4;

impl PassState {
    pub(crate) fn new(plan: &Plan, findings_per_rule_max: usize) -> PassState {
        PassState {
            findings: Findings::new(&crate::RULES, findings_per_rule_max),
            clean: 0,
            damaged: 0,
            affected: 0,
            unreadable: 0,
            skipped: HashMap::new(),
            read_again: 0,
            sums: Sums::new(plan),
            scratch: BlockScratch::default(),
        }
    }

    /// Remembers that a block is not counted as clean.
    fn is_not_clean(&mut self, file: &PlanFile, block: u32, breaks_own_bytes: bool) {
        if let Some(number) = file.relation.filter(|_| file.fork == Fork::Main)
            && self.sums.not_clean.len() < NOT_CLEAN_MAX
        {
            self.sums.not_clean.insert((number, block), breaks_own_bytes);
        }
    }

    /// Blocks of BRIN indexes that were read beside their tables.
    pub(crate) fn range_read_count(&self) -> u64 {
        self.scratch.heap.ranges.read_count
    }

    /// With a limit for row pointers that are kept in memory, bytes.
    pub(crate) fn with_memory(plan: &Plan, findings_per_rule_max: usize, memory_bytes_max: u64) -> PassState {
        let mut state = PassState::new(plan, findings_per_rule_max);
        state.sums.exception_bytes_max = memory_bytes_max;
        state.sums.seams = Seams::new(memory_bytes_max / SEAM_SHARE);
        state
    }
}

impl PassContext<'_> {
    /// Looks at one extent.
    pub(crate) fn visit(&self, state: &mut PassState, extent: Extent<'_>) {
        let Some(file) = self.files.get(extent.file_index) else { return };
        let block_bytes = self.cluster.block_bytes as u64;
        let mut block = file.first_block.saturating_add(
            (extent.offset_bytes.saturating_sub(file.part.offset_bytes) / block_bytes) as u32,
        );
        match extent.content {
            Content::Bytes(bytes) => {
                for bytes in bytes.chunks(self.cluster.block_bytes) {
                    if bytes.len() < self.cluster.block_bytes {
                        // The finding about the file was made when it was planned.
                        state.damaged += 1;
                        state.is_not_clean(file, block, true);
                        state.sums.covered.page(file.relation, true);
                    } else {
                        self.judge(state, file, block, bytes);
                    }
                    block = block.saturating_add(1);
                }
            }
            Content::Unreadable { length_bytes, error }
                if self.cluster.standing == Standing::Running && error.kind() == ErrorKind::NotFound =>
            {
                state.sums.moved.extend(file.relation);
                *state.skipped.entry("the file was dropped during the check").or_default() +=
                    length_bytes.div_ceil(block_bytes);
            }
            Content::Unreadable { length_bytes, error } => {
                state.unreadable += length_bytes.div_ceil(block_bytes);
                for number in 0..length_bytes.div_ceil(block_bytes) {
                    state.is_not_clean(file, block.saturating_add(number as u32), true);
                }
                state.sums.covered.pages_left_out(file.relation, length_bytes.div_ceil(block_bytes));
                let place = self.place(file, block, Confidence::Certain);
                let expected = format!("{length_bytes} readable bytes");
                state.findings.push(place.finding(&rules::UNREADABLE, None, expected, error.to_string()));
            }
            Content::Missing { length_bytes } => {
                state.sums.moved.extend(file.relation);
                // Cut or dropped since it was listed: a server at work does both.
                *state.skipped.entry("the file became shorter during the check").or_default() +=
                    length_bytes.div_ceil(block_bytes);
            }
        }
    }

    fn judge(&self, state: &mut PassState, file: &PlanFile, block: u32, bytes: &[u8]) {
        if self.level == CheckLevel::Read {
            *state.skipped.entry("level read verifies no contents").or_default() += 1;
            return;
        }
        if let Some(why) = self.reason_to_skip(file) {
            *state.skipped.entry(why).or_default() += 1;
            return;
        }
        if self.is_replaced_by_recovery(&Page::new(bytes), block) {
            self.block_changed(state, file, block);
            state.sums.covered.page(file.relation, false);
            state.is_not_clean(file, block, false);
            *state
                .skipped
                .entry("written while the backup was made: recovery replaces it from the WAL")
                .or_default() += 1;
            return;
        }
        let mut found = Findings::new(&crate::RULES, usize::MAX / 4);
        let PassState { sums, scratch, .. } = state;
        let has_contents = self.block(file, block, bytes, scratch, &mut found, sums);
        // A map is no contents of its table.
        let relation = file.relation.filter(|_| !matches!(file.fork, Fork::FreeSpace | Fork::Visibility));
        state.sums.covered.page(relation, has_contents || !found.is_empty());
        if found.is_empty() {
            match self.other_method(file) {
                Some(why) => {
                    *state.skipped.entry(why).or_default() += 1;
                    state.is_not_clean(file, block, false);
                }
                None => state.clean += 1,
            }
            return;
        }
        match self.confirm(state, file, block, bytes, found) {
            Some(found) => {
                // Zeros where something must be break every rule themselves.
                let breaks_own_bytes = found.breaks_own_bytes() || Page::new(bytes).is_zero();
                match breaks_own_bytes {
                    true => state.damaged += 1,
                    false => state.affected += 1,
                }
                state.is_not_clean(file, block, breaks_own_bytes);
                state.findings.merge(found);
            }
            None => state.clean += 1,
        }
    }

    /// Reads a block again before it is accused: the same bytes are damage, others are looked at anew.
    fn confirm(
        &self,
        state: &mut PassState,
        file: &PlanFile,
        block: u32,
        bytes: &[u8],
        found: Findings,
    ) -> Option<Findings> {
        let offset = u64::from(block - file.first_block) * self.cluster.block_bytes as u64;
        let mut seen = bytes.to_vec();
        let mut found = found;
        for _ in 0..READ_AGAIN_MAX {
            state.read_again += 1;
            let mut again = std::mem::take(&mut state.scratch.block);
            again.resize(self.cluster.block_bytes, 0);
            let read = file.part.read_exact_at(&mut again, offset);
            let is_same = read.is_err() || again == seen;
            if read.is_err() {
                state.sums.moved.extend(file.relation);
            }
            let gone = read.is_err() && self.cluster.standing == Standing::Running;
            if gone || is_same {
                state.scratch.block = again;
                return if gone { None } else { Some(found) };
            }
            self.block_changed(state, file, block);
            found = Findings::new(&crate::RULES, usize::MAX / 4);
            let mut ignored = Sums::new(self.plan);
            self.block(file, block, &again, &mut state.scratch, &mut found, &mut ignored);
            if found.is_empty() {
                state.scratch.block = again;
                return None;
            }
            state.scratch.block = std::mem::replace(&mut seen, again);
        }
        // It changed each time: a server is writing it, and nothing is proven.
        None
    }

    /// Leaves a block out of the comparison of rows and entries; the whole relation where it is no block of a table.
    fn block_changed(&self, state: &mut PassState, file: &PlanFile, block: u32) {
        let is_table = |number: &u32| file.fork == Fork::Main && self.plan.tables.contains_key(number);
        match file.relation.filter(|number| self.snapshot.is_some() && is_table(number)) {
            Some(table) => state.sums.changed(table, block),
            None => state.sums.moved.extend(file.relation),
        }
    }

    /// Why a block without fault is not called clean: its contents were not tested.
    fn other_method(&self, file: &PlanFile) -> Option<&'static str> {
        let relation = file.relation.and_then(|number| self.plan.relation(number))?;
        let is_other = relation.storage == Storage::Other && file.fork == Fork::Main;
        (is_other && self.level >= CheckLevel::Structure)
            .then_some("contents of an unknown access method; header, checksum and LSN were verified")
    }

    fn reason_to_skip(&self, file: &PlanFile) -> Option<&'static str> {
        if file.temporary {
            return Some("files of temporary relations belong to one session, or were left behind by one");
        }
        let unlogged = file
            .relation
            .and_then(|number| self.plan.relation(number))
            .is_some_and(|relation| relation.persistence == b'u');
        let is_replayed = matches!(self.cluster.standing, Standing::Crashed | Standing::Backup { .. });
        (unlogged && is_replayed && file.fork != Fork::Init)
            .then_some("unlogged relations are reset by crash recovery")
    }

    pub(crate) fn place<'f>(
        &'f self,
        file: &'f PlanFile,
        block: u32,
        confidence: Confidence,
    ) -> BlockLocation<'f> {
        let object = file
            .relation
            .and_then(|number| self.plan.relation(number))
            .map(|relation| relation.name.as_str());
        BlockLocation { file: &file.shown, object, block, confidence }
    }
}
