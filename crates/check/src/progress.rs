//! How far a check is.

/// What a check is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Reads roots, inner pages and lists.
    Map,
    /// Reads all pages in physical order.
    Pass,
    /// Follows chains and compares sums.
    Match,
    /// Reads objects again whose sums differ.
    SecondPass,
}

/// Gets to know how far a check is; called a few times per second from one thread.
pub trait Progress: Send {
    /// The phase, the bytes dealt with and the bytes that the phase will deal with.
    fn advance(&mut self, phase: Phase, bytes_done: u64, bytes_total: u64);

    /// Something that concerns others while the check runs: locks that it holds.
    fn notice(&mut self, _text: &str) {}
}

/// Shows nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn advance(&mut self, _phase: Phase, _bytes_done: u64, _bytes_total: u64) {}
}
