//! What commands share: the terminal, what is asked of the user, what is read from the store and written to files.

pub(crate) mod baselines;
pub(crate) mod delivery;
pub(crate) mod marks;
pub(crate) mod notify;
pub(crate) mod page_file;
pub(crate) mod permission;
mod png;
pub(crate) mod preview;
pub(crate) mod process_title;
pub(crate) mod progress;
pub(crate) mod quantities;
pub(crate) mod resume_file;
pub(crate) mod resumption;
pub(crate) mod selection;
pub(crate) mod stopping;
pub(crate) mod stored;
pub(crate) mod stored_checks;
pub(crate) mod study;
pub(crate) mod terminal;
