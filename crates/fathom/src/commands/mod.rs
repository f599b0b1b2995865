//! One module per command: arguments in, output out, a verdict or an error back.

pub(crate) mod check;
mod checks;
pub(crate) mod compare;
pub(crate) mod corrupt;
pub(crate) mod decode;
pub(crate) mod demo;
mod dry_run;
pub(crate) mod expand;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod history;
pub(crate) mod inventory;
pub(crate) mod io;
mod io_stored;
pub(crate) mod list;
pub(crate) mod manual;
pub(crate) mod mark;
pub(crate) mod page;
pub(crate) mod png;
pub(crate) mod report;
pub(crate) mod run;
mod selection;
pub(crate) mod serve;
pub(crate) mod show;
mod stored;
pub(crate) mod structure;
pub(crate) mod waits;
