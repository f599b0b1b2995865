//! Reads single records and chains of records from the segment files in `pg_wal`.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use formats::postgres::control::Control;
use formats::postgres::wal::{
    LONG_PAGE_HEADER_BYTES, PAGE_HEADER_BYTES, PageIdentity, RECORD_HEADER_BYTES, RecordHeader,
    continues_record, rest_of_record, timeline_of_page,
};

use crate::cluster::Cluster;
use crate::cluster::lsn::Lsn;
use crate::source::part::Part;

/// The longest checkpoint record that is read, bytes; real ones have 114.
const CHECKPOINT_BYTES_MAX: u32 = 1024;
/// Bytes of the first field of a record's header.
// EVIDENCE: src/include/access/xlogrecord.h XLogRecord: uint32 xl_tot_len @0
const LENGTH_BYTES: usize = 4;

/// Why a record could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    /// The segment file.
    pub(crate) segment: String,
    /// Whether no segment file with this number exists.
    pub(crate) is_absent: bool,
    /// What is wrong, with values.
    pub(crate) found: String,
}

/// One record.
#[derive(Clone, Debug)]
pub(crate) struct WalRecord {
    pub(crate) start: u64,
    pub(crate) next: u64,
    pub(crate) header: RecordHeader,
    pub(crate) body: Vec<u8>,
}

/// The segment files of `pg_wal`.
#[derive(Debug)]
pub(crate) struct WalFiles {
    page_bytes: u64,
    segment_bytes: u64,
    timeline: u32,
    /// By number; of each time line one, the wanted time line first.
    segments: BTreeMap<u64, Vec<Part>>,
    identity: PageIdentity,
    page: RefCell<LoadedPage>,
}

/// The page that was read last.
#[derive(Debug, Default)]
struct LoadedPage {
    position: Option<u64>,
    bytes: Vec<u8>,
    /// Position and time line of the last valid page.
    last: (u64, u32),
    /// Faults of the first pages of segment files, by number and file; the server reads them before any other page.
    firsts: HashMap<(u64, usize), Option<String>>,
}

impl WalFiles {
    /// Lists the segment files; `None` if the control file has impossible sizes.
    pub(crate) fn new(cluster: &Cluster, control: &Control, timeline: u32) -> Option<WalFiles> {
        let tree = &cluster.tree;
        let (page_bytes, segment_bytes) =
            (u64::from(control.log_page_bytes), u64::from(control.log_segment_bytes));
        let is_possible = page_bytes.is_power_of_two()
            && (512..=65_536).contains(&page_bytes)
            && segment_bytes.is_power_of_two()
            && segment_bytes > page_bytes;
        if !is_possible {
            return None;
        }
        let mut files = tree.files(Path::new("pg_wal")).unwrap_or_default();
        // The wanted time line first, then the newest.
        files.sort_by_cached_key(|(name, _)| {
            let of_name = name.get(..8).and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or(0);
            (of_name != timeline, std::cmp::Reverse(of_name))
        });
        let mut segments: BTreeMap<u64, Vec<Part>> = BTreeMap::new();
        for (name, part) in files {
            if let Some(number) = segment_number(&name, segment_bytes) {
                segments.entry(number).or_default().push(part);
            }
        }
        let identity = PageIdentity {
            major: cluster.major,
            system_identifier: control.system_identifier,
            segment_bytes: control.log_segment_bytes,
            page_bytes: control.log_page_bytes,
        };
        let page = LoadedPage { bytes: vec![0; page_bytes as usize], ..LoadedPage::default() };
        Some(WalFiles { page_bytes, segment_bytes, timeline, segments, identity, page: RefCell::new(page) })
    }

    /// Whether there is no segment file at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Segments that hold positions from one up to another and have no file.
    pub(crate) fn absent(&self, from: u64, until: u64) -> Vec<String> {
        let last = until.max(from) / self.segment_bytes;
        // A range of more segments than this is no range of one recovery.
        let numbers = (from / self.segment_bytes..=last).take(SEGMENTS_MAX);
        numbers
            .filter(|number| !self.segments.contains_key(number))
            .map(|number| self.name(number * self.segment_bytes))
            .collect()
    }

    /// The name of the segment file that holds a position.
    // EVIDENCE: xlog_internal.h XLogFileName: time line, number / segments per 4 GiB, number % them, eight digits each
    pub(crate) fn name(&self, lsn: u64) -> String {
        let (number, per_id) = (lsn / self.segment_bytes, (1 << 32) / self.segment_bytes);
        format!("pg_wal/{:08X}{:08X}{:08X}", self.timeline, number / per_id, number % per_id)
    }

    /// Reads the first page of each segment from one position up to another.
    pub(crate) fn segment_starts(&self, from: u64, until: u64) -> Result<(), (u64, Gap)> {
        let numbers = (from / self.segment_bytes..=until.max(from) / self.segment_bytes).take(SEGMENTS_MAX);
        for position in numbers.map(|number| number * self.segment_bytes) {
            self.load(position).map_err(|gap| (position, gap))?;
        }
        Ok(())
    }

    /// Reads the checkpoint record at a position and compares its redo position; nothing else may stand there.
    pub(crate) fn checkpoint(&self, lsn: u64, redo_lsn: u64) -> Result<(), Gap> {
        let (start, header, head, at) = self.header(lsn)?;
        let gap = |found: String| Gap { segment: self.name(lsn), is_absent: false, found };
        let is_of_checkpoint = header.manager == 0
            && matches!(header.info & 0xF0, 0x00 | 0x10)
            && header.bytes <= CHECKPOINT_BYTES_MAX;
        if !is_of_checkpoint {
            let (manager, info) = (header.manager, header.info);
            return Err(gap(format!("resource manager {manager}, info {info:#04x}, {} bytes", header.bytes)));
        }
        let record = self.body(start, header, &head, at)?;
        match record.header.checkpoint_redo(&record.body) {
            Some(redo) if redo == redo_lsn => Ok(()),
            Some(redo) => Err(gap(format!("a checkpoint record with redo point {}", Lsn(redo)))),
            None => Err(gap("an unreadable checkpoint record".to_owned())),
        }
    }

    /// Reads all records from a position up to another: each must be whole and name the one before.
    ///
    /// Gives the position of the record that could not be read.
    pub(crate) fn walk(
        &self,
        from: u64,
        until: u64,
        mut take: impl FnMut(&WalRecord) -> bool,
    ) -> Result<(), (u64, Gap)> {
        let (mut at, mut previous) = (from, 0);
        // Each turn reads a record, and positions ascend: bounded by the bytes of the WAL.
        while at < until {
            let record = match self.record(at) {
                Ok(record) => record,
                Err(gap) => match self.overwritten(at) {
                    Some(next) => {
                        at = next;
                        continue;
                    }
                    None => return Err((at, gap)),
                },
            };
            if previous != 0 && record.header.previous != previous {
                let found =
                    format!("a record that follows {}, not {}", Lsn(record.header.previous), Lsn(previous));
                return Err((at, Gap { segment: self.name(at), is_absent: false, found }));
            }
            if !take(&record) {
                return Ok(());
            }
            (previous, at) = (record.start, record.next);
        }
        Ok(())
    }

    fn record(&self, lsn: u64) -> Result<WalRecord, Gap> {
        let (start, header, head, at) = self.header(lsn)?;
        self.body(start, header, &head, at)
    }

    /// The header of a record: its start, its bytes, and where its body begins.
    fn header(&self, lsn: u64) -> Result<(u64, RecordHeader, [u8; RECORD_HEADER_BYTES], u64), Gap> {
        let start = lsn + self.header_bytes(lsn);
        let mut at = lsn;
        let mut head = [0; RECORD_HEADER_BYTES];
        // Records are aligned: the length is in one page, also where the rest of the header is in the next.
        let (length, others) = head.split_at_mut(LENGTH_BYTES);
        self.payload(lsn, &mut at, length, None)?;
        let length = length.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        self.payload(lsn, &mut at, others, Some(length.saturating_sub(LENGTH_BYTES as u64)))?;
        // EVIDENCE: xlogreader.c XLogDecodeNextRecord: "contrecord is requested by"
        let page_start = start - start % self.page_bytes;
        let is_first = start == page_start + self.header_bytes(page_start);
        if is_first && continues_record(&self.page.borrow().bytes) {
            let found = format!("a page that continues a record instead of a new record, at {}", Lsn(start));
            return Err(Gap { segment: self.name(start), is_absent: false, found });
        }
        let header = RecordHeader::read(&head).ok_or_else(|| {
            let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
            let found = format!("an invalid record length of {length} bytes");
            Gap { segment: self.name(lsn), is_absent: false, found }
        })?;
        Ok((start, header, head, at))
    }

    fn body(
        &self,
        start: u64,
        header: RecordHeader,
        head: &[u8; RECORD_HEADER_BYTES],
        mut at: u64,
    ) -> Result<WalRecord, Gap> {
        let mut rest = u64::from(header.bytes) - RECORD_HEADER_BYTES as u64;
        let mut body = Vec::new();
        // By pages, so that a wrong length takes no memory: the WAL ends before it does.
        while rest > 0 {
            let step = rest.min(self.page_bytes) as usize;
            let from = body.len();
            body.resize(from + step, 0);
            let left = u64::from(header.bytes) - RECORD_HEADER_BYTES as u64 - from as u64;
            self.payload(start, &mut at, body.get_mut(from..).unwrap_or_default(), Some(left))?;
            rest -= step as u64;
        }
        if !header.is_whole(head, &body) {
            let found = format!("a record of {} bytes with a wrong CRC", header.bytes);
            return Err(Gap { segment: self.name(start), is_absent: false, found });
        }
        if header.is_switch() && !at.is_multiple_of(self.segment_bytes) {
            at = (at / self.segment_bytes + 1) * self.segment_bytes;
        }
        Ok(WalRecord { start, next: at.next_multiple_of(8), header, body })
    }

    /// Where the WAL goes on behind a record that a crash left unfinished and the server wrote over.
    // EVIDENCE: xlog_internal.h XLP_FIRST_IS_OVERWRITE_CONTRECORD 0x0008 in xlp_info of the next page
    fn overwritten(&self, lsn: u64) -> Option<u64> {
        let next = (lsn / self.page_bytes + 1) * self.page_bytes;
        self.load(next).ok()?;
        let page = self.page.borrow();
        let info = u16::from_le_bytes([*page.bytes.get(2)?, *page.bytes.get(3)?]);
        (info & 8 != 0).then_some(next)
    }

    /// Bytes of the page header at a position; 0 inside a page.
    fn header_bytes(&self, at: u64) -> u64 {
        match (at % self.segment_bytes, at % self.page_bytes) {
            (0, _) => LONG_PAGE_HEADER_BYTES,
            (_, 0) => PAGE_HEADER_BYTES,
            _ => 0,
        }
    }

    /// Reads bytes of a record that began at `start`; `left`: bytes of the record from here on, where they are known.
    // EVIDENCE: xlogreader.c XLogDecodeNextRecord: "there is no contrecord flag", "invalid contrecord length"
    fn payload(&self, start: u64, at: &mut u64, into: &mut [u8], left: Option<u64>) -> Result<(), Gap> {
        let mut done = 0;
        // Each turn ends a page or the buffer.
        while done < into.len() {
            let page_start = *at - *at % self.page_bytes;
            *at += self.header_bytes(*at);
            self.load(page_start)?;
            let page = self.page.borrow();
            let gap = |found: String| Gap { segment: self.name(page_start), is_absent: false, found };
            if page_start > start && !continues_record(&page.bytes) {
                return Err(gap(format!("a page at {} that does not continue the record", Lsn(page_start))));
            }
            let offset = (*at % self.page_bytes) as usize;
            let is_begun = page_start > start && offset as u64 == self.header_bytes(page_start);
            let rest = rest_of_record(&page.bytes);
            if let Some(left) = left.map(|left| left.saturating_sub(done as u64))
                && is_begun
                && u64::from(rest) != left
            {
                let place = Lsn(page_start);
                return Err(gap(format!("a page at {place} that continues {rest} bytes of {left} left")));
            }
            let step = (into.len() - done).min(self.page_bytes as usize - offset);
            if let (Some(to), Some(from)) =
                (into.get_mut(done..done + step), page.bytes.get(offset..offset + step))
            {
                to.copy_from_slice(from);
            }
            *at += step as u64;
            done += step;
        }
        Ok(())
    }

    /// Reads a page, and before it the first page of its segment, as recovery does.
    fn load(&self, position: u64) -> Result<(), Gap> {
        let mut page = self.page.borrow_mut();
        if page.position == Some(position) {
            return Ok(());
        }
        page.position = None;
        let gap = |is_absent: bool, found: String| Gap { segment: self.name(position), is_absent, found };
        let (number, offset) = (position / self.segment_bytes, position % self.segment_bytes);
        let Some(parts) = self.segments.get(&number) else {
            return Err(gap(true, "no such file".to_owned()));
        };
        let mut found = String::new();
        for (at, part) in parts.iter().enumerate() {
            if let Some(fault) = self.fault_of_first(&mut page, (number, at), part) {
                found = format!("the header of the segment's first page is not valid: {fault}");
                continue;
            }
            if part.read_exact_at(&mut page.bytes, offset).is_err() {
                found = format!("the file has {} bytes, the page begins at byte {offset}", part.bytes);
                continue;
            }
            let (before, timeline) = (page.last, timeline_of_page(&page.bytes));
            // EVIDENCE: xlogreader.c: "out-of-sequence timeline ID"
            let is_earlier = position > before.0 && timeline < before.1;
            let of_time = is_earlier
                .then(|| format!("timeline {timeline} after timeline {} at {}", before.1, Lsn(before.0)));
            match self.identity.fault(&page.bytes, position).or(of_time) {
                None => {
                    page.position = Some(position);
                    page.last = (position, timeline);
                    return Ok(());
                }
                Some(fault) => {
                    found = format!("no valid WAL page of LSN {} at byte {offset}: {fault}", Lsn(position));
                }
            }
        }
        Err(gap(false, found))
    }

    /// What is wrong with the header of a segment file's first page.
    // EVIDENCE: xlogreader.c ReadPageInternal: the first page of a segment is validated before another one of it
    fn fault_of_first(&self, page: &mut LoadedPage, file: (u64, usize), part: &Part) -> Option<String> {
        let LoadedPage { firsts, bytes, .. } = page;
        let first = || match part.read_exact_at(bytes, 0) {
            Ok(()) => self.identity.fault(bytes, file.0 * self.segment_bytes),
            Err(_) => Some(format!("the file has {} bytes", part.bytes)),
        };
        firsts.entry(file).or_insert_with(first).clone()
    }
}

/// More segments than any WAL of one recovery has.
const SEGMENTS_MAX: usize = 1 << 20;

fn segment_number(name: &str, segment_bytes: u64) -> Option<u64> {
    let digits = |from: usize| u64::from_str_radix(name.get(from..from + 8)?, 16).ok();
    digits(0).filter(|_| name.len() == 24)?;
    Some(digits(8)? * ((1 << 32) / segment_bytes) + digits(16)?)
}
