//! Rows of a catalog with what is known of their visibility, and whether all of its blocks tell of the same moment.

use formats::postgres::Oid;
use formats::postgres::catalog::{Layout, Row};
use formats::postgres::checksum::page_checksum;
use formats::postgres::heap::TupleHeader;
use formats::postgres::page::{ItemState, Page};

use crate::cluster::state::Snapshot;
use crate::cluster::transactions::{Fate, LastLookup, Transactions};
use crate::cluster::{Cluster, ForkFiles};

/// What is needed to read catalogs.
#[derive(Clone, Copy)]
pub(super) struct Scan<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) transactions: &'a Transactions,
    pub(super) snapshot: Option<Snapshot>,
}

impl<'a> Scan<'a> {
    /// The main fork of a file.
    pub(super) fn fork(&self, database: Oid, number: Oid) -> Option<&'a ForkFiles> {
        self.cluster.catalog_fork(database, number)
    }

    /// Hands each row to `take` that is visible or may be. `false` if a block is damaged, or changed since the redo position:
    /// that a row is not there proves nothing then.
    pub(super) fn rows(
        &self,
        fork: &ForkFiles,
        layout: &Layout,
        mut take: impl FnMut(&Row<'_>, Fate),
    ) -> bool {
        let block_bytes = self.cluster.block_bytes;
        let (mut block, mut is_whole) = (vec![0u8; block_bytes], true);
        let mut damage = Vec::new();
        for segment in &fork.segments {
            let Ok(file) = disk::input::File::open(&segment.part.path) else { return false };
            let first = segment.number.saturating_mul(self.cluster.segment_blocks);
            // Bounded by the length of the file when it was listed.
            for index in 0..segment.part.bytes / block_bytes as u64 {
                let offset = segment.part.offset_bytes + index * block_bytes as u64;
                if file.read_exact_at(&mut block, offset).is_err() {
                    is_whole = false;
                    continue;
                }
                let page = Page::new(&block);
                if page.is_new() {
                    continue;
                }
                damage.clear();
                let number = first.saturating_add(index as u32);
                let is_sealed =
                    !self.cluster.checksums || page_checksum(page.bytes(), number) == page.header().checksum;
                let is_old = self.snapshot.is_none_or(|snapshot| page.header().lsn < snapshot.redo_lsn);
                let is_valid = page.check_header(0, &mut damage);
                is_whole &= is_sealed && is_old && is_valid;
                if !is_valid {
                    continue;
                }
                for item in page.items().filter(|item| item.state == ItemState::Normal) {
                    let Some(tuple) = page.item_bytes(item) else {
                        is_whole = false;
                        continue;
                    };
                    let fate = TupleHeader::read(tuple).map_or(Fate::Open, |header| {
                        self.transactions.fate(&header, &mut LastLookup::default())
                    });
                    if let Some(row) = layout.row(tuple).filter(|_| fate != Fate::Dead) {
                        take(&row, fate);
                    }
                }
            }
        }
        is_whole
    }
}
