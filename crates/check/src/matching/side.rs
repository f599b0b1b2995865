//! The two sides of a comparison.

/// One of two sides that must state the same facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Rows, parents, left siblings, pointers: what must be there.
    Expected,
    /// Entries, children, right siblings, pieces: what is there.
    Found,
}
