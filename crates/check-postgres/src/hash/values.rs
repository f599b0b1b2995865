//! Hash values of the types whose hash function is known here: what an entry of a hash index must have.

use formats::postgres::hash_value::{hash_bytes, hash_i64, hash_u32};

use crate::catalog::order::{Numeric, without_blanks};

/// A hash function of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HashFunction {
    /// One byte: a truth value or a `"char"`.
    Byte,
    /// Two bytes with sign.
    Int16,
    /// Four bytes: `int4`, `date`, `oid`, enumerations.
    Number32,
    /// Eight bytes: `int8`, `timestamp`, `time`, `pg_lsn`.
    Int64,
    /// `float4`.
    Float32,
    /// `float8`.
    Float64,
    /// `numeric`.
    Numeric,
    /// All bytes: text in a deterministic collation, `bytea`, `uuid`, `macaddr`.
    Bytes,
    /// Bytes up to the first zero: `name`.
    Name,
    /// Bytes without the blanks at the end: `char(n)`.
    BytesWithoutBlanks,
}

impl HashFunction {
    /// The function of an object id; `None` if its values cannot be had here.
    ///
    /// `is_deterministic`: whether equal texts of the column's collation have equal bytes.
    // EVIDENCE: src/include/catalog/pg_proc.dat; select amproc from pg_amproc of hash operator classes in 14 to 18: numbers
    // are assigned by hand and stable; those from 6413 on came with 18
    pub(crate) fn of(function: u32, is_deterministic: bool) -> Option<HashFunction> {
        Some(match function {
            454 | 6417 => HashFunction::Byte,
            449 => HashFunction::Int16,
            450 | 453 | 3515 | 6415 | 6419 | 6423 => HashFunction::Number32,
            949 | 1688 | 2039 | 3252 | 6421 | 6425 => HashFunction::Int64,
            451 => HashFunction::Float32,
            452 => HashFunction::Float64,
            432 => HashFunction::Numeric,
            399 | 2963 | 456 | 6413 => HashFunction::Bytes,
            455 => HashFunction::Name,
            400 if is_deterministic => HashFunction::Bytes,
            1080 if is_deterministic => HashFunction::BytesWithoutBlanks,
            _ => return None,
        })
    }

    /// The hash value of plain bytes; `None` if they are of another length, or if it is not the same on all machines or in
    /// all releases.
    // EVIDENCE: src/backend/access/hash/hashfunc.c; src/backend/utils/adt/numeric.c hash_numeric, uuid.c uuid_hash,
    // timestamp.c timestamp_hash, varchar.c hashbpchar
    pub(crate) fn hash(self, bytes: &[u8]) -> Option<u32> {
        Some(match self {
            // The sign of a char is that of the machine.
            HashFunction::Byte => match bytes {
                [byte] if *byte < 0x80 => hash_u32(u32::from(*byte)),
                _ => return None,
            },
            HashFunction::Int16 => hash_u32(i32::from(i16::from_le_bytes(bytes.try_into().ok()?)) as u32),
            HashFunction::Number32 => hash_u32(u32::from_le_bytes(bytes.try_into().ok()?)),
            HashFunction::Int64 => hash_i64(i64::from_le_bytes(bytes.try_into().ok()?)),
            HashFunction::Float32 => hash_float(f32::from_le_bytes(bytes.try_into().ok()?).into())?,
            HashFunction::Float64 => hash_float(f64::from_le_bytes(bytes.try_into().ok()?))?,
            HashFunction::Numeric => match Numeric::read(bytes)? {
                Numeric { class: 1 | -1, weight, digits } => {
                    hash_bytes(digits.as_flattened()) ^ weight as u32
                }
                Numeric { class: 0, .. } => u32::MAX,
                _ => 0,
            },
            HashFunction::Bytes => hash_bytes(bytes),
            HashFunction::Name => hash_bytes(bytes.split(|byte| *byte == 0).next().unwrap_or(bytes)),
            HashFunction::BytesWithoutBlanks => hash_bytes(without_blanks(bytes)),
        })
    }
}

/// Zeros of both signs are equal; what is no number has other values in older minor releases.
fn hash_float(value: f64) -> Option<u32> {
    match value {
        _ if value.is_nan() => None,
        0.0 => Some(0),
        _ => Some(hash_bytes(&value.to_le_bytes())),
    }
}
