//! What blocks of an index state about each other: what one side expects is found on the other, and what has no counterpart is
//! named.

use std::collections::BTreeMap;

use check::matching::hash::{FactHasher, Key};
use check::rule::Rule;

use crate::matching::entry::kind;
use crate::rules;

/// Links without counterpart, by what they are about and the block: whether it is expected, and the link.
pub(crate) type Contradictions = BTreeMap<(LinkKind, u32), (bool, Link)>;

/// What a link fact is about, to name it when it has no counterpart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Link {
    /// What the fact says.
    pub(crate) kind: LinkKind,
    /// The block that states the fact.
    pub(crate) from: u32,
    /// The block that it is about: right sibling, child.
    pub(crate) to: u32,
    /// What is said of that block beside its number: a level, a bucket, whether a page is in use or holds nothing, a
    /// line pointer in it.
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
    /// `GiST`: a parent and its child; the detail is 1 if the block that states it is empty.
    GistChild,
    /// SP-GiST: a node and the tuple that it names; the detail is the tuple's line pointer.
    SpGistChild,
}

impl LinkKind {
    /// Whether such links are exact only when no update of the index was cut off.
    pub(crate) fn needs_finished_updates(self) -> bool {
        self == LinkKind::Downlink
    }

    /// Starts the fact of such a link of an index, by a number that both sides know.
    #[inline]
    pub(crate) fn fact<'k>(self, key: &'k Key, index: u32, number: u64) -> FactHasher<'k> {
        key.fact(kind::LINKS + self as u32, index, number)
    }
}

impl Link {
    /// The line pointer that the fact is about; 0 if it is about the block.
    pub(crate) fn item(&self) -> u16 {
        if self.kind == LinkKind::SpGistChild { self.detail as u16 } else { 0 }
    }

    /// Whether nothing is lost when no other block names the block: a block that was made ready and never filled.
    // EVIDENCE: gist.c gistplacetopage: GISTInitBuffer on a block that was used before, then another block, which may fail
    pub(crate) fn is_needless(&self) -> bool {
        self.kind == LinkKind::GistChild && self.detail == 1
    }

    /// The rule that is broken when a fact has no counterpart, what was expected of block `to`, and what was found.
    pub(crate) fn contradiction(&self, is_expected: bool) -> (&'static Rule, String, String) {
        let Link { kind, from, to, detail } = *self;
        match (kind, is_expected) {
            (LinkKind::SpGistChild, true) => (
                &rules::SP_GIST_PARENT,
                format!(
                    "an inner tuple or the first leaf tuple of a chain, referenced by one node, that of block {from}"
                ),
                "no such tuple, one of another tree, or a second reference".to_owned(),
            ),
            (LinkKind::SpGistChild, false) => (
                &rules::SP_GIST_PARENT,
                format!("a node that references line pointer {detail}"),
                "none".to_owned(),
            ),
            (LinkKind::GistChild, true) => (
                &rules::GIST_PARENT,
                format!("a block of the tree with one downlink, that of block {from}"),
                "a second downlink, or a block outside the tree".to_owned(),
            ),
            (LinkKind::GistChild, false) => {
                (&rules::GIST_PARENT, format!("a downlink to block {to}, which is in use"), "none".to_owned())
            }
            (LinkKind::Downlink, true) => (
                &rules::BTREE_PARENT,
                format!("a block of level {detail} whose high key is the separator in block {from}"),
                "a different level or high key, or a block outside the tree".to_owned(),
            ),
            (LinkKind::Downlink, false) => (
                &rules::BTREE_PARENT,
                format!("a downlink to block {to} with its high key as the next separator"),
                "none".to_owned(),
            ),
            (LinkKind::Sibling, _) => (
                &rules::BTREE_SIBLINGS,
                format!("block {to} of level {detail} with a sibling link to block {from}"),
                "a different sibling link or level".to_owned(),
            ),
            (LinkKind::BrinMapBlock, true) => (
                &rules::BRIN_PAGE,
                "a revmap block, as in the metapage".to_owned(),
                "a block of a different type".to_owned(),
            ),
            (LinkKind::BrinMapBlock, false) => (
                &rules::BRIN_PAGE,
                "no revmap block: the revmap ends before it, as in the metapage".to_owned(),
                "one".to_owned(),
            ),
            (LinkKind::BrinRange, true) => (
                &rules::BRIN_RANGE,
                "revmap entries that point to the summaries of their ranges".to_owned(),
                format!("the entry of the range from block {to} points to no summary of it"),
            ),
            (LinkKind::BrinRange, false) => (
                &rules::BRIN_RANGE,
                "summaries with a revmap entry".to_owned(),
                format!("the summary of the range from block {to} has no revmap entry"),
            ),
            (LinkKind::HashChain | LinkKind::HashBit, _) => self.hash_contradiction(is_expected),
        }
    }

    fn hash_contradiction(&self, is_expected: bool) -> (&'static Rule, String, String) {
        let Link { kind, from, detail, .. } = *self;
        let use_of = if detail != 0 { "in use" } else { "free" };
        match (kind, is_expected) {
            (LinkKind::HashBit, true) => (
                &rules::HASH_BITMAP,
                format!("block {from}: an overflow page {use_of}, as in the bitmap"),
                "a different page type or use".to_owned(),
            ),
            (LinkKind::HashBit, false) => (
                &rules::HASH_BITMAP,
                format!("a bitmap bit for block {from}: {use_of}"),
                "a different bit".to_owned(),
            ),
            (_, true) => (
                &rules::HASH_CHAIN,
                format!("an overflow page of bucket {detail} whose previous page is block {from}"),
                "a different page type, bucket or previous page".to_owned(),
            ),
            (_, false) => (
                &rules::HASH_CHAIN,
                format!("a page of bucket {detail} whose next page is block {from}"),
                "a different page type, bucket or next page".to_owned(),
            ),
        }
    }
}
