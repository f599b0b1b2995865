//! Records: the rows of tables and the entries of indexes.

use super::damage::{Damage, Fault};
use super::read::varint;

/// Bytes that a value of a serial type occupies; `None` for the two types that no value has.
// EVIDENCE: sqlite fileformat2 2.1, "Serial Type Codes Of The Record Format"
#[inline]
#[must_use]
pub fn serial_type_size(serial_type: u64) -> Option<u64> {
    const SMALL: [u8; 10] = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0];
    match serial_type {
        0..=9 => SMALL.get(serial_type as usize).map(|size| u64::from(*size)),
        10 | 11 => None,
        _ => Some((serial_type - 12) / 2),
    }
}

/// A record, or the part of it that is in a cell.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// Bytes of the header, with its length.
    pub header_bytes: usize,
    types: &'a [u8],
    payload: &'a [u8],
    payload_bytes: u64,
}

/// One field: its serial type and where its bytes lie in the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Field {
    /// Serial type.
    pub serial_type: u64,
    /// Offset of the value in the payload.
    pub start: u64,
    /// Bytes of the value.
    pub size: u64,
}

/// A value as the record holds it. Text is in the encoding of the file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// NULL, and a stored NaN, which SQLite reads as NULL.
    Null,
    /// A whole number.
    Integer(i64),
    /// A floating-point number.
    Real(f64),
    /// Text, not yet decoded.
    Text(&'a [u8]),
    /// Bytes.
    Blob(&'a [u8]),
}

impl<'a> Record<'a> {
    /// Reads the header of a record. `payload` may be cut before the end; `payload_bytes` is its whole length.
    ///
    /// No view when the header does not end inside the bytes given; damage only when it could not end inside the
    /// whole payload either. So `(None, None)` asks for more bytes.
    // EVIDENCE: sqlite fileformat2 2.1
    #[inline]
    #[must_use]
    pub fn new(payload: &'a [u8], payload_bytes: u64) -> (Option<Self>, Option<Damage>) {
        let Some((header_bytes, size)) = varint(payload) else {
            let is_whole = payload.len() as u64 >= payload_bytes || payload.len() >= 9;
            let damage = is_whole.then(|| Damage::new(Fault::RecordHeader, 0, 1..=payload_bytes, 0));
            return (None, damage);
        };
        if header_bytes < size as u64 || header_bytes > payload_bytes {
            let allowed = size as u64..=payload_bytes;
            return (None, Some(Damage::new(Fault::RecordHeader, 0, allowed, header_bytes)));
        }
        let header_size = usize::try_from(header_bytes).unwrap_or(usize::MAX);
        match payload.get(size..header_size) {
            Some(types) => (Some(Self { header_bytes: header_size, types, payload, payload_bytes }), None),
            None => (None, None),
        }
    }

    /// The fields in the order of the record. Ends at the first type that cannot be read.
    #[inline]
    #[must_use]
    pub fn fields(&self) -> Fields<'a> {
        Fields { types: self.types, start: self.header_bytes as u64 }
    }

    /// Proves that all types are allowed and that the fields fill the record exactly.
    #[inline]
    #[must_use]
    pub fn damage(&self) -> Option<Damage> {
        let mut types = self.types;
        let mut end = self.header_bytes as u64;
        let mut column = 0;
        while !types.is_empty() {
            let Some((serial_type, size)) = varint(types) else {
                return Some(Damage::new(Fault::RecordHeader, self.header_bytes, 1..=1, 0).at_slot(column));
            };
            let Some(value_bytes) = serial_type_size(serial_type) else {
                return Some(Damage::new(Fault::SerialType, 0, 0..=9, serial_type).at_slot(column));
            };
            end = end.saturating_add(value_bytes);
            types = types.get(size..).unwrap_or_default();
            column += 1;
        }
        (end != self.payload_bytes)
            .then(|| Damage::new(Fault::RecordLength, 0, self.payload_bytes..=self.payload_bytes, end))
    }

    /// The value of a field; `None` when its bytes are not among those given, or its type is not allowed.
    #[inline]
    #[must_use]
    pub fn value(&self, field: Field) -> Option<Value<'a>> {
        let start = usize::try_from(field.start).ok()?;
        let end = start.checked_add(usize::try_from(field.size).ok()?)?;
        let bytes = self.payload.get(start..end)?;
        Some(match field.serial_type {
            0 => Value::Null,
            1..=6 => Value::Integer(integer(bytes)),
            7 => {
                let real = f64::from_bits(u64::from_be_bytes(bytes.try_into().ok()?));
                if real.is_nan() { Value::Null } else { Value::Real(real) }
            }
            8 => Value::Integer(0),
            9 => Value::Integer(1),
            10 | 11 => return None,
            other if other % 2 == 0 => Value::Blob(bytes),
            _ => Value::Text(bytes),
        })
    }
}

#[inline]
fn integer(bytes: &[u8]) -> i64 {
    let is_negative = bytes.first().is_some_and(|byte| byte & 0x80 != 0);
    let start = if is_negative { u64::MAX } else { 0 };
    bytes.iter().fold(start, |value, byte| value << 8 | u64::from(*byte)).cast_signed()
}

/// The fields of a record, one after the other.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    types: &'a [u8],
    start: u64,
}

impl Fields<'_> {
    /// Whether all fields were given; false when a type stopped them that cannot be read.
    #[inline]
    #[must_use]
    pub fn is_at_end(&self) -> bool {
        self.types.is_empty()
    }

    /// Where the next value would begin in the payload.
    #[inline]
    #[must_use]
    pub fn end(&self) -> u64 {
        self.start
    }
}

impl Iterator for Fields<'_> {
    type Item = Field;

    #[inline]
    fn next(&mut self) -> Option<Field> {
        let (serial_type, width) = varint(self.types)?;
        let size = serial_type_size(serial_type)?;
        let start = self.start;
        self.types = self.types.get(width..)?;
        self.start = start.saturating_add(size);
        Some(Field { serial_type, start, size })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn values_come_back_in_the_order_of_the_record() {
        // header of 5 bytes: integer of 1 byte, NULL, text of 2, the constant 1
        let payload = [5, 1, 0, 17, 9, 0xfe, b'h', b'i'];
        let (record, damage) = Record::new(&payload, 8);
        assert_eq!(damage, None);
        let record = record.unwrap();
        let values: Vec<_> = record.fields().map(|field| record.value(field).unwrap()).collect();
        assert_eq!(values, [Value::Integer(-2), Value::Null, Value::Text(b"hi"), Value::Integer(1)]);
        assert_eq!(record.damage(), None);
    }

    #[test]
    fn a_record_that_its_fields_do_not_fill_is_reported() {
        let payload = [2, 17, b'h', b'i', b'!'];
        let (record, _) = Record::new(&payload, 5);
        let damage = record.unwrap().damage().unwrap();
        assert_eq!((damage.fault, damage.low, damage.found), (Fault::RecordLength, 5, 4));
    }

    #[test]
    fn types_10_and_11_are_reported() {
        let (record, _) = Record::new(&[2, 10], 2);
        assert_eq!(record.unwrap().damage().unwrap().fault, Fault::SerialType);
    }

    #[test]
    fn a_header_behind_the_cell_asks_for_more_and_behind_the_payload_is_damage() {
        assert!(matches!(Record::new(&[9, 1, 1], 100), (None, None)));
        assert!(matches!(Record::new(&[9, 1, 1], 3), (None, Some(_))));
        assert!(matches!(Record::new(&[], 0), (None, Some(_))));
    }
}
