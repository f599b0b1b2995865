//! The inner blocks of a `GiST` index, read from the root down before its blocks are looked at: on which level each stands.
//!
//! A block does not tell its level, and inner blocks are few, about one in a hundred.

use std::collections::HashMap;

use formats::postgres::btree::IndexTuple;

/// Bytes that a downlink takes beside its own.
const DOWNLINK_BYTES: usize = 48;

/// What the inner blocks of an index say.
#[derive(Clone, Debug, Default)]
pub(crate) struct GistTree {
    /// Levels of blocks that inner blocks above the lowest name, and of the root; leaves are level 0.
    pub(crate) levels: HashMap<u32, u8>,
    /// The downlink of each block, where its keys are compared with those of the block.
    pub(crate) downlinks: HashMap<u32, Box<[u8]>>,
    pub(crate) downlink_bytes: u64,
    /// Whether some were too many to keep.
    pub(crate) is_cut: bool,
    /// Whether all inner blocks could be read.
    pub(crate) is_whole: bool,
    /// Bytes that were read for it.
    pub(crate) bytes_read: u64,
}

impl GistTree {
    /// The level of a block that is named above the lowest level of inner blocks.
    pub(crate) fn level_of(&self, block: u32) -> Option<u8> {
        self.levels.get(&block).copied()
    }

    /// Bytes that it takes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        (self.levels.capacity() * 2 * size_of::<(u32, u8)>()) as u64 + self.downlink_bytes
    }

    /// The tuple that names a block, if it is the only one.
    pub(crate) fn downlink_of(&self, block: u32) -> Option<IndexTuple<'_>> {
        self.downlinks.get(&block).and_then(|bytes| IndexTuple::read(bytes))
    }

    pub(crate) fn keep_downlink(&mut self, child: u32, tuple: &[u8], bytes_max: u64) {
        let bytes = (tuple.len() + DOWNLINK_BYTES) as u64;
        if self.downlink_bytes + bytes > bytes_max {
            self.is_cut = true;
            return;
        }
        self.downlink_bytes += bytes;
        // Of two that name a block, one is wrong, and nobody knows which.
        let is_second = self.downlinks.insert(child, tuple.into()).is_some();
        if is_second {
            self.downlinks.insert(child, Box::default());
        }
    }
}
