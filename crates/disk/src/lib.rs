//! Bytes to and from files and devices, and the facts about what lies behind them.
//!
//! A leaf: it knows no experiment, no database and no results file. What it finds out comes back as plain
//! values that derive `serde` traits; writing them down is the business of `results`. Linux only.
//!
//! | module | answers |
//! |---|---|
//! | [`facts`] | which mount, file system and disks lie behind a directory, and which roles share a disk |
//! | [`machine`] | which processors, memory, kernel and limits the run had |
//!
//! Everything under `/proc` and `/sys` is read as untrusted text: a line that is cut short, has odd bytes or is
//! not there at all makes a fact absent or an error with a name, never a panic and never a made-up number.

pub mod facts;
pub mod machine;
mod tree;
