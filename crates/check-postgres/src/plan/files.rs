//! Which relation a file belongs to, and what is read of it before the pass.

use std::collections::HashMap;

use formats::postgres::btree::Meta as TreeMeta;
use formats::postgres::checksum::page_checksum;
use formats::postgres::hash::Meta;
use formats::postgres::page::Page;
use formats::postgres::{Oid, gin};

use crate::catalog::{Index, Relation};
use crate::cluster::state::Snapshot;
use crate::cluster::{Cluster, ForkFiles};
use crate::hash::values::HashFunction;
use crate::plan::objects::HashPlan;
use crate::source::part::Part;

/// Finds relations by the place of their files.
pub(crate) struct Numbers {
    exact: HashMap<(Oid, Oid, Oid), u32>,
}

impl Numbers {
    pub(crate) fn new(cluster: &Cluster, relations: &[Relation]) -> Numbers {
        let mut exact = HashMap::new();
        let mut homes: HashMap<Oid, Oid> = HashMap::new();
        for (relation, number) in relations.iter().zip(0u32..) {
            let home =
                *homes.entry(relation.database).or_insert_with(|| cluster.home_space(relation.database));
            let space = match relation.tablespace {
                0 => home,
                // pg_default, whose files stand under base.
                1663 => 0,
                space => space,
            };
            exact.insert((space, relation.database, relation.file_number), number);
        }
        Numbers { exact }
    }

    pub(crate) fn of(&self, fork: &ForkFiles) -> Option<u32> {
        self.exact.get(&(fork.tablespace, fork.database, fork.number)).copied()
    }
}

pub(crate) fn not_null_columns(relation: &Relation) -> Vec<usize> {
    let columns = relation.columns.iter().enumerate();
    columns
        .filter(|(_, column)| column.not_null && !column.dropped && !column.is_virtual)
        .map(|(number, _)| number)
        .collect()
}

/// Pages of a map that are looked at beyond those that the heap needs: enough to see that a heap was cut.
pub(crate) const MAP_PAGES_BEYOND: usize = 8;

/// Reads a map, at most so many bytes. One that cannot be read is reported when its file is scanned.
pub(crate) fn read_map(fork: &ForkFiles, bytes_max: usize) -> Vec<u8> {
    let mut map = Vec::new();
    for segment in &fork.segments {
        let rest = bytes_max.saturating_sub(map.len()) as u64;
        map.extend(segment.part.read(rest).unwrap_or_default());
    }
    map
}

/// Keeps what a map of a cluster that does not stand still says of the moment that is looked at: pages without a bit that
/// was set later.
///
/// Setting a bit is logged with the position of the map's page, clearing one is not; so a page with an older position
/// has no bit that was not set then. A page that is written meanwhile differs when it is read again.
// EVIDENCE: src/backend/access/heap/visibilitymap.c visibilitymap_set PageSetLSN, visibilitymap_clear
pub(crate) fn keep_older_pages(
    map: &mut [u8],
    again: &[u8],
    block_bytes: usize,
    snapshot: Option<Snapshot>,
    checksums: bool,
) {
    for (number, bytes) in map.chunks_mut(block_bytes).enumerate() {
        let is_same = again.get(number * block_bytes..).is_some_and(|rest| rest.starts_with(bytes));
        let page = Page::new(bytes);
        let is_whole = !checksums || page_checksum(page.bytes(), number as u32) == page.header().checksum;
        let is_older = snapshot.is_some_and(|snapshot| page.header().lsn < snapshot.redo_lsn);
        if bytes.len() < block_bytes || page.is_new() || !is_same || !is_whole || !is_older {
            bytes.fill(0);
        }
    }
}

/// Reads the first page of a hash index; `None` if its masks do not fit, or it does not tell of the moment that is looked
/// at.
pub(crate) fn read_hash_meta(
    part: &Part,
    block_count: u32,
    cluster: &Cluster,
    index: &Index,
) -> Option<HashPlan> {
    let mut block = vec![0; cluster.block_bytes];
    part.read_exact_at(&mut block, 0).ok()?;
    let mut block_count = block_count;
    if let Some(snapshot) = cluster.snapshot() {
        let mut again = vec![0; cluster.block_bytes];
        part.read_exact_at(&mut again, 0).ok()?;
        // A page that changed later is left out, and so is the whole index.
        keep_older_pages(&mut block, &again, cluster.block_bytes, Some(snapshot), cluster.checksums);
        block_count = u32::MAX;
    }
    let page = Page::new(&block);
    let meta = Meta::read(&page).filter(Meta::has_masks)?;
    let column = index.columns.first().filter(|column| column.table_column > 0);
    Some(HashPlan {
        meta,
        is_placed: meta.check(&page, block_count, &mut Vec::new()),
        function: column.and_then(|column| HashFunction::of(meta.function, column.is_deterministic)),
    })
}

/// The version that the first block of a B-tree or GIN index says.
pub(crate) fn read_version(part: &Part, block_bytes: usize, is_gin: bool) -> Option<u32> {
    let mut block = vec![0; block_bytes];
    part.read_exact_at(&mut block, 0).ok()?;
    let page = Page::new(&block);
    if is_gin {
        return gin::Meta::read(&page).map(|meta| meta.version);
    }
    let meta = TreeMeta::read(&page)?;
    meta.check(u32::MAX, &mut Vec::new()).then_some(meta.version)
}
