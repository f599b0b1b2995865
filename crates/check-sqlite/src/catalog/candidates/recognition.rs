//! Whether a file is a SQLite database although it does not begin as one.

use disk::input::File;
use std::io;
use std::path::Path;

use formats::sqlite::{BtreePage, Coverage, Geometry, Header};

use crate::page::look::{Look, look};

/// Pages that are looked at for each page size.
const SAMPLE_COUNT: u64 = 64;
/// Intact tree pages, with two cells at least, that prove a page size: the bytes of each are accounted for.
const INTACT_COUNT_MIN: usize = 2;
/// Payload fractions in each header.
// EVIDENCE: sqlite fileformat2 1.3.6
const FRACTIONS: [u8; 3] = [64, 32, 32];

/// Whether the header or the pages of a file are those of a database. Cost: some hundred reads of single pages.
pub(crate) fn is_database(path: &Path) -> io::Result<bool> {
    let file = disk::input::File::open(path)?;
    let file_bytes = file.metadata()?.len();
    if file_bytes >= 512 && has_header(&file) {
        return Ok(true);
    }
    Ok((9..=16).any(|power| has_tree_pages(&file, file_bytes, 1 << power)))
}

/// Whether the first bytes of a file are a header, its first 16 bytes aside.
pub(crate) fn has_header(file: &File) -> bool {
    let mut head = [0; 112];
    file.read_exact_at(&mut head, 0).is_ok() && is_header(&head)
}

/// Whether the fields behind the first 16 bytes are those of a header, and a tree page follows.
fn is_header(head: &[u8; 112]) -> bool {
    let mut is_wrong = false;
    let header = Header::new(head, |damage| is_wrong |= damage.offset_bytes > 0);
    let kind = head.get(100).copied().unwrap_or(0);
    // EVIDENCE: sqlite fileformat2 1.6: page 1 is a table page, 5 or 13
    !is_wrong && header.geometry().is_some() && head.get(21..24) == Some(&FRACTIONS) && matches!(kind, 5 | 13)
}

fn has_tree_pages(file: &File, file_bytes: u64, page_size_bytes: u32) -> bool {
    let geometry = Geometry { page_size_bytes, usable_bytes: page_size_bytes, auto_vacuum: false };
    let page_count = file_bytes / u64::from(page_size_bytes);
    let step = (page_count / SAMPLE_COUNT).max(1);
    let (mut bytes, mut coverage) = (vec![0; page_size_bytes as usize], Coverage::default());
    let mut intact_count = 0;
    // Page 1 is the one that is damaged.
    let mut index = 1;
    while index < page_count && intact_count < INTACT_COUNT_MIN {
        let is_read = file.read_exact_at(&mut bytes, index * u64::from(page_size_bytes)).is_ok();
        let cells = BtreePage::new(&bytes, 0, geometry).0.map_or(0, |view| view.cell_count);
        if is_read && cells >= 2 && matches!(look(&bytes, 2, geometry, &mut coverage), Look::Intact) {
            intact_count += 1;
        }
        index += step;
    }
    intact_count >= INTACT_COUNT_MIN
}
