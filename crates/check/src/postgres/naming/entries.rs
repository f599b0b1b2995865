//! Names rows and index entries that have no counterpart.

use std::collections::BTreeMap;

use formats::postgres::Tid;
use formats::postgres::checksum::page_checksum;
use formats::postgres::heap::TupleHeader;
use formats::postgres::page::{ItemState, Page};
use results::check::{Confidence, Finding};

use super::super::btree::Matching;
use super::super::collector::Fact;
use super::super::exact::Exact;
use super::super::rules::Promised;
use super::rows::{entry_key_text, row_key_text};
use crate::findings::Findings;

impl Exact<'_> {
    /// Names entries that are marked dead though their row is visible; such rows are not named again.
    pub(in super::super) fn name_dead_entries(
        &self,
        index: u32,
        mut dead: Vec<Fact>,
        rows: &mut Vec<Fact>,
        findings: &mut Findings,
    ) {
        dead.sort_unstable();
        rows.retain(|row| {
            let wanted = (row.tid, row.hash);
            let Ok(at) = dead.binary_search_by_key(&wanted, |fact| (fact.tid, fact.hash)) else {
                return true;
            };
            let (block, item) = dead[at].entry;
            let place = Tid { block, item };
            let expected = "an entry that is not marked dead, since its row is visible".to_owned();
            let found = format!("LP_DEAD, row {}", row.tid);
            self.report(Promised::EntryDead, index, place, expected, found, findings);
            false
        });
    }

    pub(in super::super) fn name_entries(
        &mut self,
        index: u32,
        heap: u32,
        matching: Matching,
        rows: &[Fact],
        entries: &[Fact],
        findings: &mut Findings,
    ) {
        let index_name =
            self.second.plan.relation(index).map_or("?", |relation| relation.name.as_str()).to_owned();
        let has = |list: &[Fact], tid| list.binary_search_by_key(&tid, |fact| fact.tid).is_ok();
        // One finding per block of the table: a lost block concerns all its rows.
        let mut lost: BTreeMap<u32, (Fact, u64)> = BTreeMap::new();
        for entry in entries {
            if has(rows, entry.tid) {
                let (block, item) = entry.entry;
                let expected =
                    format!("the key of the row in index {index_name}, block {block} line pointer {item}");
                let found = self.differing_keys(index, heap, entry);
                self.report(Promised::EntryDiffers, heap, entry.tid, expected, found, findings);
            } else {
                lost.entry(entry.tid.block).or_insert((*entry, 0)).1 += 1;
            }
        }
        for (fact, count) in lost.into_values() {
            let (block, item) = fact.entry;
            let expected = format!(
                "{count} rows that index {index_name} names, the first from block {block} line pointer {item}"
            );
            let (found, confidence) = self.describe(heap, fact.tid);
            let finding = self.finding(Promised::EntryWithoutRow, heap, fact.tid, expected, found);
            findings.push(Finding { confidence, ..finding });
        }
        if matching != Matching::Both {
            return;
        }
        let mut without: BTreeMap<u32, (Fact, u64)> = BTreeMap::new();
        for row in rows.iter().filter(|row| !has(entries, row.tid)) {
            without.entry(row.tid.block).or_insert((*row, 0)).1 += 1;
        }
        for (fact, count) in without.into_values() {
            let expected = format!("an entry in index {index_name} for each visible row");
            let found = format!("{count} rows of the block without, the first is {}", fact.tid);
            self.report(Promised::RowWithoutEntry, heap, fact.tid, expected, found, findings);
        }
    }

    /// The keys of a row and of its entry, where they can be shown.
    fn differing_keys(&self, index: u32, heap: u32, entry: &Fact) -> String {
        let plan = self.second.plan;
        let (block, item) = entry.entry;
        let description = plan.relation(index).and_then(|relation| relation.index.as_ref());
        let of_row = description.and_then(|index| row_key_text(plan, heap, index, entry.tid));
        let of_entry = entry_key_text(plan, index, Tid { block, item });
        match of_row.zip(of_entry) {
            Some((row, entry)) => format!("row: {row}; index entry: {entry}"),
            None => "another key".to_owned(),
        }
    }

    /// What stands where a row should be.
    fn describe(&self, heap: u32, tid: Tid) -> (String, Confidence) {
        let Some(block) = self.heap_block(heap, tid.block) else {
            return ("a block that cannot be read".to_owned(), Confidence::Consequence);
        };
        let page = Page::new(&block);
        if page.is_new() {
            return ("a block of zeros".to_owned(), Confidence::Certain);
        }
        let sum = page_checksum(page.bytes(), tid.block);
        if !page.check_header(0, &mut Vec::new())
            || (self.first.cluster.checksums && page.header().checksum != sum)
        {
            // What was found in the block itself explains the rest.
            return ("a block that is damaged".to_owned(), Confidence::Consequence);
        }
        let found = match page.item(tid.item) {
            None => {
                format!("a block with {} line pointers; the first that is named is {tid}", page.item_count())
            }
            Some(item) => match item.state {
                ItemState::Normal => {
                    let header = page.item_bytes(item).and_then(TupleHeader::read);
                    let heap_only = header.is_some_and(|header| header.is_heap_only());
                    let what = if heap_only { "a heap-only row" } else { "a row that cannot be read" };
                    format!("{what} at {tid}")
                }
                state => format!("line pointer {tid} is {state:?}").to_lowercase(),
            },
        };
        (found, Confidence::Certain)
    }
}
