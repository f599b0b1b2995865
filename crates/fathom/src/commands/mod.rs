//! One module per command: arguments in, output out, an exit status or an error back.

pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod corrupt;
pub(crate) mod decode;
pub(crate) mod demo;
pub(crate) mod expand;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod history;
pub(crate) mod import;
pub(crate) mod inventory;
pub(crate) mod io;
pub(crate) mod list;
pub(crate) mod manual;
pub(crate) mod mark;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod structure;
pub(crate) mod waits;
