//! A compressed value in TOAST, as the row that has it describes it.

use formats::postgres::Tid;
use formats::postgres::compression::{Method, unpack};
use formats::postgres::varlena::ToastPointer;

/// A packed value that a visible row keeps in TOAST.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PackedValue {
    pub(crate) value_id: u32,
    pub(crate) stored_bytes: u32,
    /// Without header.
    pub(crate) raw_bytes: u32,
    pub(crate) method: Method,
    /// The row that points to it.
    pub(crate) tid: Tid,
}

impl PackedValue {
    /// What a pointer says, if it is to a packed value.
    pub(crate) fn of(pointer: &ToastPointer, tid: Tid) -> Option<PackedValue> {
        Some(PackedValue {
            value_id: pointer.value_id,
            stored_bytes: pointer.stored_bytes,
            raw_bytes: pointer.raw_bytes.checked_sub(4)?,
            method: pointer.method.filter(|_| pointer.is_compressed())?,
            tid,
        })
    }

    /// As numbers, to be kept.
    pub(crate) fn numbers(&self) -> [u32; 6] {
        let method = u32::from(self.method == Method::Lz4);
        let Tid { block, item } = self.tid;
        [self.value_id, self.stored_bytes, self.raw_bytes, method, block, item.into()]
    }

    /// From numbers that were kept.
    pub(crate) fn of_numbers(
        [value_id, stored_bytes, raw_bytes, method, block, item]: [u32; 6],
    ) -> PackedValue {
        let method = if method == 1 { Method::Lz4 } else { Method::Pglz };
        let tid = Tid { block, item: item as u16 };
        PackedValue { value_id, stored_bytes, raw_bytes, method, tid }
    }

    /// What is wrong with the stored bytes, all of them in order; `None` if they unpack as the row says.
    pub(crate) fn fault(&self, stored: &[u8], plain: &mut Vec<u8>) -> Option<String> {
        let Some((header, packed)) = stored.split_first_chunk::<PACKED_HEADER_BYTES>() else {
            return Some(format!("{} bytes", stored.len()));
        };
        let header = u32::from_le_bytes(*header);
        let (raw, method) = (header & SIZE_MASK, Method::of(header >> 30));
        if raw != self.raw_bytes || method != Some(self.method) {
            let method = method.map_or("no method".to_owned(), |method| format!("{method:?}").to_lowercase());
            return Some(format!("a first chunk that states {raw} bytes, {method}"));
        }
        (!unpack(self.method, packed, raw as usize, plain)).then(|| "decompression failed".to_owned())
    }
}

/// Bytes before the packed bytes: size and method.
// EVIDENCE: src/backend/access/common/toast_internals.c toast_save_datum: of a compressed value everything behind the
// first four bytes is stored, va_tcinfo first
pub(crate) const PACKED_HEADER_BYTES: usize = 4;

/// Bits of that header that hold the size; the two above hold the method.
// EVIDENCE: src/include/varatt.h VARLENA_EXTSIZE_BITS 30
pub(crate) const SIZE_MASK: u32 = 0x3FFF_FFFF;
