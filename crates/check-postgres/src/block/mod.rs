//! Rules of any block: checksum, header, position in the log; and the way to those of its storage.

pub(crate) mod forks;
pub(crate) mod free_space;
pub(crate) mod index_entries;
pub(crate) mod tree;
pub(crate) mod work;

use check::findings::Findings;
use formats::postgres::checksum::page_checksum;
use formats::postgres::file_name::Fork;
use formats::postgres::index_pages::Method;
use formats::postgres::page::Page;
use formats::postgres::{Damage, Invariant};
use results::check::{CheckLevel, Confidence};

use crate::block::forks::init_forks::init_block;
use crate::block::forks::{sequence_block, visibility_block};
use crate::block::free_space::free_space_block;
use crate::block::index_entries::EntryCheck;
use crate::block::tree::Tree;
use crate::block::work::Work;
use crate::brin::BrinCheck;
use crate::brin::values::Ranges;
use crate::btree::TREE_SPECIAL_BYTES;
use crate::btree::context::TreeCheck;
use crate::catalog::{Relation, Storage};
use crate::cluster::state::Standing;
use crate::finding::LOST_ROWS;
use crate::gin::GinCheck;
use crate::gist::GistCheck;
use crate::hash::{HashCheck, check_zeros};
use crate::heap::context::HeapCheck;
use crate::matching::differences::BlockBuckets;
use crate::matching::sink::{EntrySink, RowSink};
use crate::plan::objects::PlanFile;
use crate::rules;
use crate::run::context::{BlockScratch, PassContext};
use crate::spgist::SpGistCheck;

impl PassContext<'_> {
    /// Looks at one block; facts go to the sink. Whether every rule of the level about its contents was applied.
    pub(crate) fn block<S: RowSink + EntrySink>(
        &self,
        file: &PlanFile,
        block: u32,
        bytes: &[u8],
        scratch: &mut BlockScratch,
        findings: &mut Findings,
        sink: &mut S,
    ) -> bool {
        let page = Page::new(bytes);
        let relation = file.relation.and_then(|number| self.plan.relation(number));
        let mut work = Work { place: self.place(file, block, Confidence::Certain), findings, sink };
        if page.is_new() {
            self.new_page(&page, file, block, &mut work);
            return self.transactions.is_some() || self.level < CheckLevel::Structure;
        }
        let is_whole = self.check_checksum(&page, block, &mut work);
        let special = special_bytes(relation, file.fork).unwrap_or_else(|| page.special().len());
        scratch.damage.clear();
        let trusted = page.check_header(special, &mut scratch.damage);
        work.drain(&mut scratch.damage);
        self.check_lsn(&page, relation, &mut work);
        let is_still = self.snapshot.is_none_or(|snapshot| {
            is_whole
                && page.header().lsn < snapshot.redo_lsn
                && relation.is_some_and(|relation| relation.persistence == b'p')
        });
        if let (false, Some(number)) = (is_still, file.relation) {
            let is_logged = relation.is_some_and(|relation| relation.persistence == b'p');
            match file.fork {
                Fork::Main if is_logged && self.plan.tables.contains_key(&number) => {
                    work.sink.changed(number, block);
                }
                // What maps say is compared with rows by itself (`Plan::visibility_of`).
                Fork::FreeSpace | Fork::Visibility if is_logged => {}
                _ => work.sink.moved(number),
            }
        }
        let replay_is_due = matches!(self.cluster.standing, Standing::Crashed | Standing::Backup { .. });
        if !trusted || self.level < CheckLevel::Structure || (replay_is_due && !self.cluster.checksums) {
            return !trusted || self.level < CheckLevel::Structure;
        }
        let is_compared = self.transactions.is_some() && is_still;
        match (relation.map(|relation| relation.storage), file.fork, file.relation) {
            (Some(Storage::Heap), Fork::Main, Some(number)) => {
                self.heap_block(&page, number, is_still, scratch, &mut work);
                is_compared && self.plan.tables.get(&number).is_some_and(|table| !table.attributes.is_empty())
            }
            (Some(storage), Fork::Main, Some(number)) if storage.is_matched() => {
                self.tree_block(&page, number, is_still, scratch, &mut work);
                is_compared
            }
            (Some(Storage::Sequence), Fork::Main | Fork::Init, _) => {
                sequence_block(&page, &mut scratch.damage, &mut work)
            }
            (Some(storage), Fork::Init, _) if is_whole && storage.first_block().is_some() => {
                init_block(&page, storage, &mut scratch.damage, &mut work);
                true
            }
            (_, Fork::Visibility, _) if is_whole => {
                visibility_block(&page, &mut work) && relation.is_some() && is_compared
            }
            (storage, Fork::FreeSpace, _) if is_whole => {
                free_space_block(&page, storage, self.cluster.checksums, &mut scratch.damage, &mut work);
                true
            }
            (Some(Storage::Brin), Fork::Main, Some(number)) => {
                self.brin_block(&page, number, is_still, scratch, &mut work) && is_compared
            }
            // Of a free space map that is not whole the finding is the checksum; of others the header is all there is.
            (Some(_), Fork::FreeSpace | Fork::Init, _) => true,
            (Some(_), Fork::Visibility, _) => is_compared,
            _ => false,
        }
    }

    fn heap_block<S: RowSink>(
        &self,
        page: &Page<'_>,
        number: u32,
        is_still: bool,
        scratch: &mut BlockScratch,
        work: &mut Work<'_, S>,
    ) {
        let Some(table) = self.plan.tables.get(&number) else { return };
        let visibility =
            self.transactions.is_some().then(|| self.plan.visibility_of(number, work.place.block));
        let check = HeapCheck {
            table,
            transactions: self.transactions.filter(|_| is_still),
            key: self.key,
            level: self.level,
            visibility,
            ranges: Ranges {
                plans: &self.plan.brins,
                snapshot: self.snapshot,
                checksums: self.cluster.checksums,
            },
            also_index: self.also_index,
        };
        check.block(page, &mut scratch.heap, work);
        if is_still && self.snapshot.is_some() {
            work.sink.stood_still(number, work.place.block, false);
        }
    }

    fn tree_block<S: EntrySink>(
        &self,
        page: &Page<'_>,
        number: u32,
        is_still: bool,
        scratch: &mut BlockScratch,
        work: &mut Work<'_, S>,
    ) {
        let (Some(relation), Some(plan)) = (self.plan.relation(number), self.plan.trees.get(&number)) else {
            return;
        };
        let stands_still = self.stands_still();
        let may_be_cut =
            || !(stands_still || is_still && plan.heap.is_some_and(|heap| self.has_its_length(heap)));
        let tree = Tree {
            relation,
            number,
            table: plan.heap.and_then(|heap| self.plan.relation(heap)).map_or("?", |table| &table.name),
            // Blocks that are added while the check runs may be linked already.
            blocks: if stands_still { plan.blocks } else { u32::MAX },
            heap_blocks: plan.heap_blocks.filter(|_| self.transactions.is_some()),
            heap_buckets: BlockBuckets::new(plan.heap_blocks.unwrap_or(u32::MAX)),
            // A newer index block names rows, and leaves out others, that the blocks of the table do not tell of.
            is_heap_still: stands_still || is_still && plan.heap.is_some_and(|heap| !self.has_moved(heap)),
            is_settled: stands_still && self.cluster.standing == Standing::Stopped,
            may_be_cut: &may_be_cut,
            matching: plan.matching,
            version: plan.version,
            exceptions: self.exceptions_of(plan.heap),
        };
        if relation.storage == Storage::Gin {
            return self.gin_block(&tree, page, scratch, work);
        }
        match relation.storage.entry_method() {
            None => TreeCheck { tree: &tree, key: self.key, level: self.level }.block(
                page,
                &mut scratch.tree,
                work,
            ),
            Some(method) => {
                let hash = plan.hash.as_ref().filter(|_| self.transactions.is_some());
                let (key, level) = (self.key, self.level);
                let check = EntryCheck { tree: &tree, method, hash: plan.hash.as_ref(), key, level };
                let is_intact = check.block(page, &mut scratch.damage, work);
                let damage = &mut scratch.damage;
                match method {
                    _ if !is_intact => {}
                    Method::Hash => {
                        let check = HashCheck { tree: &tree, plan: hash, is_still, key: self.key };
                        check.block(page, damage, work);
                    }
                    Method::Gist => {
                        let inner = self.gist_tree_of(number).filter(|_| stands_still || is_still);
                        let check = GistCheck { tree: &tree, inner, key: self.key, level: self.level };
                        check.block(page, damage, work);
                    }
                    Method::SpGist => {
                        SpGistCheck { tree: &tree, key: self.key }.block(
                            page,
                            &mut scratch.facts,
                            damage,
                            work,
                        );
                    }
                }
            }
        }
    }

    fn brin_block<S: EntrySink>(
        &self,
        page: &Page<'_>,
        number: u32,
        is_still: bool,
        scratch: &mut BlockScratch,
        work: &mut Work<'_, S>,
    ) -> bool {
        let Some(plan) = self.plan.brins.get(&number) else { return false };
        let is_still = self.stands_still() || (self.snapshot.is_some() && is_still);
        BrinCheck { plan, key: self.key, level: self.level, is_still }.block(page, &mut scratch.damage, work);
        true
    }

    fn gin_block<S: EntrySink>(
        &self,
        tree: &Tree<'_>,
        page: &Page<'_>,
        scratch: &mut BlockScratch,
        work: &mut Work<'_, S>,
    ) {
        let rows = self.of_indexes.and_then(|pass| pass.row_sets).map(|sets| sets.get(&tree.number));
        let check = GinCheck { tree, rows, key: self.key, level: self.level };
        check.block(page, &mut scratch.damage, work);
    }

    /// Whether a table is as long as it was at the moment that is looked at, or longer.
    pub(super) fn has_its_length(&self, table: u32) -> bool {
        self.truncations.is_some_and(|truncations| self.plan.has_its_length(table, truncations))
    }

    fn new_page<S: RowSink>(&self, page: &Page<'_>, file: &PlanFile, block: u32, work: &mut Work<'_, S>) {
        if !page.is_zero() {
            let expected = "all zeros, since the header marks the block as new";
            let count = page.bytes().iter().filter(|byte| **byte != 0).count();
            let found = format!("{count} bytes that are not zero");
            let damage = Damage::at(Invariant::PageNewNotZero, 14, expected, found);
            work.findings.push(work.place.damage(damage));
        }
        let Some(number) = file.relation.filter(|_| self.transactions.is_some()) else { return };
        if file.fork == Fork::Init && page.is_zero() {
            self.plan.relation(number).into_iter().for_each(|relation| self.lost_init_block(relation, work));
        }
        if file.fork != Fork::Main {
            return;
        }
        if page.is_zero() {
            self.lost_first_block(number, work);
        }
        if self.snapshot.is_some() && self.plan.tables.contains_key(&number) {
            work.sink.stood_still(number, block, true);
        }
        let hash = self.plan.trees.get(&number).and_then(|tree| tree.hash.as_ref());
        if let Some(hash) = hash.filter(|hash| hash.is_placed) {
            check_zeros(&hash.meta, work);
        }
        // VACUUM may have cut the table, and the block was added again: the map need not tell, the log does.
        let was_not_cut = || {
            self.stands_still()
                || self.plan.relation(number).zip(self.truncations).is_some_and(|(relation, log)| {
                    relation.persistence == b'p' && log.is_whole(relation.database, relation.file_number)
                })
        };
        if self.plan.visibility_of(number, block).all_visible && was_not_cut() {
            let expected = "rows in a block that the visibility map marks all-visible".to_owned();
            let found = "a zeroed block: its rows are lost".to_owned();
            let mut finding = work.place.finding(&rules::VISIBILITY_MAP, None, expected, found);
            finding.next_step = LOST_ROWS.to_owned();
            work.findings.push(finding);
        }
    }

    /// Whether rules about transactions and maps hold as they stand.
    pub(super) fn stands_still(&self) -> bool {
        self.transactions.is_some() && self.snapshot.is_none()
    }

    /// Tests the checksum; `true` if it holds, or there is none.
    fn check_checksum<S>(&self, page: &Page<'_>, block: u32, work: &mut Work<'_, S>) -> bool {
        if !self.cluster.checksums {
            return true;
        }
        let computed = page_checksum(page.bytes(), block);
        let stored = page.header().checksum;
        if stored == computed {
            return true;
        }
        work.place.confidence = match self.cluster.standing {
            Standing::Crashed => Confidence::Possible,
            _ => Confidence::Certain,
        };
        let expected = format!("checksum {computed:#06x} for block {block}");
        work.report(&rules::PAGE_CHECKSUM, None, expected, format!("{stored:#06x}"));
        if work.place.confidence == Confidence::Certain {
            work.place.confidence = Confidence::Consequence;
        }
        false
    }

    /// Whether a block of a backup was read while the server wrote it: its checksum fails, and its position is one of the WAL
    /// of the backup, whose image of the block replaces it. A position after the end of the backup is damage.
    pub(super) fn is_replaced_by_recovery(&self, page: &Page<'_>, block: u32) -> bool {
        let Standing::Backup { start_lsn, end_lsn } = self.cluster.standing else { return false };
        let lsn = page.header().lsn;
        self.cluster.checksums
            && !page.is_new()
            && lsn >= start_lsn
            && end_lsn.is_none_or(|end| lsn <= end)
            && page_checksum(page.bytes(), block) != page.header().checksum
    }

    fn check_lsn<S>(&self, page: &Page<'_>, relation: Option<&Relation>, work: &mut Work<'_, S>) {
        // Unlogged relations carry made-up positions.
        if relation.is_none_or(|relation| relation.persistence != b'p') {
            return;
        }
        let lsn = page.header().lsn;
        let end = match (self.cluster.standing, &self.cluster.control, self.log_end) {
            (Standing::Stopped, Some(control), _) => control.checkpoint_lsn,
            // The log goes on: the server is asked again before a block is accused.
            (Standing::Running | Standing::Crashed, _, Some(log_end)) => match log_end.at_least(lsn) {
                Some(end) => end,
                None => return,
            },
            _ => return,
        };
        if lsn > end {
            let show = |lsn: u64| format!("{:X}/{:X}", lsn >> 32, lsn & 0xFFFF_FFFF);
            let expected = format!("an LSN up to {}, the end of the WAL", show(end));
            work.report(&rules::PAGE_LSN, None, expected, show(lsn));
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
