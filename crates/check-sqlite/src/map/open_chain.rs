//! Pieces of overflow chains that wait for the end of the pass.

/// A chain on its way: where it began and what is still to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OpenChain {
    /// The cell that owns the payload.
    pub(crate) page: u32,
    pub(crate) slot: u32,
    pub(crate) tree: u32,
    /// Pages that the payload needs in all.
    pub(crate) page_count: u32,
    /// The page that refers to the next one.
    pub(crate) from: u32,
    pub(crate) next: u32,
    /// Pages still to come.
    pub(crate) left: u32,
}

impl OpenChain {
    /// The form that is kept when a check is stopped.
    pub(crate) fn to_numbers(self) -> [u32; 7] {
        [self.page, self.slot, self.tree, self.page_count, self.from, self.next, self.left]
    }

    /// The chain that was kept.
    pub(crate) fn from_numbers(numbers: &[u32; 7]) -> Self {
        let [page, slot, tree, page_count, from, next, left] = *numbers;
        Self { page, slot, tree, page_count, from, next, left }
    }
}

/// Neighbouring overflow pages that refer to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) first: u32,
    pub(crate) length: u32,
    pub(crate) next: u32,
}

impl Run {
    pub(super) fn has(&self, page: u32) -> bool {
        page >= self.first && page - self.first < self.length
    }
}
