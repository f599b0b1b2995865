//! Several files in one run of bytes: what a fuzzer changes in one place is changed in one file.

/// Files of a data directory that a piece can be, by its first byte.
pub const CLUSTER_FILES: &[&str] = &[
    "PG_VERSION",
    "global/pg_control",
    "global/pg_filenode.map",
    "global/1262",
    "global/1213",
    "base/5/PG_VERSION",
    "base/5/pg_filenode.map",
    "base/5/1259",
    "base/5/1249",
    "base/5/1247",
    "base/5/2610",
    "base/5/16384",
    "base/5/16384_fsm",
    "base/5/16384_vm",
    "base/5/16385",
    "base/5/16386_init",
    "base/5/16384.1",
    "pg_xact/0000",
    "pg_multixact/offsets/0000",
    "pg_multixact/members/0000",
    "pg_wal/000000010000000000000001",
    "backup_label",
    "tablespace_map",
    "backup_manifest",
    "postmaster.pid",
    "pg_tblspc/16390/PG_16_202307071/5/16391",
];

/// Bytes of a piece's header: which file, and its length.
const HEADER_BYTES: usize = 4;
/// Bits of the first byte that say which file; the other two are for the target.
const FILE_MASK: u8 = 0x3f;

/// Takes pieces apart: the file that each is by the table above, and its bytes. Later ones of one file count.
pub fn split(mut bytes: &[u8]) -> Vec<(&'static str, &[u8])> {
    let mut pieces = Vec::new();
    while let Some((&[file, high, middle, low], rest)) = bytes.split_first_chunk::<HEADER_BYTES>() {
        let length = usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low);
        let (piece, behind) = rest.split_at(length.min(rest.len()));
        pieces.push((CLUSTER_FILES[usize::from(file & FILE_MASK) % CLUSTER_FILES.len()], piece));
        bytes = behind;
    }
    pieces
}

/// Puts files together that [`split`] takes apart.
pub fn join(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut joined = Vec::new();
    for (name, bytes) in files {
        let Some(file) = CLUSTER_FILES.iter().position(|known| known == name) else { continue };
        let [_, length @ ..] = (bytes.len() as u32).to_be_bytes();
        joined.push(file as u8);
        joined.extend(length);
        joined.extend(bytes);
    }
    joined
}

/// Bits of the last two bytes that are the length of a WAL; the two above are for the target.
const WAL_MASK: u16 = 0x3fff;

/// A database, its WAL, and what to do: the last two bytes, little-endian, are the length of the WAL in units of 8 bytes,
/// below two bits for the target.
pub fn split_wal(bytes: &[u8]) -> (&[u8], &[u8], u8) {
    let Some((rest, last)) = bytes.split_last_chunk::<2>() else { return (bytes, &[], 0) };
    let word = u16::from_le_bytes(*last);
    let length = usize::from(word & WAL_MASK) * 8;
    let (database, wal) = rest.split_at(rest.len().saturating_sub(length));
    (database, wal, (word >> 14) as u8)
}

/// Puts together what [`split_wal`] takes apart.
pub fn join_wal(database: &[u8], wal: &[u8], choice: u8) -> Vec<u8> {
    let length = u16::try_from(wal.len() / 8).unwrap_or(0) & WAL_MASK;
    let wal = wal.get(..usize::from(length) * 8).unwrap_or_default();
    [database, wal, &(length | u16::from(choice) << 14).to_le_bytes()].concat()
}
