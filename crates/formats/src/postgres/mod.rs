//! PostgreSQL: relation pages, tuples, B-trees and the files around them, majors 14 to 18.
//!
//! Little-endian clusters only; the block size is an argument (`pg_control` says it), 8 KiB by default. Every
//! reader takes bytes and gives a value and, where an invariant of the format is broken, [`Damage`]: nothing here
//! panics, allocates by a length it read without a bound, or loops without one.
//!
//! | module | reads |
//! |---|---|
//! | [`page`] | page header, line pointers, byte coverage |
//! | [`checksum`] | the page checksum, and CRC-32C of control and map files |
//! | [`heap`] | heap tuple headers |
//! | [`attribute`] | columns inside heap and index tuples |
//! | [`varlena`] | variable length values, inline, compressed or kept in TOAST |
//! | [`compression`] | `pglz` and LZ4 blocks |
//! | [`btree`] | B-tree pages and tuples |
//! | [`hash`] | hash index pages: meta page, places of buckets and overflow pages, chains, bitmap |
//! | [`gist`] | links and downlinks of `GiST` pages |
//! | [`brin`], [`brin_summary`] | BRIN pages: meta page, range map, tuples; what tuples keep of values |
//! | [`hash_value`] | the server's hash functions |
//! | [`index_pages`] | hash, `GiST` and SP-GiST pages: their marks, and the rows that entries name |
//! | [`gin`] | GIN pages: key tree, posting trees, pending entries |
//! | [`spgist`] | tuples, nodes and chains of SP-GiST pages |
//! | [`maps`] | visibility map and free space map |
//! | [`free_space`] | what cannot be in a free space map |
//! | [`control`] | `pg_control` |
//! | [`relmap`] | `pg_filenode.map` |
//! | [`transaction`] | `pg_xact` and `pg_multixact` |
//! | [`wal`] | pages and headers of WAL records |
//! | [`wal::changes`] | what WAL records say about files |
//! | [`file_name`] | names of relation files |
//! | [`catalog`] | rows of the catalogs that name everything else |

mod bytes;
pub mod catalog;
pub mod checksum;
mod coverage;
pub mod damage;
mod exercise;
mod file;
pub mod heap;
mod index;
pub mod page;
mod primitive;
pub mod sequence;
mod value;
pub mod wal;

#[cfg(test)]
mod properties;

pub use damage::{Damage, Invariant};
pub use exercise::{exercise, exercise_part};
pub use file::{control, file_name, free_space, maps, relmap, transaction};
pub use index::{brin, brin_summary, btree, gin, gist, hash, index_pages, spgist};
pub use primitive::{
    BLOCK_NONE, BLOCK_SIZE_DEFAULT, BLOCK_SIZE_MAX, BLOCK_SIZE_MIN, MAX_ALIGN, Oid, Tid, Xid,
};
pub use value::{attribute, compression, hash_value, varlena};
