//! What a B-tree block is tested with, and buffers kept from block to block.

use check::matching::hash::Key;
use formats::postgres::Damage;
use results::check::CheckLevel;

use crate::block::tree::Tree;
use crate::catalog::order::Scratch;

/// What a B-tree block is tested with.
pub(crate) struct TreeCheck<'a> {
    pub(crate) tree: &'a Tree<'a>,
    pub(crate) key: &'a Key,
    pub(crate) level: CheckLevel,
}

/// Buffers that are kept from block to block.
#[derive(Default)]
pub(crate) struct TreeScratch {
    pub(crate) damage: Vec<Damage>,
    pub(crate) values: Scratch,
    pub(crate) buffer: Vec<u8>,
}
