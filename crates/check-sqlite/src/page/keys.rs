//! Values as bytes to be hashed, and storage classes.

use formats::sqlite::Value;

use crate::plan::{CLASS_BLOB, CLASS_INTEGER, CLASS_NULL, CLASS_REAL, CLASS_TEXT, OwnedValue, Rows};

/// Writes a value so that equal values of row and entry have equal bytes, and different ones differ.
///
/// A whole number stored as floating-point equals the same number stored as integer, as SQLite compares them.
#[inline]
pub(crate) fn push_value(key: &mut Vec<u8>, value: Value<'_>) {
    // 2^63 as f64; below it a whole f64 converts without loss.
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    match value {
        Value::Null => key.push(0),
        Value::Integer(number) => push_tagged(key, 1, &number.to_le_bytes()),
        Value::Real(number) if number.trunc() == number && (-LIMIT..LIMIT).contains(&number) => {
            push_tagged(key, 1, &(number as i64).to_le_bytes());
        }
        Value::Real(number) => push_tagged(key, 2, &number.to_bits().to_le_bytes()),
        Value::Text(bytes) => push_sized(key, 3, bytes),
        Value::Blob(bytes) => push_sized(key, 4, bytes),
    }
}

#[inline]
fn push_tagged(key: &mut Vec<u8>, tag: u8, bytes: &[u8; 8]) {
    key.push(tag);
    key.extend_from_slice(bytes);
}

#[inline]
fn push_sized(key: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    key.push(tag);
    key.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    key.extend_from_slice(bytes);
}

pub(crate) fn push_default(key: &mut Vec<u8>, rows: &Rows, index: usize) {
    let value = rows.columns.get(index).map_or(Value::Null, |column| column.default.as_value());
    push_value(key, value);
}

#[inline]
pub(crate) fn class_of(serial_type: u64) -> u8 {
    match serial_type {
        0 => CLASS_NULL,
        7 => CLASS_REAL,
        1..=9 => CLASS_INTEGER,
        other if other % 2 == 0 => CLASS_BLOB,
        _ => CLASS_TEXT,
    }
}

pub(crate) fn default_class(value: &OwnedValue) -> u8 {
    match value {
        OwnedValue::Null => CLASS_NULL,
        OwnedValue::Integer(_) => CLASS_INTEGER,
        OwnedValue::Real(_) => CLASS_REAL,
        OwnedValue::Text(_) => CLASS_TEXT,
        OwnedValue::Blob(_) => CLASS_BLOB,
    }
}

pub(crate) fn classes_text(classes: u8) -> String {
    let names = [
        (CLASS_INTEGER, "INTEGER"),
        (CLASS_REAL, "REAL"),
        (CLASS_TEXT, "TEXT"),
        (CLASS_BLOB, "BLOB"),
        (CLASS_NULL, "NULL"),
    ];
    let held: Vec<_> =
        names.iter().filter(|(class, _)| classes & class != 0).map(|(_, name)| *name).collect();
    held.join(" or ")
}
