//! What a page is used for, as the page map keeps it.

/// What a page is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Nothing refers to it yet.
    None,
    /// The page with the lock byte.
    Lock,
    PointerMap,
    FreeTrunk,
    FreeLeaf,
    Overflow,
    /// A leaf below the node.
    Leaf(u32),
    /// The page of the node itself: a root or an inner page.
    Node(u32),
}

const CODE_LOCK: u32 = 1;
const CODE_POINTER_MAP: u32 = 2;
const CODE_FREE_TRUNK: u32 = 3;
const CODE_FREE_LEAF: u32 = 4;
const CODE_OVERFLOW: u32 = 5;
const CODE_LEAF: u32 = 16;
const CODE_NODE: u32 = 1 << 31;

impl Use {
    pub(super) fn code(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Lock => CODE_LOCK,
            Self::PointerMap => CODE_POINTER_MAP,
            Self::FreeTrunk => CODE_FREE_TRUNK,
            Self::FreeLeaf => CODE_FREE_LEAF,
            Self::Overflow => CODE_OVERFLOW,
            Self::Leaf(node) => CODE_LEAF + node,
            Self::Node(node) => CODE_NODE | node,
        }
    }

    pub(super) fn of(code: u32) -> Self {
        match code {
            CODE_LOCK => Self::Lock,
            CODE_POINTER_MAP => Self::PointerMap,
            CODE_FREE_TRUNK => Self::FreeTrunk,
            CODE_FREE_LEAF => Self::FreeLeaf,
            CODE_OVERFLOW => Self::Overflow,
            code if code & CODE_NODE != 0 => Self::Node(code & !CODE_NODE),
            code if code >= CODE_LEAF => Self::Leaf(code - CODE_LEAF),
            _ => Self::None,
        }
    }
}
