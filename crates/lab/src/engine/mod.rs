//! Engines under test: what the laboratory asks of one.
//!
//! An [`Engine`] is a value: what the estimate, the gates and the reports decide by. A [`Driver`] makes its targets. A
//! [`Target`] is one instance, driven from one control thread (blocking); its clients' [`Session`]s are asynchronous, one
//! per connection, pinned to the worker thread whose event loop polls them. A managed target is made and removed by fathom; an
//! external one is a URL. Engines are crates of their own, which know this module and not each other.

mod abilities;
mod costs;
mod description;
mod driver;
mod error;
pub mod look_up;
pub mod managed_directory;
pub mod noop;
mod own_databases;
mod provider;
mod records;
mod session;
mod sql;
mod target;
mod task;

pub use crate::client::DynConnector;
pub use abilities::{CacheControl, ClientControl, Describe, Files, Observe, Residence};
pub use costs::{SpaceCosts, TimeCosts};
pub use description::Engine;
pub use driver::{Driver, Installation, driver_of_address};
pub use error::TargetError;
pub use look_up::Answer;
pub use own_databases::{BulkLoad, OwnDatabases};
pub use provider::{Provider, TargetOptions};
pub use records::{Counters, EngineFacts, Layout, Limitation, LogRecords, PostRunState};
pub use session::{Connector, ServerLoop, ServerShare, Session, SessionError};
pub use sql::{SqlPart, SqlStatement};
pub use target::Target;
pub use task::TaskTarget;
