//! The log read with `pg_waldump`, which comes with the server, where the server has no `pg_walinspect`.
//!
//! It reads the files of the log, so it must be of the server's own major version and the files on this machine.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use lab::child::{self, LastSignal};

use super::statistics::{LOG_READ_BYTES_MAX, RecordTotals, Span, WalStatistics, lsn};
use crate::server::discovery::{self, ServerBinaries};

/// Name of the program.
const PROGRAM: &str = "pg_waldump";

/// Head of a page of the log.
// EVIDENCE: postgres xlog_internal.h XLogPageHeaderData, SizeOfXLogShortPHD
const PAGE_HEAD_BYTES: u64 = 24;

/// Head of the first page of a segment.
// EVIDENCE: postgres xlog_internal.h XLogLongPageHeaderData, SizeOfXLogLongPHD
const SEGMENT_HEAD_BYTES: u64 = 40;

/// Records begin at multiples of this.
// EVIDENCE: postgres xloginsert.c, records are aligned by MAXALIGN
const ALIGNMENT_BYTES: u64 = 8;

/// Lines that are read at most: the shortest record has 24 bytes.
const LINES_MAX: usize = LOG_READ_BYTES_MAX as usize / 24;

/// Bytes of what the program says on its standard error that are quoted.
const WORDS_MAX: u64 = 2000;

/// Where the files of the log are, and whose they are.
#[derive(Clone, Debug)]
pub(crate) struct LogFiles {
    /// `pg_wal`.
    pub(crate) directory: PathBuf,
    /// The server that writes them.
    pub(crate) server: ServerBinaries,
}

/// The program beside the server's binaries, else on `PATH`, of the server's major version.
///
/// # Errors
/// None is there: says where was looked and what was found.
pub(crate) fn find(server: &ServerBinaries, path: &[PathBuf]) -> Result<PathBuf, String> {
    let mut others = Vec::new();
    for place in std::iter::once(&server.bin_dir).chain(path) {
        let program = place.join(PROGRAM);
        if !program.is_file() {
            continue;
        }
        match discovery::version_of(&program) {
            Ok((major, _)) if major == server.major => return Ok(program),
            Ok((_, version)) => others.push(format!("{version} in \"{}\"", place.display())),
            Err(reason) => others.push(format!("\"{}\": {reason}", program.display())),
        }
    }
    let found = if others.is_empty() { String::new() } else { format!(" (there is {})", others.join(", ")) };
    Err(format!("no {PROGRAM} of version {} is beside the server's binaries or on PATH{found}", server.major))
}

/// Reads the records of a span of the log.
///
/// # Errors
/// The program does not start or ends with an error.
pub(crate) fn read(program: &Path, directory: &Path, span: &Span) -> Result<WalStatistics, String> {
    let mut child = child::command(program, LastSignal::Kill)
        .arg(format!("--path={}", directory.display()))
        .arg(format!("--timeline={}", span.timeline))
        .arg(format!("--start={}", lsn(span.from)))
        .arg(format!("--end={}", lsn(span.to)))
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("could not start \"{}\": {error}", program.display()))?;
    let statistics = child.stdout.take().map(|output| add_up(BufReader::new(output), span));
    // It says a line or two, which fit into the pipe.
    let mut words = String::new();
    if let Some(errors) = child.stderr.take() {
        let _ = errors.take(WORDS_MAX).read_to_string(&mut words);
    }
    let status = child.wait().map_err(|error| format!("could not wait for {PROGRAM}: {error}"))?;
    match statistics {
        Some(statistics) if status.success() => Ok(statistics),
        _ => Err(format!("{PROGRAM} ended with {status}: {}", words.trim())),
    }
}

/// Adds up the lines of the program's output; lines that are no record are passed over.
fn add_up(lines: impl BufRead, span: &Span) -> WalStatistics {
    let mut statistics = WalStatistics::default();
    let mut kinds: BTreeMap<String, RecordTotals> = BTreeMap::new();
    let mut flushed_to = span.from;
    for record in lines.lines().take(LINES_MAX).map_while(Result::ok).filter_map(|line| parse(&line)) {
        let kind = kinds.entry(record.kind).or_default();
        kind.records += 1;
        kind.bytes += record.length;
        if !record.has_transaction {
            continue;
        }
        statistics.records += 1;
        statistics.record_bytes += record.length;
        if record.is_commit {
            let end = end_of_record(record.at, record.length, span);
            statistics.transactions += 1;
            let pages = end.div_ceil(span.page_bytes).saturating_sub(flushed_to / span.page_bytes);
            statistics.pages += pages;
            statistics.padding_bytes +=
                (pages * span.page_bytes).saturating_sub(end.saturating_sub(flushed_to));
            flushed_to = end;
        }
    }
    statistics.kinds = kinds.into_iter().collect();
    statistics
}

/// One record as the program prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct WalRecord {
    /// `Heap/INSERT`, as `pg_walinspect` writes it.
    kind: String,
    is_commit: bool,
    has_transaction: bool,
    at: u64,
    /// With the images of whole pages.
    length: u64,
}

/// `rmgr: Heap        len (rec/tot):     59/    59, tx:        731, lsn: 0/014FA8E0, prev 0/014FA8A8, desc: INSERT off 3`.
fn parse(line: &str) -> Option<WalRecord> {
    let (manager, rest) = line.strip_prefix("rmgr: ")?.split_once("len (rec/tot):")?;
    let (lengths, rest) = rest.split_once(", tx:")?;
    let (transaction, rest) = rest.split_once(", lsn: ")?;
    let (position, rest) = rest.split_once(", prev ")?;
    let (_, description) = rest.split_once(", desc: ")?;
    let (high, low) = position.trim().split_once('/')?;
    let high = u64::from(u32::from_str_radix(high, 16).ok()?);
    let low = u64::from(u32::from_str_radix(low, 16).ok()?);
    let name = description.split_whitespace().next()?;
    let manager = manager.trim();
    Some(WalRecord {
        kind: format!("{manager}/{name}"),
        is_commit: manager == "Transaction" && name.starts_with("COMMIT"),
        has_transaction: transaction.trim() != "0",
        at: (high << 32) | low,
        length: u64::from(lengths.split_once('/')?.1.trim().parse::<u32>().ok()?),
    })
}

/// Where a record ends: it goes on behind the head of each page that it runs into.
fn end_of_record(start: u64, length: u64, span: &Span) -> u64 {
    let mut left = length.next_multiple_of(ALIGNMENT_BYTES);
    let mut at = start;
    loop {
        let room = span.page_bytes - at % span.page_bytes;
        if left <= room {
            return at + left;
        }
        left -= room;
        at += room;
        at += if at.is_multiple_of(span.segment_bytes) { SEGMENT_HEAD_BYTES } else { PAGE_HEAD_BYTES };
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn span(from: u64) -> Span {
        Span { from, to: from + 100_000, timeline: 1, page_bytes: 8192, segment_bytes: 16 << 20 }
    }

    #[test]
    fn a_line_of_the_program_is_a_record() {
        let line = "rmgr: Heap        len (rec/tot):     54/  4150, tx:        731, lsn: 2/014FA8E0, prev 2/014FA8A8, desc: INSERT+INIT off 3 flags 0x00, blkref #0: rel 1663/5/1249 blk 5 FPW";
        let record = parse(line).unwrap();
        let expected = WalRecord {
            kind: "Heap/INSERT+INIT".to_owned(),
            is_commit: false,
            has_transaction: true,
            at: 0x2_014F_A8E0,
            length: 4150,
        };
        assert_eq!(record, expected);
        let commit = "rmgr: Transaction len (rec/tot):     34/    34, tx:        731, lsn: 0/014FA918, prev 0/014FA8E0, desc: COMMIT 2026-11-20 16:00:00.000000 UTC";
        assert!(parse(commit).unwrap().is_commit);
        let standby = "rmgr: Standby     len (rec/tot):     50/    50, tx:          0, lsn: 0/014FA940, prev 0/014FA918, desc: RUNNING_XACTS nextXid 732 latestCompletedXid 731 oldestRunningXid 732";
        assert!(!parse(standby).unwrap().has_transaction);
        for text in
            ["", "rmgr: Heap", "first record is after 0/1000028, at 0/1000060, skipping over 56 bytes"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_record_that_runs_into_further_pages_ends_behind_their_heads() {
        let end = |start, length| end_of_record(start, length, &span(0));
        assert_eq!(end(8192 + 24, 54), 8192 + 24 + 56);
        assert_eq!(end(8192 + 8136, 54), 16384, "to the last byte of its page");
        assert_eq!(end(8192 + 8128, 104), 16384 + 24 + 40);
        assert_eq!(end(8192 + 8128, 64 + 8168 + 8), 3 * 8192 + 24 + 8, "over a whole page");
        assert_eq!(end((16 << 20) - 64, 104), (16 << 20) + 40 + 40, "into a new segment");
    }

    #[test]
    fn the_program_of_another_version_is_told_and_not_used() {
        let scratch = tempfile::tempdir().unwrap();
        let make = |name: &str, version: &str| {
            let place = scratch.path().join(name);
            std::fs::create_dir(&place).unwrap();
            let program = place.join(PROGRAM);
            std::fs::write(&program, format!("#!/bin/sh\necho 'pg_waldump (PostgreSQL) {version}'\n"))
                .unwrap();
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
            place
        };
        let (other, same) = (make("other", "15.18"), make("same", "14.2"));
        let server =
            ServerBinaries { bin_dir: scratch.path().to_path_buf(), major: 14, version: "14.24".to_owned() };
        assert_eq!(find(&server, &[other.clone(), same.clone()]).unwrap(), same.join(PROGRAM));
        let refused = find(&server, &[other]).unwrap_err();
        assert!(refused.contains("no pg_waldump of version 14") && refused.contains("15.18"), "{refused}");
        assert!(!find(&server, &[]).unwrap_err().contains("there is"));
    }
}
