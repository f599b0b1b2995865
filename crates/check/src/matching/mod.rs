//! Comparing two sides that must state the same facts, such as rows and index entries, in flat memory.
//!
//! Each side states what it knows about the other as facts; a fact is hashed, and the hashes of a side are added up. Equal
//! sums prove that both sides hold the same facts. Where sums differ, the pages are read again and the facts of the
//! buckets that differ are held and compared one by one.
//!
//! | module | what it has |
//! |---|---|
//! | [`side`] | the two sides: what is expected, and what is found |
//! | [`hash`] | the keyed hash of a fact |
//! | [`sums`] | the difference of two sides, in buckets |
//! | [`spill`] | records in numbered parts, in a file beyond a limit of memory |
//! | [`exact`] | facts of one side without counterpart on the other |

pub mod exact;
pub mod hash;
pub mod side;
pub mod spill;
pub mod sums;
