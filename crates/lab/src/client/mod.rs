//! Clients: many connections on few threads, released by one barrier, each with its own record.
//!
//! Every worker thread owns its connections for the whole run and polls them in its own event loop; nothing is shared
//! between clients but a start signal, a stop flag and one progress counter each. A client's life is:
//! connect, (warm up, drain), wait at the barrier, work, report, close.

mod connector;
mod event_loop;
mod measure;
mod pace;
mod phase;
mod pool;
mod progress;
mod seconds;
mod tally;
mod worker;

pub use connector::DynConnector;
pub use event_loop::{EventLoop, Registration};
pub use pool::{ClientPool, ClientPoolError};
pub use progress::Progress;
pub use seconds::LatencySeconds;
pub use tally::Tally;
pub use worker::{Dispatch, WorkerContext, WorkerUsage};
