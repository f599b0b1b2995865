//! What everything else rests on: the header, the WAL, and a view that does not change.

use disk::input::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use formats::sqlite::{
    CHECKSUM_SIZE_BYTES, Damage, Fault, Geometry, HEADER_SIZE_BYTES, Header, has_right_checksum,
};

use crate::catalog::candidates;
use crate::catalog::candidates::WrongField;
use crate::source::reader::{Brake, LogPages, PageReader, Stopped};
use crate::source::view::{Change, Journal, JournalDamage, KeptOut, Stamp, View, beside};
use crate::source::wal;
use crate::source::wal::{HeaderDamage, LogFacts, WalRead};
use check::holes::length_without_hole;

/// A database file that can be checked.
#[derive(Debug)]
pub(crate) struct Anchor {
    pub(crate) path: PathBuf,
    pub(crate) header: Header,
    /// What is wrong in the header.
    pub(crate) header_damage: Vec<Damage>,
    /// Fields of the header with which the pages cannot be read; `header` has the values with which they can.
    pub(crate) wrong_fields: Vec<WrongField>,
    /// `None` when the header cannot be used; then pages are judged one by one.
    pub(crate) geometry: Option<Geometry>,
    /// Pages of the database.
    pub(crate) page_count: u32,
    /// Pages as the header or the log says; other than `page_count` only when the file cannot have had so many.
    pub(crate) claimed_page_count: u32,
    /// Bytes of the database file, without the log.
    pub(crate) file_bytes: u64,
    pub(crate) log: Option<LogFacts>,
    /// Why SQLite ignores the WAL, when that loses something.
    pub(crate) wal_damage: Option<HeaderDamage>,
    /// A rollback journal that SQLite does not play back because its first bytes are damaged.
    pub(crate) journal_damage: Option<JournalDamage>,
    pub(crate) reader: PageReader,
    /// The locks of a reader.
    pub(crate) view: View,
    /// The database as it was when the locks were taken.
    stamp: Stamp,
    /// Where the file is, links followed.
    place: PathBuf,
}

/// Why a database cannot be checked now.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AnchorError {
    #[error("could not read \"{}\": {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error(
        "could not read \"{}\": {source}, before any page was checked\nhint: allow more time, or checkpoint first: PRAGMA wal_checkpoint(TRUNCATE) empties a WAL",
        path.display()
    )]
    Stopped { path: PathBuf, source: io::Error },
    #[error("cannot check \"{}\": it is not a regular file", path.display())]
    Kind { path: PathBuf },
    #[error(
        "cannot check \"{}\" now: {who} is writing it\nhint: repeat the check when it is idle, or check a copy made with VACUUM INTO",
        path.display()
    )]
    Writer { path: PathBuf, who: String },
    #[error(
        "cannot check \"{}\": the journal \"{}\" is hot (interrupted transaction); open the database once with SQLite, which rolls it back",
        path.display(), journal.display()
    )]
    Journal { path: PathBuf, journal: PathBuf },
}

impl Anchor {
    /// Opens a database file and its log for reading.
    pub(crate) fn new(path: &Path) -> Result<Self, AnchorError> {
        Self::limited(path, Brake::none())
    }

    /// Likewise; the log, and single pages afterwards, are read no faster than the brake allows.
    pub(crate) fn limited(path: &Path, brake: Brake) -> Result<Self, AnchorError> {
        let failed = |source| AnchorError::Read { path: path.to_owned(), source };
        if !disk::input::metadata(path).map_err(failed)?.is_file() {
            return Err(AnchorError::Kind { path: path.to_owned() });
        }
        let file = disk::input::File::open(path).map_err(failed)?;
        // EVIDENCE: sqlite os_unix.c unixFullPathname: links are followed before "-wal" and the like are appended.
        let place = std::fs::canonicalize(path).map_err(failed)?;
        require_regular(&place)?;
        let view = View::new(&file, &place, brake.stop.as_deref())
            .map_err(|kept_out| AnchorError::writer(path, kept_out))?;
        let stamp = Stamp::new(&place).map_err(failed)?;
        let journal_damage = journal_damage(path, &place, &file, &brake)?;
        let file_bytes = file.metadata().map_err(failed)?.len();
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
        let mut read = first_wal(&mut reader, &mut header, (&place, &view), file_bytes)?;
        if let Some(read) = read.log.take() {
            log = Some(read.facts);
            log_page_count = read.page_count;
            reader.log = read.page_count.map(|_| read.pages);
            let mut newest = Vec::new();
            if reader.pages_in_log(1, 2).next().is_some() && reader.read(1, &mut newest).is_ok() {
                header_damage.clear();
                header = Header::new(&newest, |damage| header_damage.push(damage));
            }
        }
        let page_size_bytes = header.page_size_bytes;
        let wrong_fields = wrong_fields(&mut reader, &mut header, &mut header_damage, file_bytes, &page_one);
        if header.page_size_bytes != page_size_bytes {
            read = read_wal(&place, &header, &reader, &view)?;
            let again = read.log.take();
            (log, log_page_count) =
                again.as_ref().map_or((None, None), |log| (Some(log.facts), log.page_count));
            reader.log = again.filter(|log| log.page_count.is_some()).map(|log| log.pages);
        }
        settle_schema_format(&mut header, header_damage.len());
        let geometry = header.geometry();
        let (page_count, claimed_page_count) = page_counts(
            &header,
            counted_bytes(&reader.file, &header, file_bytes),
            log_page_count,
            reader.log.as_ref(),
        );
        Ok(Self {
            path: path.to_owned(),
            header,
            header_damage,
            wrong_fields,
            geometry,
            page_count,
            claimed_page_count,
            file_bytes,
            log,
            wal_damage: read.damage,
            journal_damage,
            reader,
            view,
            stamp,
            place,
        })
    }

    /// Whether pages end with the checksums of cksumvfs: some of a few pages do. A sum is not right by chance.
    ///
    /// The reserved bytes alone do not tell: other extensions take 8 as well. Cost: up to 16 pages read.
    pub(crate) fn has_checksums(&self) -> bool {
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
    pub(crate) fn whole_pages(&self) -> u32 {
        let pages = self.file_bytes.checked_div(u64::from(self.header.page_size_bytes)).unwrap_or(0);
        u32::try_from(pages).unwrap_or(u32::MAX)
    }

    /// What was changed since it was opened: frames may have been added to the WAL.
    pub(crate) fn change(&self) -> Change {
        self.stamp.change(&self.place)
    }

    /// Whether so many fields of the header are wrong that none of them can be trusted, the free list included.
    pub(crate) fn is_header_lost(&self) -> bool {
        self.header_damage.len() >= LOST_FIELD_COUNT
    }

    /// Whether the file begins as a database: by its first 16 bytes, or by the fields behind them.
    pub(crate) fn begins_as_database(&self) -> bool {
        let is_magic = !self.header_damage.iter().any(|damage| damage.fault == Fault::Magic);
        is_magic || candidates::has_header(&self.reader.file)
    }

    /// Whether locks keep every process that follows SQLite's rules from changing what is read.
    pub(crate) fn is_held(&self) -> bool {
        self.view.is_held(self.header.read_version == WAL_VERSION_BYTE)
    }
}

/// Wrong fields from which on a header is taken for overwritten.
const LOST_FIELD_COUNT: usize = 3;
/// What bytes 18 and 19 of the header hold in WAL mode.
// EVIDENCE: sqlite fileformat2 1.3.3
pub(crate) const WAL_VERSION_BYTE: u8 = 2;

impl AnchorError {
    /// A read that failed, or that was given up because the check is to end.
    fn read(path: PathBuf, source: io::Error) -> Self {
        match source.get_ref().is_some_and(|error| error.is::<Stopped>()) {
            true => Self::Stopped { path, source },
            false => Self::Read { path, source },
        }
    }

    fn writer(path: &Path, kept_out: KeptOut) -> Self {
        let who = match kept_out.pid {
            0 => "another process, or another connection of this one,".to_owned(),
            pid => format!("process {pid}"),
        };
        Self::Writer { path: path.to_owned(), who }
    }
}

/// Takes the schema format for the highest one where the field cannot be trusted.
// EVIDENCE: sqlite fileformat2 1.3.11: 4 is the highest schema format, and what SQLite writes since 3.7.10
fn settle_schema_format(header: &mut Header, wrong_count: usize) {
    if header.schema_format > 4 || wrong_count >= LOST_FIELD_COUNT {
        header.schema_format = 4;
    }
}

/// Fields with which the pages cannot be read; takes them out of what is wrong with the header otherwise.
fn wrong_fields(
    reader: &mut PageReader,
    header: &mut Header,
    header_damage: &mut Vec<Damage>,
    file_bytes: u64,
    page_one: &[u8],
) -> Vec<WrongField> {
    let mut fields = candidates::settle(reader, header, file_bytes);
    for field in &mut fields {
        let same = header_damage.iter().find(|damage| u64::from(damage.offset_bytes) == field.offset_bytes);
        field.found = same.map_or(std::mem::take(&mut field.found), Damage::found_text);
        if field.offset_bytes == 16 {
            // As it stands there: 1 means 65536.
            field.found = formats::sqlite::u16_at(page_one, 16).unwrap_or(0).to_string();
        }
    }
    header_damage
        .retain(|damage| fields.iter().all(|field| field.offset_bytes != u64::from(damage.offset_bytes)));
    fields
}

/// The bytes of a file that count as pages where the header does not state how many there are: without a long hole at its
/// end, unless that may be pages of the free list, whose contents do not matter.
fn counted_bytes(file: &File, header: &Header, file_bytes: u64) -> u64 {
    let page_bytes = u64::from(header.page_size_bytes);
    if header.is_page_count_valid() || page_bytes == 0 {
        return file_bytes;
    }
    let counted = length_without_hole(file, file_bytes, page_bytes);
    let free_bytes = u64::from(header.freelist_count) * page_bytes;
    if file_bytes - counted > free_bytes.saturating_mul(2) { counted } else { file_bytes }
}

/// Pages of the database, and pages as the header or the WAL says.
fn page_counts(
    header: &Header,
    file_bytes: u64,
    log_page_count: Option<u32>,
    log: Option<&LogPages>,
) -> (u32, u32) {
    let file_pages = file_bytes.checked_div(u64::from(header.page_size_bytes)).unwrap_or(0);
    let file_pages = u32::try_from(file_pages).unwrap_or(u32::MAX);
    let stored = if header.is_page_count_valid() { header.page_count } else { file_pages };
    let claimed_page_count = log_page_count.unwrap_or(stored);
    let believable = believable_page_count(file_pages, log.map_or(0, |log| log.offsets.len()));
    let page_count = if claimed_page_count > believable { file_pages } else { claimed_page_count };
    (page_count, claimed_page_count)
}

/// Reads the WAL. Where the page size in the database file is wrong and the WAL has page 1, SQLite takes the page size from
/// there, and the next checkpoint writes that page over the damaged one: the header gets that page size.
// OBSERVED: SQLite 3.40.1: bytes 16 and 17 changed beside a WAL with page 1, all rows are read and integrity_check is "ok"
fn first_wal(
    reader: &mut PageReader,
    header: &mut Header,
    (place, view): (&Path, &View),
    file_bytes: u64,
) -> Result<WalRead, AnchorError> {
    let read = read_wal(place, header, reader, view)?;
    let size = read.damage.as_ref().and_then(|damage| damage.other_page_size_bytes);
    let Some(page_size_bytes) = size.filter(|_| !candidates::is_readable(reader, header, file_bytes)) else {
        return Ok(read);
    };
    let other = Header { page_size_bytes, ..*header };
    let by_size = read_wal(place, &other, reader, view)?;
    let offset = by_size.log.as_ref().and_then(|log| log.pages.offsets.get(&1).map(|at| (log, *at)));
    let mut page_one = [0; HEADER_SIZE_BYTES];
    let is_there = offset.is_some_and(|(log, at)| log.pages.file.read_exact_at(&mut page_one, at).is_ok());
    if !is_there || Header::new(&page_one, |_| ()).page_size_bytes != page_size_bytes {
        return Ok(read);
    }
    reader.page_size_bytes = page_size_bytes as usize;
    *header = other;
    Ok(by_size)
}

fn read_wal(place: &Path, header: &Header, reader: &PageReader, view: &View) -> Result<WalRead, AnchorError> {
    wal::read_wal(place, header, &reader.file, view.wal_index(), &reader.brake)
        .map_err(|source| AnchorError::read(beside(place, "-wal"), source))
}

/// What is wrong with the rollback journal; an error when SQLite would play it back.
fn journal_damage(
    path: &Path,
    place: &Path,
    file: &File,
    brake: &Brake,
) -> Result<Option<JournalDamage>, AnchorError> {
    let failed = |source| AnchorError::read(beside(place, "-journal"), source);
    match Journal::of(place, file, brake).map_err(failed)? {
        Journal::Idle => Ok(None),
        Journal::Damaged(damage) => Ok(Some(damage)),
        Journal::Hot => {
            let journal = beside(place, "-journal");
            Err(AnchorError::Journal { path: path.to_owned(), journal })
        }
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
    let mut done = 0;
    while let Some(rest) = into.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, done as u64)? {
            0 => break,
            count => done += count,
        }
    }
    Ok(done)
}
/// Refuses pipes, sockets and devices beside a database, where SQLite has files.
fn require_regular(place: &Path) -> Result<(), AnchorError> {
    ["-wal", "-shm", "-journal"].into_iter().try_for_each(|suffix| {
        let path = beside(place, suffix);
        disk::regular::require(&path).map_err(|source| AnchorError::Read { path, source })
    })
}
