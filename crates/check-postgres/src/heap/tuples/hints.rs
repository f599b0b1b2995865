//! Hint bits of a row version against pg_xact: they may lag behind it, and never contradict it.

use formats::postgres::heap::{FIRST_NORMAL_XID, TupleHeader, mask};
use formats::postgres::transaction::{Status, precedes};
use formats::postgres::{Tid, Xid};

use crate::catalog::Relation;
use crate::cluster::transactions::{LastLookup, Transactions};
use crate::heap::tuples::contradiction::Contradiction;
use crate::heap::tuples::locks::lock_fault;
use crate::rules;

/// The first object id that is not given out by initdb.
// EVIDENCE: src/include/access/transam.h FirstNormalObjectId
const FIRST_NORMAL_OID: u32 = 16384;

impl Transactions {
    /// What the bits of a row version say of its transactions that pg_xact or other bits contradict; `own`: where the row
    /// stands.
    ///
    /// Problem: hint bits are set without a record in the WAL, so a block may have newer ones than its position says.
    /// Non-problem: what a bit says of a transaction that had ended does not change any more.
    // EVIDENCE: src/backend/access/heap/heapam_visibility.c SetHintBits: HEAP_XMIN_COMMITTED and HEAP_XMAX_COMMITTED are
    // set when the commit record is flushed, HEAP_XMAX_INVALID when the transaction aborted or did no more than lock
    pub(crate) fn contradiction(
        &self,
        header: &TupleHeader,
        own: Tid,
        relation: &Relation,
        memory: &mut LastLookup,
    ) -> Option<Contradiction> {
        let of_state = self.moved_fault(header, relation).or_else(|| lock_fault(header, own));
        let of_xmin = of_state.or_else(|| self.contradicts_xmin(header, relation, memory));
        if of_xmin.is_some() || header.xmax == 0 || header.infomask & mask::MOVED != 0 {
            return of_xmin;
        }
        self.multi_fault(header, relation).or_else(|| self.contradicts_xmax(header, relation, memory))
    }

    fn contradicts_xmin(
        &self,
        header: &TupleHeader,
        relation: &Relation,
        memory: &mut LastLookup,
    ) -> Option<Contradiction> {
        let xid = header.xmin;
        if xid < FIRST_NORMAL_XID {
            return None;
        }
        let hint = header.infomask & mask::XMIN_FROZEN;
        let status = match hint {
            0 => return None,
            // Old numbers of frozen rows come round again, and catalogs of an upgraded cluster name transactions of
            // another one.
            mask::XMIN_FROZEN if !self.has_first_epoch() || relation.id < FIRST_NORMAL_OID => return None,
            _ => self.status(xid, memory)?,
        };
        let contradicts = match status {
            Status::Aborted => hint != mask::XMIN_INVALID,
            Status::Committed => hint == mask::XMIN_INVALID,
            Status::InProgress => hint == mask::XMIN_COMMITTED && self.had_ended(xid),
            Status::SubCommitted => false,
        };
        contradicts.then(|| of_hint("inserted", xid, header, status))
    }

    fn contradicts_xmax(
        &self,
        header: &TupleHeader,
        relation: &Relation,
        memory: &mut LastLookup,
    ) -> Option<Contradiction> {
        let infomask = header.infomask;
        let hint = infomask & (mask::XMAX_COMMITTED | mask::XMAX_INVALID);
        if header.is_xmax_lock_only() {
            return None;
        }
        let aborted_insert = header.xmin >= FIRST_NORMAL_XID
            && !header.is_xmin_frozen()
            && self.status(header.xmin, memory) == Some(Status::Aborted);
        if hint == 0 && !aborted_insert {
            return None;
        }
        let updater = self.updater_whatever_hint(header, relation)?;
        let status = self.status(updater, memory)?;
        let contradicts = match status {
            Status::Aborted => hint & mask::XMAX_COMMITTED != 0,
            Status::Committed => hint & mask::XMAX_INVALID != 0,
            Status::InProgress => hint & mask::XMAX_COMMITTED != 0 && self.had_ended(updater),
            Status::SubCommitted => false,
        };
        if contradicts {
            return Some(of_hint("updated or deleted", updater, header, status));
        }
        // EVIDENCE: contrib/amcheck/verify_heapam.c (16): "tuple with aborted xmin %u was updated to produce a tuple ...
        // with committed xmin"; heapam.c: updating a row that is not visible is an error
        (aborted_insert && status == Status::Committed && hint & mask::XMAX_INVALID == 0).then(|| {
            Contradiction {
                rule: &rules::UPDATE_CHAIN,
                expected: format!(
                    "no committed update or delete of a row whose insert aborted ({})",
                    header.xmin
                ),
                found: format!("xmax {updater}, which pg_xact calls committed; ctid {}", header.ctid),
                wrong_bits: 0,
            }
        })
    }

    /// Who updated or deleted a row version, whatever its bits say about how that ended.
    fn updater_whatever_hint(&self, header: &TupleHeader, relation: &Relation) -> Option<Xid> {
        if !header.is_xmax_multi() {
            return Some(header.xmax).filter(|xid| self.is_at_least(*xid, relation.frozen_xid));
        }
        self.updater_of_multi(header.xmax, relation)
    }

    /// The member of a multixact that updates; `None` if none does, or pg_multixact does not tell.
    pub(super) fn updater_of_multi(&self, multi: u32, relation: &Relation) -> Option<Xid> {
        let oldest = self.oldest_multi_in(relation.min_multi);
        let is_kept = !precedes(multi, oldest.max(1)) && precedes(multi, self.next_multi());
        let updater = is_kept.then(|| self.updater(multi).ok().flatten()).flatten()?;
        Some(updater).filter(|xid| *xid >= FIRST_NORMAL_XID)
    }

    fn is_at_least(&self, xid: Xid, oldest: Xid) -> bool {
        xid >= FIRST_NORMAL_XID && (oldest < FIRST_NORMAL_XID || !precedes(xid, oldest))
    }
}

fn of_hint(did: &str, xid: Xid, header: &TupleHeader, status: Status) -> Contradiction {
    let infomask = header.infomask;
    let names = [
        (mask::XMIN_COMMITTED, "HEAP_XMIN_COMMITTED"),
        (mask::XMIN_INVALID, "HEAP_XMIN_INVALID"),
        (mask::XMAX_COMMITTED, "HEAP_XMAX_COMMITTED"),
        (mask::XMAX_INVALID, "HEAP_XMAX_INVALID"),
    ];
    let range = if did == "inserted" { &names[..2] } else { &names[2..] };
    let wrong_bits = range.iter().fold(0, |bits, (bit, _)| bits | bit);
    let set: Vec<&str> = range.iter().filter(|(bit, _)| infomask & bit != 0).map(|(_, name)| *name).collect();
    let status = match status {
        Status::Committed => "committed",
        Status::Aborted => "aborted",
        Status::InProgress => "in progress",
        Status::SubCommitted => "sub-committed",
    };
    Contradiction {
        rule: &rules::COMMIT_HINT,
        expected: format!(
            "hint bits about transaction {xid}, which {did} the row, that agree with pg_xact: {status}"
        ),
        found: format!("infomask {infomask:#06x}: {}", set.join(", ")),
        wrong_bits,
    }
}
