//! Columns inside heap and index tuples.

use crate::postgres::primitive::align_up;
use crate::postgres::value::varlena::{self, Varlena};

/// How the length of a column is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Always so many bytes.
    Fixed(u16),
    /// A value with its own header.
    Variable,
    /// Up to and with a zero byte.
    ZeroTerminated,
}

/// What is needed to step over a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// How its length is told.
    pub length: Length,
    /// Alignment, bytes: 1, 2, 4 or 8.
    pub align_bytes: u8,
}

impl Attribute {
    /// A number of two bytes.
    pub(crate) const INT2: Attribute = Attribute { length: Length::Fixed(2), align_bytes: 2 };

    /// Makes one from `attlen` and `attalign` of a catalog row; `None` for values that do not exist.
    // EVIDENCE: PostgreSQL docs 51.7 pg_attribute, pg_type.typlen (-1 varlena, -2 cstring), typalign c s i d
    #[must_use]
    pub fn new(attlen: i16, attalign: u8) -> Option<Attribute> {
        let length = match attlen {
            -1 => Length::Variable,
            -2 => Length::ZeroTerminated,
            bytes => Length::Fixed(u16::try_from(bytes).ok()?),
        };
        let align_bytes = match attalign {
            b'c' => 1,
            b's' => 2,
            b'i' => 4,
            b'd' => 8,
            _ => return None,
        };
        Some(Attribute { length, align_bytes })
    }
}

/// A column's value, as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Datum<'a> {
    /// Null.
    Null,
    /// The bytes of a value of fixed length, or of a string without its zero byte.
    Bytes(&'a [u8]),
    /// A value of variable length.
    Varlena(Varlena<'a>),
}

/// Steps through the columns of a tuple.
///
/// `data` starts where the columns start; `nulls` is the bitmap (1 = present) or `None` when no value is null.
#[derive(Clone, Copy, Debug)]
pub struct Columns<'a> {
    data: &'a [u8],
    nulls: Option<&'a [u8]>,
    offset: usize,
    index: usize,
    has_packed: bool,
}

impl<'a> Columns<'a> {
    /// Starts before the first column.
    #[inline]
    #[must_use]
    pub fn new(data: &'a [u8], nulls: Option<&'a [u8]>) -> Columns<'a> {
        Columns { data, nulls, offset: 0, index: 0, has_packed: false }
    }

    /// Offset in the data where the last column ended.
    #[inline]
    #[must_use]
    pub fn offset_bytes(&self) -> usize {
        self.offset
    }

    /// Whether [`Columns::push_columns`] met a value that is compressed or kept in TOAST.
    #[inline]
    #[must_use]
    pub fn has_packed(&self) -> bool {
        self.has_packed
    }

    /// As [`Columns::next_column`] for each of the attributes, with the values put at the end of `values`; `false` at the
    /// first `None`, with the values before it.
    ///
    /// For the loops that take every row apart: a value is written once, where it stays.
    #[inline]
    pub fn push_columns(
        &mut self,
        attributes: impl Iterator<Item = Attribute>,
        values: &mut Vec<Datum<'a>>,
    ) -> bool {
        // A copy that nothing else sees can live in registers.
        let mut columns = *self;
        let mut is_whole = true;
        for attribute in attributes {
            if !columns.push_column(attribute, values) {
                is_whole = false;
                break;
            }
        }
        *self = columns;
        is_whole
    }

    #[inline(always)]
    fn push_column(&mut self, attribute: Attribute, values: &mut Vec<Datum<'a>>) -> bool {
        if let Some(nulls) = self.nulls {
            match nulls.get(self.index / 8) {
                Some(byte) if byte >> (self.index % 8) & 1 == 1 => {}
                Some(_) => {
                    self.index += 1;
                    values.push(Datum::Null);
                    return true;
                }
                None => return false,
            }
        }
        if let Length::Fixed(bytes) = attribute.length {
            let start = align_up(self.offset, usize::from(attribute.align_bytes));
            let Some(value) = self.data.get(start..start + usize::from(bytes)) else { return false };
            self.offset = start + usize::from(bytes);
            self.index += 1;
            values.push(Datum::Bytes(value));
            return true;
        }
        // A short header: one byte, odd, and not that of a pointer into TOAST.
        if attribute.length == Length::Variable
            && let Some(first) = self.data.get(self.offset)
            && first & 1 == 1
            && *first > 1
        {
            let end = self.offset + usize::from(first >> 1);
            let Some(value) = self.data.get(self.offset + 1..end) else { return false };
            self.offset = end;
            self.index += 1;
            values.push(Datum::Varlena(Varlena::Plain(value)));
            return true;
        }
        let Some((value, after)) = self.after_next(attribute) else { return false };
        values.push(value);
        *self = after;
        true
    }

    /// The next column and the place behind it. By value, so that the place itself need not be in memory.
    #[inline(never)]
    fn after_next(mut self, attribute: Attribute) -> Option<(Datum<'a>, Columns<'a>)> {
        let value = self.next_column(attribute)?;
        self.has_packed |= matches!(value, Datum::Varlena(Varlena::Compressed { .. } | Varlena::External(_)));
        Some((value, self))
    }

    /// Takes the next column; `None` if it does not lie inside the data or has an impossible length.
    // EVIDENCE: src/backend/access/common/heaptuple.c heap_deform_tuple; tupmacs.h att_align_pointer: a value of
    // variable length is padded only if the byte at the unpadded place is zero
    #[inline]
    pub fn next_column(&mut self, attribute: Attribute) -> Option<Datum<'a>> {
        let index = self.index;
        self.index += 1;
        if let Some(nulls) = self.nulls {
            let byte = *nulls.get(index / 8)?;
            if byte >> (index % 8) & 1 == 0 {
                return Some(Datum::Null);
            }
        }
        let align = usize::from(attribute.align_bytes);
        match attribute.length {
            Length::Fixed(bytes) => {
                let start = align_up(self.offset, align);
                let value = self.data.get(start..start + usize::from(bytes))?;
                self.offset = start + usize::from(bytes);
                Some(Datum::Bytes(value))
            }
            Length::Variable => {
                let start = if *self.data.get(self.offset)? == 0 {
                    align_up(self.offset, align)
                } else {
                    self.offset
                };
                let (value, bytes) = varlena::read(self.data.get(start..)?)?;
                self.offset = start + bytes;
                Some(Datum::Varlena(value))
            }
            Length::ZeroTerminated => {
                let start = align_up(self.offset, align);
                let rest = self.data.get(start..)?;
                let end = rest.iter().position(|byte| *byte == 0)?;
                self.offset = start + end + 1;
                Some(Datum::Bytes(&rest[..end]))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn padding_depends_on_the_kind_of_value() {
        let int = Attribute::new(4, b'i').unwrap();
        let text = Attribute::new(-1, b'i').unwrap();
        let byte = Attribute::new(1, b'c').unwrap();
        // byte, short text "x" (not padded), then padded int.
        let mut columns = Columns::new(&[9, 0x05, b'x', 0, 1, 2, 3, 4], None);
        assert_eq!(columns.next_column(byte), Some(Datum::Bytes(&[9])));
        assert_eq!(columns.next_column(text), Some(Datum::Varlena(Varlena::Plain(b"x"))));
        assert_eq!(columns.next_column(int), Some(Datum::Bytes(&[1, 2, 3, 4])));
        assert_eq!(columns.next_column(byte), None);
    }

    #[test]
    fn columns_are_pushed_as_they_are_taken() {
        let attributes = [(4, b'i'), (-1, b'i'), (1, b'c'), (-1, b'i'), (-2, b'c'), (8, b'd')]
            .map(|(length, align)| Attribute::new(length, align).unwrap());
        // Beginnings of all kinds of values, and ends too early.
        let mut state = 7u32;
        for round in 0..if cfg!(miri) { 50 } else { 20_000 } {
            let mut data = [0u8; 48];
            for byte in &mut data {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                *byte = [0, 1, 2, 3, 5, 7, 9, 16, 18, 24, 33, 255][(state >> 16) as usize % 12];
            }
            let nulls = [state as u8];
            let data = &data[..(state >> 8) as usize % 49];
            let nulls = (round % 3 == 0).then_some(&nulls[..]);
            let (mut one, mut other, mut values) =
                (Columns::new(data, nulls), Columns::new(data, nulls), Vec::new());
            for attribute in attributes {
                let taken = one.next_column(attribute);
                assert_eq!(other.push_column(attribute, &mut values), taken.is_some());
                if taken.is_none() {
                    break;
                }
                assert_eq!(values.last().copied(), taken);
                assert_eq!(one.offset_bytes(), other.offset_bytes());
            }
        }
    }

    #[test]
    fn a_null_takes_no_room() {
        let int = Attribute::new(4, b'i').unwrap();
        let mut columns = Columns::new(&[1, 2, 3, 4], Some(&[0b10]));
        assert_eq!(columns.next_column(int), Some(Datum::Null));
        assert_eq!(columns.next_column(int), Some(Datum::Bytes(&[1, 2, 3, 4])));
    }
}
