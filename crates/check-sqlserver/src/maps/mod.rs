//! Which page is in use, and by whom: PFS, GAM, SGAM and the chains of IAM pages, each checked against the others.

pub(crate) mod compare;
pub(crate) mod pages;

use std::collections::{BTreeMap, HashMap, HashSet};

use formats::sqlserver::{
    AllocationUnit, EXTENT_PAGES, ExtentMap, Header, Iam, PAGE_BYTES, PageId, PageKind, PfsByte,
    audit_protection, pfs_byte, place,
};

mod interval;

pub(super) use crate::maps::interval::{Budget, Intervals};

use crate::finding::Draft;
use crate::matching::facts::Quick;
use crate::rules;
use crate::source::Source;

/// In place of an owner: no allocation unit has the extent.
pub(super) const NOT_ALLOCATED: u32 = u32::MAX;
/// IAM pages of one chain that are followed; a file of 64 TiB has fewer intervals.
const CHAIN_MAX: u32 = 1 << 20;

/// What a page is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// A page at a place where one of that kind is due.
    Fixed(PageKind),
    /// An IAM page of an allocation unit, by its position in the catalog.
    Iam(u32),
    /// In use by an allocation unit, by its position in the catalog.
    Unit(u32),
    /// In use, by nobody that is known.
    Allocated,
    /// Not in use: what it holds is no evidence.
    Free,
    /// The map that would tell is missing or damaged.
    Unknown,
}

/// The maps of all files.
pub(super) struct Maps {
    pub(super) files: Vec<FileMap>,
    iam_pages: HashMap<PageId, u32, Quick>,
    pub(super) findings: Vec<Draft>,
    /// How many of them are about chains; later ones say that a file is not part of the database.
    pub(super) chain_finding_count: usize,
    /// Maps that are not in the files at hand: parts of a backup.
    pub(super) missing_count: u64,
    /// Whether a map was found damaged, so that facts that follow from it are not certain.
    pub(super) is_damaged: bool,
    /// Files that allocation pages name and that are not at hand, each with the first page that names it.
    pub(super) missing_files: BTreeMap<u16, PageId>,
    /// Data files that are too short: their length and the length that they should have, in pages.
    pub(super) short: HashMap<u16, (u32, u32)>,
    /// Pages past the end of a file that is too short, by allocation unit.
    pub(super) lost: BTreeMap<u32, u64>,
    /// Whether IAM pages are among them, so that pages at hand may have no owner.
    pub(super) has_lost_iam: bool,
    /// Whether owners are known.
    pub(super) has_owners: bool,
    /// Memory that the maps may still take.
    pub(super) budget: Budget,
}

/// The maps of one file.
#[derive(PartialEq)]
pub(super) struct FileMap {
    pub(super) file: u16,
    pub(super) page_count: u32,
    pfs: Intervals<PfsByte>,
    /// By PFS page: whether it could be used.
    is_known: Vec<bool>,
    /// By extent: set when the GAM calls it free, and when the SGAM calls it mixed.
    pub(super) gam: Intervals<u8>,
    pub(super) owners: Intervals<u32>,
    pub(super) singles: HashMap<u32, u32, Quick>,
}

pub(super) const GAM_FREE: u8 = 1;
pub(super) const SGAM_MIXED: u8 = 2;
pub(super) const GAM_KNOWN: u8 = 4;
pub(super) const SGAM_KNOWN: u8 = 8;

impl Maps {
    /// Reads PFS, GAM and SGAM of all files. Cost: one page of 8,088, one byte for each page. Where they take more than
    /// `bytes_max`, `budget` says so, and they are not complete.
    pub(super) fn new(source: &Source, files: &[(u16, u32)], is_deep: bool, bytes_max: u64) -> Self {
        let mut maps = Self {
            files: Vec::new(),
            iam_pages: HashMap::default(),
            findings: Vec::new(),
            chain_finding_count: 0,
            missing_count: 0,
            is_damaged: false,
            missing_files: BTreeMap::new(),
            short: HashMap::new(),
            lost: BTreeMap::new(),
            has_lost_iam: false,
            has_owners: false,
            budget: Budget { bytes_left: bytes_max, is_exceeded: false },
        };
        for (file, page_count) in files {
            let map = maps.read_file(source, *file, *page_count, is_deep);
            maps.files.push(map);
        }
        maps
    }

    fn read_file(&mut self, source: &Source, file: u16, page_count: u32, is_deep: bool) -> FileMap {
        let extent_count = page_count.div_ceil(EXTENT_PAGES);
        let of_extents = if is_deep { extent_count } else { 0 };
        let mut map = FileMap {
            file,
            page_count,
            pfs: Intervals::new(page_count, PfsByte::default()),
            is_known: Vec::new(),
            gam: Intervals::new(of_extents, 0),
            owners: Intervals::new(of_extents, NOT_ALLOCATED),
            singles: HashMap::default(),
        };
        for start in (0..page_count).step_by(place::PFS_PAGES as usize) {
            let id = PageId { file, page: place::pfs_of(start) };
            let page = self.usable(source, id, PageKind::Pfs);
            map.is_known.push(page.is_some());
            let Some(page) = page else { continue };
            let end = start.saturating_add(place::PFS_PAGES).min(page_count);
            for number in start..end {
                if let (Some(into), Some(byte)) =
                    (map.pfs.slot(number, &mut self.budget), pfs_byte(&page[..], number))
                {
                    *into = byte;
                }
            }
        }
        if is_deep {
            for start in (0..page_count).step_by(place::MAP_PAGES as usize) {
                for (first, kind, set, known) in
                    [(2, PageKind::Gam, GAM_FREE, GAM_KNOWN), (3, PageKind::Sgam, SGAM_MIXED, SGAM_KNOWN)]
                {
                    let id = PageId { file, page: place::map_of(start, first) };
                    let Some(page) = self.usable(source, id, kind) else { continue };
                    let Ok(bits) = ExtentMap::new(&page[..], kind) else { continue };
                    let first_extent = start / EXTENT_PAGES;
                    let interval = place::MAP_PAGES / EXTENT_PAGES;
                    for extent in 0..interval.min(extent_count - first_extent) {
                        if let Some(state) = map.gam.slot(first_extent + extent, &mut self.budget) {
                            *state |= known | if bits.is_set(extent) { set } else { 0 };
                        }
                    }
                }
            }
        }
        map
    }

    /// A page of a map, when it is there, undamaged and of its kind. The pass reports what is wrong with it.
    fn usable(&mut self, source: &Source, id: PageId, kind: PageKind) -> Option<Box<[u8; PAGE_BYTES]>> {
        if !source.has(id) {
            self.missing_count += 1;
            return None;
        }
        let mut raw = Box::new([0; PAGE_BYTES]);
        let is_read = source.read_raw(id, &mut raw).is_ok();
        let header = Header::new(&raw[..]);
        let mut is_sound = is_read && header.kind == kind && header.page == id;
        audit_protection(&raw[..], &header, |_| is_sound = false);
        is_sound &= kind == PageKind::Pfs || ExtentMap::new(&raw[..], kind).is_ok();
        if !is_sound {
            self.is_damaged = true;
            return None;
        }
        formats::sqlserver::restore(&mut raw[..]);
        Some(raw)
    }

    /// Follows the IAM chains of all allocation units and enters what they own.
    pub(super) fn add_owners(&mut self, source: &Source, units: &[AllocationUnit]) {
        self.has_owners = true;
        let mut chained: HashSet<PageId> = HashSet::new();
        for (number, unit) in (0u32..).zip(units) {
            self.add_chain(source, number, unit, &mut chained);
        }
        self.chain_finding_count = self.findings.len();
    }

    fn add_chain(
        &mut self,
        source: &Source,
        number: u32,
        unit: &AllocationUnit,
        chained: &mut HashSet<PageId>,
    ) {
        let mut at = unit.first_iam;
        let mut previous = PageId::default();
        for sequence in 0..CHAIN_MAX {
            if at.is_none() {
                return;
            }
            let referrer = if previous.is_none() { at } else { previous };
            let broken = |maps: &mut Self, page: PageId, expected: String, found: String| {
                maps.findings.push(Draft::new(&rules::IAM_CHAIN, page, expected, found).unit(number));
            };
            if !self.knows(at.file, referrer) {
                return;
            }
            if !source.has(at) {
                if self.is_cut_off(at) {
                    *self.lost.entry(number).or_default() += 1;
                    self.has_lost_iam = true;
                } else if !source.is_backup {
                    let expected = "an IAM page inside the database".to_owned();
                    self.findings.push(
                        Draft::new(&rules::ALLOCATION_RANGE, referrer, expected, format!("page {at}"))
                            .unit(number),
                    );
                }
                return;
            }
            if !chained.insert(at) {
                broken(self, at, "an IAM page of one chain".to_owned(), format!("page {at} a second time"));
                return;
            }
            self.iam_pages.insert(at, number);
            let Ok(page) = source.read(at) else { return };
            let header = Header::new(&page[..]);
            let iam = match Iam::new(&page[..]) {
                Ok(iam) => iam,
                Err(_) => {
                    let found = format!("page {at} of kind {}", header.kind.name());
                    broken(self, at, "an IAM page with its two records".to_owned(), found);
                    return;
                }
            };
            if header.allocation_unit() != unit.id {
                let found = format!("unit {:#x}", header.allocation_unit());
                broken(self, at, format!("an IAM page of allocation unit {:#x}", unit.id), found);
                return;
            }
            if header.previous != previous {
                let found = format!("previous page {}", header.previous);
                broken(self, at, format!("previous page {previous}"), found);
            }
            if iam.sequence != sequence {
                broken(self, at, format!("place {sequence} in the chain"), format!("place {}", iam.sequence));
            }
            self.claim(at, &iam, number);
            previous = at;
            at = header.next;
        }
    }

    /// Whether a file is present; a missing one is remembered.
    fn knows(&mut self, file: u16, referrer: PageId) -> bool {
        let is_known = self.files.iter().any(|map| map.file == file);
        if !is_known {
            self.missing_files.entry(file).or_insert(referrer);
        }
        is_known
    }

    /// Whether a page lies past the end of a file that is too short.
    pub(super) fn is_cut_off(&self, page: PageId) -> bool {
        self.short.get(&page.file).is_some_and(|(has, should)| (*has..*should).contains(&page.page))
    }

    fn claim(&mut self, at: PageId, iam: &Iam<'_>, number: u32) {
        if !self.knows(iam.start.file, at) {
            return;
        }
        let mut drafts = Vec::new();
        let mut out_of_range = |what: String| {
            let expected = "pages inside the database".to_owned();
            drafts.push(Draft::new(&rules::ALLOCATION_RANGE, at, expected, what).unit(number));
        };
        let mut doubles = Vec::new();
        let mut lost_count = 0;
        for (slot, page) in iam.single_pages() {
            if !self.knows(page.file, at) {
                continue;
            }
            if self.is_cut_off(page) {
                lost_count += 1;
                continue;
            }
            match self
                .files
                .iter_mut()
                .find(|map| map.file == page.file)
                .filter(|map| page.page < map.page_count)
            {
                None => out_of_range(format!("single page {page}")),
                Some(map) => {
                    if let Some(first) = map.singles.insert(page.page, number) {
                        doubles.push((&rules::PAGE_OWNED_TWICE, page, first, Some(slot)));
                    }
                }
            }
        }
        let short = self.short.get(&iam.start.file).copied().unwrap_or_default();
        let Some(map) = self.files.iter_mut().find(|map| map.file == iam.start.file) else {
            out_of_range(format!("an interval from page {}", iam.start));
            self.findings.append(&mut drafts);
            return;
        };
        if !iam.start.page.is_multiple_of(place::MAP_PAGES) {
            out_of_range(format!("an interval from page {}", iam.start));
        } else {
            for extent in iam.extents.extents() {
                let extent = iam.start.page / EXTENT_PAGES + extent;
                let page = PageId { file: map.file, page: extent.saturating_mul(EXTENT_PAGES) };
                match map.owners.slot(extent, &mut self.budget) {
                    None if (short.0..short.1).contains(&page.page) => lost_count += u64::from(EXTENT_PAGES),
                    None => out_of_range(format!("extent {page}")),
                    Some(owner) if *owner == NOT_ALLOCATED => *owner = number,
                    Some(owner) => doubles.push((&rules::EXTENT_OWNED_TWICE, page, *owner, None)),
                }
            }
        }
        self.findings.append(&mut drafts);
        if lost_count > 0 {
            *self.lost.entry(number).or_default() += lost_count;
        }
        for (rule, page, first, slot) in doubles {
            let mut draft = Draft::new(rule, page, "one owner".to_owned(), format!("also in IAM page {at}"));
            draft.also = Some(first);
            draft.slot = slot.map(|slot| slot as u64);
            self.findings.push(draft.unit(number));
        }
    }

    /// What a page is for.
    pub(super) fn use_of(&self, page: PageId) -> Use {
        if let Some(kind) = place::fixed_kind(page.page, page.file == 1) {
            return Use::Fixed(kind);
        }
        if let Some(unit) = self.iam_pages.get(&page) {
            return Use::Iam(*unit);
        }
        let Some(map) = self.files.iter().find(|map| map.file == page.file) else { return Use::Unknown };
        if !map.is_known.get((page.page / place::PFS_PAGES) as usize).copied().unwrap_or(false) {
            return Use::Unknown;
        }
        match (map.byte(page.page).is_allocated(), map.owner(page.page)) {
            (false, _) => Use::Free,
            (true, Some(unit)) => Use::Unit(unit),
            (true, None) => Use::Allocated,
        }
    }

    /// What the PFS says about a page; `None` where it cannot be used.
    pub(super) fn pfs_byte(&self, page: PageId) -> Option<PfsByte> {
        let map =
            self.files.iter().find(|map| map.file == page.file).filter(|map| map.is_known(page.page))?;
        Some(map.byte(page.page))
    }

    /// Compares the maps with each other: the phase that DBCC calls CHECKALLOC.
    pub(super) fn compare(&self) -> Vec<Draft> {
        let mut drafts = Vec::new();
        for map in &self.files {
            map.compare_extents(&mut drafts);
            map.compare_pages(&self.iam_pages, &mut drafts);
        }
        if self.has_lost_iam {
            // Their owners stood in the IAM pages that are past the end.
            drafts.retain(|draft| ![&rules::PAGE_UNOWNED, &rules::EXTENT_LEAKED].contains(&draft.rule));
        }
        drafts
    }

    /// Bytes that the maps take in memory.
    pub(super) fn memory_bytes(&self) -> u64 {
        let of_file = |map: &FileMap| {
            let maps = map.pfs.memory_bytes() + map.gam.memory_bytes() + map.owners.memory_bytes();
            maps + 16 * map.singles.len()
        };
        self.files.iter().map(of_file).sum::<usize>() as u64
    }
}

impl FileMap {
    pub(super) fn byte(&self, page: u32) -> PfsByte {
        self.pfs.get(page).unwrap_or_default()
    }

    fn owner(&self, page: u32) -> Option<u32> {
        let of_extent = self.owners.get(page / EXTENT_PAGES).filter(|owner| *owner != NOT_ALLOCATED);
        of_extent.or_else(|| self.singles.get(&page).copied())
    }

    pub(super) fn is_known(&self, page: u32) -> bool {
        self.is_known.get((page / place::PFS_PAGES) as usize).copied().unwrap_or(false)
    }
}
