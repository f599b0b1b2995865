//! One worker of the pass: takes the pages of an extent one after the other and keeps all it learns to itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use formats::sqlite::{BtreePage, Coverage, Damage, Fault, Field, checksums, has_right_checksum};
use results::check::{CheckLevel, Confidence};

use check::findings::Findings;
use check::matching::sums::Difference;

use crate::catalog::scratch::Evaluator;
use crate::causes;
use crate::causes::{ALL_ROWIDS, Loss, Rowids, rowids_of};
use crate::finding::Draft;
use crate::map::chain::{Chains, OpenChain, Window, is_refuted};
use crate::map::{Use, header_offset};
use crate::matching::collector::Collector;
use crate::matching::links::{Link, Range};
use crate::page::faults::fault_text;
use crate::plan::OwnedValue;
use crate::rules;
use crate::run::context::Context;
use crate::versions::Doubts;

/// Everything that one worker knows. Merges by addition.
pub(crate) struct Worker<'a> {
    pub(crate) context: &'a Context<'a>,
    pub(crate) findings: Findings,
    pub(crate) chains: Chains,
    /// Rows on the left, index entries on the right, by pair.
    pub(crate) differences: Vec<Difference>,
    pub(crate) row_count: u64,
    pub(crate) entry_count: u64,
    /// Rows and index entries by tree, at level full.
    pub(crate) record_counts: Vec<u64>,
    pub(crate) unreadable_count: u64,
    /// Pages whose bytes differed between two reads.
    pub(crate) changed_count: u64,
    /// Pages without a use that look like tree pages or not, when roots are not known.
    pub(crate) collector: Option<Collector>,
    /// Made for the first page, and kept for the next.
    coverage: Option<Coverage>,
    /// The links around the page in hand.
    range: Option<Arc<Range>>,
    /// A page above that was read for a key.
    pub(crate) above: Vec<u8>,
    /// Findings about the page in hand, until it was read again.
    pub(crate) pending: Vec<Draft>,
    pub(crate) fields: Vec<Field>,
    pub(crate) key: Vec<u8>,
    /// By tree; why there is none when it could not be made.
    pub(crate) evaluators: BTreeMap<usize, Result<Evaluator, String>>,
    /// What was computed for the row in hand.
    pub(crate) results: Vec<OwnedValue>,
    /// Rows that could not be computed, by tree, and why the first of them could not.
    pub(crate) unevaluated: BTreeMap<usize, (u64, String)>,
    /// By tree, made when a LIKE has to be computed in the other way as well.
    pub(crate) case_sensitive: BTreeMap<usize, Result<Evaluator, String>>,
    /// Results that depend on the version or build of SQLite and differ from the file.
    pub(crate) doubts: Doubts,
}

/// Where a page is: what cells need to know about it.
#[derive(Clone, Copy)]
pub(crate) struct Place<'p> {
    pub(crate) page: u32,
    pub(crate) tree: usize,
    /// The rowids that the pages above allow.
    pub(crate) rowids: Rowids,
    pub(crate) window: Window<'p>,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(context: &'a Context<'a>) -> Self {
        let pairs = if context.level == CheckLevel::Full { context.plans.pairs.len() } else { 0 };
        Self {
            context,
            findings: Findings::new(&crate::RULES, context.findings_per_rule_max),
            chains: Chains::default(),
            differences: vec![Difference::default(); pairs],
            row_count: 0,
            entry_count: 0,
            record_counts: vec![0; context.plans.trees.len()],
            unreadable_count: 0,
            changed_count: 0,
            collector: None,
            coverage: None,
            range: None,
            above: Vec::new(),
            pending: Vec::new(),
            fields: Vec::new(),
            key: Vec::new(),
            evaluators: BTreeMap::new(),
            results: Vec::new(),
            unevaluated: BTreeMap::new(),
            case_sensitive: BTreeMap::new(),
            doubts: Doubts::default(),
        }
    }

    /// Looks at all pages of a window.
    pub(crate) fn look(&mut self, window: &Window<'_>) {
        if self.context.has_checksums && self.collector.is_none() {
            self.checksums(window);
        }
        if self.context.level < CheckLevel::Structure {
            return;
        }
        if self.collector.is_some() {
            for page in (0..window.page_count()).map(|index| window.first_page + index) {
                let tree = self.tree_of(page);
                if self.collector.as_ref().is_some_and(|collector| collector.needs(tree)) {
                    self.look_at_page(window, page);
                }
            }
            return;
        }
        for index in 0..window.page_count() {
            let page = window.first_page + index;
            if page > self.context.page_count {
                break;
            }
            // The lines of the next page are on their way while this one is looked at.
            if index == 0 {
                touch(window.page(page));
            }
            touch(window.page(page + 1));
            self.look_at_page(window, page);
        }
        self.chains.keep_runs(self.context, window);
    }

    /// Proves the checksums of a window's pages. Those that the log has are covered by its own.
    fn checksums(&mut self, window: &Window<'_>) {
        let pages = (0..window.page_count()).map(|index| window.first_page + index);
        for page in pages.take_while(|page| *page <= self.context.page_count) {
            let Some(bytes) = window.page(page) else { continue };
            let is_elsewhere =
                || self.context.reader.pages_in_log(page, page.saturating_add(1)).next().is_some();
            if !has_right_checksum(bytes) && page != self.context.geometry.lock_page() && !is_elsewhere() {
                let text = |(first, second): (u32, u32)| format!("{first:08x}{second:08x}");
                let (stored, computed) = checksums(bytes).unwrap_or_default();
                let expected = format!("checksum {} in the last 8 bytes", text(computed));
                self.report(Draft::new(&rules::CHECKSUM, page, expected, text(stored)));
                self.confirm(page, bytes);
            }
        }
    }

    /// Looks at one page of a window; findings count only when the page reads the same a second time.
    pub(crate) fn look_at_page(&mut self, window: &Window<'_>, page: u32) {
        let Some(bytes) = window.page(page) else { return };
        let what = self.context.map.use_of(page);
        if !what.is_tree() {
            return;
        }
        let Some(range) = self.range_of(page) else { return };
        if let Some(link) = range.link(page) {
            self.tree_page(window, bytes, &link, what == Use::Leaf);
        }
        self.range = Some(range);
        if !self.pending.is_empty() {
            self.confirm(page, bytes);
        }
    }

    /// The links around a page, taken out of the worker. What could not be read back is said at the end.
    fn range_of(&mut self, page: u32) -> Option<Arc<Range>> {
        self.range.take().filter(|range| range.has(page)).or_else(|| self.context.map.range(page))
    }

    fn tree_of(&mut self, page: u32) -> Option<usize> {
        if !self.context.map.use_of(page).is_tree() {
            return None;
        }
        let range = self.range_of(page)?;
        let tree = range.link(page).map(|link| link.tree as usize);
        self.range = Some(range);
        tree
    }

    /// Reads the page again before accusing it.
    fn confirm(&mut self, page: u32, bytes: &[u8]) {
        let mut again = Vec::new();
        let is_same = self.context.reader.read(page, &mut again).is_ok() && again == bytes;
        let pending = std::mem::take(&mut self.pending);
        if is_same && self.collector.is_none() {
            for draft in causes::fold_page(pending) {
                self.findings.push(self.context.commit(draft));
            }
        }
        if !is_same {
            self.changed();
        }
    }

    /// Counts a page that was read in two ways. Which pages it refers to is then not known.
    pub(crate) fn changed(&mut self) {
        self.changed_count += 1;
        self.context.is_cut.store(true, std::sync::atomic::Ordering::Relaxed);
    }

    pub(crate) fn report(&mut self, draft: Draft) {
        self.pending.push(draft);
    }

    fn tree_page(&mut self, window: &Window<'_>, bytes: &[u8], link: &Link<'_>, is_leaf: bool) {
        let context = self.context;
        let page = link.page;
        let rowids = rowids_of(link, context.geometry);
        let place = Place { page, tree: link.tree as usize, rowids, window: *window };
        let expects_leaf = if link.is_root() { None } else { Some(is_leaf) };
        let (view, damage) = BtreePage::new(bytes, header_offset(page), context.geometry);
        let plan = context.plans.trees.get(place.tree);
        let expects_table = plan.and_then(|plan| plan.is_table);
        let fits = view.as_ref().is_some_and(|view| {
            expects_leaf.is_none_or(|leaf| leaf == view.kind.is_leaf())
                && expects_table.is_none_or(|table| table == view.kind.is_table())
        });
        let Some(view) = view.filter(|_| fits) else {
            context.is_cut.store(true, std::sync::atomic::Ordering::Relaxed);
            self.report(
                wrong_kind(page, bytes, header_offset(page), expects_leaf, expects_table)
                    .tree(place.tree)
                    .loses(rowids),
            );
            return;
        };
        if let Some(damage) = damage {
            self.page_damage(&place, damage);
        }
        let mut damages = Vec::new();
        let (mut first, mut last) = (None, None);
        let mut coverage = self.coverage.take().unwrap_or_default();
        view.audit(
            &mut coverage,
            |slot, cell, previous| {
                if cell.size > 0 {
                    self.cell(&place, &view, slot, cell, previous);
                    first = first.or(Some(slot));
                    last = Some(slot);
                }
            },
            |damage| damages.push(damage),
        );
        self.coverage = Some(coverage);
        for damage in damages {
            self.page_damage(&place, damage);
        }
        if let (Some(first), Some(last)) = (first, last) {
            self.bounds(&place, &view, link, (&view.cell(first).0, &view.cell(last).0));
        }
    }

    #[inline]
    fn cell<'p>(
        &mut self,
        place: &Place<'p>,
        view: &BtreePage<'p>,
        slot: usize,
        cell: &formats::sqlite::Cell<'p>,
        previous: Option<&formats::sqlite::Cell<'p>>,
    ) {
        if view.kind.is_table()
            && let Some(previous) = previous
            && previous.rowid >= cell.rowid
        {
            let draft = Draft::new(
                &rules::ROWID_ORDER,
                place.page,
                format!("a rowid above {}", previous.rowid),
                format!("rowid {}", cell.rowid),
            );
            self.report(draft.slot(slot).tree(place.tree).loses(place.rowids));
        }
        if cell.overflow != 0 || cell.payload_bytes > cell.local.len() as u64 {
            self.chain(place, slot, cell);
        }
        if view.kind != formats::sqlite::PageKind::TableInterior {
            self.record(place, slot, cell, previous);
        }
    }

    fn chain(&mut self, place: &Place<'_>, slot: usize, cell: &formats::sqlite::Cell<'_>) {
        if self.collector.is_some() {
            return;
        }
        let geometry = self.context.geometry;
        let count = geometry.overflow_page_count(cell.payload_bytes, cell.local.len() as u64);
        // At most 2^31 bytes in pages of at least 476: fits.
        let page_count = u32::try_from(count).unwrap_or(u32::MAX);
        let chain = OpenChain {
            page: place.page,
            slot: slot as u32,
            tree: place.tree as u32,
            page_count,
            from: place.page,
            next: cell.overflow,
            left: page_count,
        };
        let rowids = if cell.rowid == 0 { ALL_ROWIDS } else { (cell.rowid, cell.rowid) };
        let broken = self.chains.start(self.context, &place.window, chain);
        let shared = std::mem::take(&mut self.chains.shared);
        shared.into_iter().for_each(|draft| self.report(draft));
        match broken {
            Some(draft) if is_refuted(self.context, &self.context.reader.brake.renewed(None), &draft) => {
                self.changed();
            }
            Some(draft) => self.report(draft.loses(rowids)),
            None => {}
        }
    }

    fn page_damage(&mut self, place: &Place<'_>, damage: Damage) {
        let rule =
            if damage.fault == Fault::CellOverlap { &rules::CELL_OVERLAP } else { &rules::PAGE_LAYOUT };
        let what = fault_text(damage.fault);
        let mut draft =
            Draft::new(rule, place.page, format!("{what}: {}", damage.expected_text()), damage.found_text())
                .tree(place.tree)
                .loses(place.rowids);
        draft.slot = damage.slot.map(u64::from);
        draft.offset_bytes = Some(u64::from(damage.offset_bytes));
        self.report(draft);
    }

    /// Adds what another worker learned.
    pub(crate) fn merge(&mut self, other: Self) {
        self.findings.merge(other.findings);
        self.chains.open.extend(other.chains.open);
        self.chains.runs.extend(other.chains.runs);
        self.chains.expected_entries.merge(&other.chains.expected_entries);
        for (difference, more) in self.differences.iter_mut().zip(&other.differences) {
            difference.merge(more);
        }
        self.row_count += other.row_count;
        self.entry_count += other.entry_count;
        for (count, more) in self.record_counts.iter_mut().zip(&other.record_counts) {
            *count += more;
        }
        self.unreadable_count += other.unreadable_count;
        self.changed_count += other.changed_count;
        self.doubts.merge(other.doubts);
        for (tree, (count, reason)) in other.unevaluated {
            self.unevaluated.entry(tree).or_insert((0, reason)).0 += count;
        }
    }

    /// Reports something that concerns no page in hand.
    pub(crate) fn report_at_once(&mut self, draft: Draft) {
        self.findings.push(self.context.commit(draft));
    }

    /// A page that could not be read.
    pub(crate) fn unreadable(&mut self, page: u32, error: &str) {
        self.unreadable_count += 1;
        if self.collector.is_some() {
            return;
        }
        self.context.unreadable_count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        // What lacks the rows or entries of the page is a consequence.
        if let Some(range) = self.range_of(page) {
            if let Some(link) = range.link(page) {
                let (tree, rowids) = (link.tree as usize, rowids_of(&link, self.context.geometry));
                self.context.damaged_trees.insert(tree);
                self.context.add_loss(Loss { tree, page, rule: rules::READ_ERROR.id, rowids });
            }
            self.range = Some(range);
        }
        self.context.is_cut.store(true, std::sync::atomic::Ordering::Relaxed);
        let draft = Draft::new(&rules::READ_ERROR, page, "the bytes of the page", error)
            .confidence(Confidence::Certain);
        // Counted as unreadable, not as damaged as well.
        self.findings.push(draft.into_finding(&self.context.file, self.context.plans));
    }
}

/// Reads one byte of each cache line, in order: cells are looked at in the order of their keys, and each would wait for
/// the memory by itself.
#[inline]
fn touch(page: Option<&[u8]>) {
    const LINE_BYTES: usize = 64;
    let sum = page.unwrap_or_default().iter().step_by(LINE_BYTES).fold(0u8, |sum, byte| sum ^ byte);
    std::hint::black_box(sum);
}

fn wrong_kind(
    page: u32,
    bytes: &[u8],
    header_offset: usize,
    expects_leaf: Option<bool>,
    expects_table: Option<bool>,
) -> Draft {
    let depth = match expects_leaf {
        Some(true) => "leaf",
        Some(false) => "interior",
        None => "root",
    };
    let tree = match expects_table {
        Some(true) => "table ",
        Some(false) => "index ",
        None => "",
    };
    let byte = bytes.get(header_offset).copied().unwrap_or(0);
    let found = match formats::sqlite::PageKind::of(byte) {
        Some(kind) => format!("a {} page", kind.name()),
        None if bytes.iter().all(|byte| *byte == 0) => "a page of zeros".to_owned(),
        None => format!("first byte {byte}, not a b-tree page"),
    };
    let mut draft = Draft::new(&rules::PAGE_KIND, page, format!("a {tree}{depth} page"), found);
    draft.offset_bytes = Some(header_offset as u64);
    draft
}
