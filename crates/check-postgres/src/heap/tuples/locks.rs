//! Bits about xmax and xvac in a row version's header that no server writes together.

use formats::postgres::Tid;
use formats::postgres::heap::{FIRST_NORMAL_XID, TupleHeader, mask};
use formats::postgres::transaction::precedes;

use crate::catalog::Relation;
use crate::cluster::transactions::Transactions;
use crate::heap::tuples::contradiction::Contradiction;
use crate::rules;

/// Bits that say how strong a lock is.
const STRENGTH: u16 = mask::XMAX_KEYSHR_LOCK | mask::XMAX_EXCL_LOCK;

/// What bits of a row version say about its lock that no server writes; `own`: where the row stands.
///
/// Rows that a release before 9.3 locked have HEAP_XMAX_LOCK_ONLY (then HEAP_XMAX_SHARED_LOCK) without a strength, or
/// HEAP_XMAX_EXCL_LOCK alone: those lead to no successor, and do not have HEAP_KEYS_UPDATED, which came with 9.3.
// EVIDENCE: src/backend/access/heap/heapam.c compute_new_xmax_infomask: a lock of one transaction has HEAP_XMAX_LOCK_ONLY
// and a strength, and HEAP_KEYS_UPDATED only if it is FOR UPDATE; an update or delete of one transaction has neither;
// heapam_visibility.c sets HEAP_XMAX_COMMITTED for updaters only
pub(super) fn lock_fault(header: &TupleHeader, own: Tid) -> Option<Contradiction> {
    let infomask = header.infomask;
    if infomask & mask::XMAX_INVALID != 0 || header.xmax == 0 || header.is_xmax_multi() {
        return None;
    }
    let strength = infomask & STRENGTH;
    let has_keys = header.infomask2 & mask::KEYS_UPDATED != 0;
    if !header.is_xmax_lock_only() {
        let expected = "no lock strength with a transaction that updated or deleted the row";
        let is_fault = strength & mask::XMAX_KEYSHR_LOCK != 0;
        return is_fault.then(|| fault(header, expected, mask::XMAX_KEYSHR_LOCK));
    }
    let wrong_bits = mask::XMAX_LOCK_ONLY | mask::XMAX_EXCL_LOCK;
    let is_strong = infomask & mask::XMAX_LOCK_ONLY != 0 && strength != 0;
    let leads_on = header.ctid != own || header.infomask2 & mask::HOT_UPDATED != 0;
    if infomask & mask::XMAX_COMMITTED != 0 {
        let expected = "HEAP_XMAX_COMMITTED with a transaction that deleted or updated the row";
        return Some(fault(header, expected, wrong_bits));
    }
    if has_keys && strength != mask::XMAX_EXCL_LOCK || (has_keys || leads_on) && !is_strong {
        let expected = "a lock with its strength, or a transaction that updated or deleted the row";
        return Some(fault(header, expected, wrong_bits));
    }
    None
}

fn fault(header: &TupleHeader, expected: &str, wrong_bits: u16) -> Contradiction {
    let TupleHeader { infomask, infomask2, xmax, ctid, .. } = header;
    let found = format!("infomask {infomask:#06x}, infomask2 {infomask2:#06x}, xmax {xmax}, ctid {ctid}");
    Contradiction { rule: &rules::COMMIT_HINT, expected: expected.to_owned(), found, wrong_bits }
}

impl Transactions {
    /// Tests a multixact whose members only lock, as the row says: none of them updates.
    // EVIDENCE: src/backend/access/heap/heapam.c GetMultiXactIdHintBits: HEAP_XMAX_LOCK_ONLY if no member updates
    pub(super) fn multi_fault(&self, header: &TupleHeader, relation: &Relation) -> Option<Contradiction> {
        let is_wanted = header.is_xmax_multi()
            && header.infomask & mask::XMAX_LOCK_ONLY != 0
            && header.infomask & mask::XMAX_INVALID == 0
            && !header.is_locked_before_upgrade();
        let updater = is_wanted.then(|| self.updater_of_multi(header.xmax, relation)).flatten()?;
        let found = format!("infomask {:#06x}; member {updater} updates", header.infomask);
        Some(Contradiction {
            rule: &rules::COMMIT_HINT,
            expected: format!("multixact {} whose members only lock the row", header.xmax),
            found,
            wrong_bits: mask::XMAX_LOCK_ONLY,
        })
    }

    /// The bits of the old VACUUM FULL (before 9.0) come with the transaction that moved the row, in place of its command
    /// number.
    // EVIDENCE: htup_details.h HEAP_MOVED_OFF, HEAP_MOVED_IN, t_xvac; heapam.c heap_prepare_freeze_tuple: "found xvac %u
    // from before relfrozenxid"
    pub(super) fn moved_fault(&self, header: &TupleHeader, relation: &Relation) -> Option<Contradiction> {
        let moved = header.infomask & mask::MOVED;
        let xvac = header.command;
        let is_possible = xvac >= FIRST_NORMAL_XID
            && precedes(xvac, self.next_xid())
            && (relation.frozen_xid < FIRST_NORMAL_XID || !precedes(xvac, relation.frozen_xid));
        (moved != 0 && (moved == mask::MOVED || !is_possible)).then(|| Contradiction {
            rule: &rules::TUPLE_HEADER,
            expected: "no bit of VACUUM FULL before 9.0, or the transaction that moved the row".to_owned(),
            found: format!("infomask {:#06x}, xvac {xvac}", header.infomask),
            wrong_bits: mask::MOVED,
        })
    }
}
