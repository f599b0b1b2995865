//! How far the clients of a run are, and the wish that they end.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Rows done so far, one counter per client, readable while the run goes on.
#[derive(Debug)]
pub struct Progress {
    rows: Vec<Counter>,
    stop: AtomicBool,
    given_up: OnceLock<String>,
}

/// Alone on its cache lines, so that clients on different cores do not slow each other down.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Counter(AtomicU64);

impl Progress {
    pub(crate) fn new(clients: u32) -> Self {
        Self {
            rows: (0..clients).map(|_| Counter::default()).collect(),
            stop: AtomicBool::new(false),
            given_up: OnceLock::new(),
        }
    }

    /// Adds rows of one client.
    pub(super) fn add(&self, client_index: u32, rows: u64) {
        let Some(Counter(counter)) = self.rows.get(client_index as usize) else { return };
        // One writer per counter: a load and a store are enough and cheaper than a locked add.
        counter.store(counter.load(Ordering::Relaxed) + rows, Ordering::Relaxed);
    }

    /// Rows acknowledged so far over all clients, warm-up included. With the loop on the server a
    /// client's rows appear when it ends.
    pub fn rows(&self) -> u64 {
        self.rows.iter().map(|counter| counter.0.load(Ordering::Relaxed)).sum()
    }

    /// Asks every client to end after the transaction that it is in.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Ends the run without its clients, which wait for an engine that does not answer.
    pub(crate) fn give_up(&self, reason: String) {
        // The first reason stands.
        let _ = self.given_up.set(reason);
        self.stop();
    }

    /// Why the clients are not waited for any more.
    pub(crate) fn given_up(&self) -> Option<&str> {
        self.given_up.get().map(String::as_str)
    }

    /// Has somebody asked to end, or did a client fail?
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
