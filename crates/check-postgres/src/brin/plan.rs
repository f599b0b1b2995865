//! A BRIN index as the plan has it.

use formats::postgres::brin::Meta;

use crate::catalog::IndexColumn;
use crate::source::part::Part;

/// What is known of a BRIN index before its blocks are looked at.
#[derive(Clone, Debug)]
pub(crate) struct BrinPlan {
    /// Number of the index in the plan.
    pub(crate) number: u32,
    /// Sizes, from the first block; `None` if it could not be read or has impossible values.
    pub(crate) meta: Option<Meta>,
    /// Blocks of the index.
    pub(crate) blocks: u32,
    /// Name of the index.
    pub(crate) name: String,
    /// Columns of the index; empty if they are not known.
    pub(crate) columns: Vec<IndexColumn>,
    /// Its files in order: number of the first block, and where the bytes are.
    pub(crate) files: Vec<(u32, Part)>,
    /// Bytes of a block.
    pub(crate) block_bytes: usize,
}
