//! Whether all of the database is there: all of its data files in full length, all stripes and extents of a backup.

mod length;
mod parts;
mod report;
mod stream;
mod structure;

pub(super) use parts::{Whole, look};
pub(super) use report::backup_text;
pub(super) use stream::Layout;
pub(super) use structure::report_missing;
