//! Names rows and index entries that have no counterpart.

use check::findings::Findings;
use formats::postgres::Tid;
use formats::postgres::checksum::page_checksum;
use formats::postgres::heap::TupleHeader;
use formats::postgres::page::{ItemState, Page};
use results::check::Confidence;

use crate::finding::ZEROS;
use crate::matching::collector::Fact;
use crate::matching::exact::Exact;
use crate::plan::objects::Matching;
use crate::rules;

impl Exact<'_> {
    /// Names entries that are marked dead though their row is visible; such rows are not named again.
    pub(crate) fn name_dead_entries(
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
            let expected = "an entry without LP_DEAD, since its row is visible".to_owned();
            let found = format!("LP_DEAD, row {}", row.tid);
            self.report(&rules::ENTRY_DEAD, index, place, expected, found, findings);
            false
        });
    }

    /// Notes entries whose row is another or is not there, and rows without entry.
    pub(crate) fn note_mismatches(
        &mut self,
        index: u32,
        heap: u32,
        matching: Matching,
        rows: &[Fact],
        entries: &[Fact],
    ) {
        let has = |list: &[Fact], tid| list.binary_search_by_key(&tid, |fact| fact.tid).is_ok();
        for entry in entries {
            if has(rows, entry.tid) {
                self.mismatches.differs(heap, entry.tid, index, entry.entry);
            } else {
                self.mismatches.lost(heap, entry.tid, index, entry.entry);
            }
        }
        if matching == Matching::Both {
            for row in rows.iter().filter(|row| !has(entries, row.tid)) {
                self.mismatches.without_entry(heap, row.tid, index);
            }
        }
    }

    /// What stands where a row should be.
    pub(crate) fn describe(&self, heap: u32, tid: Tid) -> (String, Confidence) {
        let Some(block) = self.heap_block(heap, tid.block) else {
            return ("an unreadable block".to_owned(), Confidence::Consequence);
        };
        let page = Page::new(&block);
        if page.is_new() {
            return (ZEROS.to_owned(), Confidence::Certain);
        }
        let sum = page_checksum(page.bytes(), tid.block);
        if !page.check_header(0, &mut Vec::new())
            || (self.first.cluster.checksums && page.header().checksum != sum)
        {
            // What was found in the block itself explains the rest.
            return ("a damaged block".to_owned(), Confidence::Consequence);
        }
        let found = match page.item(tid.item) {
            None => {
                format!(
                    "a block with {} line pointers; the first TID in the index is {tid}",
                    page.item_count()
                )
            }
            Some(item) => match item.state {
                ItemState::Normal => {
                    let header = page.item_bytes(item).and_then(TupleHeader::read);
                    let heap_only = header.is_some_and(|header| header.is_heap_only());
                    let what = if heap_only { "a heap-only row" } else { "an unreadable row" };
                    format!("{what} at {tid}")
                }
                state => format!("line pointer {tid} is {state:?}").to_lowercase(),
            },
        };
        (found, Confidence::Certain)
    }
}
