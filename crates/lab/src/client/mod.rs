//! Clients: many connections on few threads, released by one barrier, each with its own record.
//!
//! Every worker thread owns its connections for the whole run and polls them itself; nothing is shared
//! between clients but a start signal, a stop flag and one progress counter each. A client's life is:
//! connect, (warm up, drain), wait at the barrier, work, report, leave.

mod crew;
mod measure;
mod pace;
mod turnstile;
mod worker;

pub use crew::{Crew, CrewError, Dispatch, WorkerUsage};
pub use measure::Progress;
pub use turnstile::Seat;
pub use worker::WorkerContext;
pub(crate) use worker::run_worker;
