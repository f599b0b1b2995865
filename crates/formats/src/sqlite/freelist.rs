//! Trunk pages of the free list.

use super::damage::{Damage, Fault};
use super::read::u32_at;

/// One trunk page: the next trunk and the free pages that it lists.
#[derive(Debug, Clone, Copy)]
pub struct Trunk<'a> {
    /// Next trunk page, 0 at the end of the list.
    pub next: u32,
    /// Leaves that can be read: the count in the page, cut to what the page has room for.
    pub leaf_count: u32,
    bytes: &'a [u8],
}

impl<'a> Trunk<'a> {
    /// Reads a trunk page. `usable` is the part of the page without reserved bytes.
    // EVIDENCE: sqlite fileformat2 1.5
    #[must_use]
    pub fn new(usable: &'a [u8]) -> (Self, Option<Damage>) {
        let next = u32_at(usable, 0).unwrap_or(0);
        let count = u32_at(usable, 4).unwrap_or(0);
        let room = u32::try_from(usable.len() / 4).unwrap_or(0).saturating_sub(2);
        let damage = (count > room)
            .then(|| Damage::new(Fault::TrunkLeafCount, 4, 0..=u64::from(room), u64::from(count)));
        (Self { next, leaf_count: count.min(room), bytes: usable }, damage)
    }

    /// The free pages listed, in the order of the page.
    pub fn leaves(&self) -> impl Iterator<Item = u32> + use<'a> {
        let bytes = self.bytes.get(8..).unwrap_or_default();
        let count = usize::try_from(self.leaf_count).unwrap_or(0);
        bytes.chunks_exact(4).take(count).map(|entry| u32_at(entry, 0).unwrap_or(0))
    }
}
