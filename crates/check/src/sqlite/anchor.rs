//! What everything else rests on: the header, the log, and that nobody writes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use formats::sqlite::{
    CHECKSUM_SIZE_BYTES, Damage, FRAME_HEADER_SIZE_BYTES, FrameHeader, Geometry, HEADER_SIZE_BYTES, Header,
    WAL_HEADER_SIZE_BYTES, WalHeader, has_right_checksum,
};
use rustix::process::{Flock, FlockOffsetType, FlockType, fcntl_getlk};

use super::reader::{Brake, LogPages, PageReader};

/// First byte of the locks on the database file: pending, reserved, then 510 shared bytes.
// EVIDENCE: sqlite os.h, PENDING_BYTE and SHARED_SIZE; fileformat2 1.4
const LOCK_START: u64 = 1 << 30;
const LOCK_BYTES: u64 = 512;
/// First byte of the locks on the shared-memory file that exclude others: writer, checkpointer, recovery.
// EVIDENCE: sqlite walformat 2.3, "WAL Locks"
const LOG_LOCK_START: u64 = 120;
const LOG_LOCK_BYTES: u64 = 3;
/// The first bytes of a rollback journal that SQLite would play back.
// EVIDENCE: sqlite fileformat2 3, "The Rollback Journal"
const JOURNAL_MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// A database file that can be checked.
#[derive(Debug)]
pub(super) struct Anchor {
    pub(super) path: PathBuf,
    pub(super) header: Header,
    /// What is wrong in the header.
    pub(super) header_damage: Vec<Damage>,
    /// `None` when the header cannot be used; then pages are judged one by one.
    pub(super) geometry: Option<Geometry>,
    /// Pages of the database.
    pub(super) page_count: u32,
    /// Pages as the header or the log says; other than `page_count` only when the file cannot have had so many.
    pub(super) claimed_page_count: u32,
    /// Bytes of the database file, without the log.
    pub(super) file_bytes: u64,
    pub(super) log: Option<LogFacts>,
    pub(super) reader: PageReader,
}

/// What the log holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LogFacts {
    /// Frames up to the last commit.
    pub(super) committed_count: u64,
    /// The first frame that does not continue the log though a later one of the same generation commits.
    pub(super) break_at: Option<u64>,
    /// The two numbers of the log's generation.
    pub(super) salt: (u32, u32),
}

/// Why a database cannot be checked now.
#[derive(Debug, thiserror::Error)]
pub(super) enum AnchorError {
    #[error("could not read \"{}\": {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot check \"{}\": it is not a regular file", path.display())]
    Kind { path: PathBuf },
    #[error(
        "cannot check \"{}\" now: process {pid} is writing it; try again when it is idle, or check a copy made with VACUUM INTO",
        path.display()
    )]
    Writer { path: PathBuf, pid: i32 },
    #[error(
        "cannot check \"{}\": the journal \"{}\" holds a transaction that was cut short; open the database once with SQLite, which rolls it back",
        path.display(), journal.display()
    )]
    Journal { path: PathBuf, journal: PathBuf },
}

impl Anchor {
    /// Opens a database file and its log for reading.
    pub(super) fn new(path: &Path) -> Result<Self, AnchorError> {
        Self::limited(path, Brake::none())
    }

    /// Likewise; the log, and single pages afterwards, are read no faster than the brake allows.
    pub(super) fn limited(path: &Path, brake: Brake) -> Result<Self, AnchorError> {
        let failed = |source| AnchorError::Read { path: path.to_owned(), source };
        // Not opened before that is known: a pipe would be waited for.
        if !std::fs::metadata(path).map_err(failed)?.is_file() {
            return Err(AnchorError::Kind { path: path.to_owned() });
        }
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        // EVIDENCE: sqlite os_unix.c unixFullPathname: links are followed before "-wal" and the like are appended.
        let place = std::fs::canonicalize(path).map_err(failed)?;
        refuse_writer(&place, &file)?;
        refuse_journal(&place)?;
        let file_bytes = metadata.len();
        let mut page_one = vec![0; HEADER_SIZE_BYTES];
        let read = read_start(&file, &mut page_one).map_err(failed)?;
        page_one.truncate(read);
        let mut header_damage = Vec::new();
        let mut header = Header::new(&page_one, |damage| header_damage.push(damage));
        let mut reader = PageReader {
            file,
            page_size_bytes: header.page_size_bytes as usize,
            log: None,
            read_count: AtomicU64::new(0),
            brake,
        };
        let mut log = None;
        let mut log_page_count = None;
        if let Some(read) = read_log(&place, &header, &reader.brake)? {
            log = Some(read.facts);
            log_page_count = read.page_count;
            reader.log = read.page_count.map(|_| read.pages);
            let mut newest = Vec::new();
            if reader.pages_in_log(1, 2).next().is_some() && reader.read(1, &mut newest).is_ok() {
                header_damage.clear();
                header = Header::new(&newest, |damage| header_damage.push(damage));
            }
        }
        let geometry = header.geometry();
        let file_pages = file_bytes.checked_div(u64::from(header.page_size_bytes)).unwrap_or(0);
        let file_pages = u32::try_from(file_pages).unwrap_or(u32::MAX);
        let stored = if header.is_page_count_valid() { header.page_count } else { file_pages };
        let claimed_page_count = log_page_count.unwrap_or(stored);
        let log_pages = reader.log.as_ref().map_or(0, |log| log.offsets.len());
        let believable = believable_page_count(file_pages, log_pages);
        let page_count = if claimed_page_count > believable { file_pages } else { claimed_page_count };
        Ok(Self {
            path: path.to_owned(),
            header,
            header_damage,
            geometry,
            page_count,
            claimed_page_count,
            file_bytes,
            log,
            reader,
        })
    }

    /// Whether pages end with the checksums of cksumvfs: some of a few pages do. A sum is not right by chance.
    ///
    /// The reserved bytes alone do not tell: other extensions take 8 as well. Cost: up to 16 pages read.
    pub(super) fn has_checksums(&self) -> bool {
        const SAMPLE_COUNT: u32 = 16;
        if usize::from(self.header.reserved_bytes) != CHECKSUM_SIZE_BYTES {
            return false;
        }
        let mut bytes = Vec::new();
        let pages = self.whole_pages().min(self.page_count);
        (1..=pages).step_by((pages / SAMPLE_COUNT).max(1) as usize).any(|page| {
            let read = self.reader.read(page, &mut bytes).is_ok();
            read && has_right_checksum(&bytes) && bytes.iter().any(|byte| *byte != 0)
        })
    }

    /// Whole pages of the database file, without the log.
    pub(super) fn whole_pages(&self) -> u32 {
        let pages = self.file_bytes.checked_div(u64::from(self.header.page_size_bytes)).unwrap_or(0);
        u32::try_from(pages).unwrap_or(u32::MAX)
    }

    /// Whether database and log are still those that were opened.
    pub(super) fn is_unchanged(&self) -> bool {
        let Ok(now) = Self::limited(&self.path, self.reader.brake.clone()) else { return false };
        (now.header, now.file_bytes, now.log, now.page_count)
            == (self.header, self.file_bytes, self.log, self.page_count)
    }
}

/// The most pages that a database with so many pages in its file can have had before it was cut. Beyond it the count
/// is taken for damage: tables of the check grow with the count, and must not follow four changed bytes.
fn believable_page_count(file_pages: u32, log_pages: usize) -> u32 {
    const SLACK: u32 = 1 << 20;
    let log_pages = u32::try_from(log_pages).unwrap_or(u32::MAX);
    file_pages.saturating_mul(4).saturating_add(log_pages).saturating_add(SLACK)
}

fn read_start(file: &File, into: &mut [u8]) -> io::Result<usize> {
    use std::os::unix::fs::FileExt;
    let mut done = 0;
    while let Some(rest) = into.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, done as u64)? {
            0 => break,
            count => done += count,
        }
    }
    Ok(done)
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn refuse_writer(path: &Path, file: &File) -> Result<(), AnchorError> {
    let mut holder = lock_holder(file, LOCK_START, LOCK_BYTES);
    if holder.is_none()
        && let Ok(shared) = File::open(beside(path, "-shm"))
    {
        holder = lock_holder(&shared, LOG_LOCK_START, LOG_LOCK_BYTES);
    }
    match holder {
        Some(pid) => Err(AnchorError::Writer { path: path.to_owned(), pid }),
        None => Ok(()),
    }
}

/// The process that holds a lock which excludes readers. Asks only; takes no lock. Blind to locks of this process.
fn lock_holder(file: &File, start: u64, length: u64) -> Option<i32> {
    let question =
        Flock { start, length, pid: None, typ: FlockType::ReadLock, offset_type: FlockOffsetType::Set };
    let answer = fcntl_getlk(file, &question).ok().flatten()?;
    Some(answer.pid.map_or(0, |pid| pid.as_raw_nonzero().get()))
}

fn refuse_journal(path: &Path) -> Result<(), AnchorError> {
    let journal = beside(path, "-journal");
    let Ok(mut file) = File::open(&journal) else { return Ok(()) };
    let mut magic = [0; 8];
    // A journal that was ended has its first bytes zeroed or cut.
    match file.read_exact(&mut magic) {
        Ok(()) if magic == JOURNAL_MAGIC => Err(AnchorError::Journal { path: path.to_owned(), journal }),
        _ => Ok(()),
    }
}

struct Log {
    facts: LogFacts,
    /// Pages of the database after the last commit; `None` when nothing was committed.
    page_count: Option<u32>,
    pages: LogPages,
}

/// Reads the log; `None` when there is none, or one that SQLite would ignore.
fn read_log(path: &Path, header: &Header, brake: &Brake) -> Result<Option<Log>, AnchorError> {
    let log_path = beside(path, "-wal");
    let failed = |source| AnchorError::Read { path: log_path.clone(), source };
    let file = match File::open(&log_path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let mut head = [0; WAL_HEADER_SIZE_BYTES];
    if read_start(&file, &mut head).map_err(failed)? < WAL_HEADER_SIZE_BYTES {
        return Ok(None);
    }
    let mut is_sound = true;
    let log_header = WalHeader::new(&head, header.page_size_bytes, |_| is_sound = false);
    if !is_sound {
        return Ok(None);
    }
    let mut reader = BufReader::with_capacity(1 << 20, &file);
    reader.read_exact(&mut head).map_err(failed)?;
    let frame_bytes = FRAME_HEADER_SIZE_BYTES + log_header.page_size_bytes as usize;
    let frames = Frames { frame_bytes, header: log_header };
    let (facts, page_count, offsets) = frames.read(&mut reader, brake).map_err(failed)?;
    Ok(Some(Log { facts, page_count, pages: LogPages { file, offsets } }))
}

struct Frames {
    frame_bytes: usize,
    header: WalHeader,
}

type FramesRead = (LogFacts, Option<u32>, BTreeMap<u32, u64>);

impl Frames {
    fn read(&self, reader: &mut impl Read, brake: &Brake) -> io::Result<FramesRead> {
        let mut offsets = BTreeMap::new();
        let mut since_commit = Vec::new();
        let mut sum = Some(self.header.sum);
        let mut facts = LogFacts { committed_count: 0, break_at: None, salt: self.header.salt };
        let mut page_count = None;
        let mut broken_at = 0;
        let mut frame = vec![0; self.frame_bytes];
        let mut offset = WAL_HEADER_SIZE_BYTES as u64;
        // Bounded by the length of the log.
        for index in 0u64.. {
            brake.wait(self.frame_bytes);
            match reader.read_exact(&mut frame) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
                Err(error) => return Err(error),
            }
            let head = FrameHeader::new(&frame);
            match sum.and_then(|sum| head.continues(&self.header, sum, &frame)) {
                Some(after) => {
                    sum = Some(after);
                    since_commit.push((head.page, offset + FRAME_HEADER_SIZE_BYTES as u64));
                    if head.page_count_after_commit > 0 {
                        offsets.extend(since_commit.drain(..));
                        page_count = Some(head.page_count_after_commit);
                        facts.committed_count = index + 1;
                    }
                }
                None => {
                    if sum.take().is_some() {
                        broken_at = index;
                    }
                    let is_same_generation = head.salt == self.header.salt && head.page != 0;
                    if is_same_generation && head.page_count_after_commit > 0 {
                        facts.break_at = Some(broken_at);
                    }
                }
            }
            offset += self.frame_bytes as u64;
        }
        Ok((facts, page_count, offsets))
    }
}
