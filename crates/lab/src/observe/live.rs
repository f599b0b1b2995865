//! Watching a server that somebody else runs, without a run: `fathom waits`.

use std::fmt::Debug;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use results::observations::Observations;
use serde::Serialize;

use crate::engine::TargetError;

/// Which way of sampling waits is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// Shared memory where it can be read, else SQL.
    #[default]
    Best,
    /// SQL, also where shared memory could be read.
    Sql,
}

/// What one interval showed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LiveView {
    /// Begin of the interval, RFC 3339, UTC.
    pub began_at: String,
    /// Its length in seconds.
    pub elapsed_s: f64,
    /// Version as the server says it.
    pub version: String,
    /// Waits per group, waiting tasks, and how they were measured.
    pub observations: Observations,
}

/// A server that is only watched: nothing is created in it, nothing changed.
pub trait LiveServer: Debug {
    /// Samples for one interval, or until `stop` is set, and returns what was seen.
    ///
    /// # Errors
    /// The server cannot be reached, as when it restarts: the next call tries again.
    fn watch(&mut self, interval: Duration, stop: &AtomicBool) -> Result<LiveView, TargetError>;
}

/// Connects to the server of a URL.
///
/// # Errors
/// A URL that is none, or a server that refuses the login. None shows the password.
pub type Attach = fn(url: &str, way: Way) -> Result<Box<dyn LiveServer>, TargetError>;
