//! Specs: what is asked of the laboratory, read from TOML and made ready to run.
//!
//! ```text
//! text -> Experiment (keys, types, ranges, claims) -> Resolved (scale, command line, engine, defaults; every cell checked)
//! ```
//!
//! Errors carry the place: file, line, the text with carets, what was found, and the nearest known key. Inner code
//! takes a [`Resolved`] and does not check again.

mod assemble;
mod canonical;
pub mod claim;
mod command;
mod design;
mod document;
mod draft;
mod duration;
mod error;
mod experiment;
mod own_workload;
mod parameters;
mod resolve;
mod resolved;
mod shipped;
mod subject;
mod validity;
mod value;
mod values;

pub use command::SpecCommand;
pub use design::Wanted;
pub(crate) use design::pairs;
pub use error::{SpecError, nearest};
pub use experiment::{Experiment, Kind};
pub use own_workload::{DataFile, Files, FilesBeside, NoFiles};
pub use parameters::{Parameter, ParameterType, engine_names, parameter, parameters};
pub use resolved::{Request, Resolved};
pub use shipped::{ShippedExperiment, find, shipped};
pub use validity::Validity;
