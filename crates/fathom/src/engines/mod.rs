//! Everything in this program that names an engine: the list of them, and what they do beside runs and checks.

pub(crate) mod files;
pub(crate) mod growth;
mod list;
pub(crate) mod local_server;
pub(crate) mod pgbench;

pub(crate) use list::{
    CHECKERS, DRIVERS, checker, drill_classes, names, of_address, recognise, require_checkers, rules, target,
    target_words, url_example, waits,
};
