//! What packed values in TOAST unpack to: pieces are put together in the order in which they lie, and unpacked.
//!
//! Rows say which values are packed, pieces do not, and rows come in any order: so TOAST tables with packed values are
//! read once more when all rows are known. The pieces of a value mostly lie one after the other, so few values are open
//! at a time.

use std::collections::HashMap;

use check::matching::side::Side;
use check::progress::{Phase, Progress};
use formats::postgres::Tid;

use crate::heap::packed::PackedValue;
use crate::matching::exact::Exact;
use crate::matching::exception::Exception;
use crate::matching::links::Link;
use crate::matching::sink::{Boundary, EntrySink, RowSink};
use crate::rules;
use crate::run::context::PassContext;
use crate::run::report::ReportBuilder;
use crate::run::state::PassState;

/// A value of which some pieces are there.
struct Open {
    stored: Vec<u8>,
    has_piece: Vec<bool>,
}

/// Puts values together from their pieces.
struct Assembler<'a> {
    toast: u32,
    /// Ascending by number.
    values: &'a [PackedValue],
    piece_bytes: u32,
    open: HashMap<u32, Open>,
    open_bytes: u64,
    bytes_max: u64,
    plain: Vec<u8>,
    /// Values that do not unpack, and what is there.
    faults: Vec<(PackedValue, String)>,
    /// Values that were too large to be put together.
    left_out_count: u64,
    moved: bool,
}

impl Assembler<'_> {
    /// Adds a piece. One that does not fit is the business of another rule, and leaves its value unfinished.
    fn add(&mut self, id: u32, number: u32, bytes: &[u8]) {
        let Ok(at) = self.values.binary_search_by_key(&id, |value| value.value_id) else { return };
        let Some(value) = self.values.get(at).copied() else { return };
        let size = u64::from(value.stored_bytes) + u64::from(value.raw_bytes);
        if !self.open.contains_key(&id) {
            if self.open_bytes + size > self.bytes_max {
                self.left_out_count += u64::from(number == 0);
                return;
            }
            self.open_bytes += size;
            let has_piece = vec![false; value.stored_bytes.div_ceil(self.piece_bytes) as usize];
            self.open.insert(id, Open { stored: vec![0; value.stored_bytes as usize], has_piece });
        }
        let Some(open) = self.open.get_mut(&id) else { return };
        let start = (number as usize).saturating_mul(self.piece_bytes as usize);
        let wanted = (value.stored_bytes as usize).saturating_sub(start).min(self.piece_bytes as usize);
        if let (Some(has), Some(place)) =
            (open.has_piece.get_mut(number as usize), open.stored.get_mut(start..start + bytes.len()))
            && bytes.len() == wanted
        {
            place.copy_from_slice(bytes);
            *has = true;
        }
        if open.has_piece.iter().all(|has| *has) {
            if let Some(fault) = value.fault(&open.stored, &mut self.plain) {
                self.faults.push((value, fault));
            }
            self.open.remove(&id);
            self.open_bytes -= size;
        }
    }
}

impl RowSink for Assembler<'_> {
    fn fact(&mut self, _relation: u32, _side: Side, _bucket: usize, _fact: u128, _tid: Tid) {}

    fn moved(&mut self, _relation: u32) {
        self.moved = true;
    }

    fn exception(&mut self, _table: u32, _tid: Tid, _exception: Exception) {}

    fn piece(&mut self, toast: u32, id: u32, number: u32, bytes: &[u8]) {
        if toast == self.toast {
            self.add(id, number, bytes);
        }
    }
}

impl EntrySink for Assembler<'_> {
    fn entry(&mut self, _index: u32, _bucket: usize, _fact: u128, _tid: Tid, _place: (u32, u16)) {}

    fn link(&mut self, _index: u32, _side: Side, _bucket: usize, _fact: u128, _link: Link) {}

    fn boundary(&mut self, _index: u32, _side: Side, _fact: u128, _boundary: Boundary) {}

    fn unfinished(&mut self, _index: u32) {}

    fn order_not_known(&mut self, _index: u32) {}
}

impl ReportBuilder<'_> {
    /// Unpacks the values that rows keep packed in TOAST.
    pub(crate) fn unpack_values(
        &mut self,
        state: &mut PassState,
        first: &PassContext<'_>,
        progress: &mut dyn Progress,
    ) {
        let mut packed: Vec<(u32, Vec<PackedValue>)> = state.sums.packed.drain().collect();
        packed.sort_unstable_by_key(|(toast, _)| *toast);
        let mut left_out: HashMap<u32, u64> = state.sums.packed_left_out.drain().collect();
        for (toast, mut values) in packed {
            let owner = first.plan.tables.values().find(|table| table.toast_number == Some(toast));
            let Some(owner) = owner else { continue };
            let is_moved = |number| {
                let sums = &state.sums;
                sums.moved.contains(&number) || sums.changed.has(number) || first.plan.is_empty(number)
            };
            if first.snapshot.is_some() && (is_moved(toast) || is_moved(owner.number)) {
                continue;
            }
            let object = owner.relation.name.clone();
            if self.is_time_over() {
                let what = "decompressed values in TOAST";
                self.left_out(Some(&object), what, "the time limit was reached: check without --max-time");
                self.unfinished
                    .get_or_insert("stopped before all compressed values were decompressed".to_owned());
                continue;
            }
            progress.advance(Phase::SecondPass, self.bytes_before, self.bytes_total);
            values.sort_by_key(|value| value.value_id);
            values.dedup_by_key(|value| value.value_id);
            let memory_bytes_max = self.options.memory_bytes_max;
            let mut exact = Exact::new(first, first, memory_bytes_max, None);
            let (faults, large_count) =
                exact.packed_values(toast, &values, owner.toast_chunk_bytes).unwrap_or_default();
            for (value, found) in faults {
                let method = format!("{:?}", value.method).to_lowercase();
                let expected = format!(
                    "value {} in TOAST decompresses to {} bytes, {method}",
                    value.value_id, value.raw_bytes
                );
                exact.report(
                    &rules::VALUE_COMPRESSION,
                    owner.number,
                    value.tid,
                    expected,
                    found,
                    &mut self.findings,
                );
            }
            self.counters.extra_read_bytes += exact.bytes_read;
            self.account_named(&exact, state);
            *left_out.entry(toast).or_default() += large_count;
        }
        for (toast, count) in left_out.into_iter().filter(|(_, count)| *count > 0) {
            let object = first.plan.relation(toast).map(|relation| relation.name.clone());
            let what = format!("{count} compressed values");
            self.left_out(object.as_deref(), &what, "they need more than --max-memory");
        }
    }
}

/// Values that do not unpack with what is there, and the number of those left out.
type Unpacked = (Vec<(PackedValue, String)>, u64);

impl Exact<'_> {
    /// Puts packed values together; `None` if something changed meanwhile.
    fn packed_values(&mut self, toast: u32, values: &[PackedValue], piece_bytes: u32) -> Option<Unpacked> {
        let mut last: Option<Unpacked> = None;
        // As for all facts between blocks: where the cluster does not stand still, twice the same.
        for _ in 0..if self.first.snapshot.is_some() { 2 } else { 1 } {
            let mut assembler = Assembler {
                toast,
                values,
                piece_bytes: piece_bytes.max(1),
                open: HashMap::new(),
                open_bytes: 0,
                bytes_max: self.memory_bytes_max,
                plain: Vec::new(),
                faults: Vec::new(),
                left_out_count: 0,
                moved: false,
            };
            let is_read = self.read_again(false, toast, None, &mut assembler);
            let unpacked = (assembler.faults, assembler.left_out_count);
            let is_same = last.as_ref().is_none_or(|last| *last == unpacked);
            if self.first.snapshot.is_some() && (assembler.moved || !is_read || !is_same) {
                return None;
            }
            last = Some(unpacked);
        }
        last
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use formats::postgres::compression::Method;

    fn assembler(values: &[PackedValue], bytes_max: u64) -> Assembler<'_> {
        Assembler {
            toast: 1,
            values,
            piece_bytes: 4,
            open: HashMap::new(),
            open_bytes: 0,
            bytes_max,
            plain: Vec::new(),
            faults: Vec::new(),
            left_out_count: 0,
            moved: false,
        }
    }

    /// Eight times `a` in pglz: a literal, and a match that repeats it.
    const STORED: [u8; 8] = [8, 0, 0, 0, 0b10, b'a', 0x04, 0x01];

    fn value(value_id: u32) -> PackedValue {
        let tid = Tid { block: 7, item: 1 };
        PackedValue { value_id, stored_bytes: 8, raw_bytes: 8, method: Method::Pglz, tid }
    }

    #[test]
    fn pieces_in_any_order_are_put_together_and_forgotten() {
        let values = [value(3), value(5)];
        let mut assembler = assembler(&values, 1000);
        assembler.add(5, 1, &STORED[4..]);
        assembler.add(3, 0, &STORED[..4]);
        assembler.add(4, 0, &STORED[..4]);
        assembler.add(5, 0, &STORED[..4]);
        assert_eq!((assembler.open.len(), assembler.open_bytes), (1, 16));
        assembler.add(3, 1, &[0b10, b'a', 0x04, 0x02]);
        assert_eq!(assembler.faults, vec![(value(3), "decompression failed".to_owned())]);
        assert_eq!((assembler.open.len(), assembler.open_bytes, assembler.left_out_count), (0, 0, 0));
    }

    #[test]
    fn a_value_says_its_size_twice_and_both_are_the_same() {
        let values =
            [PackedValue { raw_bytes: 9, ..value(3) }, PackedValue { method: Method::Lz4, ..value(5) }];
        let mut assembler = assembler(&values, 1000);
        for id in [3, 5] {
            assembler.add(id, 0, &STORED[..4]);
            assembler.add(id, 1, &STORED[4..]);
        }
        assert_eq!(assembler.faults.len(), 2);
    }

    #[test]
    fn values_that_do_not_fit_the_memory_and_pieces_that_do_not_fit_the_value_are_left_out() {
        let values = [value(3), value(5)];
        let mut assembler = assembler(&values, 20);
        assembler.add(3, 0, &STORED[..4]);
        assembler.add(5, 0, &STORED[..4]);
        assembler.add(5, 1, &STORED[4..]);
        assert_eq!(assembler.left_out_count, 1);
        assembler.add(3, 1, &STORED[4..7]);
        assembler.add(3, 9, &STORED[4..]);
        assert!(assembler.faults.is_empty() && assembler.open.len() == 1);
    }
}
