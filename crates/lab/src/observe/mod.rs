//! Looking at a run while it goes on: samplers on one clock with the clients.
//!
//! A sampler is made by the target (waits of its engine) or by the laboratory (counters of the machine),
//! started just before the barrier is released and stopped right after the last client. Each one states
//! its period, how many samples it got and what it cost. A sampler that cannot sample says so in its record;
//! it never ends a run.

use std::time::Instant;

use results::model::Event;
use results::observations::Observations;

pub(crate) mod clients;
pub mod counted;
pub mod external;
pub(crate) mod figures;
pub mod kept_file;
pub mod live;
pub mod machine;
pub mod manual_checkpoint;
mod processes;
pub mod series;

/// The measured part of a run.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Release of the barrier: time zero.
    pub began: Instant,
    /// End of the last client.
    pub ended: Instant,
}

/// A sampler that has not begun.
pub trait Sampler: Send {
    /// Begins to sample, on threads of its own.
    fn start(self: Box<Self>) -> Box<dyn RunningSampler>;
}

/// A sampler at work.
pub trait RunningSampler: Send {
    /// Is told of the release of the barrier, so that what is done at a period counts from there.
    fn released(&mut self) {}

    /// Samples for the last time and hands over the marks that it saw; called once, before `stop` is called on any
    /// sampler, so that none waits for what another one has to add up.
    fn halt(&mut self, _window: Window) -> Vec<Event> {
        Vec::new()
    }

    /// Ends, and hands over what it saw inside the window.
    fn stop(self: Box<Self>, window: Window) -> Observations;
}
