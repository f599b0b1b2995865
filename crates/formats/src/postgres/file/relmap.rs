//! `pg_filenode.map`: the files of the catalogs that are needed to find all others.

use crate::postgres::bytes::u32_at;
use crate::postgres::checksum::crc32c;
use crate::postgres::damage::{Damage, Invariant};
use crate::postgres::primitive::Oid;

/// Magic number of the file.
// EVIDENCE: src/backend/utils/cache/relmapper.c RELMAPPER_FILEMAGIC
pub const MAGIC: u32 = 0x0059_2717;

/// Reads the pairs of catalog and file number, in the order in which they stand; empty if there are none to trust.
// EVIDENCE: relmapper.c RelMapFile: magic, count, pairs of u32, crc. OBSERVED: 62 pairs in 512 bytes (14, 15), 64
// pairs in 524 bytes (16 to 18)
#[must_use]
pub fn read(bytes: &[u8], damage: &mut Vec<Damage>) -> Vec<(Oid, Oid)> {
    let capacity: usize = if bytes.len() >= 524 { 64 } else { 62 };
    let crc_offset = 8 + capacity * 8;
    let (Some(magic), Some(count), Some(stored)) =
        (u32_at(bytes, 0), u32_at(bytes, 4), u32_at(bytes, crc_offset))
    else {
        damage.push(Damage::at(
            Invariant::RelationMap,
            0,
            format!("at least {} bytes", crc_offset + 4),
            format!("{} bytes", bytes.len()),
        ));
        return Vec::new();
    };
    if magic != MAGIC || count as usize > capacity {
        damage.push(Damage::at(
            Invariant::RelationMap,
            0,
            format!("magic {MAGIC:#x} and at most {capacity} pairs"),
            format!("magic {magic:#x} and {count} pairs"),
        ));
        return Vec::new();
    }
    let computed = crc32c(bytes.get(..crc_offset).unwrap_or(&[]));
    if computed != stored {
        damage.push(Damage::at(
            Invariant::RelationMap,
            crc_offset,
            format!("CRC-32C {computed:#010x}"),
            format!("{stored:#010x}"),
        ));
    }
    (0..count as usize)
        .filter_map(|index| Some((u32_at(bytes, 8 + index * 8)?, u32_at(bytes, 12 + index * 8)?)))
        .collect()
}
