//! Files of `pg_xact` and `pg_multixact` that should be there: what was needed once and is absent, short or zero.
//!
//! The files of a log follow each other from the oldest transaction that a table may name to the last that was given
//! out, but a hole is no proof: `pg_resetwal` moves the counter on, and nothing is written for what it skipped. So a page
//! is missed only where something shows that it was written:
//! 1. a row names a transaction of it;
//! 2. the page before it was used to its end, and the counter went on;
//! 3. the counter stands inside it: the server reads it when it starts;
//! 4. the oldest transaction that is needed stands inside it: it was the counter once.
//!
//! A page of zeros is what a crash leaves of 32768 subtransactions; it is missed where a row says that its transaction
//! committed.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

use formats::postgres::control::Control;
use formats::postgres::heap::FIRST_NORMAL_XID;
use formats::postgres::transaction::{
    BLOCKS_PER_SEGMENT, SegmentPosition, member_places, multi_offset_place, precedes, status_place,
};
use formats::postgres::{BLOCK_SIZE_MIN, Xid};
use results::check::Finding;

use crate::cluster::transactions::{Needed, Transactions};
use crate::cluster::truncations::Truncations;
use crate::finding::file_finding;
use crate::rules;

/// Bytes at the end of a page that show whether it was used to its end: 16 transactions, one multixact, one member.
const PAGE_END_BYTES: usize = 4;

/// The segment files of one log.
struct LogFiles<'a> {
    directory: &'static str,
    segments: &'a BTreeMap<u32, Vec<u8>>,
    block_bytes: usize,
}

/// The pages of a log that are needed; each is inside the log, both ends may be the same.
struct Pages {
    first: Option<u32>,
    last: u32,
    /// Whether the counter stands inside the last page, rather than behind it.
    is_last_begun: bool,
    /// Whether the oldest entry stands inside the first page, rather than at its beginning.
    is_first_begun: bool,
}

impl LogFiles<'_> {
    fn page(&self, page: u32) -> Option<&[u8]> {
        let per_segment = BLOCKS_PER_SEGMENT as u32;
        let start = (page % per_segment) as usize * self.block_bytes;
        self.segments.get(&(page / per_segment))?.get(start..start + self.block_bytes)
    }

    fn name(&self, page: u32) -> String {
        format!("{}/{:04X}", self.directory, page / BLOCKS_PER_SEGMENT as u32)
    }

    /// What is wrong with a page: its file, and how it is; `None` if it is there.
    fn absent(&self, page: u32) -> Option<String> {
        let segment = self.segments.get(&(page / BLOCKS_PER_SEGMENT as u32));
        match segment {
            None => Some("no such file".to_owned()),
            Some(bytes) if self.page(page).is_none() => Some(format!("it ends at byte {}", bytes.len())),
            Some(_) => None,
        }
    }

    /// What is missing of a range, one finding for each file.
    fn check(&self, range: &Pages, findings: &mut Vec<Finding>) {
        let mut at = range.first.unwrap_or(range.last);
        let mut named = None;
        // Each turn goes on by a page, and round the circle at its end: bounded by the pages of the log.
        for turn in 0u32.. {
            let before = at.wrapping_sub(1);
            let was_used = turn > 0
                && self
                    .page(before)
                    .is_some_and(|page| page.iter().rev().take(PAGE_END_BYTES).any(|byte| *byte != 0));
            let is_certain = was_used
                || (at == range.last && range.is_last_begun)
                || (Some(at) == range.first && range.is_first_begun);
            let file = at / BLOCKS_PER_SEGMENT as u32;
            if let Some(found) = self.absent(at).filter(|_| is_certain && named != Some(file)) {
                named = Some(file);
                let start = at as usize % BLOCKS_PER_SEGMENT * self.block_bytes;
                let expected = format!("the page at byte {start}, which is in use");
                let name = self.name(at);
                findings.push(file_finding(&rules::TRANSACTION_LOG, &name, Some(&name), expected, found));
            }
            if at == range.last || turn >= self.page_count() {
                return;
            }
            at = if at + 1 == self.page_count() { 0 } else { at + 1 };
        }
    }

    /// Pages until numbers begin anew.
    fn page_count(&self) -> u32 {
        self.page_of(u32::MAX) + 1
    }

    /// Page of an entry.
    fn page_of(&self, number: u32) -> u32 {
        self.place(number).0
    }

    /// Page and place inside it.
    fn place(&self, number: u32) -> (u32, usize) {
        let SegmentPosition { segment, offset_bytes } = match self.directory {
            XACT => status_place(number, self.block_bytes),
            OFFSETS => multi_offset_place(number, self.block_bytes),
            _ => member_places(number, self.block_bytes).0,
        };
        let page = segment * BLOCKS_PER_SEGMENT as u32 + (offset_bytes / self.block_bytes) as u32;
        (page, offset_bytes % self.block_bytes)
    }

    /// The pages from an entry up to but not including another; `None` if there are none.
    fn range(&self, first: Option<u32>, next: u32) -> Option<Pages> {
        let (page, is_last_begun) = (self.page_of(next), !self.is_first_of_page(next));
        let last = match (is_last_begun, page) {
            (true, page) => page,
            (false, 0) => self.page_count() - 1,
            (false, page) => page - 1,
        };
        if first == Some(next) && !is_last_begun {
            return None;
        }
        Some(Pages {
            first: first.map(|first| self.page_of(first)),
            last,
            is_last_begun,
            is_first_begun: first.is_some_and(|first| !self.is_first_of_page(first)),
        })
    }

    /// Whether nothing stands before an entry in its page.
    fn is_first_of_page(&self, number: u32) -> bool {
        let lowest = if self.directory == OFFSETS { 1 } else { FIRST_NORMAL_XID };
        number == 0
            || self.page_of(number - 1) != self.page_of(number)
            // The first numbers of all are never assigned.
            || (self.directory != MEMBERS && number <= lowest)
    }
}

const XACT: &str = "pg_xact";
const OFFSETS: &str = "pg_multixact/offsets";
const MEMBERS: &str = "pg_multixact/members";

impl Transactions {
    fn files<'a>(&'a self, directory: &'static str) -> LogFiles<'a> {
        let segments = match directory {
            XACT => &self.commits,
            OFFSETS => &self.multi_offsets,
            _ => &self.multi_members,
        };
        LogFiles { directory, segments, block_bytes: self.block_bytes.max(BLOCK_SIZE_MIN) }
    }

    /// Finds out from where on the logs are needed, from the oldest transaction and multixact that databases name; later
    /// questions are answered accordingly.
    ///
    /// Problem: VACUUM removes old segments at once, whereas what it froze for that may be in memory alone. Solution: the
    /// log has its record before they are removed, and is read after they were listed.
    pub(crate) fn settle(
        &mut self,
        control: &Control,
        oldest: Option<(Xid, u32)>,
        log: Option<&Truncations>,
    ) {
        let later = |a: u32, b: u32| if precedes(a, b) { b } else { a };
        let Some((xid, multi)) = oldest else { return };
        let mut needed = Needed {
            xid: later(control.oldest_xid, xid),
            multi: later(control.oldest_multi, multi),
            member: None,
        };
        if self.has_horizon() {
            let cut = log.and_then(|log| log.ask(|changes| (changes.oldest_xid, changes.oldest_multi)));
            let Some((xid, multi)) = cut else { return };
            needed.xid = xid.map_or(needed.xid, |cut| later(needed.xid, cut));
            needed.multi = multi.map_or(needed.multi, |(cut, _)| later(needed.multi, cut));
        }
        if precedes(control.next_xid as Xid, needed.xid) || precedes(control.next_multi, needed.multi) {
            return;
        }
        needed.member = if needed.multi == control.next_multi {
            Some(control.next_multi_offset)
        } else {
            self.multi_offset(needed.multi)
        };
        self.needed = Some(needed);
    }

    /// What is missing of the logs, as far as the files tell.
    pub(crate) fn missing_files(&self, control: &Control, findings: &mut Vec<Finding>) {
        let needed = self.needed;
        let counters = [
            (XACT, needed.map(|needed| needed.xid), control.next_xid as u32),
            (OFFSETS, needed.map(|needed| needed.multi), control.next_multi),
            (MEMBERS, needed.and_then(|needed| needed.member), control.next_multi_offset),
        ];
        for (directory, first, next) in counters {
            let files = self.files(directory);
            if let Some(range) = files.range(first, next) {
                files.check(&range, findings);
            }
        }
        if !self.has_horizon() {
            for directory in [XACT, OFFSETS, MEMBERS] {
                self.files(directory).check_lengths(findings);
            }
        }
    }

    /// Why the end of a transaction cannot be looked up that a row names: the file, and how it is.
    pub(crate) fn missing_end(&self, xid: Xid, says_committed: bool) -> Option<(String, String)> {
        self.needed.filter(|needed| !precedes(xid, needed.xid))?;
        if xid < FIRST_NORMAL_XID || !precedes(xid, self.next_xid()) {
            return None;
        }
        let files = self.files(XACT);
        let page = files.page_of(xid);
        let is_zero = says_committed && self.zero_pages.contains(&page) && self.had_ended(xid);
        let found = files.absent(page).or_else(|| is_zero.then(|| "a page of zeros".to_owned()))?;
        Some((files.name(page), found))
    }

    /// The transactions of a file of pg_xact whose pages are zeros, and where those pages begin and end, in bytes. Later ones
    /// than the last that was given out are left out.
    pub(crate) fn zeroed(&self, file: &str) -> Option<(RangeInclusive<Xid>, Range<usize>)> {
        let files = self.files(XACT);
        let needed = self.needed?;
        let per_page = (files.block_bytes * 4) as u32;
        let last_page = files.page_of(self.next_xid().wrapping_sub(1));
        let mut pages: Vec<u32> =
            self.zero_pages.iter().copied().filter(|page| files.name(*page) == file).collect();
        pages.sort_unstable();
        let is_needed = |page: &u32| {
            let first = page * per_page;
            let is_used = !precedes(first.wrapping_add(per_page - 1), needed.xid);
            is_used && (*page == last_page || precedes(first, self.next_xid()))
        };
        pages.retain(is_needed);
        let (first, last) = pages.first().zip(pages.last())?;
        let oldest = (first * per_page).max(FIRST_NORMAL_XID);
        let newest = if *last == last_page {
            self.next_xid().wrapping_sub(1)
        } else {
            last * per_page + (per_page - 1)
        };
        let at = |page: u32| page as usize % BLOCKS_PER_SEGMENT * files.block_bytes;
        Some((oldest..=newest, at(*first)..at(*last) + files.block_bytes))
    }

    /// The same for the members of a multixact that a row names, one of which updated or deleted it.
    pub(crate) fn missing_members(&self, multi: u32) -> Option<(String, String)> {
        self.needed.filter(|needed| !precedes(multi, needed.multi) && precedes(multi, self.next_multi()))?;
        let (offsets, members) = (self.files(OFFSETS), self.files(MEMBERS));
        let page = offsets.page_of(multi);
        if let Some(found) = offsets.absent(page) {
            return Some((offsets.name(page), found));
        }
        let Some(first) = self.multi_offset(multi) else {
            return Some((offsets.name(page), "zeros in its offsets entry".to_owned()));
        };
        let page = members.page_of(first);
        let is_zero = || self.member(first) == Some(0);
        let found =
            members.absent(page).or_else(|| is_zero().then(|| "zeros instead of members".to_owned()))?;
        Some((members.name(page), found))
    }
}

impl LogFiles<'_> {
    /// Files that end inside a page.
    fn check_lengths(&self, findings: &mut Vec<Finding>) {
        for (number, bytes) in self.segments.iter().filter(|(_, bytes)| bytes.len() % self.block_bytes != 0) {
            let name = format!("{}/{number:04X}", self.directory);
            let expected = format!("a multiple of {} bytes", self.block_bytes);
            let found = format!("{} bytes", bytes.len());
            findings.push(file_finding(&rules::TRANSACTION_LOG, &name, Some(&name), expected, found));
        }
    }
}
