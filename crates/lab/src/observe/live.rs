//! Looking at a server that somebody else runs, without a run: `fathom waits`.

pub use crate::engine::postgres::Way;
pub use crate::engine::postgres::live::{LiveInterval, LiveServer, LiveView};
