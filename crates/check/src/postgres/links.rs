//! What blocks of an index state about each other: one side claims, the other witnesses, and what has no counterpart is
//! named.

use super::rules::Promised;

/// What a link fact is about, to name it when it has no counterpart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Link {
    /// What the fact says.
    pub(crate) kind: LinkKind,
    /// The block that states the fact.
    pub(crate) from: u32,
    /// The block that it is about: right sibling, child.
    pub(crate) to: u32,
    /// What is said of that block beside its number: a level, a bucket, whether a page is in use.
    pub(crate) detail: u32,
}

/// Kinds of links; each has words of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LinkKind {
    /// B-tree: a block and its right sibling.
    Sibling,
    /// B-tree: a parent and its child, with the bound of the child.
    Downlink,
    /// BRIN: the meta page and a block of the range map.
    BrinMapBlock,
    /// BRIN: the range map and the summary of the range from block `to` on, at line pointer `detail`.
    BrinRange,
    /// Hash: a page of a bucket and the next one.
    HashChain,
    /// Hash: an overflow page and its bit in a bitmap page, which is the block that it is about.
    HashBit,
}

impl LinkKind {
    /// Whether such links are exact only when no update of the index was cut off.
    pub(crate) fn needs_finished_updates(self) -> bool {
        self == LinkKind::Downlink
    }
}

impl Link {
    /// The rule that is broken when a fact has no counterpart, what was expected of block `to`, and what was found.
    pub(crate) fn contradiction(&self, is_claim: bool) -> (Promised, String, String) {
        let Link { kind, from, to, detail } = *self;
        match (kind, is_claim) {
            (LinkKind::Downlink, true) => (
                Promised::BtreeParent,
                format!("a block of level {detail} with the high key that block {from} has as separator"),
                "another level, another high key, or no block of the tree".to_owned(),
            ),
            (LinkKind::Downlink, false) => (
                Promised::BtreeParent,
                format!("a downlink to block {to} with its high key as the next separator"),
                "none".to_owned(),
            ),
            (LinkKind::Sibling, _) => (
                Promised::BtreeSiblings,
                format!("block {to} of level {detail} names block {from} as its neighbour"),
                "it does not".to_owned(),
            ),
            (LinkKind::BrinMapBlock, true) => (
                Promised::BrinPage,
                "a block of the range map, as the first block says".to_owned(),
                "another kind of block".to_owned(),
            ),
            (LinkKind::BrinMapBlock, false) => (
                Promised::BrinPage,
                "no block of the range map, which ends before, as the first block says".to_owned(),
                "one".to_owned(),
            ),
            (LinkKind::BrinRange, true) => (
                Promised::BrinRange,
                "entries that name the summaries of their ranges".to_owned(),
                format!("the one of the range from block {to} on does not"),
            ),
            (LinkKind::BrinRange, false) => (
                Promised::BrinRange,
                "summaries that the range map names".to_owned(),
                format!("the one of the range from block {to} on is not"),
            ),
            (LinkKind::HashChain, true) => (
                Promised::HashChain,
                format!("an overflow page of bucket {detail} that names block {from} as the one before it"),
                "another page, or another bucket or block before it".to_owned(),
            ),
            (LinkKind::HashChain, false) => (
                Promised::HashChain,
                format!("a page of bucket {detail} that names block {from} as the next one"),
                "another page, or another bucket or next block".to_owned(),
            ),
            (LinkKind::HashBit, true) => (
                Promised::HashBitmap,
                format!("an overflow page {}, block {from}, as its bit says", use_of(detail)),
                "it is not".to_owned(),
            ),
            (LinkKind::HashBit, false) => (
                Promised::HashBitmap,
                format!("a bit that says that block {from} is {}", use_of(detail)),
                "it does not".to_owned(),
            ),
        }
    }
}

fn use_of(bit: u32) -> &'static str {
    if bit != 0 { "in use" } else { "free" }
}
