//! What is missing: the ends of files, files, stripes, extents; as findings where it must be there, else as reasons why
//! the check is not complete.

use std::collections::{BTreeSet, HashMap};

use formats::sqlserver::{Boot, EXTENT_PAGES, ExtentMap, PAGE_BYTES, PageId, PageKind, SetKind, place};

use crate::finding::Draft;
use crate::rules;
use crate::source::Source;
use crate::whole::length::{CatalogFile, catalog_files, rule};

/// Missing extents that a finding names.
const EXTENTS_NAMED_MAX: usize = 4;

/// What was found out about the whole.
#[derive(Default)]
pub(crate) struct Whole {
    /// Breaches that files or their maps prove; the file that each is about.
    pub(crate) drafts: Vec<(String, Draft)>,
    /// Data files that are too short: their length and the length that they should have at least, in pages.
    pub(crate) short: HashMap<u16, (u32, u32)>,
    /// Why the check cannot be complete, and no finding: what is here is legitimate, but not the whole database.
    pub(crate) reasons: Vec<String>,
    /// Whether pages of the files at hand are missing by design, so that nothing between pages can be proven.
    pub(crate) is_partial: bool,
    /// Pages that are missing, as far as they can be counted.
    pub(crate) missing_page_count: u64,
    /// The data files that the catalog has; empty where it could not be read.
    pub(crate) files: Vec<CatalogFile>,
}

/// Finds out what is missing. Cost: a few pages of each file; of a backup its GAM pages.
pub(crate) fn look(source: &Source, boot: Option<&Boot>) -> Whole {
    let mut whole =
        Whole { files: boot.map_or_else(Vec::new, |boot| catalog_files(source, boot)), ..Whole::default() };
    if source.is_backup {
        whole.look_at_streams(source);
        whole.look_at_stripes(source);
        whole.look_at_extents(source);
    } else {
        whole.look_at_lengths(source);
    }
    whole.look_at_files(source);
    whole
}

impl Whole {
    /// Data files against the lengths that they, their maps and the catalog state.
    fn look_at_lengths(&mut self, source: &Source) {
        for (index, file) in source.files.iter().enumerate() {
            let Some(number) = source.number_of(index) else { continue };
            let mut push = |expected: String, found: String| {
                let draft = Draft::of_database(&rules::FILE_SIZE, expected, found);
                self.drafts.push((file.shown.clone(), draft));
            };
            // A file that is being written may have grown since it was opened: its length now is what counts.
            let bytes = source.length_now(index).unwrap_or(file.bytes).max(file.bytes);
            if !bytes.is_multiple_of(PAGE_BYTES as u64) {
                push(format!("a multiple of {PAGE_BYTES} bytes"), format!("{bytes} bytes"));
            }
            let page_count = u32::try_from(bytes / PAGE_BYTES as u64).unwrap_or(u32::MAX);
            let Some(length) = rule(source, number, page_count, &self.files) else { continue };
            let missing = length.page_count - page_count;
            push(
                format!("at least {} pages: {}", length.page_count, length.said_by),
                format!("{page_count} pages ({bytes} bytes): the last {missing} are missing"),
            );
            self.short.insert(number, (page_count, length.page_count));
            self.missing_page_count += u64::from(missing);
        }
    }

    /// Blocks and streams of the files of a backup.
    fn look_at_streams(&mut self, source: &Source) {
        for (index, (file, layout)) in source.files.iter().zip(&source.layouts).enumerate() {
            let is_growing = source.length_now(index).is_some_and(|bytes| bytes != file.bytes);
            if is_growing {
                self.reasons.push(format!("the length of \"{}\" changed during the check", file.shown));
            } else if let Some(broken) = &layout.broken {
                let draft =
                    Draft::of_database(&rules::BACKUP_STREAM, broken.expected.clone(), broken.found.clone());
                self.drafts.push((file.shown.clone(), draft));
                self.is_partial = true;
            }
            if let Some(offset) = layout.trailing {
                self.reasons.push(format!("no valid block at byte {offset} of \"{}\"", file.shown));
            }
            let chosen = layout.chosen();
            if let Some(offset) = chosen.and_then(|set| layout.sets.get(set)?.encoded) {
                self.reasons.push(format!(
                    "the stream at byte {offset} of \"{}\" is compressed or encrypted",
                    file.shown
                ));
            }
            match chosen {
                None if layout.broken.is_none() => self.reasons.push(format!(
                    "\"{}\" has no data pages: a transaction log backup, or the last stripe of a small backup",
                    file.shown
                )),
                Some(chosen) if layout.sets.len() > 1 => self.reasons.push(format!(
                    "\"{}\" has {} backup sets, only set {} is checked",
                    file.shown,
                    layout.sets.len(),
                    chosen + 1
                )),
                _ => {}
            }
        }
    }

    /// The stripes at hand against those of the media set.
    fn look_at_stripes(&mut self, source: &Source) {
        let media: Vec<_> = source.layouts.iter().filter_map(|layout| layout.media).collect();
        let Some(count) = media.iter().map(|media| media.stripe_count).max().filter(|count| *count > 1)
        else {
            return;
        };
        let at_hand: BTreeSet<u16> = media.iter().map(|media| media.stripe).collect();
        let missing: Vec<String> =
            (1..=count).filter(|stripe| !at_hand.contains(stripe)).map(|stripe| stripe.to_string()).collect();
        if !missing.is_empty() {
            self.is_partial = true;
            self.reasons.push(format!(
                "the backup has {count} stripes, and stripe {} is missing: give all of its stripes",
                missing.join(", ")
            ));
        }
    }

    /// The extents of a backup against those that its GAM pages call allocated.
    fn look_at_extents(&mut self, source: &Source) {
        let kinds = source.layouts.iter().filter_map(|layout| layout.sets.get(layout.chosen()?));
        let kinds: Vec<SetKind> = kinds.map(|set| set.kind).collect();
        if kinds.contains(&SetKind::Differential) {
            self.is_partial = true;
            self.reasons.push(
                "it is a differential backup (only extents changed since its full backup): restore both, and check the database".to_owned(),
            );
        }
        if self.is_partial {
            return;
        }
        for (file, page_count) in source.database_files() {
            let missing = missing_extents(source, file, page_count);
            let Some(first) = missing.first().copied() else { continue };
            self.is_partial = true;
            self.missing_page_count += missing.len() as u64 * u64::from(EXTENT_PAGES);
            if kinds.iter().any(|kind| *kind != SetKind::Full)
                || is_differential_by_extents(source, file, page_count)
            {
                self.reasons.push(format!(
                    "the backup has not all extents of file {file}: {} allocated ones are missing, the first at page {file}:{first}",
                    missing.len()
                ));
                continue;
            }
            let named: Vec<String> =
                missing.iter().take(EXTENTS_NAMED_MAX).map(|page| format!("{file}:{page}")).collect();
            let more = if missing.len() > EXTENTS_NAMED_MAX { ", ..." } else { "" };
            let boot =
                if file == 1 && missing.contains(&8) { "; the boot page 1:9 is among them" } else { "" };
            let expected =
                format!("all extents of file {file} that its GAM marks allocated, as in a full backup");
            let found = format!(
                "{} extents are missing, those of pages {}{more}{boot}",
                missing.len(),
                named.join(", ")
            );
            let shown = source.files.first().map(|file| file.shown.clone()).unwrap_or_default();
            self.drafts.push((shown, Draft::of_database(&rules::BACKUP_EXTENT, expected, found)));
        }
    }

    /// The data files at hand against those that the database has.
    fn look_at_files(&mut self, source: &Source) {
        let at_hand: Vec<u16> = source.database_files().iter().map(|(file, _)| *file).collect();
        let in_backup = if source.is_backup { "in the backup" } else { "among the given files" };
        if !at_hand.is_empty() && !at_hand.contains(&1) && !self.is_partial {
            let own: Vec<String> = at_hand.iter().map(u16::to_string).collect();
            self.reasons.push(format!(
                "file 1, the primary data file of the database, is not {in_backup}, only file {}",
                own.join(", ")
            ));
        }
        for file in self.files.iter().filter(|file| !at_hand.contains(&file.number)) {
            self.missing_page_count += u64::from(file.page_count);
        }
    }
}

/// The first pages of the extents of a file that its GAM pages call allocated and that are not in the backup.
fn missing_extents(source: &Source, file: u16, page_count: u32) -> Vec<u32> {
    let mut missing = Vec::new();
    for start in (0..page_count).step_by(place::MAP_PAGES as usize) {
        let gam = PageId { file, page: place::map_of(start, 2) };
        let Ok(page) = source.read(gam) else {
            missing.push(gam.page / EXTENT_PAGES * EXTENT_PAGES);
            continue;
        };
        // A damaged one proves nothing; the pass reports it.
        let Some(bits) = crate::whole::length::is_sound(source, gam, PageKind::Gam)
            .then(|| ExtentMap::new(&page[..], PageKind::Gam).ok())
            .flatten()
        else {
            continue;
        };
        for extent in (0..place::MAP_PAGES / EXTENT_PAGES).filter(|extent| !bits.is_set(*extent)) {
            let Some(first) = start.checked_add(extent * EXTENT_PAGES) else { break };
            if !source.has(PageId { file, page: first }) {
                missing.push(first);
            }
        }
    }
    missing
}

/// Whether the extents at hand are exactly those that the differential map names, beside the first one.
fn is_differential_by_extents(source: &Source, file: u16, page_count: u32) -> bool {
    for start in (0..page_count).step_by(place::MAP_PAGES as usize) {
        let map = PageId { file, page: place::map_of(start, 6) };
        let Ok(page) = source.read(map) else { return false };
        let Ok(bits) = ExtentMap::new(&page[..], PageKind::DifferentialMap) else { return false };
        let extents = (page_count - start).min(place::MAP_PAGES) / EXTENT_PAGES;
        let is_alike = |extent: &u32| {
            // It lies below the count of pages.
            let first = start + extent * EXTENT_PAGES;
            *extent == 0 || source.has(PageId { file, page: first }) == bits.is_set(*extent)
        };
        if !(0..extents).all(|extent| is_alike(&extent)) {
            return false;
        }
    }
    true
}
