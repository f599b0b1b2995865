//! Rules of one row: columns, values, TOAST; and the facts that it states about indexes and TOAST.

use check::matching::hash::Key;
use check::matching::side::Side;
use formats::postgres::Tid;
use formats::postgres::attribute::{Columns, Datum};
use formats::postgres::heap::{TupleHeader, mask};
use formats::postgres::varlena::{ToastPointer, Varlena};
use results::check::CheckLevel;

use crate::block::work::Work;
use crate::catalog::order::{KEY_BYTES_MAX, plain};
use crate::catalog::{IndexColumn, key_forms};
use crate::heap::context::{HeapCheck, HeapScratch, Slot};
use crate::heap::packed::PackedValue;
use crate::heap::tuples::value_bits;
use crate::matching::entry::{hash_fact, kind, row_fact, tid_fact};
use crate::matching::exception::Exception;
use crate::matching::sink::RowSink;
use crate::rules;

impl HeapCheck<'_> {
    /// Tests a row that is there for everyone.
    pub(crate) fn row<'p, S: RowSink>(
        &self,
        slot: &Slot,
        header: &TupleHeader,
        tuple: &'p [u8],
        values: &mut Vec<Datum<'p>>,
        scratch: &mut HeapScratch,
        work: &mut Work<'_, S>,
    ) {
        if self.table.attributes.is_empty() {
            return;
        }
        let Some(has_packed) = self.read_values(slot, header, tuple, values, work) else { return };
        let item = slot.item.number;
        if has_packed {
            self.packed_values(values, item, &mut scratch.buffer, work);
        }
        if self.table.relation.is_toast {
            self.toast_piece(values, item, work);
        }
        if self.level == CheckLevel::Full {
            self.check_not_null(header, values, item, work);
            self.state_entries(values, slot.root, scratch, work);
            if !self.table.summarised_by.is_empty() {
                self.check_ranges(values, item, scratch, work);
            }
        }
    }

    /// Takes the row apart, and tells whether it has values that are compressed or kept in TOAST; `None` if that was not
    /// possible.
    pub(crate) fn read_values<'p, S: RowSink>(
        &self,
        slot: &Slot,
        header: &TupleHeader,
        tuple: &'p [u8],
        values: &mut Vec<Datum<'p>>,
        work: &mut Work<'_, S>,
    ) -> Option<bool> {
        values.clear();
        let item = Some(slot.item.number);
        let columns = usize::from(header.columns());
        if columns > self.table.attributes.len() {
            let expected = format!("at most the table's {} columns", self.table.attributes.len());
            work.report(&rules::TUPLE_HEADER, item, expected, format!("{columns} columns"));
            return None;
        }
        let data = tuple.get(usize::from(header.hoff)..).unwrap_or(&[]);
        let mut reader = Columns::new(data, header.null_bitmap(tuple));
        if !reader.push_columns(self.table.attributes.iter().take(columns).copied(), values) {
            work.report(
                &rules::TUPLE_ATTRIBUTE,
                item,
                format!("column {} inside the row's {} bytes", self.column_name(values.len()), data.len()),
                format!("an impossible length at byte {} of the columns", reader.offset_bytes()),
            );
            return None;
        }
        if reader.offset_bytes() != data.len() {
            let expected = format!("columns that end with the row, at byte {}", data.len());
            let found = format!("columns that end at byte {}", reader.offset_bytes());
            work.report(&rules::TUPLE_ATTRIBUTE, item, expected, found);
            return None;
        }
        let has_packed = reader.has_packed();
        if let Some((expected, found)) =
            value_bits::contradiction(header, &self.table.attributes, values, has_packed)
        {
            work.report(&rules::TUPLE_HEADER, item, expected, found);
        }
        Some(has_packed)
    }

    /// Tests values that do not stand in the row as they are.
    fn packed_values<S: RowSink>(
        &self,
        values: &[Datum<'_>],
        item: u16,
        buffer: &mut Vec<u8>,
        work: &mut Work<'_, S>,
    ) {
        for (number, value) in values.iter().enumerate() {
            match value {
                Datum::Varlena(Varlena::External(pointer)) => self.toast_pointer(pointer, item, work),
                Datum::Varlena(value @ Varlena::Compressed { raw_bytes, .. })
                    if self.level == CheckLevel::Full
                        && (*raw_bytes as usize) < KEY_BYTES_MAX
                        && value.plain(KEY_BYTES_MAX, buffer).is_none() =>
                {
                    let expected =
                        format!("column {} decompresses to {raw_bytes} bytes", self.column_name(number));
                    let found = "compressed bytes that do not decompress to that size".to_owned();
                    work.report(&rules::VALUE_COMPRESSION, Some(item), expected, found);
                }
                _ => {}
            }
        }
    }

    fn toast_pointer<S: RowSink>(&self, pointer: &ToastPointer, item: u16, work: &mut Work<'_, S>) {
        let mut damage = Vec::new();
        pointer.check(&mut damage);
        let broken = !damage.is_empty();
        damage = damage.into_iter().map(|damage| damage.of_item(item)).collect();
        work.drain(&mut damage);
        if pointer.table_id != self.table.relation.toast {
            let expected = format!("a pointer into TOAST table {}", self.table.relation.toast);
            work.report(
                &rules::TOAST_POINTER,
                Some(item),
                expected,
                format!("a pointer into {}", pointer.table_id),
            );
            return;
        }
        let Some(toast) = self.table.toast_number.filter(|_| !broken) else { return };
        let tid = Tid { block: work.place.block, item };
        if let Some(value) = PackedValue::of(pointer, tid).filter(|_| self.level == CheckLevel::Full) {
            work.sink.packed(toast, value);
        }
        for (piece, bytes) in pieces(pointer, self.table.toast_chunk_bytes) {
            let fact = piece_fact(self.key, toast, pointer.value_id, piece, bytes);
            work.sink.fact(toast, Side::Expected, pointer.value_id as usize, fact, tid);
        }
    }

    fn toast_piece<S: RowSink>(&self, values: &[Datum<'_>], item: u16, work: &mut Work<'_, S>) {
        let [Datum::Bytes(id), Datum::Bytes(piece), Datum::Varlena(data), ..] = values else { return };
        let (Some(id), Some(piece)) = (id.first_chunk::<4>(), piece.first_chunk::<4>()) else { return };
        let Varlena::Plain(data) = data else {
            let expected = "an uncompressed chunk".to_owned();
            work.report(&rules::TOAST_CHUNK, Some(item), expected, "a compressed chunk".into());
            return;
        };
        let id = u32::from_le_bytes(*id);
        let piece = u32::from_le_bytes(*piece);
        work.sink.piece(self.table.number, id, piece, data);
        let fact = piece_fact(self.key, self.table.number, id, piece, data.len() as u32);
        work.sink.fact(
            self.table.number,
            Side::Found,
            id as usize,
            fact,
            Tid { block: work.place.block, item },
        );
    }

    fn check_not_null<S>(
        &self,
        header: &TupleHeader,
        values: &[Datum<'_>],
        item: u16,
        work: &mut Work<'_, S>,
    ) {
        if header.infomask & mask::HAS_NULL != 0 {
            for number in &self.table.not_null {
                if matches!(values.get(*number), Some(Datum::Null)) {
                    let expected =
                        format!("a value in column {}, which is NOT NULL", self.column_name(*number));
                    let found = format!("{} = null", self.column_name(*number));
                    work.report(&rules::NOT_NULL, Some(item), expected, found);
                }
            }
        }
    }

    /// States for each index which entry it must have for this row.
    fn state_entries<S: RowSink>(
        &self,
        values: &[Datum<'_>],
        root: u16,
        scratch: &mut HeapScratch,
        work: &mut Work<'_, S>,
    ) {
        if root == 0 || self.table.indexes.is_empty() {
            return;
        }
        let tid = Tid { block: work.place.block, item: root };
        let bucket = scratch.bucket;
        let HeapScratch { buffer, facts, hashes, .. } = scratch;
        facts.clear();
        // Rows that are older than a column have its default.
        let missing = |number| self.missing_value(number);
        let value_of = |number: usize| values.get(number).copied().unwrap_or_else(|| missing(number));
        let by_tid = || self.table.indexes.iter().filter(|index| index.by_tid && !index.has_known_keys);
        hashes.clear();
        let mut hash_elsewhere = false;
        for (index, function) in by_tid().filter_map(|index| Some((index, index.hash?))) {
            let value = index.index.columns.first().and_then(table_column).map(value_of);
            let hash = match value {
                Some(Datum::Null) => None,
                Some(value) => {
                    let hash = plain(&value, buffer).and_then(|bytes| function.hash(bytes));
                    hash_elsewhere |= hash.is_none();
                    hash
                }
                None => None,
            };
            hashes.push(hash);
        }
        let mut hashes = hashes.iter();
        for index in by_tid() {
            let hash = index.hash.and_then(|_| hashes.next().copied().flatten()).filter(|_| !hash_elsewhere);
            let is_null = |column: &IndexColumn| {
                table_column(column).is_some_and(|number| matches!(value_of(number), Datum::Null))
            };
            let is_wanted = index.is_complete || self.also_index == Some(index.number);
            if is_wanted && !(index.skips_nulls && index.index.columns.iter().any(is_null)) {
                let fact = match hash {
                    Some(hash) => hash_fact(self.key, index.number, tid, hash),
                    None => tid_fact(self.key, index.number, tid),
                };
                work.sink.fact(index.number, Side::Expected, bucket, fact, tid);
            }
        }
        let by_key = || self.table.indexes.iter().filter(|index| !index.by_tid || index.has_known_keys);
        for index in by_key() {
            facts.push(if index.has_known_keys {
                key_forms::row_fact(self.key, index.number, &index.index, tid, &value_of, buffer)
            } else {
                row_fact(self.key, index.number, &index.index, tid, (values, &missing), buffer)
            });
        }
        let elsewhere = facts.iter().any(Option::is_none);
        for (index, fact) in by_key().zip(facts.iter()) {
            if !index.is_complete && self.also_index != Some(index.number) {
                continue;
            }
            let fact = fact.filter(|_| !elsewhere).unwrap_or_else(|| tid_fact(self.key, index.number, tid));
            work.sink.fact(index.number, Side::Expected, bucket, fact, tid);
        }
        if let Some(exception) = Exception::of_live(elsewhere, hash_elsewhere) {
            work.sink.exception(self.table.number, tid, exception);
        }
    }

    /// The name of a column, 0 based.
    pub(crate) fn column_name(&self, number: usize) -> &str {
        self.table.relation.columns.get(number).map_or("?", |column| column.name.as_str())
    }

    pub(crate) fn missing_value(&self, number: usize) -> Datum<'_> {
        self.table
            .relation
            .columns
            .get(number)
            .and_then(|column| column.missing_value())
            .unwrap_or(Datum::Null)
    }
}

/// The column of the table that a column of an index has, 0 based; `None` for an expression.
fn table_column(column: &IndexColumn) -> Option<usize> {
    usize::try_from(column.table_column).ok()?.checked_sub(1)
}

/// The pieces that a value in TOAST must have: number and bytes.
pub(crate) fn pieces(pointer: &ToastPointer, chunk_bytes: u32) -> impl Iterator<Item = (u32, u32)> + use<> {
    // Bounded: a value has at most 2^30 bytes, so at most about half a million pieces of 1996 bytes.
    let (stored, chunk) = (pointer.stored_bytes, chunk_bytes.max(1));
    (0..stored.div_ceil(chunk)).map(move |piece| (piece, (stored - piece * chunk).min(chunk)))
}

/// The fact that a value has a piece of a size.
pub(crate) fn piece_fact(key: &Key, toast: u32, value_id: u32, piece: u32, bytes: u32) -> u128 {
    let mut hasher = key.fact(kind::TOAST, toast, (u64::from(value_id) << 32) | u64::from(piece));
    hasher.word(u64::from(bytes));
    hasher.finish()
}
