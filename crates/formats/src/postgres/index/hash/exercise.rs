//! A page read as all that it can be, for fuzzing.

use crate::postgres::damage::Damage;
use crate::postgres::index::hash::meta::{self, Meta};
use crate::postgres::index::hash::opaque::Opaque;
use crate::postgres::page::{HEADER_BYTES, Page};

/// Reads a page as all that a page of a hash index can be, for fuzzing; also with the page as its own meta page, whether
/// that passes its check or not.
pub(crate) fn read_everything(page: &Page<'_>, block: u32, damage: &mut Vec<Damage>) {
    // Anything may stand where the magic number is.
    let mut bytes = page.bytes().to_vec();
    if let Some(magic) = bytes.get_mut(HEADER_BYTES..HEADER_BYTES + 4) {
        magic.copy_from_slice(&meta::MAGIC.to_le_bytes());
    }
    let page = Page::new(&bytes);
    let (Some(first), Some(opaque)) = (Meta::read(&page), Opaque::read(&page)) else { return };
    first.check(&page, block, damage);
    let _ = (first.bucket_of(block), first.split_target(block), first.block_of_bit(block));
    let place = first.place_of(block);
    opaque.check(0, place, &first, damage);
    if let Some((bits, _)) = first.bits(&page, block) {
        bits.count();
    }
}
