//! Rules of one heap block: line pointers, chains of updates, transactions, the visibility map.

pub(crate) mod context;
pub(crate) mod packed;
pub(crate) mod ranges;
pub(crate) mod row;
pub(crate) mod toast_values;
pub(crate) mod tuples;

use formats::postgres::attribute::Datum;
use formats::postgres::heap::{FIRST_NORMAL_XID, TUPLE_HEADER_BYTES, TupleHeader, mask};
use formats::postgres::maps::Visibility;
use formats::postgres::page::{FLAG_ALL_VISIBLE, ItemState, Page};
use formats::postgres::transaction::precedes;
use formats::postgres::{Damage, Tid, Xid};
use results::check::{CheckLevel, Share};
use results::object::Affected;

use crate::block::work::Work;
use crate::cluster::transactions::{Fate, LastLookup, Transactions};
use crate::heap::context::{HeapCheck, HeapScratch, Slot};
use crate::heap::tuples::chains::{Chains, check_redirects, follow_chains};
use crate::matching::differences::BlockBuckets;
use crate::matching::entry::tid_code;
use crate::matching::exception::Exception;
use crate::matching::sink::RowSink;
use crate::rules;

impl HeapCheck<'_> {
    /// Tests a block whose header was found in order.
    pub(crate) fn block<S: RowSink>(
        &self,
        page: &Page<'_>,
        scratch: &mut HeapScratch,
        work: &mut Work<'_, S>,
    ) {
        scratch.damage.clear();
        scratch.ranges.start_block(self.table.number);
        scratch.bucket = BlockBuckets::new(self.table.blocks).of(work.place.block);
        page.check_items(TUPLE_HEADER_BYTES, false, &mut scratch.damage);
        let mut slots = std::mem::take(&mut scratch.slots);
        let has_chains = self.read_slots(page, &mut slots, &mut scratch.damage, &mut scratch.last_lookup);
        work.drain(&mut scratch.damage);
        if has_chains {
            check_redirects(&slots, work);
        }
        if let Some(transactions) = self.transactions {
            self.check_hints(transactions, &mut slots, &mut scratch.last_lookup, work);
            let mut chains = if has_chains {
                follow_chains(work.place.block, transactions, &mut slots)
            } else {
                Chains::default()
            };
            chains.report(work);
            let mut values: Vec<Datum<'_>> = Vec::with_capacity(self.table.attributes.len());
            for slot in &slots {
                let (Some(header), Some(tuple)) = (slot.header, page.item_bytes(slot.item)) else { continue };
                self.check_transactions(slot, &header, transactions, &mut scratch.last_lookup, work);
                if slot.fate != Fate::Live {
                    // What was deleted had columns all the same; what was never there may be of another shape.
                    if !self.table.attributes.is_empty()
                        && transactions.was_inserted(&header, &mut scratch.last_lookup)
                    {
                        self.read_values(slot, &header, tuple, &mut values, work);
                    }
                    continue;
                }
                self.row(slot, &header, tuple, &mut values, scratch, work);
            }
            if let Some(visibility) = self.visibility {
                self.check_visibility(visibility, page, &slots, work);
            }
            if self.table.has_matched_indexes {
                self.state_exceptions(&slots, work);
            }
        }
        if self.level == CheckLevel::Full {
            work.sink.rows(self.table.number, self.count_rows(&slots));
        }
        scratch.slots = slots;
    }

    /// Visible rows that are tested, of all that are visible or may be.
    fn count_rows(&self, slots: &[Slot]) -> Share {
        let mut count = Share::default();
        let is_tested = self.transactions.is_some() && !self.table.attributes.is_empty();
        for slot in slots {
            let Some(header) = slot.header else { continue };
            let is_inserted = header.is_xmin_frozen() || header.infomask & mask::XMIN_INVALID == 0;
            let is_kept =
                header.infomask & mask::XMAX_INVALID != 0 || header.xmax == 0 || header.is_xmax_lock_only();
            match slot.fate {
                Fate::Live => count.add(1, is_tested),
                Fate::Open if is_inserted && is_kept => count.add(1, slot.is_disputed),
                Fate::Open | Fate::Dead => {}
            }
        }
        count
    }

    /// Reads all line pointers and headers; `false` if no row leads to another in the block, and each is its own root.
    fn read_slots(
        &self,
        page: &Page<'_>,
        slots: &mut Vec<Slot>,
        damage: &mut Vec<Damage>,
        last_lookup: &mut LastLookup,
    ) -> bool {
        slots.clear();
        let mut has_chains = false;
        let mut limit = page.tuple_limit();
        for item in page.items() {
            let mut slot =
                Slot { item, header: None, fate: Fate::Open, root: 0, has_live: false, is_disputed: false };
            if item.state == ItemState::Normal
                && let Some(tuple) = page.item_bytes(item).filter(|tuple| limit.allows(tuple))
                && let Some(header) = TupleHeader::read(tuple)
                && header.check(tuple, item.number, damage)
            {
                has_chains |= header.infomask2 & (mask::HOT_UPDATED | mask::HEAP_ONLY) != 0;
                slot.header = Some(header);
                slot.fate = self.transactions.map_or(Fate::Open, |logs| logs.fate(&header, last_lookup));
                slot.root = item.number;
                slot.has_live = slot.fate == Fate::Live;
            }
            has_chains |= item.state == ItemState::Redirect;
            slots.push(slot);
        }
        has_chains
    }

    /// Tests hint bits against pg_xact. A row whose bits contradict it is compared with nothing else.
    fn check_hints<S>(
        &self,
        transactions: &Transactions,
        slots: &mut [Slot],
        last_lookup: &mut LastLookup,
        work: &mut Work<'_, S>,
    ) {
        for slot in slots {
            let Some(header) = slot.header else { continue };
            let own = Tid { block: work.place.block, item: slot.item.number };
            let found = transactions.contradiction(&header, own, &self.table.relation, last_lookup);
            let Some(found) = found else { continue };
            let corrected = found.without_hints(&header);
            work.report(found.rule, Some(slot.item.number), found.expected, found.found);
            if found.rule != &rules::UPDATE_CHAIN {
                // From here on as pg_xact has it: what follows from the wrong bits is no finding of its own.
                let fate = transactions.fate(&corrected, last_lookup);
                slot.header = Some(corrected);
                slot.fate = if fate == Fate::Dead { Fate::Open } else { fate };
                slot.has_live = slot.fate == Fate::Live;
            }
        }
    }

    // EVIDENCE: contrib/amcheck/verify_heapam.c check_tuple_visibility
    fn check_transactions<S>(
        &self,
        slot: &Slot,
        header: &TupleHeader,
        transactions: &Transactions,
        last_lookup: &mut LastLookup,
        work: &mut Work<'_, S>,
    ) {
        let number = Some(slot.item.number);
        let horizon = transactions.oldest_xid_in(self.table.relation.frozen_xid);
        let next = transactions.next_xid();
        let fits = |xid: Xid| {
            xid >= FIRST_NORMAL_XID
                && precedes(xid, next)
                && (horizon < FIRST_NORMAL_XID || !precedes(xid, horizon))
        };
        // No transaction at all (0) is what an insertion leaves that gave way to another (ON CONFLICT).
        if !header.is_xmin_frozen() && header.xmin >= FIRST_NORMAL_XID {
            if !fits(header.xmin) {
                let expected = format!("a transaction id from {horizon} to below {next}");
                work.report(&rules::XMIN_BOUNDS, number, expected, format!("xmin {}", header.xmin));
            }
            let says_committed = header.infomask & mask::XMIN_FROZEN == mask::XMIN_COMMITTED;
            // Rows that stand together come from the same transaction.
            if fits(header.xmin) && last_lookup.kept != Some((header.xmin, says_committed)) {
                let missing = transactions.missing_end(header.xmin, says_committed);
                if missing.is_none() {
                    last_lookup.kept = Some((header.xmin, says_committed));
                }
                // One log that is lost is enough for a row.
                if report_missing(missing, header.xmin, number, work) {
                    return;
                }
            }
        }
        if header.infomask & mask::XMAX_INVALID != 0 || header.xmax == 0 {
            return;
        }
        let found = format!("xmax {}", header.xmax);
        if header.is_xmax_multi() {
            let low = transactions.oldest_multi_in(self.table.relation.min_multi);
            let high = transactions.next_multi();
            let fits = (low == 0 || !precedes(header.xmax, low)) && precedes(header.xmax, high);
            if !fits {
                let expected = format!("a multixact from {low} to below {high}");
                work.report(&rules::XMAX_BOUNDS, number, expected, found);
            } else if !header.is_locked_before_upgrade() {
                // A lock alone is looked up as well, when the row is updated or VACUUM freezes it.
                report_missing(transactions.missing_members(header.xmax), header.xmax, number, work);
            }
        } else if header.xmax >= FIRST_NORMAL_XID && !fits(header.xmax) {
            let expected = format!("a transaction id from {horizon} to below {next}");
            work.report(&rules::XMAX_BOUNDS, number, expected, found);
        } else if !header.is_xmax_lock_only() {
            let says_committed = header.infomask & mask::XMAX_COMMITTED != 0;
            report_missing(transactions.missing_end(header.xmax, says_committed), header.xmax, number, work);
        }
    }

    fn state_exceptions<S: RowSink>(&self, slots: &[Slot], work: &mut Work<'_, S>) {
        for slot in slots {
            let may_be_named = match slot.item.state {
                ItemState::Unused => false,
                ItemState::Dead | ItemState::Redirect => true,
                ItemState::Normal => {
                    slot.is_disputed || slot.header.is_none_or(|header| !header.is_heap_only())
                }
            };
            if may_be_named && !slot.has_live {
                let tid = Tid { block: work.place.block, item: slot.item.number };
                work.sink.exception(self.table.number, tid, Exception::NotLive);
            }
        }
    }

    // EVIDENCE: src/backend/access/heap/visibilitymap.c: an all-visible bit in the map implies the flag in the
    // block, and both that every row version is visible to all
    fn check_visibility<S>(
        &self,
        visibility: Visibility,
        page: &Page<'_>,
        slots: &[Slot],
        work: &mut Work<'_, S>,
    ) {
        let flag = page.header().flags & FLAG_ALL_VISIBLE != 0;
        if visibility.all_visible && !flag {
            let expected = "the all-visible flag in the block, as in the visibility map".to_owned();
            let found = format!("flags {:#06x}", page.header().flags);
            work.report(&rules::VISIBILITY_MAP, None, expected, found);
        }
        if !flag {
            return;
        }
        let not_visible = slots.iter().find(|slot| match slot.item.state {
            ItemState::Dead => true,
            ItemState::Normal => slot.header.is_some() && slot.fate == Fate::Dead,
            ItemState::Unused | ItemState::Redirect => false,
        });
        if let Some(slot) = not_visible {
            let expected = "only visible rows in a block marked all-visible".to_owned();
            work.report(&rules::VISIBILITY_MAP, Some(slot.item.number), expected, "a dead row".into());
        }
        if !visibility.all_frozen {
            return;
        }
        // Transactions below the first ordinary one (1: initdb) need no freezing.
        let is_frozen = |header: &TupleHeader| {
            (header.is_xmin_frozen() || header.xmin < FIRST_NORMAL_XID)
                && (header.infomask & mask::XMAX_INVALID != 0 || header.xmax == 0)
        };
        for slot in slots {
            if let Some(header) = slot.header.filter(|header| !is_frozen(header)) {
                let expected = "only frozen rows, as in the visibility map".to_owned();
                let found =
                    format!("xmin {}, xmax {}, infomask {:#06x}", header.xmin, header.xmax, header.infomask);
                work.report(&rules::VISIBILITY_MAP, Some(slot.item.number), expected, found);
                return;
            }
        }
    }
}

/// Counts a row that names a transaction or multixact whose page of the logs is not there, or is zero: the finding is
/// about the file of the log. Whether it does.
fn report_missing<S>(
    missing: Option<(String, String)>,
    id: u32,
    item: Option<u16>,
    work: &mut Work<'_, S>,
) -> bool {
    let Some((file, found)) = missing else { return false };
    let finding = work.place.finding(&rules::TRANSACTION_END, item, id.to_string(), found);
    work.findings.push_consequence(&file, finding, Affected { row_count: 1, entry_count: 0 });
    true
}

/// An exception as one number: row pointer, then what kind.
pub(crate) fn exception_code(tid: Tid, exception: Exception) -> u64 {
    (tid_code(tid) << Exception::BITS) | exception as u64
}
