//! What a file is, by its content.

use std::io;
use std::path::Path;

use formats::sqlserver::{Block, COMPRESSED_MAGIC, Header, PAGE_BYTES, TAPE_MAGIC, place};

use crate::source::read::read_up_to;

/// What a file is, by its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A data file, `.mdf` or `.ndf`.
    Data,
    /// A backup whose pages stand as they are.
    Backup,
    /// A compressed backup.
    CompressedBackup,
}

/// What a file is: by its first pages, never by its name. `None` when it has nothing of SQL Server.
///
/// # Errors
/// When the file cannot be opened or read.
pub fn recognise(path: &Path) -> io::Result<Option<FileKind>> {
    let file = disk::input::File::open(path)?;
    let mut start = [0; PAGE_BYTES];
    let length = read_up_to(&file, 0, &mut start)?;
    let start = start.get(..length).unwrap_or_default();
    if start.starts_with(COMPRESSED_MAGIC) {
        return Ok(Some(FileKind::CompressedBackup));
    }
    if start.starts_with(TAPE_MAGIC) && Block::new(start).is_some() {
        return Ok(Some(FileKind::Backup));
    }
    // Pages at fixed places vote, so that one damaged header does not hide what the file is.
    let mut page = [0; 96];
    let votes = [0, 1, 2, 3, 6, 7, 9].into_iter().filter(|number| {
        let offset = u64::from(*number) * PAGE_BYTES as u64;
        let is_read = read_up_to(&file, offset, &mut page).is_ok_and(|length| length == page.len());
        let header = Header::new(&page);
        is_read && header.version == 1 && Some(header.kind) == place::fixed_kind(*number, true)
    });
    Ok((votes.count() >= 3).then_some(FileKind::Data))
}
