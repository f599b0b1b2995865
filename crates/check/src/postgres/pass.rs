//! One pass over files in physical order: each block is looked at once, on the thread that read it.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt as _;

use disk::scan::{Content, Extent};
use formats::postgres::checksum::page_checksum;
use formats::postgres::file_name::Fork;
use formats::postgres::maps::Visibility;
use formats::postgres::page::Page;
use formats::postgres::{Damage, Promise, Tid};
use results::check::{CheckLevel, Confidence};

use super::btree::{EntrySink, Exceptions, Link, TREE_SPECIAL_BYTES, Tree, TreeCheck, TreeScratch};
use super::catalog::{Relation, Storage};
use super::cluster::{Cluster, Standing};
use super::finding::Place;
use super::heap::{Exception, HeapCheck, HeapScratch, RowSink, Work, exception_code};
use super::keyed::{Key, Ledger, Side};
use super::plan::{Plan, PlanFile};
use super::rules::Promised;
use super::transactions::Transactions;
use crate::findings::Findings;

/// Relations with fewer blocks have one bucket for their sums.
const SMALL_RELATION_BLOCKS: u32 = 64;
/// How often a block is read again that looks damaged and changes meanwhile.
const READ_AGAIN_MAX: usize = 5;

/// What all workers of a pass look at.
#[derive(Clone, Copy)]
pub(crate) struct PassContext<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) plan: &'a Plan,
    pub(crate) files: &'a [PlanFile],
    pub(crate) level: CheckLevel,
    pub(crate) key: &'a Key,
    /// Present when the cluster is stopped: rules about transactions and facts between blocks are tested.
    pub(crate) transactions: Option<&'a Transactions>,
    pub(crate) exceptions: &'a HashMap<u32, Exceptions>,
    pub(crate) no_exceptions: &'a Exceptions,
    /// A partial index whose entries the rows state as well; for the second look.
    pub(crate) also_index: Option<u32>,
}

/// What one worker has found. Merges by addition.
pub(crate) struct PassState {
    pub(crate) findings: Findings,
    pub(crate) clean: u64,
    pub(crate) damaged: u64,
    pub(crate) unreadable: u64,
    pub(crate) skipped: HashMap<&'static str, u64>,
    pub(crate) read_again: u64,
    pub(crate) sums: Sums,
    scratch: BlockScratch,
}

#[derive(Default)]
pub(crate) struct BlockScratch {
    heap: HeapScratch,
    tree: TreeScratch,
    damage: Vec<Damage>,
    block: Vec<u8>,
}

/// Facts of one worker, as sums.
#[derive(Default)]
pub(crate) struct Sums {
    /// Rows and entries, or TOAST pointers and pieces, by relation.
    pub(crate) entries: HashMap<u32, Ledger>,
    /// Links of B-trees, by relation.
    pub(crate) links: HashMap<u32, Ledger>,
    /// Row pointers that are not matched in the ordinary way, by table.
    pub(crate) exceptions: HashMap<u32, Vec<u64>>,
    /// B-trees with an update that was cut off.
    pub(crate) unfinished: HashMap<u32, u64>,
    /// B-trees with keys that could not be compared.
    pub(crate) order_not_known: HashMap<u32, u64>,
    small: Vec<bool>,
}

impl RowSink for Sums {
    fn fact(&mut self, relation: u32, side: Side, bucket: usize, fact: u128, _tid: Tid) {
        let small = self.small.get(relation as usize).copied().unwrap_or(false);
        self.entries.entry(relation).or_insert_with(|| Ledger::new(small)).add(side, bucket, fact);
    }

    fn exception(&mut self, table: u32, tid: Tid, exception: Exception) {
        self.exceptions.entry(table).or_default().push(exception_code(tid, exception));
    }
}

impl EntrySink for Sums {
    fn entry(&mut self, index: u32, bucket: usize, fact: u128, _tid: Tid, _place: (u32, u16)) {
        let small = self.small.get(index as usize).copied().unwrap_or(false);
        self.entries.entry(index).or_insert_with(|| Ledger::new(small)).add(Side::Witness, bucket, fact);
    }

    fn link(&mut self, index: u32, side: Side, bucket: usize, fact: u128, _link: Link) {
        let small = self.small.get(index as usize).copied().unwrap_or(false);
        self.links.entry(index).or_insert_with(|| Ledger::new(small)).add(side, bucket, fact);
    }

    fn unfinished(&mut self, index: u32) {
        *self.unfinished.entry(index).or_default() += 1;
    }

    fn order_not_known(&mut self, index: u32) {
        *self.order_not_known.entry(index).or_default() += 1;
    }
}

impl Sums {
    /// Starts empty sums for the relations of a plan.
    pub(crate) fn new(plan: &Plan) -> Sums {
        // Rows and entries must use the same number of buckets: that of the table, so small means both are.
        let is_small = |number: usize| {
            let own = plan.blocks.get(number).copied().unwrap_or(0);
            let heap = plan.trees.get(&(number as u32)).and_then(|tree| tree.heap_blocks).unwrap_or(0);
            own.max(heap) < SMALL_RELATION_BLOCKS
        };
        Sums { small: (0..plan.relations.len()).map(is_small).collect(), ..Sums::default() }
    }

    pub(crate) fn merge(&mut self, other: Sums) {
        for (mine, theirs) in [(&mut self.entries, other.entries), (&mut self.links, other.links)] {
            for (number, ledger) in theirs {
                match mine.entry(number) {
                    std::collections::hash_map::Entry::Occupied(mut mine) => mine.get_mut().merge(&ledger),
                    std::collections::hash_map::Entry::Vacant(vacant) => {
                        vacant.insert(ledger);
                    }
                }
            }
        }
        for (number, mut codes) in other.exceptions {
            self.exceptions.entry(number).or_default().append(&mut codes);
        }
        for (mine, theirs) in
            [(&mut self.unfinished, other.unfinished), (&mut self.order_not_known, other.order_not_known)]
        {
            for (number, count) in theirs {
                *mine.entry(number).or_default() += count;
            }
        }
    }
}

impl PassState {
    pub(crate) fn new(plan: &Plan, findings_per_rule_max: usize) -> PassState {
        PassState {
            findings: Findings::new(findings_per_rule_max),
            clean: 0,
            damaged: 0,
            unreadable: 0,
            skipped: HashMap::new(),
            read_again: 0,
            sums: Sums::new(plan),
            scratch: BlockScratch::default(),
        }
    }
}

impl PassContext<'_> {
    /// Looks at one extent.
    pub(crate) fn visit(&self, state: &mut PassState, extent: Extent<'_>) {
        let Some(file) = self.files.get(extent.file_index) else { return };
        let block_bytes = self.cluster.block_bytes as u64;
        let mut block = file.first_block.saturating_add((extent.offset_bytes / block_bytes) as u32);
        match extent.content {
            Content::Bytes(bytes) => {
                for bytes in bytes.chunks(self.cluster.block_bytes) {
                    if bytes.len() < self.cluster.block_bytes {
                        // The finding about the file was made when it was planned.
                        state.damaged += 1;
                    } else {
                        self.judge(state, file, block, bytes);
                    }
                    block = block.saturating_add(1);
                }
            }
            Content::Unreadable { length_bytes, error } => {
                state.unreadable += length_bytes.div_ceil(block_bytes);
                let place = self.place(file, block, Confidence::Certain);
                let expected = format!("{length_bytes} bytes that can be read");
                state.findings.push(place.finding(Promised::Unreadable, None, expected, error.to_string()));
            }
            Content::Missing { length_bytes } => {
                // Cut or dropped since it was listed: a server at work does both.
                *state.skipped.entry("the file became shorter during the check").or_default() +=
                    length_bytes.div_ceil(block_bytes);
            }
        }
    }

    fn judge(&self, state: &mut PassState, file: &PlanFile, block: u32, bytes: &[u8]) {
        if self.level == CheckLevel::Read {
            *state.skipped.entry("level read looks at nothing").or_default() += 1;
            return;
        }
        if let Some(why) = self.reason_to_skip(file) {
            *state.skipped.entry(why).or_default() += 1;
            return;
        }
        let mut found = Findings::new(usize::MAX / 4);
        let PassState { sums, scratch, .. } = state;
        self.block(file, block, bytes, scratch, &mut found, sums);
        if found.is_empty() {
            state.clean += 1;
            return;
        }
        match self.confirm(state, file, block, bytes, found) {
            Some(found) => {
                state.damaged += 1;
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
            let read = File::open(&file.path).and_then(|file| file.read_exact_at(&mut again, offset));
            let is_same = read.is_err() || again == seen;
            let gone = read.is_err() && self.cluster.standing == Standing::Running;
            if gone || is_same {
                state.scratch.block = again;
                return if gone { None } else { Some(found) };
            }
            found = Findings::new(usize::MAX / 4);
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

    fn reason_to_skip(&self, file: &PlanFile) -> Option<&'static str> {
        if file.temporary {
            return Some("files of temporary relations are left over from sessions that ended");
        }
        let unlogged = file
            .relation
            .and_then(|number| self.plan.relation(number))
            .is_some_and(|relation| relation.persistence == b'u');
        let is_replayed = matches!(self.cluster.standing, Standing::Crashed | Standing::Backup { .. });
        (unlogged && is_replayed && file.fork != Fork::Init)
            .then_some("unlogged relations are emptied when the log is replayed")
    }

    fn place<'f>(&'f self, file: &'f PlanFile, block: u32, confidence: Confidence) -> Place<'f> {
        let object = file
            .relation
            .and_then(|number| self.plan.relation(number))
            .map(|relation| relation.name.as_str());
        Place { file: &file.shown, object, block, confidence }
    }

    pub(crate) fn block<S: RowSink + EntrySink>(
        &self,
        file: &PlanFile,
        block: u32,
        bytes: &[u8],
        scratch: &mut BlockScratch,
        findings: &mut Findings,
        sink: &mut S,
    ) {
        let page = Page::new(bytes);
        let relation = file.relation.and_then(|number| self.plan.relation(number));
        let mut work = Work { place: self.place(file, block, Confidence::Certain), findings, sink };
        if page.is_new() {
            self.new_page(&page, file, block, &mut work);
            return;
        }
        self.check_checksum(&page, block, &mut work);
        let special = special_bytes(relation, file.fork).unwrap_or_else(|| page.special().len());
        scratch.damage.clear();
        let trusted = page.check_header(special, &mut scratch.damage);
        work.drain(&mut scratch.damage);
        self.check_lsn(&page, relation, &mut work);
        let replay_is_due = matches!(self.cluster.standing, Standing::Crashed | Standing::Backup { .. });
        if !trusted || self.level < CheckLevel::Structure || (replay_is_due && !self.cluster.checksums) {
            return;
        }
        match (relation.map(|relation| relation.storage), file.fork, file.relation) {
            (Some(Storage::Heap), Fork::Main, Some(number)) => {
                self.heap_block(&page, number, scratch, &mut work)
            }
            (Some(Storage::Btree), Fork::Main, Some(number)) => {
                self.tree_block(&page, number, scratch, &mut work)
            }
            _ => {}
        }
    }

    fn heap_block<S: RowSink>(
        &self,
        page: &Page<'_>,
        number: u32,
        scratch: &mut BlockScratch,
        work: &mut Work<'_, S>,
    ) {
        let Some(table) = self.plan.tables.get(&number) else { return };
        let visibility = if self.transactions.is_some() {
            self.plan.visibility_of(number, work.place.block)
        } else {
            Visibility::default()
        };
        let check = HeapCheck {
            table,
            transactions: self.transactions,
            key: self.key,
            level: self.level,
            visibility,
            also_index: self.also_index,
        };
        check.block(page, &mut scratch.heap, work);
    }

    fn tree_block<S: EntrySink>(
        &self,
        page: &Page<'_>,
        number: u32,
        scratch: &mut BlockScratch,
        work: &mut Work<'_, S>,
    ) {
        let (Some(relation), Some(plan)) = (self.plan.relation(number), self.plan.trees.get(&number)) else {
            return;
        };
        let stands_still = self.transactions.is_some();
        let tree = Tree {
            relation,
            number,
            // Blocks that are added while the check runs may be linked already.
            blocks: if stands_still { plan.blocks } else { u32::MAX },
            heap_blocks: plan.heap_blocks.filter(|_| stands_still),
            matching: plan.matching,
            version: plan.version,
            exceptions: plan.heap.and_then(|heap| self.exceptions.get(&heap)).unwrap_or(self.no_exceptions),
        };
        TreeCheck { tree: &tree, key: self.key, level: self.level }.block(page, &mut scratch.tree, work);
    }

    fn new_page<S>(&self, page: &Page<'_>, file: &PlanFile, block: u32, work: &mut Work<'_, S>) {
        if !page.is_zero() {
            let expected = "zeros throughout, since the header says that the block was never used";
            let damage = Damage::at(Promise::PageNewNotZero, 14, expected, "other bytes");
            work.findings.push(work.place.damage(damage));
        }
        let Some(number) = file.relation.filter(|_| file.fork == Fork::Main && self.transactions.is_some())
        else {
            return;
        };
        if self.plan.visibility_of(number, block).all_visible {
            let expected = "rows in a block that the map calls all-visible".to_owned();
            work.report(Promised::VisibilityMap, None, expected, "a block that was never used".into());
        }
    }

    fn check_checksum<S>(&self, page: &Page<'_>, block: u32, work: &mut Work<'_, S>) {
        if !self.cluster.checksums {
            return;
        }
        let computed = page_checksum(page.bytes(), block);
        let stored = page.header().checksum;
        if stored == computed {
            return;
        }
        let lsn = page.header().lsn;
        work.place.confidence = match self.cluster.standing {
            Standing::Crashed => Confidence::Possible,
            // Written during the backup: its image in the log replaces it. Never by the position alone: one that
            // lies after the end of the backup is damage as well.
            Standing::Backup { start_lsn, end_lsn }
                if lsn >= start_lsn && end_lsn.is_none_or(|end| lsn <= end) =>
            {
                Confidence::Possible
            }
            _ => Confidence::Certain,
        };
        let expected = format!("checksum {computed:#06x} for block {block}");
        work.report(Promised::PageChecksum, None, expected, format!("{stored:#06x}"));
        if work.place.confidence == Confidence::Certain {
            work.place.confidence = Confidence::Consequence;
        }
    }

    fn check_lsn<S>(&self, page: &Page<'_>, relation: Option<&Relation>, work: &mut Work<'_, S>) {
        let (Some(control), Standing::Stopped) = (&self.cluster.control, &self.cluster.standing) else {
            return;
        };
        // Unlogged relations carry made-up positions.
        if relation.is_none_or(|relation| relation.persistence != b'p') {
            return;
        }
        let (lsn, end) = (page.header().lsn, control.checkpoint_lsn);
        if lsn > end {
            let show = |lsn: u64| format!("{:X}/{:X}", lsn >> 32, lsn & 0xFFFF_FFFF);
            let expected = format!("a position in the log up to {}, where it ends", show(end));
            work.report(Promised::PageLsn, None, expected, show(lsn));
        }
    }
}

/// The special space of a fork's blocks; `None` if it is not known.
// EVIDENCE: nbtree.h, hash.h, gist.h: 16 bytes; ginblock.h, spgist_private.h, brin_page.h, sequence.c: 8 bytes;
// free space and visibility maps: none
fn special_bytes(relation: Option<&Relation>, fork: Fork) -> Option<usize> {
    if matches!(fork, Fork::FreeSpace | Fork::Visibility) {
        return Some(0);
    }
    match relation?.storage {
        Storage::Heap => Some(0),
        Storage::Btree => Some(TREE_SPECIAL_BYTES),
        Storage::Hash | Storage::Gist => Some(16),
        Storage::Sequence | Storage::Gin | Storage::SpGist | Storage::Brin => Some(8),
        Storage::Other => None,
    }
}
