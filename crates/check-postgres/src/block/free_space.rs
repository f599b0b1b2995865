//! Rules of one block of a free space map.

use formats::postgres::Damage;
use formats::postgres::free_space::{FreeSpaceContext, check_free_space, free_space_pages_max};
use formats::postgres::page::Page;

use crate::block::work::Work;
use crate::catalog::Storage;
use crate::rules;

impl Storage {
    /// Whether the free space map says of whole pages that they are free or not.
    // EVIDENCE: src/backend/storage/freespace/indexfsm.c, used by nbtpage.c, ginutil.c, gistutil.c, spgutils.c; BRIN records
    // the space in its pages, hash indexes have no map
    fn keeps_whole_pages(self) -> bool {
        matches!(self, Storage::Btree | Storage::Gin | Storage::Gist | Storage::SpGist)
    }
}

/// Tests a block of a map whose header was found in order, and whose checksum holds if there is one.
pub(crate) fn free_space_block<S>(
    page: &Page<'_>,
    storage: Option<Storage>,
    has_checksums: bool,
    damage: &mut Vec<Damage>,
    work: &mut Work<'_, S>,
) {
    damage.clear();
    let block = work.place.block;
    let context = FreeSpaceContext {
        block,
        has_whole_pages_only: storage.is_some_and(Storage::keeps_whole_pages),
        may_be_torn: !has_checksums,
    };
    check_free_space(page, context, damage);
    work.drain(damage);
    if let Some(pages) = free_space_pages_max(page.bytes().len()).filter(|pages| u64::from(block) >= *pages) {
        let expected = format!("at most {pages} blocks, those of the largest possible table");
        work.report(&rules::FREE_SPACE_MAP, None, expected, format!("block {block}"));
    }
}
