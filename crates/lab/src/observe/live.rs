//! Looking at a server that somebody else runs, without a run: `fathom waits`.

pub use crate::target::postgres::Way;
pub use crate::target::postgres::live::{LiveInterval, LiveServer, LiveView};
