//! The main data of a record.

use crate::postgres::bytes::{u8_at, u32_at};

/// The data of a record that names no blocks.
// EVIDENCE: xlogrecord.h: XLR_BLOCK_ID_TOPLEVEL_XID 252 and four bytes, XLR_BLOCK_ID_ORIGIN 253 and two, then
// XLR_BLOCK_ID_DATA_LONG 254 and a length of four bytes, or XLR_BLOCK_ID_DATA_SHORT 255 and one of one byte
pub(super) fn main_data(body: &[u8]) -> Option<&[u8]> {
    let mut at = 0;
    // Each of the two may stand there once.
    for _ in 0..3 {
        let (start, length) = match u8_at(body, at)? {
            252 => {
                at += 5;
                continue;
            }
            253 => {
                at += 3;
                continue;
            }
            254 => (at + 5, u32_at(body, at + 1)? as usize),
            255 => (at + 2, usize::from(u8_at(body, at + 1)?)),
            _ => return None,
        };
        return body.get(start..start.checked_add(length)?);
    }
    None
}
