//! How long a data file must be, from what its header, its maps and the catalog say.

use formats::sqlserver::{
    AllocationUnit, Boot, EXTENT_PAGES, ExtentMap, FileHeader, HEADER_BYTES, Header, PAGE_BYTES, PageId,
    PageKind, audit_protection, is_version_known, object, pfs_byte, place, restore, u16_at, u32_at, utf16,
};

use crate::catalog::{Catalog, for_each_row};
use crate::source::Source;

/// Pages of the table of files that are followed; a database has 32,767 files at most, and a page some of them.
const FILE_PAGES_MAX: usize = 1 << 15;
/// The oldest version with the table of files.
// OBSERVED: 655; version 611 has none, its sysfiles1 has no sizes
const OLDEST_WITH_FILES: u16 = 655;

/// A data file of the database, as the catalog has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CatalogFile {
    pub(crate) number: u16,
    /// Its path on the server.
    pub(crate) path: String,
    /// Its length, in pages.
    pub(crate) page_count: u32,
}

/// What a file must have at least, and what says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Length {
    pub(super) page_count: u32,
    pub(super) said_by: String,
}

/// The greatest length that the header of a file, its maps, or the catalog tell; none of them is above the truth.
///
/// I/O: at most three pages.
pub(super) fn rule(source: &Source, file: u16, page_count: u32, catalog: &[CatalogFile]) -> Option<Length> {
    let mut lengths = Vec::new();
    if let Some(page) = sound(source, PageId { file, page: 0 }, PageKind::FileHeader)
        && let Ok(header) = FileHeader::new(&page[..])
    {
        let said_by = "the file header, page 0".to_owned();
        lengths.push(Length { page_count: header.page_count, said_by });
    }
    let last = page_count.saturating_sub(1);
    let pfs = PageId { file, page: place::pfs_of(last) };
    if let Some(page) = sound(source, pfs, PageKind::Pfs) {
        lengths.extend(from_pfs(&page[..], pfs, page_count));
    }
    let gam = PageId { file, page: place::map_of(last, 2) };
    if let Some(page) = sound(source, gam, PageKind::Gam) {
        lengths.extend(from_gam(&page[..], gam));
    }
    for known in catalog.iter().filter(|known| known.number == file) {
        let said_by = format!("the size of file {file} in sys.sysprufiles");
        lengths.push(Length { page_count: known.page_count, said_by });
    }
    // The first of equals: what stands in the file itself comes before the catalog.
    lengths
        .into_iter()
        .rev()
        .max_by_key(|length| length.page_count)
        .filter(|length| length.page_count > page_count)
}

/// The last page behind the end that a PFS page calls allocated.
fn from_pfs(page: &[u8], id: PageId, page_count: u32) -> Option<Length> {
    let start = id.page / place::PFS_PAGES * place::PFS_PAGES;
    let behind = (page_count..start.saturating_add(place::PFS_PAGES)).rev();
    let last =
        behind.into_iter().find(|number| pfs_byte(page, *number).is_some_and(|byte| byte.is_allocated()))?;
    let said_by = format!("PFS page {id} has page {}:{last} allocated", id.file);
    Some(Length { page_count: last + 1, said_by })
}

/// The last extent that a GAM page does not call free. Extents behind the end of a file are free.
// OBSERVED: the bits behind the end of all six data files
fn from_gam(page: &[u8], id: PageId) -> Option<Length> {
    let bits = ExtentMap::new(page, PageKind::Gam).ok()?;
    let extent = (0..place::MAP_PAGES / EXTENT_PAGES).rev().find(|extent| !bits.is_set(*extent))?;
    let first = (id.page / place::MAP_PAGES * place::MAP_PAGES).checked_add(extent * EXTENT_PAGES)?;
    let said_by = format!("GAM page {id} has the extent of page {}:{first} allocated", id.file);
    Some(Length { page_count: first + 1, said_by })
}

/// A page whose protection, number and kind are right.
fn sound(source: &Source, id: PageId, kind: PageKind) -> Option<Box<[u8; PAGE_BYTES]>> {
    let mut raw = Box::new([0; PAGE_BYTES]);
    source.read_raw(id, &mut raw).ok()?;
    let header = Header::new(&raw[..]);
    let mut is_sound = header.kind == kind && header.page == id && header.version == 1;
    audit_protection(&raw[..], &header, |_| is_sound = false);
    restore(&mut raw[..]);
    is_sound.then_some(raw)
}

/// Whether the protection, the number and the kind of a page are right.
pub(super) fn is_sound(source: &Source, id: PageId, kind: PageKind) -> bool {
    sound(source, id, kind).is_some()
}

/// The data files of the database, as its catalog has them; empty where that cannot be read.
///
/// I/O: the table of allocation units, and the pages of the table of files, usually one.
pub(crate) fn catalog_files(source: &Source, boot: &Boot) -> Vec<CatalogFile> {
    if !is_version_known(boot.version) || boot.version < OLDEST_WITH_FILES {
        return Vec::new();
    }
    let mut catalog = Catalog::default();
    catalog.read_units(source, boot);
    // The clustered index of a base table: its number is made of those of index and object.
    let id = 1 << 48 | u64::from(object::FILES) << 16;
    let Some(unit) = catalog.units.iter().find(|unit| unit.id == id) else { return Vec::new() };
    read_files(source, unit).unwrap_or_default()
}

fn read_files(source: &Source, unit: &AllocationUnit) -> Option<Vec<CatalogFile>> {
    let mut files = Vec::new();
    let mut at = unit.first;
    for _ in 0..FILE_PAGES_MAX {
        if at.is_none() {
            return Some(files);
        }
        let page = sound(source, at, PageKind::Data)?;
        let header = Header::new(&page[..]);
        if header.allocation_unit() != unit.id || usize::from(header.free_data) < HEADER_BYTES {
            return None;
        }
        for_each_row(&page, &header, |_, record| {
            // OBSERVED: sys.sysprufiles of versions 655, 661 and 706: fileid at 8, filetype at 20 (0 rows, 1 log), filestate
            // at 21 (0 online), size in pages at 22; lname and pname are the first variable columns
            let bytes = record.bytes;
            let is_rows = u16_at(bytes, 20) == Some(0);
            let path = record.variable(1).map(|path| utf16(path.bytes)).unwrap_or_default();
            if let (true, Some(number), Some(page_count)) = (is_rows, u16_at(bytes, 8), u32_at(bytes, 22)) {
                files.push(CatalogFile { number, path, page_count });
            }
        });
        at = header.next;
    }
    None
}
