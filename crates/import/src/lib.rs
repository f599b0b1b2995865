//! Results of other tools as runs of a study.
//!
//! Every reader is a function from bytes to observations: no files, no clocks. [`study::assemble`] makes a study of what
//! was read. Published tables are checked for their own arithmetic on the way (`identities`): rows that contradict
//! themselves are kept, and carry the reason for not trusting them.
#![forbid(unsafe_code)]

mod documents;
mod error;
pub mod fio;
pub mod format;
pub mod hammerdb;
pub mod hdrlog;
pub mod identities;
mod lines;
mod number;
mod observation;
pub mod pgbench;
pub mod study;
pub mod table;

pub use error::ImportError;
pub use format::Format;
pub use observation::{Choice, Observation, Place, Reading};
