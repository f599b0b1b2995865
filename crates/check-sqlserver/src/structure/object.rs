//! An object with its levels.

use results::structure::{LevelStructure, ObjectStructure, StorageKind, StripMap};

use crate::plan::Unit;

/// An object with its levels, leaves first.
pub(super) fn object_of(
    unit: &Unit,
    levels: Vec<LevelStructure>,
    overflow_page_count: Option<u64>,
    strip: Option<StripMap>,
) -> ObjectStructure {
    let kind = match unit.index_id {
        0 => StorageKind::Heap,
        1 => StorageKind::ClusteredTree,
        _ => StorageKind::IndexTree,
    };
    ObjectStructure {
        table: unit.table.clone(),
        index: unit.index.clone().filter(|_| unit.index_id > 1),
        index_id: unit.index_id,
        kind,
        index_depth: levels.len() as u32,
        page_count: levels.iter().map(|level| level.page_count).sum::<u64>()
            + overflow_page_count.unwrap_or(0),
        levels,
        overflow_page_count,
        free_page_count: None,
        unused_page_count: None,
        unclear_page_count: 0,
        strip,
        notes: Vec::new(),
    }
}
