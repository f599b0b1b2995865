//! Servers at work, and what they leave when they crash.

pub(crate) mod live;
pub(crate) mod live_damage;
pub(crate) mod live_entries;
pub(crate) mod moved_databases;
pub(crate) mod objects_in_motion;
pub(crate) mod replayed_files;
pub(crate) mod sessions;
pub(crate) mod standing;
