//! The second look at relations whose sums differ: facts are collected, sorted and compared, so that each that has
//! no counterpart can be named. Slow and exact; also what the sums are tested against.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};

use check::findings::Findings;
use check::matching::exact::unmatched;
use check::matching::side::Side;
use check::matching::sums::BucketSet;
use check::rule::Rule;
use formats::postgres::Tid;
use formats::postgres::file_name::Fork;
use results::check::{Confidence, Finding};

use crate::catalog::Storage;
use crate::finding::BlockLocation;
use crate::gin::blocks::GinRecord;
use crate::gin::row_set::RowSets;
use crate::matching::collector::{Collector, Fact};
use crate::matching::links::{Contradictions, Link};
use crate::matching::mismatches::Mismatches;
use crate::matching::sink::{Boundary, EntrySink, RowSink};
use crate::plan::objects::PlanFile;
use crate::rules;
use crate::run::context::{BlockScratch, IndexPass, PassContext};

/// Bytes that a collected fact takes, with room for sorting.
const FACT_BYTES: u64 = 96;

/// What a second look needs.
pub(crate) struct Exact<'a> {
    pub(crate) first: &'a PassContext<'a>,
    pub(crate) second: &'a PassContext<'a>,
    pub(crate) memory_bytes_max: u64,
    pub(crate) bytes_read: u64,
    /// Sets that rows of GIN indexes go to; without them each entry states its row.
    pub(crate) row_sets: Option<&'a RowSets>,
    /// Rows and entries that do not match.
    pub(crate) mismatches: Mismatches,
    /// Relations and blocks that were found to break rules by their own bytes.
    pub(crate) broken: Vec<(u32, u32)>,
    /// Blocks that findings name, and whether they break rules by their own bytes, by relation.
    pub(crate) named: RefCell<BTreeMap<(u32, u32), bool>>,
}

impl<'a> Exact<'a> {
    pub(crate) fn new(
        first: &'a PassContext<'a>,
        second: &'a PassContext<'a>,
        memory_bytes_max: u64,
        row_sets: Option<&'a RowSets>,
    ) -> Exact<'a> {
        let (mismatches, broken, named) = (Mismatches::default(), Vec::new(), RefCell::default());
        Exact { first, second, memory_bytes_max, bytes_read: 0, row_sets, mismatches, broken, named }
    }

    /// Remembers that a finding names a block.
    pub(crate) fn note(&self, relation: u32, block: u32, breaks_own_bytes: bool) {
        if self.first.plan.blocks.get(relation as usize).is_some_and(|blocks| block < *blocks) {
            *self.named.borrow_mut().entry((relation, block)).or_default() |= breaks_own_bytes;
        }
    }
}

impl Exact<'_> {
    /// Names rows and entries of an index that do not match; entries without row only where all entries count.
    pub(crate) fn entries(
        &mut self,
        index: u32,
        differing: BucketSet,
        fact_count: u64,
        all_entries_count: bool,
        findings: &mut Findings,
    ) {
        let Some(tree) = self.second.plan.trees.get(&index).copied() else { return };
        let Some(heap) = tree.heap else { return };
        for buckets in differing.split(fact_count * FACT_BYTES, self.memory_bytes_max) {
            let Some(collector) = self.collected_of_table(index, buckets, heap) else { return };
            let Collector { expected, found, dead, .. } = collector;
            let (mut rows, mut entries) = unmatched(expected, found, |fact| (fact.tid, fact.hash));
            if !all_entries_count {
                entries.clear();
            }
            self.name_dead_entries(index, dead, &mut rows, findings);
            self.note_mismatches(index, heap, tree.matching, &rows, &entries);
        }
    }

    /// Names values in TOAST that lack pieces.
    pub(crate) fn toast(
        &mut self,
        toast: u32,
        differing: BucketSet,
        fact_count: u64,
        findings: &mut Findings,
    ) {
        let owners: Vec<u32> = {
            let tables = self.first.plan.tables.iter();
            tables.filter(|(_, table)| table.toast_number == Some(toast)).map(|(number, _)| *number).collect()
        };
        let mut missing: BTreeMap<Tid, u64> = BTreeMap::new();
        for buckets in differing.split(fact_count * FACT_BYTES, self.memory_bytes_max) {
            let parts: Vec<(bool, u32)> =
                [toast].iter().chain(&owners).map(|table| (false, *table)).collect();
            let Some(collector) = self.collected(toast, buckets, &parts) else { return };
            let Collector { mut expected, found: mut pieces, .. } = collector;
            // Where a piece stands does not matter: compare by hash alone, and name the row that points there.
            expected.sort_unstable_by_key(|fact| fact.hash);
            pieces.sort_unstable_by_key(|fact| fact.hash);
            let is_there = |fact: &&Fact| pieces.binary_search_by_key(&fact.hash, |piece| piece.hash).is_ok();
            for fact in expected.iter().filter(|fact| !is_there(fact)) {
                *missing.entry(fact.tid).or_default() += 1;
            }
        }
        // The facts of a value are in several buckets.
        for (tid, count) in missing {
            let expected = "all chunks of the TOAST values of the row".to_owned();
            let chunks = results::wording::counted(count, "chunk");
            let found = format!("{chunks} missing or of a wrong size");
            let owner = owners.first().copied().unwrap_or(toast);
            self.report(&rules::TOAST_CHUNK, owner, tid, expected, found, findings);
        }
    }

    /// Names rows with the same unique key whose entries stand in two leaves.
    pub(crate) fn straddling(&mut self, index: u32, pairs: &[u64], findings: &mut Findings) {
        let start = || Collector {
            wanted_boundaries: pairs.iter().copied().collect(),
            ..Collector::new(index, BucketSet::default())
        };
        let Some(collector) = self.collected_with(start, &[(true, index)]) else { return };
        let mut left: HashMap<u128, Boundary> = HashMap::new();
        let of_left = collector.boundaries.iter().filter(|(_, side, _)| *side == Side::Expected);
        left.extend(of_left.map(|(hash, _, boundary)| (*hash, *boundary)));
        for (hash, side, right) in collector.boundaries {
            let Some(left) = left.get(&hash).filter(|_| side == Side::Found) else { continue };
            let tid = Tid { block: right.block, item: 0 };
            let found = format!(
                "rows {} and {} with the same key, entries in blocks {} and {}",
                left.tid, right.tid, left.block, right.block
            );
            self.report(&rules::BTREE_UNIQUE, index, tid, "one visible row per key".into(), found, findings);
        }
    }

    /// Names blocks of an index about which others say otherwise.
    pub(crate) fn links(
        &mut self,
        index: u32,
        differing: BucketSet,
        is_unfinished: bool,
        findings: &mut Findings,
    ) {
        let Some(collector) = self.collected(index, differing, &[(true, index)]) else { return };
        let mut balance: BTreeMap<u128, (i64, Link)> = BTreeMap::new();
        for (hash, side, link) in collector.links {
            let entry = balance.entry(hash).or_insert((0, link));
            entry.0 += if side == Side::Expected { 1 } else { -1 };
            if side == Side::Expected {
                entry.1 = link;
            }
        }
        // Both sides of one contradiction have the same target; the smaller is named.
        let mut told: Contradictions = BTreeMap::new();
        for (sum, link) in balance.into_values().filter(|(sum, _)| *sum != 0) {
            told.entry((link.kind, link.to)).or_insert((sum > 0, link));
        }
        told.retain(|(kind, _), (is_expected, link)| {
            !(kind.needs_finished_updates() && is_unfinished || !*is_expected && link.is_needless())
        });
        self.fold_links(index, &mut told, findings);
        for ((_, to), (is_expected, link)) in told {
            let tid = Tid { block: to, item: link.item() };
            let (rule, expected, found) = link.contradiction(is_expected);
            self.report(rule, index, tid, expected, found, findings);
        }
    }

    pub(crate) fn report(
        &self,
        rule: &'static Rule,
        relation: u32,
        tid: Tid,
        expected: String,
        found: String,
        findings: &mut Findings,
    ) {
        self.note(relation, tid.block, false);
        findings.push(self.finding(rule, relation, tid, expected, found));
    }

    pub(crate) fn finding(
        &self,
        rule: &'static Rule,
        relation: u32,
        tid: Tid,
        expected: String,
        found: String,
    ) -> Finding {
        let plan = self.first.plan;
        let all = plan.first_files.iter().chain(&plan.second_files);
        let mut files = all.filter(|file| file.relation == Some(relation) && file.fork == Fork::Main);
        let file = files.clone().rfind(|file| file.first_block <= tid.block).or_else(|| files.next());
        let place = BlockLocation {
            file: file.map_or("?", |file| file.shown.as_str()),
            object: plan.relation(relation).map(|relation| relation.name.as_str()),
            block: tid.block,
            confidence: Confidence::Certain,
        };
        place.finding(rule, Some(tid.item).filter(|item| *item > 0), expected, found)
    }

    /// A block of a table, read again.
    pub(crate) fn heap_block(&self, heap: u32, block: u32) -> Option<Vec<u8>> {
        let block_bytes = self.first.cluster.block_bytes;
        let files = self.files(false, heap).filter(|file| file.first_block <= block);
        let file = files.max_by_key(|file| file.first_block)?;
        let mut bytes = vec![0; block_bytes];
        let offset = u64::from(block - file.first_block) * block_bytes as u64;
        file.part.read_exact_at(&mut bytes, offset).ok()?;
        Some(bytes)
    }

    pub(crate) fn files(&self, is_second: bool, relation: u32) -> impl Iterator<Item = &PlanFile> {
        let files = if is_second { self.second.files } else { self.first.files };
        files.iter().filter(move |file| file.relation == Some(relation) && file.fork == Fork::Main)
    }

    /// What the blocks of a GIN index say of each other, read again; `None` if one changed meanwhile.
    pub(crate) fn gin_records(&mut self, index: u32) -> Option<Vec<GinRecord>> {
        let start = || Collector { wants_gin: true, ..Collector::new(index, BucketSet::default()) };
        self.collected_with(start, &[(true, index)]).map(|collector| collector.gin)
    }

    /// Facts about a relation from all parts that state any; `None` if one changed meanwhile. In a cluster that does
    /// not stand still the parts are read twice, so that a block that was half written at one of them is seen.
    pub(crate) fn collected(
        &mut self,
        relation: u32,
        buckets: BucketSet,
        parts: &[(bool, u32)],
    ) -> Option<Collector> {
        // A row stands under each of its keys, and in the list of pending entries until that is cleaned.
        let relations = &self.second.plan;
        let is_gin = relations.relation(relation).is_some_and(|relation| relation.storage == Storage::Gin);
        let start = || Collector { seen: is_gin.then(HashSet::new), ..Collector::new(relation, buckets) };
        self.collected_with(start, parts)
    }

    /// Facts about an index and its table, without those about blocks of the table that changed.
    fn collected_of_table(&mut self, index: u32, buckets: BucketSet, heap: u32) -> Option<Collector> {
        let is_gin =
            self.second.plan.relation(index).is_some_and(|relation| relation.storage == Storage::Gin);
        let exceptions = self.second.exceptions_of(Some(heap));
        let changed = exceptions.map(|exceptions| exceptions.changed().clone()).unwrap_or_default();
        let start = || Collector {
            seen: is_gin.then(HashSet::new),
            table: Some(heap),
            changed: changed.clone(),
            ..Collector::new(index, buckets)
        };
        self.collected_with(start, &[(false, heap), (true, index)])
    }

    pub(crate) fn collected_with(
        &mut self,
        start: impl Fn() -> Collector,
        parts: &[(bool, u32)],
    ) -> Option<Collector> {
        let times = if self.first.snapshot.is_some() { 2 } else { 1 };
        let mut last = None;
        for _ in 0..times {
            let mut collector = start();
            for (is_second, part) in parts {
                self.collect(*is_second, *part, &mut collector);
            }
            collector.leave_out_changed(last.as_mut());
            let is_same = last.as_ref().is_none_or(|last: &Collector| last.has_same_facts(&collector));
            if self.first.snapshot.is_some() && (collector.moved || !is_same) {
                return None;
            }
            last = Some(collector);
        }
        last
    }

    fn collect(&mut self, is_second: bool, relation: u32, collector: &mut Collector) {
        let also_index = Some(collector.relation);
        if !self.read_again(is_second, relation, also_index, collector) {
            collector.moved = true;
        }
    }

    /// Reads a relation again, on this thread; `false` if some of it could not be read.
    pub(crate) fn read_again<S: RowSink + EntrySink>(
        &mut self,
        is_second: bool,
        relation: u32,
        also_index: Option<u32>,
        sink: &mut S,
    ) -> bool {
        let context = if is_second { self.second } else { self.first };
        let of_indexes = context.of_indexes.map(|pass| IndexPass { row_sets: self.row_sets, ..pass });
        let context = PassContext { also_index, of_indexes, ..*context };
        let block_bytes = context.cluster.block_bytes;
        let mut buffer = vec![0u8; block_bytes * 128];
        let mut scratch = BlockScratch::default();
        let mut ignored = Findings::new(&crate::RULES, 0);
        let mut is_whole = true;
        for file in
            context.files.iter().filter(|file| file.relation == Some(relation) && file.fork == Fork::Main)
        {
            let Ok(handle) = disk::input::File::open(&file.part.path) else {
                is_whole = false;
                continue;
            };
            let mut offset = 0;
            // Bounded by the length of the file when it was listed.
            while offset < file.part.bytes {
                let wanted = buffer.len().min((file.part.bytes - offset) as usize);
                let Some(part) = buffer.get_mut(..wanted) else { break };
                if handle.read_exact_at(part, file.part.offset_bytes + offset).is_err() {
                    is_whole = false;
                    break;
                }
                let first = file.first_block + (offset / block_bytes as u64) as u32;
                for (number, bytes) in part.chunks_exact(block_bytes).enumerate() {
                    context.block(file, first + number as u32, bytes, &mut scratch, &mut ignored, sink);
                }
                offset += wanted as u64;
                self.bytes_read += wanted as u64;
            }
        }
        is_whole
    }
}
