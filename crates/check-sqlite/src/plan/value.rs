//! Values that outlive the page that they were read from, and their storage classes.

use formats::sqlite::Value;

/// The storage classes that a column may hold, as bits.
pub(crate) const CLASS_INTEGER: u8 = 1;
pub(crate) const CLASS_REAL: u8 = 2;
pub(crate) const CLASS_TEXT: u8 = 4;
pub(crate) const CLASS_BLOB: u8 = 8;
pub(crate) const CLASS_NULL: u8 = 16;

/// A value apart from any page. Text is in the encoding of the file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum OwnedValue {
    Null,
    Integer(i64),
    Real(f64),
    Text(Vec<u8>),
    Blob(Vec<u8>),
}

impl From<Value<'_>> for OwnedValue {
    fn from(value: Value<'_>) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Integer(number) => Self::Integer(number),
            Value::Real(number) => Self::Real(number),
            Value::Text(bytes) => Self::Text(bytes.to_vec()),
            Value::Blob(bytes) => Self::Blob(bytes.to_vec()),
        }
    }
}

impl OwnedValue {
    pub(crate) fn as_value(&self) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Integer(number) => Value::Integer(*number),
            Self::Real(number) => Value::Real(*number),
            Self::Text(bytes) => Value::Text(bytes),
            Self::Blob(bytes) => Value::Blob(bytes),
        }
    }
}
