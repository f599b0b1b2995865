//! Whether each byte of a tree page has one use.

use super::btree::BtreePage;
use super::cell::Cell;
use super::coverage::Coverage;
use super::damage::{Damage, Fault};
use super::read::u16_at;

impl<'a> BtreePage<'a> {
    /// Reads all cells and proves that every byte of the content area has one use.
    ///
    /// `on_cell` gets each cell in the order of the pointer array, with its index and the nearest cell before it that
    /// is not damaged; a damaged cell has size 0. Cost: one pass over the cells, plus one over the free blocks.
    #[inline]
    pub fn audit(
        &self,
        coverage: &mut Coverage,
        mut on_cell: impl FnMut(usize, &Cell<'a>, Option<&Cell<'a>>),
        mut on_damage: impl FnMut(Damage),
    ) {
        coverage.clear(self.usable.len());
        let mut used_bytes = 0;
        let mut is_sound = self.content_start <= self.usable.len();
        // Two places by turns: a cell is never copied to be the one before.
        let (mut left, mut right) = (Cell::default(), Cell::default());
        let (mut cell, mut before) = (&mut left, &mut right);
        for index in 0..self.cell_count {
            if let Some(found) = self.sound_cell(index) {
                *cell = found;
                if !coverage.claim(cell.offset, cell.size) || cell.offset + cell.size > self.usable.len() {
                    is_sound = false;
                    let last = (cell.offset + cell.size - 1) as u64;
                    on_damage(Damage::new(Fault::CellOverlap, cell.offset, 0..=0, last).at_slot(index));
                }
                used_bytes += cell.size;
                on_cell(index, cell, Some(&*before).filter(|before| before.size > 0));
                std::mem::swap(&mut cell, &mut before);
            } else {
                is_sound = false;
                let (damaged, damage) = self.damaged_cell(index);
                damage.into_iter().for_each(&mut on_damage);
                on_cell(index, &damaged, Some(&*before).filter(|before| before.size > 0));
            }
        }
        match self.free_blocks(coverage) {
            Ok(free_bytes) => used_bytes += free_bytes,
            Err(damage) => {
                is_sound = false;
                on_damage(damage);
            }
        }
        // With every byte claimed at most once, the rest of the content area is the fragments.
        let fragments = (self.usable.len() as u64).saturating_sub((self.content_start + used_bytes) as u64);
        if is_sound && fragments != self.fragmented_bytes as u64 {
            let offset = self.pointers_start - if self.kind.is_leaf() { 1 } else { 5 };
            on_damage(Damage::new(
                Fault::FragmentedBytes,
                offset,
                fragments..=fragments,
                self.fragmented_bytes as u64,
            ));
        }
    }

    /// Claims the free blocks; returns their bytes.
    // EVIDENCE: sqlite fileformat2 1.6, "freeblocks are always connected in order of increasing offset"
    fn free_blocks(&self, coverage: &mut Coverage) -> Result<usize, Damage> {
        let end = self.usable.len();
        let mut free_bytes = 0;
        let mut lowest = self.content_start;
        let mut from = self.pointers_start;
        let mut block = self.first_free_block;
        // Each block lies behind the one before, so that the walk ends with the page.
        while block != 0 {
            if block < lowest || block + 4 > end {
                let allowed = lowest as u64..=end.saturating_sub(4) as u64;
                return Err(Damage::new(Fault::FreeBlockOrder, from, allowed, block as u64));
            }
            let size = usize::from(u16_at(self.usable, block + 2).unwrap_or(0));
            if size < 4 || block + size > end {
                let allowed = 4..=(end - block) as u64;
                return Err(Damage::new(Fault::FreeBlockSize, block + 2, allowed, size as u64));
            }
            if !coverage.claim(block, size) {
                return Err(Damage::new(Fault::CellOverlap, block, 0..=0, (block + size - 1) as u64));
            }
            free_bytes += size;
            from = block;
            lowest = block + size;
            block = usize::from(u16_at(self.usable, block).unwrap_or(0));
        }
        Ok(free_bytes)
    }
}
