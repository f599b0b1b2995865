//! Checked little-endian reads: beyond the end there is `None`, never a panic.

/// The byte at `offset`.
#[inline]
pub(crate) fn u8_at(bytes: &[u8], offset: usize) -> Option<u8> {
    bytes.get(offset).copied()
}

/// The two bytes at `offset`.
#[inline]
pub(crate) fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(offset..)?.first_chunk::<2>()?))
}

/// The four bytes at `offset`.
#[inline]
pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(offset..)?.first_chunk::<4>()?))
}

/// The eight bytes at `offset`.
#[inline]
pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(offset..)?.first_chunk::<8>()?))
}
