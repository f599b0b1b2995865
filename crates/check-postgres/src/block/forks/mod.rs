//! Rules of blocks that have no links to others: sequences, init forks, first blocks, and visibility maps by themselves.

mod first_blocks;
pub(crate) mod init_forks;

use formats::postgres::Damage;
use formats::postgres::maps::{frozen_not_visible, heap_pages_per_visibility_page};
use formats::postgres::page::Page;
use formats::postgres::sequence::check_sequence;

use crate::block::work::Work;
use crate::rules;

/// Tests the block of a sequence whose header was found valid; always wholly, as is said by `true`.
pub(crate) fn sequence_block<S>(page: &Page<'_>, damage: &mut Vec<Damage>, work: &mut Work<'_, S>) -> bool {
    damage.clear();
    check_sequence(page, damage);
    if work.place.block > 0 {
        let expected = "one block".to_owned();
        work.report(&rules::SEQUENCE, None, expected, format!("block {}", work.place.block));
    }
    work.drain(damage);
    true
}

/// Tests a block of a visibility map by itself: no heap block is frozen that is not all-visible. Always wholly, as is said
/// by `true`.
pub(crate) fn visibility_block<S>(page: &Page<'_>, work: &mut Work<'_, S>) -> bool {
    let Some(index) = frozen_not_visible(page) else { return true };
    let per_page = heap_pages_per_visibility_page(page.bytes().len());
    let heap_block = u64::from(work.place.block) * u64::from(per_page) + u64::from(index);
    let expected = format!("heap block {heap_block} all-visible, since it is all-frozen");
    work.report(&rules::VISIBILITY_MAP, None, expected, "bits 10: all-frozen without all-visible".to_owned());
    true
}
