//! The write-ahead log (WAL) of a database: the frames up to the last commit, and what is wrong with it.

mod facts;
mod frames;
mod header;

use disk::input::File;
use std::io::{self, BufReader};
use std::path::Path;

use formats::sqlite::{FRAME_HEADER_SIZE_BYTES, Header, WAL_HEADER_SIZE_BYTES, WalHeader};

use crate::source::reader::{Brake, LogPages};
use crate::source::view::{WalIndex, beside};
pub(crate) use crate::source::wal::facts::LogFacts;
use crate::source::wal::frames::Frames;
pub(crate) use crate::source::wal::header::{HeaderDamage, OTHER_DATABASE};

/// How often the WAL is read again because a writer started it anew meanwhile.
const READ_COUNT_MAX: usize = 20;

/// A WAL that is laid over the file.
pub(crate) struct Log {
    pub(crate) facts: LogFacts,
    /// Pages of the database after the last commit; `None` when nothing was committed.
    pub(crate) page_count: Option<u32>,
    pub(crate) pages: LogPages,
}

/// What a WAL is for the database.
#[derive(Default)]
pub(crate) struct WalRead {
    /// Absent when there is none, or one that SQLite ignores.
    pub(crate) log: Option<Log>,
    /// Why SQLite ignores it, when that loses something.
    pub(crate) damage: Option<HeaderDamage>,
}

/// Reads the WAL of a database. `index` is what living processes know of it: nothing behind its last frame counts.
pub(crate) fn read_wal(
    path: &Path,
    header: &Header,
    database: &File,
    index: Option<WalIndex>,
    brake: &Brake,
) -> io::Result<WalRead> {
    let file = match disk::input::File::open(beside(path, "-wal")) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(WalRead::default()),
        Err(error) => return Err(error),
    };
    let mut head = [0; WAL_HEADER_SIZE_BYTES];
    for _ in 0..READ_COUNT_MAX {
        let length = file.metadata()?.len();
        if length < WAL_HEADER_SIZE_BYTES as u64 {
            let damage = (length > 0).then_some(HeaderDamage::cut(length));
            return Ok(WalRead { log: None, damage });
        }
        file.read_exact_at(&mut head, 0)?;
        let mut is_sound = true;
        let wal_header = WalHeader::new(&head, header.page_size_bytes, |_| is_sound = false);
        if !is_sound {
            let damage = header::examine((&file, length), &head, header, database, brake)?;
            return Ok(WalRead { log: None, damage });
        }
        let frame_bytes = FRAME_HEADER_SIZE_BYTES + wal_header.page_size_bytes as usize;
        let stored_count = (length - WAL_HEADER_SIZE_BYTES as u64) / frame_bytes as u64;
        // A WAL that was started anew in the wal-index has its new header only with the next frame.
        let committed_count = index.map(|index| match index.salt == wal_header.salt {
            true => u64::from(index.frame_count),
            false => 0,
        });
        let frame_count_max = committed_count.map_or(stored_count, |count| count.min(stored_count));
        let frames = Frames { frame_bytes, header: wal_header, frame_count_max };
        let mut reader = BufReader::with_capacity(1 << 20, &file);
        io::Seek::seek(&mut reader, io::SeekFrom::Start(WAL_HEADER_SIZE_BYTES as u64))?;
        let read = frames.read(&mut reader, brake)?;
        let mut again = [0; WAL_HEADER_SIZE_BYTES];
        // A frame that was being written is whole when it is read a second time.
        let is_same = file.read_exact_at(&mut again, 0).is_ok()
            && again == head
            && (read.facts.break_at.is_none() || is_repeated(&frames, &file, &read.facts, brake)?);
        if is_same {
            let (facts, page_count, offsets) = (read.facts, read.page_count, read.offsets);
            return Ok(WalRead {
                log: Some(Log { facts, page_count, pages: LogPages { file, offsets } }),
                damage: None,
            });
        }
    }
    Err(io::Error::other("it is restarted again and again while it is read"))
}

fn is_repeated(frames: &Frames, file: &File, facts: &LogFacts, brake: &Brake) -> io::Result<bool> {
    let mut reader = BufReader::with_capacity(1 << 20, file);
    io::Seek::seek(&mut reader, io::SeekFrom::Start(WAL_HEADER_SIZE_BYTES as u64))?;
    Ok(frames.read(&mut reader, brake)?.facts == *facts)
}
