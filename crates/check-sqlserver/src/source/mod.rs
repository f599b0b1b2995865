//! Where the pages of a database are: in its data files, or in the stream of a backup.

mod error;
mod read;
mod recognition;
mod stream;
pub(crate) mod target;

pub use error::CheckError;
pub use recognition::{FileKind, recognise};
pub(crate) use stream::Layout;

use disk::input::File;
use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use disk::scan::ScanFile;
use formats::sqlserver::{EXTENT_PAGES, FileHeader, Header, PAGE_BYTES, PageId, PageKind, restore};

use crate::maps::Budget;
use crate::source::read::read_up_to;
use check::evidence::Place;
use check::holes::length_without_hole;

/// Length of an extent, bytes.
const EXTENT_BYTES: u64 = EXTENT_PAGES as u64 * PAGE_BYTES as u64;

/// The bytes of a data file that are pages: without a long hole at its end that the file header does not count.
fn bytes_of_pages(file: &File, bytes: u64) -> u64 {
    let page_bytes = PAGE_BYTES as u64;
    let whole = bytes / page_bytes * page_bytes;
    let without = length_without_hole(file, whole, page_bytes);
    if without == whole {
        return whole;
    }
    let mut page = Box::new([0; PAGE_BYTES]);
    let is_read = file.read_exact_at(&mut page[..], 0).is_ok();
    restore(&mut page[..]);
    let stated = FileHeader::new(&page[..]).ok().filter(|_| is_read).map_or(0, |header| header.page_count);
    without.max(u64::from(stated) * page_bytes).min(whole)
}

/// The pages of a database.
pub(super) struct Source {
    pub(super) files: Vec<SourceFile>,
    /// Parts in the order in which they are scanned: file and part.
    parts: Vec<(usize, usize)>,
    /// Files of backups: where each extent is.
    extents: HashMap<(u16, u32), (usize, u64)>,
    pub(super) is_backup: bool,
    /// What the files of a backup consist of; empty for data files.
    pub(super) layouts: Vec<Layout>,
    pub(super) read_count: AtomicU64,
}

/// A file with pages.
pub(super) struct SourceFile {
    pub(super) path: PathBuf,
    pub(super) shown: String,
    file: File,
    pub(super) bytes: u64,
    /// Bytes at its end that are a hole, past the pages that its header states, and are not read.
    pub(super) hole_bytes: u64,
    parts: Vec<Part>,
}

struct Part {
    range: Range<u64>,
    pages: Pages,
}

enum Pages {
    /// All pages of a data file, in order.
    File(u16),
    /// The first page of each extent; `None` where no page tells.
    Extents(Vec<Option<PageId>>),
}

impl Source {
    /// Opens data files, or the files of a backup; the kinds must not be mixed.
    pub(super) fn open(paths: &[PathBuf], is_backup: bool) -> io::Result<Self> {
        let mut source = Self {
            files: Vec::new(),
            parts: Vec::new(),
            extents: HashMap::new(),
            is_backup,
            layouts: Vec::new(),
            read_count: AtomicU64::new(0),
        };
        for path in paths {
            let file = disk::input::File::open(path)?;
            let bytes = file.metadata()?.len();
            let shown = path.display().to_string();
            let mut opened =
                SourceFile { path: path.clone(), shown, file, bytes, hole_bytes: 0, parts: Vec::new() };
            if is_backup {
                source.add_backup(&mut opened)?;
            } else {
                let whole = bytes_of_pages(&opened.file, bytes);
                opened.hole_bytes = (bytes / PAGE_BYTES as u64 * PAGE_BYTES as u64).saturating_sub(whole);
                let number = file_number(&opened.file).unwrap_or(source.files.len() as u16 + 1);
                opened.parts.push(Part { range: 0..whole, pages: Pages::File(number) });
            }
            let index = source.files.len();
            source.parts.extend((0..opened.parts.len()).map(|part| (index, part)));
            source.files.push(opened);
        }
        source.index_extents();
        Ok(source)
    }

    /// The first data file with the number of one before it, and that number.
    pub(super) fn doubled(&self) -> Option<(&Path, u16)> {
        let numbers = self.files.iter().filter_map(|file| match file.parts.first()?.pages {
            Pages::File(number) => Some((file.path.as_path(), number)),
            Pages::Extents(_) => None,
        });
        let mut seen = Vec::new();
        for (path, number) in numbers {
            if seen.contains(&number) {
                return Some((path, number));
            }
            seen.push(number);
        }
        None
    }

    /// Keeps the pages of the backup set that is checked.
    fn add_backup(&mut self, opened: &mut SourceFile) -> io::Result<()> {
        let layout = Layout::read(&opened.file, opened.bytes)?;
        let ranges = layout.chosen().and_then(|set| layout.sets.get(set)).map(|set| set.ranges.clone());
        for range in ranges.unwrap_or_default() {
            let extents = place_extents(&opened.file, &range)?;
            opened.parts.push(Part { range, pages: Pages::Extents(extents) });
        }
        self.layouts.push(layout);
        Ok(())
    }

    fn index_extents(&mut self) {
        for (index, file) in self.files.iter().enumerate() {
            for part in &file.parts {
                let Pages::Extents(extents) = &part.pages else { continue };
                for (number, first) in extents.iter().enumerate() {
                    if let Some(first) = first {
                        let offset = part.range.start + number as u64 * EXTENT_BYTES;
                        self.extents.insert((first.file, first.page / EXTENT_PAGES), (index, offset));
                    }
                }
            }
        }
    }

    /// What is to be scanned, in the order that [`Self::page_at`] counts.
    pub(super) fn scan_files(&self) -> Vec<ScanFile> {
        self.parts
            .iter()
            .filter_map(|(file, part)| {
                let file = self.files.get(*file)?;
                Some(ScanFile::part(&file.path, file.parts.get(*part)?.range.clone()))
            })
            .collect()
    }

    /// Bytes that a scan reads.
    pub(super) fn scan_bytes(&self) -> u64 {
        self.files.iter().flat_map(|file| &file.parts).map(|part| part.range.end - part.range.start).sum()
    }

    /// The page at a place of the scan, and the file that it is in; `None` for the page where nothing tells.
    pub(super) fn page_at(&self, scan_index: usize, offset: u64) -> Option<(usize, Option<PageId>)> {
        let (index, part) = *self.parts.get(scan_index)?;
        let part = self.files.get(index)?.parts.get(part)?;
        let number = u32::try_from((offset - part.range.start) / PAGE_BYTES as u64).ok()?;
        let page = match &part.pages {
            Pages::File(file) => Some(PageId { file: *file, page: number }),
            Pages::Extents(extents) => {
                let first = extents.get((number / EXTENT_PAGES) as usize).copied().flatten();
                first.map(|first| PageId { file: first.file, page: first.page + number % EXTENT_PAGES })
            }
        };
        Some((index, page))
    }

    /// A place in a file as reports name it.
    pub(super) fn place(&self, path: &Path, offset: u64) -> Place {
        let known = self.files.iter().find(|file| file.path == path);
        let is_in = |part: &&Part| part.range.contains(&offset);
        let part = known.and_then(|file| file.parts.iter().find(is_in));
        let page = part.and_then(|part| {
            let number = u32::try_from((offset - part.range.start) / PAGE_BYTES as u64).ok()?;
            match &part.pages {
                Pages::File(_) => Some(number),
                Pages::Extents(extents) => {
                    let first = extents.get((number / EXTENT_PAGES) as usize).copied().flatten()?;
                    Some(first.page + number % EXTENT_PAGES)
                }
            }
        });
        let file = known.map_or_else(|| path.display().to_string(), |file| file.shown.clone());
        Place { file, page: page.map(u64::from), object: None }
    }

    /// The files of the database: number and pages, in data files; in a backup up to the last extent.
    pub(super) fn database_files(&self) -> Vec<(u16, u32)> {
        let mut files: HashMap<u16, u32> = HashMap::new();
        for part in self.files.iter().flat_map(|file| &file.parts) {
            match &part.pages {
                Pages::File(file) => {
                    let count = u32::try_from(part.range.end / PAGE_BYTES as u64).unwrap_or(u32::MAX);
                    files.insert(*file, count);
                }
                Pages::Extents(extents) => {
                    for first in extents.iter().flatten() {
                        let count = files.entry(first.file).or_default();
                        *count = (*count).max(first.page.saturating_add(EXTENT_PAGES));
                    }
                }
            }
        }
        let mut files: Vec<_> = files.into_iter().collect();
        files.sort_unstable();
        files
    }

    fn locate(&self, page: PageId) -> Option<(&File, u64)> {
        if let Some((file, offset)) = self.extents.get(&(page.file, page.page / EXTENT_PAGES)) {
            let within = u64::from(page.page % EXTENT_PAGES) * PAGE_BYTES as u64;
            return Some((&self.files.get(*file)?.file, offset + within));
        }
        let is_file = |file: &&SourceFile| {
            file.parts
                .first()
                .is_some_and(|part| matches!(part.pages, Pages::File(number) if number == page.file))
        };
        let file = self.files.iter().find(is_file)?;
        let offset = u64::from(page.page) * PAGE_BYTES as u64;
        (offset + PAGE_BYTES as u64 <= file.bytes).then_some((&file.file, offset))
    }

    /// Refuses a database whose allocation maps took more memory than they may.
    pub(super) fn refuse_beyond(&self, budget: &Budget, bytes_max: u64) -> Result<(), CheckError> {
        if !budget.is_exceeded {
            return Ok(());
        }
        let path = self.files.first().map(|file| file.path.clone()).unwrap_or_default();
        let page_count = self.database_files().iter().map(|(_, count)| u64::from(*count)).sum();
        Err(CheckError::Memory { path, page_count, bytes_max })
    }

    /// The length of a file now, bytes: it may have grown since it was opened.
    pub(super) fn length_now(&self, index: usize) -> Option<u64> {
        Some(self.files.get(index)?.file.metadata().ok()?.len())
    }

    /// The number that a data file has in its database, by its position; `None` for a backup.
    pub(super) fn number_of(&self, index: usize) -> Option<u16> {
        match self.files.get(index)?.parts.first()?.pages {
            Pages::File(number) => Some(number),
            Pages::Extents(_) => None,
        }
    }

    /// Whether the page is there.
    pub(super) fn has(&self, page: PageId) -> bool {
        self.locate(page).is_some()
    }

    /// The name of the file that a page is in.
    pub(super) fn shown(&self, page: PageId) -> &str {
        let of_backup = self.extents.get(&(page.file, page.page / EXTENT_PAGES)).map(|(file, _)| *file);
        let of_file = |number: u16| {
            self.files.iter().position(|file| {
                file.parts.first().is_some_and(|part| matches!(part.pages, Pages::File(own) if own == number))
            })
        };
        let index = of_backup.or_else(|| of_file(page.file)).unwrap_or(0);
        self.files.get(index).map_or("", |file| &file.shown)
    }

    /// Reads one page as it stands.
    pub(super) fn read_raw(&self, page: PageId, into: &mut [u8; PAGE_BYTES]) -> io::Result<()> {
        let (file, offset) = self.locate(page).ok_or(io::ErrorKind::NotFound)?;
        self.read_count.fetch_add(1, Ordering::Relaxed);
        file.read_exact_at(into, offset)
    }

    /// Reads one page, with the bits that torn page signatures displaced put back.
    pub(super) fn read(&self, page: PageId) -> io::Result<Box<[u8; PAGE_BYTES]>> {
        let mut bytes = Box::new([0; PAGE_BYTES]);
        self.read_raw(page, &mut bytes)?;
        restore(&mut bytes[..]);
        Ok(bytes)
    }
}

/// The number that the first pages of a data file tell; `None` when they disagree.
fn file_number(file: &File) -> Option<u16> {
    let mut page = [0; 96];
    let mut votes: HashMap<u16, usize> = HashMap::new();
    for number in [0, 1, 2, 3, 6, 7] {
        if read_up_to(file, number * PAGE_BYTES as u64, &mut page).is_ok_and(|length| length == 96) {
            *votes.entry(Header::new(&page).page.file).or_default() += 1;
        }
    }
    votes
        .into_iter()
        .filter(|(number, count)| *number > 0 && *count >= 2)
        .max_by_key(|(_, count)| *count)
        .map(|(number, _)| number)
}

/// The first page of each extent in a stream, told by the headers of its pages: extents lie on boundaries of eight.
fn place_extents(file: &File, range: &Range<u64>) -> io::Result<Vec<Option<PageId>>> {
    let mut extents = Vec::new();
    let mut page = [0; 96];
    let mut offset = range.start;
    while offset < range.end {
        let mut votes: Vec<(PageId, usize)> = Vec::new();
        for index in 0..EXTENT_PAGES {
            let at = offset + u64::from(index) * PAGE_BYTES as u64;
            if at >= range.end || read_up_to(file, at, &mut page)? < 96 {
                break;
            }
            let header = Header::new(&page);
            let is_told = header.version == 1
                && !matches!(header.kind, PageKind::Blank | PageKind::Unknown(_))
                && header.page.page % EXTENT_PAGES == index
                && !header.page.is_none();
            if !is_told {
                continue;
            }
            let first = PageId { page: header.page.page - index, ..header.page };
            match votes.iter_mut().find(|(page, _)| *page == first) {
                Some((_, count)) => *count += 1,
                None => votes.push((first, 1)),
            }
        }
        extents.push(votes.into_iter().max_by_key(|(_, count)| *count).map(|(first, _)| first));
        offset += EXTENT_BYTES;
    }
    Ok(extents)
}
