//! What a page is used for, as the page map keeps it: one byte per page.

/// What a page is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// Nothing refers to it yet.
    None,
    /// The page with the lock byte.
    Lock,
    PointerMap,
    FreeTrunk,
    FreeLeaf,
    Overflow,
    /// A leaf of a tree.
    Leaf,
    /// A root or an inner page.
    Node,
}

const ALL: [Use; 8] = [
    Use::None,
    Use::Lock,
    Use::PointerMap,
    Use::FreeTrunk,
    Use::FreeLeaf,
    Use::Overflow,
    Use::Leaf,
    Use::Node,
];

impl Use {
    #[inline]
    pub(crate) fn code(self) -> u8 {
        self as u8
    }

    #[inline]
    pub(crate) fn of(code: u8) -> Self {
        ALL.get(usize::from(code)).copied().unwrap_or(Self::None)
    }

    /// Whether it is a page of a tree, which has a link.
    #[inline]
    pub(crate) fn is_tree(self) -> bool {
        matches!(self, Self::Leaf | Self::Node)
    }
}
