//! What the caller of a run sees while clients work, and what it answers.

/// What the control thread sees while clients work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick {
    /// Rows acknowledged so far, warm-up included; with the loop on the server only those of finished clients.
    pub rows: u64,
    /// Rows that the load of a workload of the user's own will have, while it loads; `rows` then counts those.
    pub loading: Option<u64>,
    /// Changes whenever anything moves: rows or, with the loop on the server, the engine's counters.
    pub pulse: u64,
}

/// What `execute` does after a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// Goes on.
    Continue,
    /// Ends the run early.
    Stop,
}
