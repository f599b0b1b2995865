//! Update chains inside one heap block: redirects, the root of each row version, and what a version and its successor
//! say about each other.

use check::rule::Rule;
use formats::postgres::heap::{FIRST_NORMAL_XID, TupleHeader, mask};
use formats::postgres::page::ItemState;
use formats::postgres::{Tid, Xid};

use crate::block::work::Work;
use crate::cluster::transactions::{Fate, LastLookup, Transactions};
use crate::heap::context::Slot;
use crate::rules;

/// What following the chains of a block told.
#[derive(Debug, Default)]
pub(crate) struct Chains {
    /// Some chain could not be followed because the end of a transaction is not known.
    pub(crate) is_open: bool,
    /// Line pointers whose row version may not be compared with indexes: a finding names it or its predecessor.
    disputed: Vec<usize>,
    faults: Vec<Fault>,
}

/// A broken rule, at a line pointer.
#[derive(Debug)]
struct Fault {
    rule: &'static Rule,
    item: u16,
    expected: String,
    found: String,
}

// EVIDENCE: contrib/amcheck/verify_heapam.c: a redirect must lead to a used line pointer that is no redirect, not
// dead, and holds a heap-only tuple
pub(crate) fn check_redirects<S>(slots: &[Slot], work: &mut Work<'_, S>) {
    for slot in slots.iter().filter(|slot| slot.item.state == ItemState::Redirect) {
        let target = slot.item.offset;
        let found = match target.checked_sub(1).and_then(|index| slots.get(usize::from(index))) {
            None => format!("line pointer {target} of {}", slots.len()),
            Some(led) if led.item.state != ItemState::Normal => {
                format!("line pointer {target}, which is {:?}", led.item.state).to_lowercase()
            }
            Some(led) if led.header.is_some_and(|header| !header.is_heap_only()) => {
                format!("line pointer {target}, a row with index entries of its own")
            }
            Some(_) => continue,
        };
        let expected = format!("a heap-only tuple of this block, line pointer 1 to {}", slots.len());
        work.report(&rules::ITEM_REDIRECT, Some(slot.item.number), expected, found);
    }
}

/// Finds the root of each row version, and compares each version with its successor in the block.
// EVIDENCE: src/backend/access/heap/pruneheap.c heap_get_root_tuples
pub(crate) fn follow_chains(block: u32, transactions: &Transactions, slots: &mut [Slot]) -> Chains {
    let mut chains = Chains::default();
    for slot in slots.iter_mut() {
        (slot.root, slot.has_live) = (0, false);
    }
    for start in 0..slots.len() {
        let slot = slots[start];
        let mut at = match (slot.item.state, slot.header) {
            (ItemState::Normal, Some(header)) if !header.is_heap_only() => start,
            (ItemState::Redirect, _) if slot.item.offset > 0 => usize::from(slot.item.offset) - 1,
            _ => continue,
        };
        let mut from = slot.item.number;
        // Each turn gives a root to a row that had none, so there are at most as many as line pointers.
        let mut deleter = None;
        while let Some(next) = slots.get_mut(at) {
            let Some(header) = next.header else { break };
            let follows = deleter.is_none_or(|xid| header.is_heap_only() && xid == header.xmin);
            if next.root != 0 && follows && header.is_heap_only() {
                chains.add_second_predecessor(from, next.item.number, next.root);
            }
            if next.root != 0 || !follows {
                break;
            }
            next.root = slot.item.number;
            from = next.item.number;
            let live = next.fate == Fate::Live;
            slots[start].has_live |= live;
            if !header.is_hot_updated() || header.ctid.block != block || header.ctid.item == 0 {
                break;
            }
            match transactions.deleter(&header) {
                Ok(Some(xid)) => deleter = Some(xid),
                Ok(None) => break,
                Err(()) => {
                    chains.is_open = true;
                    break;
                }
            }
            at = usize::from(header.ctid.item) - 1;
        }
    }
    chains.compare_successors(block, transactions, slots);
    chains.set_aside(slots);
    chains.find_orphans(slots);
    chains
}

impl Chains {
    /// Reports what was found.
    pub(crate) fn report<S>(&mut self, work: &mut Work<'_, S>) {
        for fault in self.faults.drain(..) {
            work.report(fault.rule, Some(fault.item), fault.expected, fault.found);
        }
    }

    // EVIDENCE: contrib/amcheck/verify_heapam.c (16): "redirected line pointer points to offset number %u, but offset
    // %u also points there", "tuple points to new version at offset %u, but ... also points there"
    fn add_second_predecessor(&mut self, from: u16, to: u16, root: u16) {
        self.faults.push(Fault {
            rule: &rules::UPDATE_CHAIN,
            item: from,
            expected: format!("one chain that leads to the heap-only row at line pointer {to}"),
            found: format!("two: from line pointer {from}, and from root line pointer {root}"),
        });
        self.disputed.push(usize::from(to) - 1);
    }

    /// Compares each updated version with the one that its ctid names, if the same transaction made it.
    // EVIDENCE: contrib/amcheck/verify_heapam.c (16): if xmax equals the successor's xmin, "heap-only update produced a
    // non-heap only tuple", "non-heap-only update produced a heap-only tuple"; src/backend/access/heap/heapam.c
    // heap_update sets HEAP_HOT_UPDATED only where the new version is put on the same page, and heap_delete clears it
    fn compare_successors(&mut self, block: u32, transactions: &Transactions, slots: &[Slot]) {
        for slot in slots {
            let Some(header) = slot.header else { continue };
            let is_hot = header.infomask2 & mask::HOT_UPDATED != 0;
            let is_self = header.ctid == Tid { block, item: slot.item.number };
            if !is_hot && (is_self || header.ctid.block != block) {
                continue;
            }
            let Ok(Some(updater)) = transactions.deleter(&header) else { continue };
            if updater < FIRST_NORMAL_XID {
                continue;
            }
            if is_self || header.ctid.block != block {
                let found = if is_self { "its own ctid, as of a deleted row" } else { "another block" };
                self.add_wrong_successor(slot, format!("ctid {}: {found}", header.ctid));
                continue;
            }
            let at = usize::from(header.ctid.item).wrapping_sub(1);
            if let Some(found) = lost_successor(slots, &header, updater, transactions) {
                self.add_wrong_successor(slot, found);
                continue;
            }
            let Some((next, successor)) = slots.get(at).and_then(|next| Some((next, next.header?))) else {
                continue;
            };
            if successor.xmin != updater
                || successor.is_xmin_frozen()
                || is_hot == successor.is_heap_only()
                || next.item.state != ItemState::Normal
            {
                continue;
            }
            self.disputed.push(at);
            self.add_wrong_successor(slot, of_version(&successor, header.ctid));
        }
    }

    fn add_wrong_successor(&mut self, slot: &Slot, found: String) {
        let is_hot = slot.header.is_some_and(|header| header.infomask2 & mask::HOT_UPDATED != 0);
        let expected = if is_hot {
            "a heap-only successor in this block, since HEAP_HOT_UPDATED is set"
        } else {
            "a successor with index entries of its own, since HEAP_HOT_UPDATED is not set"
        };
        self.faults.push(Fault {
            rule: &rules::UPDATE_CHAIN,
            item: slot.item.number,
            expected: expected.to_owned(),
            found,
        });
        self.disputed.push(usize::from(slot.item.number) - 1);
    }

    /// Visible heap-only rows that no chain reaches.
    fn find_orphans(&mut self, slots: &mut [Slot]) {
        if self.is_open {
            return;
        }
        for slot in slots.iter().filter(|slot| slot.fate == Fate::Live && slot.root == 0) {
            if slot.header.is_some_and(|header| header.is_heap_only()) {
                self.faults.push(Fault {
                    rule: &rules::HOT_CHAIN,
                    item: slot.item.number,
                    expected: "a chain of updates that leads here from a line pointer with index entries"
                        .to_owned(),
                    found: "a visible heap-only row that no line pointer leads to".to_owned(),
                });
                self.disputed.push(usize::from(slot.item.number) - 1);
            }
        }
        self.set_aside(slots);
    }

    /// Takes disputed versions out of the comparison with indexes: which line pointer leads to them is not known.
    fn set_aside(&mut self, slots: &mut [Slot]) {
        for at in self.disputed.drain(..) {
            let Some(slot) = slots.get_mut(at) else { continue };
            slot.fate = Fate::Open;
            slot.has_live = false;
            slot.is_disputed = true;
            let root = usize::from(slot.root);
            if let Some(root) = root.checked_sub(1).and_then(|root| slots.get_mut(root)) {
                root.has_live = false;
            }
        }
    }
}

/// What stands in place of the successor of a version that was HOT-updated by a committed transaction; `None` if it is
/// there, or need not be.
///
/// Pruning removes a version only together with all versions before it in its chain, so a version that is left has its
/// successor; only that of an update that was rolled back goes alone.
// EVIDENCE: src/backend/access/heap/pruneheap.c heap_prune_chain
fn lost_successor(
    slots: &[Slot],
    header: &TupleHeader,
    updater: Xid,
    transactions: &Transactions,
) -> Option<String> {
    let is_hot = header.infomask2 & mask::HOT_UPDATED != 0;
    let was_there = transactions.was_inserted(header, &mut LastLookup::default());
    if !is_hot || !was_there || !transactions.had_committed(updater) {
        return None;
    }
    let (tid, count) = (header.ctid, slots.len());
    let Some(next) = usize::from(tid.item).checked_sub(1).and_then(|at| slots.get(at)) else {
        return Some(format!("ctid {tid}: one of {count} line pointers"));
    };
    match (next.item.state, next.header) {
        (ItemState::Normal, Some(successor)) => {
            let is_other = successor.xmin != updater && !successor.is_xmin_frozen();
            let xmin = successor.xmin;
            is_other.then(|| format!("row {tid}, inserted by transaction {xmin}, not by {updater}"))
        }
        // A row whose header is not valid is a finding of its own.
        (ItemState::Normal, None) => None,
        (state, _) => Some(format!("ctid {tid}: a line pointer that is {state:?}").to_lowercase()),
    }
}

fn of_version(header: &TupleHeader, tid: Tid) -> String {
    let kind = if header.is_heap_only() { "heap-only" } else { "not heap-only" };
    format!("row {tid}, inserted by the same transaction {}, is {kind}", header.xmin)
}
