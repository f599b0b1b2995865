//! Clients: many connections on few threads, released by one barrier, each with its own record.
//!
//! Every worker thread runs one single-threaded runtime and owns its connections for the whole run;
//! nothing is shared between clients but a start signal, a stop flag and one progress counter each.
//! A client's loop is: connect, (warm up, drain), wait at the barrier, work, report.

mod crew;
mod measure;
mod pace;

pub use crew::{Crew, CrewError, Dispatch, WorkerUsage};
pub use measure::Progress;
