//! Whether all of the database is there: all of its data files in full length, all stripes and extents of a backup.

mod length;
mod parts;
mod report;
mod structure;

pub(super) use crate::whole::parts::{Whole, look};
pub(super) use crate::whole::report::backup_text;
pub(super) use crate::whole::structure::report_missing;
