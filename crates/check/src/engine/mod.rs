//! An engine whose files are checked, as a value: everything that commands ask of one.
//!
//! Programs list their engines once and hand the list in; nothing here knows one of them.

mod capabilities;
mod log_end;
mod probe;
mod recognition;
mod value;

pub use capabilities::{Capabilities, Refused};
pub use log_end::LogEnd;
pub use probe::{Match, Probe, ProbeError};
pub use recognition::recognise;
pub use value::{Described, Engine, EngineError, PageShape, Source, number};
