//! Values of variable length: a header of one or four bytes, or a pointer into TOAST.

use crate::postgres::bytes::{u8_at, u32_at};
use crate::postgres::damage::{Damage, Invariant};
use crate::postgres::primitive::Oid;
use crate::postgres::value::compression::{self, Method};

/// Length of a TOAST pointer with its header, bytes.
// EVIDENCE: src/include/varatt.h: varattrib_1b_e header 2 bytes + varatt_external 16 bytes
pub const TOAST_POINTER_BYTES: usize = 18;
/// Tag of a pointer to a value on disk.
// EVIDENCE: varatt.h VARTAG_ONDISK
pub const TAG_ON_DISK: u8 = 18;
/// Bits of a size field that hold the size; the two above hold the compression method.
// EVIDENCE: varatt.h VARLENA_EXTSIZE_BITS 30
const SIZE_MASK: u32 = 0x3FFF_FFFF;
/// The largest value, bytes.
// EVIDENCE: PostgreSQL docs, limits: field size 1 GB; memutils.h MaxAllocSize 0x3fffffff
pub const VALUE_BYTES_MAX: u32 = 0x3FFF_FFFF;

/// A pointer to a value that stands in a TOAST table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToastPointer {
    /// Size of the plain value, with a four byte header, bytes.
    pub raw_bytes: u32,
    /// Size of what is stored, without header, bytes.
    pub stored_bytes: u32,
    /// How what is stored is packed; meaningful when it is smaller than the plain value.
    pub method: Option<Method>,
    /// Number of the value in its TOAST table.
    pub value_id: Oid,
    /// The TOAST table.
    pub table_id: Oid,
}

impl ToastPointer {
    /// Whether what is stored is compressed.
    // EVIDENCE: varatt.h VARATT_EXTERNAL_IS_COMPRESSED: extsize < rawsize - VARHDRSZ
    #[must_use]
    pub fn is_compressed(&self) -> bool {
        self.stored_bytes < self.raw_bytes.saturating_sub(4)
    }

    /// Tests the pointer in itself.
    pub fn check(&self, damage: &mut Vec<Damage>) {
        if self.raw_bytes < 4 || self.raw_bytes > VALUE_BYTES_MAX || self.stored_bytes > self.raw_bytes - 4 {
            damage.push(Damage::at(
                Invariant::ToastPointer,
                2,
                "stored size <= plain size - 4, plain size at most 1 GiB",
                format!("stored {} bytes, plain {} bytes", self.stored_bytes, self.raw_bytes),
            ));
        } else if self.is_compressed() && self.method.is_none() {
            damage.push(Damage::at(
                Invariant::ToastPointer,
                6,
                "a compression method that exists (pglz, lz4)",
                "another",
            ));
        }
    }
}

/// A value of variable length, as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Varlena<'a> {
    /// The plain bytes, without header.
    Plain(&'a [u8]),
    /// Compressed in place.
    Compressed {
        /// Size of the plain bytes, without header.
        raw_bytes: u32,
        /// How it is packed; `None` if the tag names no method that exists.
        method: Option<Method>,
        /// The packed bytes.
        packed: &'a [u8],
    },
    /// Kept in TOAST.
    External(ToastPointer),
}

/// Reads the value at the start of `bytes`; gives it and the length it takes up, header included.
///
/// `None` if its length is impossible or goes beyond `bytes`.
// EVIDENCE: src/include/varatt.h, little-endian: xxxxxx00 plain, xxxxxx10 compressed (length in the upper 30 bits
// of a u32), 00000001 external, xxxxxxx1 short (length in the upper 7 bits)
#[inline]
#[must_use]
pub fn read(bytes: &[u8]) -> Option<(Varlena<'_>, usize)> {
    let first = u8_at(bytes, 0)?;
    if first == 1 {
        return read_external(bytes);
    }
    if first & 1 == 1 {
        let length = usize::from(first >> 1);
        return Some((Varlena::Plain(bytes.get(1..length)?), length));
    }
    let header = u32_at(bytes, 0)?;
    let length = (header >> 2) as usize;
    if header & 3 == 0 {
        return Some((Varlena::Plain(bytes.get(4..length)?), length));
    }
    let packed = bytes.get(8..length)?;
    let info = u32_at(bytes, 4)?;
    let compressed =
        Varlena::Compressed { raw_bytes: info & SIZE_MASK, method: Method::of(info >> 30), packed };
    Some((compressed, length))
}

fn read_external(bytes: &[u8]) -> Option<(Varlena<'_>, usize)> {
    // Other tags point into memory and never stand in a file.
    if u8_at(bytes, 1)? != TAG_ON_DISK {
        return None;
    }
    let stored = u32_at(bytes, 6)?;
    let pointer = ToastPointer {
        raw_bytes: u32_at(bytes, 2)?,
        stored_bytes: stored & SIZE_MASK,
        method: Method::of(stored >> 30),
        value_id: u32_at(bytes, 10)?,
        table_id: u32_at(bytes, 14)?,
    };
    Some((Varlena::External(pointer), TOAST_POINTER_BYTES))
}

impl<'a> Varlena<'a> {
    /// The plain bytes of a value that is in place: borrowed, or unpacked into `buffer`.
    ///
    /// `None` for a value in TOAST, and for one that does not unpack to its recorded size or is larger than
    /// `limit_bytes`.
    #[must_use]
    pub fn plain<'b>(&self, limit_bytes: usize, buffer: &'b mut Vec<u8>) -> Option<&'b [u8]>
    where
        'a: 'b,
    {
        match *self {
            Varlena::Plain(bytes) => Some(bytes),
            Varlena::Compressed { raw_bytes, method, packed } => {
                if raw_bytes as usize > limit_bytes {
                    return None;
                }
                compression::unpack(method?, packed, raw_bytes as usize, buffer).then_some(&buffer[..])
            }
            Varlena::External(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_long_and_external_headers_are_told_apart() {
        assert_eq!(read(&[0x07, b'a', b'b', 9]), Some((Varlena::Plain(b"ab"), 3)));
        assert_eq!(read(&[24, 0, 0, 0, b'a', b'b', 9]), Some((Varlena::Plain(b"ab"), 6)));
        let mut external = vec![1, 18];
        for field in [2004u32, 2000, 77, 88] {
            external.extend(field.to_le_bytes());
        }
        let Some((Varlena::External(pointer), 18)) = read(&external) else { panic!("not external") };
        assert_eq!(
            (pointer.raw_bytes, pointer.stored_bytes, pointer.value_id, pointer.table_id),
            (2004, 2000, 77, 88)
        );
        assert!(!pointer.is_compressed());
    }

    #[test]
    fn lengths_beyond_the_bytes_and_tags_of_memory_are_refused() {
        assert_eq!(read(&[0x0B, b'a', b'b']), None);
        assert_eq!(read(&[255, 255, 255, 252]), None);
        assert_eq!(read(&[1, 1, 0, 0, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(read(&[]), None);
        // A length smaller than the header itself.
        assert_eq!(read(&[4, 0, 0, 0]), None);
        assert_eq!(read(&[0x01]), None);
    }
}
