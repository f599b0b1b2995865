//! Hash index pages (version 4, majors 10 and later): the meta page, where buckets and overflow pages stand, the chains
//! of a bucket's pages, and the bitmap of overflow pages in use.
//!
//! ```text
//! block  0     1 2                3 4          5            6 ..
//!        meta  buckets of phases  overflow     buckets of   overflow pages
//!              0 and 1            of phase 1   phase 2      of phase 2
//! ```
//!
//! Buckets are allocated phase by phase, each time all of a phase; overflow pages that are added meanwhile stand behind
//! it. The meta page keeps for each phase how many overflow pages there were up to its end, from which the place of every
//! bucket and the number of every overflow page follow. Bitmap pages are overflow pages as well.
// EVIDENCE: src/backend/access/hash/README "Page Addressing"

mod exercise;
mod meta;
mod opaque;
mod role;

pub(crate) use exercise::read_everything;
pub use meta::{Meta, PHASES_MAX};
pub use opaque::Opaque;
pub use role::{PageRole, SPECIAL_BYTES, flag};
