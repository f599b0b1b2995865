//! SQLite: database files and write-ahead logs, format 3.
//!
//! Written from the published format (<https://www.sqlite.org/fileformat2.html>, public domain), read against files
//! that SQLite made. A page number is a `u32` that counts from 1; 0 means "none". Offsets are bytes from the start of
//! the page.
//!
//! | item | reads |
//! |---|---|
//! | [`Header`] | the first 100 bytes of the file |
//! | [`Geometry`] | where the lock-byte page and the pointer map pages lie, how much of a payload stays in its cell |
//! | [`BtreePage`], [`Cell`], [`Coverage`] | pages of tables and indexes, and which bytes of them are in use |
//! | [`Record`], [`Value`], [`KeyColumn`], [`compare_keys`] | rows, index entries and their order |
//! | [`Trunk`] | pages of the free list |
//! | [`PointerMapEntry`] | what each page of an auto-vacuum file is used for |
//! | [`WalHeader`], [`FrameHeader`], [`WalSum`] | the write-ahead log |

mod audit;
mod btree;
mod cell;
mod checksum;
mod coverage;
mod damage;
mod exercise;
mod freelist;
mod geometry;
mod header;
mod order;
mod pointer_map;
mod read;
mod record;
mod wal;

pub use btree::{BtreePage, PageKind};
pub use cell::Cell;
pub use checksum::{CHECKSUM_SIZE_BYTES, checksums, has_right_checksum};
pub use coverage::Coverage;
pub use damage::{Damage, Fault};
pub use exercise::exercise;
pub use freelist::Trunk;
pub use geometry::Geometry;
pub use header::{Encoding, HEADER_SIZE_BYTES, Header, MAGIC};
pub use order::{
    Collation, KeyColumn, KeyOrder, compare_keys, compare_values, is_invalid_text, number_in_text,
};
pub use pointer_map::{PointerMapEntry, PointerMapKind};
pub use read::{u16_at, u32_at, varint};
pub use record::{Field, Fields, Record, Value, serial_type_size};
pub use wal::{
    FRAME_HEADER_SIZE_BYTES, FrameHeader, WAL_HEADER_SIZE_BYTES, WAL_MAGIC, WAL_VERSION, WalHeader, WalSum,
};
