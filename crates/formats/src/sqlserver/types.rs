//! Types of columns: lengths, order, ranges.

use std::cmp::Ordering;

use super::boot::DateTime;
use super::bytes::{u16_at, u64_at};

/// A type as the catalog of columns stores it.
// EVIDENCE: improve.dk, "Exploring the sys.system_internals_partition_columns.ti field"
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TypeInfo(pub u32);

/// Code of `bit`.
const BIT: u8 = 0x68;

impl TypeInfo {
    /// Puts a type together from the columns that version 611 has for its parts.
    #[must_use]
    pub fn of_parts(code: u8, length: u16, precision: u8, scale: u8) -> Self {
        let code = u32::from(code);
        Self(match code {
            0x6a | 0x6c => code | u32::from(precision) << 8 | u32::from(scale) << 16,
            0x62 | 0xa5 | 0xa7 | 0xad | 0xaf | 0xe7 | 0xef | 0xf0 | 0xf1 => code | u32::from(length) << 8,
            _ => code,
        })
    }

    /// The code of the type, as in `sys.types`.
    #[must_use]
    pub fn code(self) -> u8 {
        self.0 as u8
    }

    /// Whether it is `bit`, of which eight columns share a byte.
    #[must_use]
    pub fn is_bit(self) -> bool {
        self.code() == BIT
    }

    /// Whether it is text, ntext or image: a pointer of 16 bytes in the row.
    #[must_use]
    pub fn is_text(self) -> bool {
        matches!(self.code(), 0x22 | 0x23 | 0x63)
    }

    /// Whether values may be longer than a page: varchar(max) and its kin.
    // OBSERVED: declared length 0 in base tables (sysobjvalues.imageval), 0xffff in others
    #[must_use]
    pub fn is_max(self) -> bool {
        matches!(self.code(), 0xa5 | 0xa7 | 0xe7) && matches!(self.length_given(), 0 | 0xffff)
    }

    fn length_given(self) -> usize {
        (self.0 >> 8) as u16 as usize
    }

    fn precision(self) -> u8 {
        (self.0 >> 8) as u8
    }

    /// Bytes that a value of fixed length takes; `None` for types of variable or unknown length.
    // EVIDENCE: Microsoft Learn, "Data types (Transact-SQL)", storage of each type
    #[must_use]
    pub fn fixed_bytes(self) -> Option<usize> {
        Some(match self.code() {
            0x30 | BIT => 1,
            0x34 => 2,
            0x38 | 0x3a | 0x3b | 0x7a => 4,
            0x3c | 0x3d | 0x3e | 0x7f | 0xbd => 8,
            0x24 => 16,
            0x28 => 3,
            0x29 => time_bytes(self.precision()),
            0x2a => 3 + time_bytes(self.precision()),
            0x2b => 5 + time_bytes(self.precision()),
            0x6a | 0x6c => match self.precision() {
                0..=9 => 5,
                10..=19 => 9,
                20..=28 => 13,
                _ => 17,
            },
            0xad | 0xaf | 0xef => self.length_given(),
            _ => return None,
        })
    }

    /// The order of two values, where it is known: not for text, whose order is that of a collation.
    ///
    /// Values of text types that have the same bytes are equal in every collation.
    #[must_use]
    pub fn compare(self, left: &[u8], right: &[u8]) -> Option<Ordering> {
        if left == right {
            return Some(Ordering::Equal);
        }
        let number = |bytes: &[u8]| little(bytes);
        match self.code() {
            BIT | 0x30 | 0x28 | 0x29 => Some(number(left).cmp(&number(right))),
            0x34 | 0x38 | 0x7f | 0x7a => Some(signed(left).cmp(&signed(right))),
            0x3c => Some(signed(left).cmp(&signed(right))),
            0x3d => Some(DateTime::at(left, 0)?.cmp(&DateTime::at(right, 0)?)),
            // Days above minutes: one number.
            0x3a => Some(number(left).cmp(&number(right))),
            // The date stands behind the time.
            0x2a => {
                let split = left.len().checked_sub(3)?;
                let parts = |bytes: &[u8]| Some((number(bytes.get(split..)?), number(bytes.get(..split)?)));
                Some(parts(left)?.cmp(&parts(right)?))
            }
            0x24 => {
                // EVIDENCE: .NET reference source, SqlGuid: the order in which bytes weigh
                const WEIGHT: [usize; 16] = [10, 11, 12, 13, 14, 15, 8, 9, 6, 7, 4, 5, 0, 1, 2, 3];
                let weigh = |bytes: &[u8]| WEIGHT.map(|index| bytes.get(index).copied());
                Some(weigh(left).cmp(&weigh(right)))
            }
            0x3b => float(left)?.partial_cmp(&float(right)?),
            0x3e => double(left)?.partial_cmp(&double(right)?),
            0x6a | 0x6c => decimal_order(left, right),
            // EVIDENCE: Microsoft Learn, "rowversion (Transact-SQL)" and "binary and varbinary": bytes from the left
            0xbd | 0xad => Some(left.cmp(right)),
            0xa5 => Some(trimmed(left).cmp(trimmed(right))),
            _ => None,
        }
    }

    /// Whether [`Self::compare`] knows the order of all values of the type.
    #[must_use]
    pub fn has_order(self) -> bool {
        let numbers = matches!(self.code(), BIT | 0x30 | 0x34 | 0x38 | 0x3c | 0x6a | 0x6c | 0x7a | 0x7f);
        numbers || matches!(self.code(), 0x24 | 0x28 | 0x29 | 0x2a | 0x3a | 0x3d | 0xa5 | 0xad | 0xbd)
    }

    /// What a value breaks of its type's range; `None` when it is in order or the range is not known.
    // EVIDENCE: Microsoft Learn, "DBCC CHECKDB", DATA_PURITY, and the pages of the types
    #[must_use]
    pub fn out_of_range(self, value: &[u8]) -> Option<String> {
        if let Some(length) = self.fixed_bytes().filter(|length| *length != value.len()) {
            return Some(format!("{} bytes instead of {length}", value.len()));
        }
        match self.code() {
            0x3d => {
                let date = DateTime::at(value, 0)?;
                (!date.is_in_range()).then(|| format!("day {} and tick {}", date.days, date.ticks))
            }
            0x3a => {
                u16_at(value, 0).filter(|minutes| *minutes >= 1440).map(|minutes| format!("minute {minutes}"))
            }
            0x28 => Some(little(value)).filter(|days| *days > 3_652_058).map(|days| format!("day {days}")),
            0x3b => float(value).filter(|number| !number.is_finite()).map(|number| number.to_string()),
            0x3e => double(value).filter(|number| !number.is_finite()).map(|number| number.to_string()),
            0x6a | 0x6c => self.decimal_out_of_range(value),
            0xe7 | 0xef if value.len() % 2 == 1 => Some(format!("{} bytes, half a character", value.len())),
            0xa5 | 0xa7 | 0xe7 if value.len() > self.length_given() && !self.is_max() => {
                Some(format!("{} bytes, at most {} are declared", value.len(), self.length_given()))
            }
            _ => None,
        }
    }

    fn decimal_out_of_range(self, value: &[u8]) -> Option<String> {
        let (sign, digits) = value.split_first()?;
        if *sign > 1 {
            return Some(format!("sign {sign}"));
        }
        let most = 10u128.checked_pow(self.precision().into())?;
        let number = little(digits);
        (number >= most).then(|| format!("{number}, of more than {} digits", self.precision()))
    }

    /// The name in texts.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self.code() {
            0x22 => "image",
            0x23 => "text",
            0x24 => "uniqueidentifier",
            0x28 => "date",
            0x29 => "time",
            0x2a => "datetime2",
            0x2b => "datetimeoffset",
            0x30 => "tinyint",
            0x34 => "smallint",
            0x38 => "int",
            0x3a => "smalldatetime",
            0x3b => "real",
            0x3c => "money",
            0x3d => "datetime",
            0x3e => "float",
            0x62 => "sql_variant",
            0x63 => "ntext",
            BIT => "bit",
            0x6a => "decimal",
            0x6c => "numeric",
            0x7a => "smallmoney",
            0x7f => "bigint",
            0xa5 => "varbinary",
            0xa7 => "varchar",
            0xad => "binary",
            0xaf => "char",
            0xbd => "timestamp",
            0xe7 => "nvarchar",
            0xef => "nchar",
            0xf0 => "CLR type",
            0xf1 => "xml",
            _ => "an unknown type",
        }
    }
}

// EVIDENCE: Microsoft Learn, "time (Transact-SQL)": 3 bytes for scale 0 to 2, 4 for 3 and 4, 5 for 5 to 7
fn time_bytes(scale: u8) -> usize {
    match scale {
        0..=2 => 3,
        3 | 4 => 4,
        _ => 5,
    }
}

fn little(bytes: &[u8]) -> u128 {
    bytes.iter().take(16).rev().fold(0, |number, byte| number << 8 | u128::from(*byte))
}

fn signed(bytes: &[u8]) -> i64 {
    let negative = bytes.last().is_some_and(|byte| *byte >= 0x80);
    let start = if negative { -1i64 } else { 0 };
    bytes.iter().take(8).rev().fold(start, |number, byte| number << 8 | i64::from(*byte))
}

fn float(bytes: &[u8]) -> Option<f32> {
    super::bytes::u32_at(bytes, 0).map(f32::from_bits)
}

fn double(bytes: &[u8]) -> Option<f64> {
    u64_at(bytes, 0).map(f64::from_bits)
}

/// Sign 1 is positive, 0 negative; then the number, least byte first.
fn decimal_order(left: &[u8], right: &[u8]) -> Option<Ordering> {
    let (left_sign, left_digits) = left.split_first()?;
    let (right_sign, right_digits) = right.split_first()?;
    let size = little(left_digits).cmp(&little(right_digits));
    Some(match (left_sign, right_sign) {
        (1, 1) => size,
        (0, 0) => size.reverse(),
        (left, right) => left.cmp(right),
    })
}

/// Trailing zeros do not count when binary values are compared.
fn trimmed(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    bytes.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(code: u32, left: &[u8], right: &[u8]) -> Option<Ordering> {
        TypeInfo(code).compare(left, right)
    }

    #[test]
    fn numbers_compare_by_value() {
        assert_eq!(order(0x38, &(-1i32).to_le_bytes(), &1i32.to_le_bytes()), Some(Ordering::Less));
        assert_eq!(order(0x30, &[200], &[100]), Some(Ordering::Greater));
        assert_eq!(order(0x7f, &i64::MIN.to_le_bytes(), &0i64.to_le_bytes()), Some(Ordering::Less));
        assert_eq!(order(0x3e, &(-2.5f64).to_le_bytes(), &(-3.5f64).to_le_bytes()), Some(Ordering::Greater));
        assert_eq!(order(0x096a, &[0, 9, 0, 0, 0], &[0, 5, 0, 0, 0]), Some(Ordering::Less));
        assert_eq!(order(0xe7, b"a\0", b"b\0"), None);
        assert_eq!(order(0xe7, b"a\0", b"a\0"), Some(Ordering::Equal));
    }

    #[test]
    fn a_type_is_put_together_as_later_versions_store_it() {
        assert_eq!(TypeInfo::of_parts(0x38, 4, 10, 0), TypeInfo(0x38));
        assert_eq!(TypeInfo::of_parts(0xad, 8, 0, 0), TypeInfo(0x8ad));
        assert_eq!(TypeInfo::of_parts(0x6a, 9, 18, 2), TypeInfo(0x02_126a));
        assert!(TypeInfo::of_parts(0xe7, 0xffff, 0, 0).is_max());
        assert!(TypeInfo::of_parts(0x63, 16, 0, 0).is_text());
    }

    #[test]
    fn values_outside_of_their_type_are_told() {
        let datetime = |days: i32, ticks: u32| [ticks.to_le_bytes(), days.to_le_bytes()].concat();
        assert_eq!(TypeInfo(0x3d).out_of_range(&datetime(1, 1)), None);
        assert!(TypeInfo(0x3d).out_of_range(&datetime(1, 25_920_000)).is_some());
        assert!(TypeInfo(0x3e).out_of_range(&f64::NAN.to_le_bytes()).is_some());
        assert_eq!(TypeInfo(0x036a).out_of_range(&[1, 0xe7, 3, 0, 0]), None);
        assert!(TypeInfo(0x036a).out_of_range(&[1, 0xe8, 3, 0, 0]).is_some());
        assert!(TypeInfo(0x04e7).out_of_range(b"a\0b\0c\0").is_some());
        assert!(TypeInfo(0x04e7).out_of_range(b"a\0b").is_some());
    }
}
