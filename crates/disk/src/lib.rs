//! Bytes to and from files and devices, and the facts about what lies behind them.
//!
//! A leaf: it knows no experiment, no database and no results file. What it finds out comes back as plain
//! values that derive `serde` traits; writing them down is the business of `results`. Linux only.
//!
//! | module | answers |
//! |---|---|
//! | [`facts`] | which mount, file system and disks lie behind a directory, and which roles share a disk |
//! | [`machine`] | which processors, memory, kernel and limits the run had |
//! | [`binary`] | which build of a server binary ran |
//! | [`probe`] | how long a flush takes in a directory, and whether it waits at all |
//! | [`residency`] | how much of a file the page cache holds, and how it gives it up |
//! | [`space`] | whether there is room |
//! | [`buffer`] | where transfers put their bytes |
//! | [`file`](mod@file) | whether transfers of a file go past the page cache |
//! | [`regular`] | whether a path is a regular file, before it is opened |
//! | [`backend`] | how many transfers are under way at the same time |
//! | [`scan`] | how a list of files is read whole, at the speed of the device |
//! | [`input`] | what fails, differs or changes while files are read |
//! | [`baseline`] | what the device can do, at which pattern and depth |
//! | [`counters`] | what devices, processes and the machine have done since a moment |
//!
//! Everything under `/proc` and `/sys` is read as untrusted text: a line that is cut short, has odd bytes or is
//! not there at all makes a fact absent or an error with a name, never a panic and never a made-up number.

pub mod backend;
pub mod baseline;
pub mod binary;
pub mod buffer;
pub mod counters;
pub mod facts;
pub mod file;
pub mod input;
pub mod machine;
pub mod probe;
pub mod regular;
pub mod residency;
pub mod scan;
pub mod space;
mod tree;
