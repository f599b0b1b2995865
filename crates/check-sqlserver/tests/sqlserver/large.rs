//! A SQL Server data file of any size, made from Northwind: its table Shippers gets as many rows as fit.
//!
//! Everything that describes the pages stays true: PFS, GAM, SGAM, differential map and IAM bits, the size in the file
//! header, root and counts in the catalog, links, keys of inner pages, free bytes, and checksums. New pages are leaves in
//! key order, behind them the levels above. Beyond 4 GB each further interval has its own maps, and an IAM page in the
//! mixed extent of its maps. Or the new pages make a second file, with header, maps and IAM page of its own. Used by the tests and, through its path, by the example that benches.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;

use formats::sqlserver::{
    EXTENT_PAGES, Header, PAGE_BYTES, Record, place, protect, slot_offset, u16_at, u32_at, u64_at,
};

/// Rows of a leaf, and entries of an inner page: what fits, less a little.
const ROWS: u32 = 74;
const ENTRIES: u32 = 600;
/// The first number that no shipper of the base has.
const FIRST_KEY: u32 = 4;
const PFS_BYTES: usize = 100;
const IN_USE: u8 = 0x40;
const FULL: u8 = 0x44;
/// An IAM page of a mixed extent.
const IAM: u8 = 0x70;
/// Where the IAM page of an interval is, from the interval's start: behind GAM and SGAM.
const IAM_PLACE: u32 = 2;
/// The number of the second file, and where its new pages begin: behind its maps and an extent with its IAM page.
const SECOND: u16 = 2;
const SECOND_START: u32 = 16;
const SECOND_IAM: u32 = 8;
/// Extents of an interval.
const INTERVAL: u32 = place::MAP_PAGES / EXTENT_PAGES;

/// Writes a file of `page_count` pages, rounded to whole extents; `base` is northwnd-2008-checksum.mdf. Extents of `free`,
/// which is rounded inwards and lies behind the base, stay free and are holes in the file.
pub(crate) fn write(base: &Path, to: &Path, page_count: u32, free: Range<u32>) -> io::Result<()> {
    let mut base = std::fs::read(base)?;
    let base_count = (base.len() / PAGE_BYTES) as u32;
    let page_count = page_count / EXTENT_PAGES * EXTENT_PAGES;
    assert!(page_count > base_count + 100, "2 MB at least");
    let free = free.start.next_multiple_of(EXTENT_PAGES)..free.end / EXTENT_PAGES * EXTENT_PAGES;
    let original = base.clone();
    let tree = Tree::new(&base, 1, base_count, page_count, free);
    tree.change_base(&mut base);
    let mut file = BufWriter::with_capacity(1 << 20, File::create(to)?);
    file.write_all(&base)?;
    tree.write_pages(&original, file)
}

/// Writes a database of two files: Northwind, and a second file of `page_count` pages with all new rows of Shippers.
pub(crate) fn write_two(base: &Path, first: &Path, second: &Path, page_count: u32) -> io::Result<()> {
    let mut base = std::fs::read(base)?;
    let original = base.clone();
    let tree = Tree::new(&base, SECOND, SECOND_START, page_count / EXTENT_PAGES * EXTENT_PAGES, 0..0);
    tree.change_base(&mut base);
    std::fs::write(first, &base)?;
    let mut file = BufWriter::new(File::create(second)?);
    for number in 0..SECOND_START {
        file.write_all(&tree.start_page(&original, number))?;
    }
    tree.write_pages(&original, file)
}

/// Whether a page shares its extent with a page of the maps, and is not used for that reason.
fn is_beside_map(page: u32) -> bool {
    let first = page / EXTENT_PAGES * EXTENT_PAGES;
    first.is_multiple_of(place::PFS_PAGES) || first.is_multiple_of(place::MAP_PAGES)
}

/// The B-tree to be: leaf 0 is the page that the base has, new leaves count from 1.
struct Tree {
    /// The file of the new pages.
    file: u16,
    base_count: u32,
    page_count: u32,
    free: Range<u32>,
    /// Pages of `free` that are not beside a map.
    free_count: u32,
    first_leaf: u32,
    leaf_count: u32,
    /// Pages of each level above the leaves, upwards; the last has one.
    levels: Vec<u32>,
    /// Header of the leaf in the base.
    header: [u8; 96],
    /// Page and offset of the row of the allocation unit, of the rowset; page of the IAM; number of the unit.
    unit_row: usize,
    rowset_row: usize,
    iam: u32,
    unit: u64,
}

impl Tree {
    fn new(base: &[u8], file: u16, base_count: u32, page_count: u32, free: Range<u32>) -> Self {
        let text: Vec<u8> = "Speedy Express".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let at = base.windows(text.len()).position(|window| window == text).unwrap();
        let first_leaf = (at / PAGE_BYTES) as u32;
        let header: [u8; 96] = base[first_leaf as usize * PAGE_BYTES..][..96].try_into().unwrap();
        let unit = Header::new(&header).allocation_unit();
        let find = |object, id: u64| row(base, object, |row| u64_at(row, 4) == Some(id) && row.len() > 60);
        // Old leaves have index number 0 in their header, the catalog has 1.
        let is_unit = |row: &[u8]| {
            row.len() > 60 && u64_at(row, 4).is_some_and(|id| id == unit || id == unit | 1 << 48)
        };
        let unit_row = row(base, 7, is_unit).unwrap();
        let rowset_row = find(5, u64_at(base, unit_row + 13).unwrap())
            .or_else(|| row(base, 5, |row| u64_at(row, 4) == u64_at(base, unit_row + 13)))
            .unwrap();
        let is_usable = |page: &u32| !is_beside_map(*page) && !free.contains(page);
        let usable = (base_count..page_count).filter(is_usable).count() as u32;
        let mut leaf_count = usable;
        let levels = loop {
            let levels = levels(leaf_count + 1);
            if leaf_count + levels.iter().sum::<u32>() <= usable {
                break levels;
            }
            leaf_count -= 1;
        };
        Self {
            file,
            base_count,
            page_count,
            free_count: free.clone().filter(|page| !is_beside_map(*page)).count() as u32,
            free,
            first_leaf,
            leaf_count,
            levels,
            header,
            unit_row,
            rowset_row,
            iam: u32_at(base, unit_row + 39).unwrap(),
            unit: u64_at(base, unit_row + 4).unwrap(),
        }
    }

    /// Writes all pages behind those that are there.
    fn write_pages(&self, original: &[u8], mut file: BufWriter<File>) -> io::Result<()> {
        let (mut leaf, mut inner, mut end) = (1, 0, self.base_count);
        for number in self.base_count..self.page_count {
            let page = if let Some(page) = self.map_page(original, number) {
                page
            } else if self.is_left_out(number) || leaf + inner > self.used_count() {
                continue;
            } else if leaf <= self.leaf_count {
                leaf += 1;
                self.leaf(leaf - 1)
            } else {
                inner += 1;
                self.inner(inner - 1)
            };
            if number != end {
                file.seek(SeekFrom::Start(u64::from(number) * PAGE_BYTES as u64))?;
            }
            end = number + 1;
            file.write_all(&page)?;
        }
        file.into_inner()?.set_len(u64::from(self.page_count) * PAGE_BYTES as u64)
    }

    /// One of the first pages of the second file.
    fn start_page(&self, base: &[u8], number: u32) -> Vec<u8> {
        let from = match number {
            0..=3 | 6 | 7 => number,
            SECOND_IAM => self.iam,
            _ => return vec![0; PAGE_BYTES],
        };
        let mut page = base[from as usize * PAGE_BYTES..][..PAGE_BYTES].to_vec();
        put(&mut page, 32, &self.name(number));
        match number {
            0 => {
                let (number_at, size_at) = (file_header_column(&page, 2), file_header_column(&page, 4));
                put(&mut page, number_at, &SECOND.to_le_bytes());
                put(&mut page, size_at, &self.page_count.to_le_bytes());
            }
            1 => (0..place::PFS_PAGES).for_each(|at| page[PFS_BYTES + at as usize] = self.pfs_byte(at)),
            7 => {}
            map => {
                if map == SECOND_IAM {
                    self.turn_iam(&mut page, 1, (name(self.iam), [0; 6], self.name(0)));
                }
                let kind = if map == SECOND_IAM { self.iam } else { map };
                self.set_bits(&mut page, kind, 0);
                // The extent of the IAM page.
                set_bit(&mut page, SECOND_IAM / EXTENT_PAGES, matches!(map, 3 | 6));
            }
        }
        protect(&mut page);
        page
    }

    /// Six bytes that name a page of the file with the new pages.
    fn name(&self, page: u32) -> [u8; 6] {
        name_in(self.file, page)
    }

    fn used_count(&self) -> u32 {
        self.leaf_count + self.levels.iter().sum::<u32>()
    }

    /// The page of a new page by its position: leaves first, then the levels upwards.
    fn page(&self, position: u32) -> u32 {
        // Extents of maps and free ones are left out: no interval and no PFS page begin at the same page below 4 TB.
        let mut page = self.base_count + position;
        loop {
            let maps = EXTENT_PAGES * (page / place::PFS_PAGES + page / place::MAP_PAGES);
            let mut right = self.base_count + position + maps;
            if right >= self.free.start {
                right += self.free_count;
            }
            if right == page {
                return page;
            }
            page = right;
        }
    }

    /// Whether a page is not used: beside a map, or free.
    fn is_left_out(&self, page: u32) -> bool {
        is_beside_map(page) || self.free.contains(&page)
    }

    /// The page of the maps that is due at a place; `None` elsewhere, and in the base.
    fn map_page(&self, base: &[u8], number: u32) -> Option<Vec<u8>> {
        if number.is_multiple_of(place::PFS_PAGES) {
            return Some(self.pfs(base, number));
        }
        let start = number / place::MAP_PAGES * place::MAP_PAGES;
        if start == 0 {
            return None;
        }
        let map = match number - start {
            0 => 2,
            1 => 3,
            IAM_PLACE => self.iam,
            map @ (6 | 7) => map,
            _ => return None,
        };
        let mut page = base[map as usize * PAGE_BYTES..][..PAGE_BYTES].to_vec();
        put(&mut page, 32, &self.name(number));
        if map == self.iam {
            let place_of = |interval: u32| match interval {
                0 => name(self.iam),
                interval => name(interval * place::MAP_PAGES + IAM_PLACE),
            };
            let interval = number / place::MAP_PAGES;
            let is_last = (interval + 1) * place::MAP_PAGES >= self.page_count;
            let next = if is_last { [0; 6] } else { place_of(interval + 1) };
            self.turn_iam(&mut page, interval, (place_of(interval - 1), next, name(start)));
        }
        if map != 7 {
            self.set_bits(&mut page, map, start / EXTENT_PAGES);
        }
        protect(&mut page);
        Some(page)
    }

    /// Makes a copy of the IAM page of the base a later one of the chain: its neighbours, and where its extents begin.
    fn turn_iam(&self, page: &mut [u8], sequence: u32, (previous, next, start): ([u8; 6], [u8; 6], [u8; 6])) {
        put(page, 8, &previous);
        put(page, 16, &next);
        let record = usize::from(slot_offset(page, 0).unwrap());
        put(page, record + 4, &sequence.to_le_bytes());
        put(page, record + 40, &start);
        page[record + 46..record + 46 + 48].fill(0);
    }

    /// Sets the bits of a map from an extent on: those of the base's own extents stay.
    fn set_bits(&self, page: &mut [u8], map: u32, first: u32) {
        // What the base has for extents that no file of this size has.
        let beyond = bit(page, INTERVAL - 1);
        for extent in first.max(self.base_count / EXTENT_PAGES)..first + INTERVAL {
            let at = extent * EXTENT_PAGES;
            let is_mixed = is_beside_map(at);
            let is_free = !is_mixed && self.is_left_out(at);
            let is_set = match map {
                _ if at >= self.page_count => beyond,
                2 => is_free,
                3 => is_mixed,
                6 => !is_free,
                _ => !is_mixed && !is_free,
            };
            set_bit(page, extent - first, is_set);
        }
    }

    /// Six bytes that name a leaf: the first one is in the base.
    fn leaf_name(&self, leaf: u32) -> [u8; 6] {
        if leaf == 0 { name(self.first_leaf) } else { self.name(self.page(leaf - 1)) }
    }

    fn key(&self, leaf: u32) -> u32 {
        if leaf == 0 { 1 } else { FIRST_KEY + (leaf - 1) * ROWS }
    }

    /// Changes what describes the pages.
    fn change_base(&self, base: &mut [u8]) {
        let root = self.page(self.used_count() - 1);
        let (unit, rowset) = (self.unit_row, self.rowset_row);
        put(base, unit + 33, &self.name(root));
        // And the leaf of the base, and an IAM page for each interval.
        let pages = u64::from(self.used_count() + 1 + self.page_count.div_ceil(place::MAP_PAGES));
        for offset in [45, 61] {
            put(base, unit + offset, &pages.to_le_bytes());
        }
        put(base, unit + 53, &u64::from(self.leaf_count + 1).to_le_bytes());
        put(base, rowset + 31, &u64::from(3 + self.leaf_count * ROWS).to_le_bytes());
        let first = self.first_leaf as usize * PAGE_BYTES;
        put(base, first + 16, &self.leaf_name(1));
        if self.file == SECOND {
            put(base, self.iam as usize * PAGE_BYTES + 16, &self.name(SECOND_IAM));
        } else {
            self.change_maps(base);
        }
        let changed =
            [0, 1, 2, 3, 6, self.iam, self.first_leaf, page_of(unit) as u32, page_of(rowset) as u32];
        for page in changed {
            protect(&mut base[page as usize * PAGE_BYTES..][..PAGE_BYTES]);
        }
    }

    /// Changes the maps of a file that grew, and its size.
    fn change_maps(&self, base: &mut [u8]) {
        let size = file_header_column(&base[..PAGE_BYTES], 4);
        put(base, size, &self.page_count.to_le_bytes());
        for page in self.base_count..self.page_count.min(place::PFS_PAGES) {
            base[PAGE_BYTES + PFS_BYTES + page as usize] = self.pfs_byte(page);
        }
        for map in [2, 3, 6, self.iam] {
            self.set_bits(&mut base[map as usize * PAGE_BYTES..][..PAGE_BYTES], map, 0);
        }
        if self.page_count > place::MAP_PAGES {
            put(base, self.iam as usize * PAGE_BYTES + 16, &name(place::MAP_PAGES + IAM_PLACE));
        }
    }

    fn pfs_byte(&self, page: u32) -> u8 {
        match page {
            page if page >= self.page_count => 0,
            0..SECOND_START if self.file == SECOND => match page {
                0..=3 | 6 | 7 => FULL,
                SECOND_IAM => IAM,
                _ => 0,
            },
            page if page.is_multiple_of(place::PFS_PAGES) => FULL,
            page if page >= place::MAP_PAGES && is_beside_map(page) => match page % place::MAP_PAGES {
                0 | 1 | 6 | 7 => FULL,
                IAM_PLACE => IAM,
                _ => 0,
            },
            page if self.is_left_out(page) => 0,
            page if page <= self.page(self.used_count() - 1) => IN_USE,
            _ => 0,
        }
    }

    fn pfs(&self, base: &[u8], number: u32) -> Vec<u8> {
        let mut page = base[PAGE_BYTES..2 * PAGE_BYTES].to_vec();
        put(&mut page, 32, &self.name(number));
        for index in 0..place::PFS_PAGES {
            page[PFS_BYTES + index as usize] = self.pfs_byte(number + index);
        }
        protect(&mut page);
        page
    }

    fn leaf(&self, leaf: u32) -> Vec<u8> {
        let records = (0..ROWS).map(|row| shipper(self.key(leaf) + row));
        let next = (leaf < self.leaf_count).then(|| self.leaf_name(leaf + 1));
        let mut page = self.new_page(records, self.leaf_name(leaf), Some(self.leaf_name(leaf - 1)), next);
        protect(&mut page);
        page
    }

    /// An inner page by its position among all.
    fn inner(&self, position: u32) -> Vec<u8> {
        let (mut level, mut start) = (0, 0);
        while position >= start + self.levels[level] {
            start += self.levels[level];
            level += 1;
        }
        let index = position - start;
        let below = if level == 0 { self.leaf_count + 1 } else { self.levels[level - 1] };
        let child_name = |child: u32| match level {
            0 => self.leaf_name(child),
            _ => self.name(self.page(self.leaf_count + start - self.levels[level - 1] + child)),
        };
        let leaf_of = |child: u32| child * ENTRIES.pow(level as u32);
        let children = index * ENTRIES..((index + 1) * ENTRIES).min(below);
        let records = children.map(|child| {
            let mut record = vec![6];
            record.extend(self.key(leaf_of(child)).to_le_bytes());
            record.extend(child_name(child));
            record
        });
        let own = self.name(self.page(self.leaf_count + position));
        let neighbour = |page: u32| self.name(self.page(self.leaf_count + start + page));
        let previous = index.checked_sub(1).map(neighbour);
        let next = Some(index + 1).filter(|next| *next < self.levels[level]).map(neighbour);
        let mut page = self.new_page(records, own, previous, next);
        page[1..4].copy_from_slice(&[2, 0, level as u8 + 1]);
        put(&mut page, 6, &((self.unit >> 48) as u16).to_le_bytes());
        put(&mut page, 14, &11u16.to_le_bytes());
        protect(&mut page);
        page
    }

    fn new_page(
        &self,
        records: impl Iterator<Item = Vec<u8>>,
        own: [u8; 6],
        previous: Option<[u8; 6]>,
        next: Option<[u8; 6]>,
    ) -> Vec<u8> {
        let mut page = vec![0; PAGE_BYTES];
        page[..96].copy_from_slice(&self.header);
        put(&mut page, 8, &previous.unwrap_or_default());
        put(&mut page, 16, &next.unwrap_or_default());
        put(&mut page, 32, &own);
        let (mut end, mut count) = (96, 0);
        for record in records {
            put(&mut page, end, &record);
            count += 1;
            put(&mut page, PAGE_BYTES - 2 * count, &(end as u16).to_le_bytes());
            end += record.len();
        }
        let free = PAGE_BYTES - end - 2 * count;
        for (offset, value) in [(22, count), (28, free), (30, end)] {
            put(&mut page, offset, &(value as u16).to_le_bytes());
        }
        page
    }
}

/// Pages of each level above so many leaves.
fn levels(leaf_count: u32) -> Vec<u32> {
    let mut levels = vec![leaf_count.div_ceil(ENTRIES)];
    while let Some(last) = levels.last().copied().filter(|last| *last > 1) {
        levels.push(last.div_ceil(ENTRIES));
    }
    levels
}

/// A row: number, name, telephone.
fn shipper(key: u32) -> Vec<u8> {
    let name = format!("Shipper {key:09}, {:08x}", key.wrapping_mul(2_654_435_761));
    let phone = format!("(503) 555-{:04}", key % 10_000);
    let mut record = vec![0x30, 0, 8, 0];
    record.extend(key.to_le_bytes());
    record.extend([3, 0, 0, 2, 0]);
    let first_end = record.len() + 4 + 2 * name.len();
    record.extend((first_end as u16).to_le_bytes());
    record.extend(((first_end + 2 * phone.len()) as u16).to_le_bytes());
    record.extend(name.encode_utf16().chain(phone.encode_utf16()).flat_map(u16::to_le_bytes));
    record
}

/// Offset in the file of a row of a base table.
fn row(base: &[u8], object: u32, is_meant: impl Fn(&[u8]) -> bool) -> Option<usize> {
    for (number, page) in base.chunks_exact(PAGE_BYTES).enumerate() {
        let header = Header::new(page);
        if page[1] != 1 || header.object_id != object || header.page.page as usize != number {
            continue;
        }
        for slot in 0..usize::from(header.slot_count) {
            let offset = usize::from(slot_offset(page, slot)?);
            let record = Record::new(page, &header, slot, offset).ok()?;
            if is_meant(record.bytes) {
                return Some(number * PAGE_BYTES + offset);
            }
        }
    }
    None
}

fn page_of(offset: usize) -> usize {
    offset / PAGE_BYTES
}

fn name(page: u32) -> [u8; 6] {
    name_in(1, page)
}

fn name_in(file: u16, page: u32) -> [u8; 6] {
    let mut bytes = [0; 6];
    bytes[..4].copy_from_slice(&page.to_le_bytes());
    bytes[4..].copy_from_slice(&file.to_le_bytes());
    bytes
}

/// Offset of a column of variable length in the header of a file.
fn file_header_column(page: &[u8], column: usize) -> usize {
    let record = Record::new(page, &Header::new(page), 0, 96).unwrap();
    record.variable(column).unwrap().bytes.as_ptr() as usize - page.as_ptr() as usize
}

fn put(bytes: &mut [u8], offset: usize, with: &[u8]) {
    bytes[offset..offset + with.len()].copy_from_slice(with);
}

/// Offset of the bits in a page of a map.
fn bits(page: &[u8]) -> usize {
    let offset = usize::from(slot_offset(page, 1).unwrap());
    assert_eq!(u16_at(page, offset + 2), Some(7992));
    offset + 4
}

/// The bit of an extent in a page of a map.
fn bit(page: &[u8], extent: u32) -> bool {
    page[bits(page) + extent as usize / 8] >> (extent % 8) & 1 == 1
}

/// Sets the bit of an extent in a page of a map.
fn set_bit(page: &mut [u8], extent: u32, is_set: bool) {
    let byte = &mut page[bits(page) + extent as usize / 8];
    *byte = *byte & !(1 << (extent % 8)) | u8::from(is_set) << (extent % 8);
}
