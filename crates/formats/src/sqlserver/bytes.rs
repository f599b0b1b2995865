//! Numbers out of bytes, little-endian as SQL Server writes them; every read is checked.

/// Reads the byte at an offset; `None` when it does not lie inside.
#[inline]
#[must_use]
pub fn u8_at(bytes: &[u8], offset: usize) -> Option<u8> {
    bytes.get(offset).copied()
}

/// Reads the 16-bit number at an offset; `None` when it does not lie inside.
#[inline]
#[must_use]
pub fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    let field = bytes.get(offset..offset.checked_add(2)?)?;
    Some(u16::from_le_bytes(field.try_into().ok()?))
}

/// Reads the 32-bit number at an offset; `None` when it does not lie inside.
#[inline]
#[must_use]
pub fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    let field = bytes.get(offset..offset.checked_add(4)?)?;
    Some(u32::from_le_bytes(field.try_into().ok()?))
}

/// Reads the 64-bit number at an offset; `None` when it does not lie inside.
#[inline]
#[must_use]
pub fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    let field = bytes.get(offset..offset.checked_add(8)?)?;
    Some(u64::from_le_bytes(field.try_into().ok()?))
}
