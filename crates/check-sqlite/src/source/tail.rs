//! Bytes of a file behind the last page of its database.

use std::fs::File;
use std::os::unix::fs::FileExt;

use results::check::NotChecked;
use results::wording::{counted, thousands};

use crate::source::anchor::Anchor;
use check::holes::stretch_from;

/// Bytes that are read to tell zeros from data.
const READ_BYTES_MAX: u64 = 16 << 20;
/// Bytes of one read.
const STEP_BYTES: usize = 1 << 20;

/// What stands behind the last page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    Zeros,
    /// The first byte that is not zero.
    Data(u64),
    /// Zeros as far as was read.
    Unread,
}

/// Names the bytes behind the last page of the database, which SQLite never reads; `None` when there are none.
///
/// They are no damage. EVIDENCE: sqlite fileformat2 1.3.8: the page count in the header, where it is valid, is the size of
/// the database; c_fcntl_begin SQLITE_FCNTL_CHUNK_SIZE and SQLITE_FCNTL_SIZE_HINT: a file is made larger than its database;
/// pager.c pager_truncate and wal.c walCheckpoint: what is past the end is truncated at the next commit or checkpoint
pub(crate) fn beyond(anchor: &Anchor) -> Option<NotChecked> {
    let page_size = u64::from(anchor.header.page_size_bytes);
    let end = u64::from(anchor.page_count) * page_size;
    let length = anchor.file_bytes.checked_sub(end).filter(|length| *length > 0 && page_size > 0)?;
    let content = match content(&anchor.reader.file, end, anchor.file_bytes) {
        Content::Zeros => "they are zeros".to_owned(),
        Content::Data(at) => format!("the first byte that is not zero is byte {}", thousands(at)),
        Content::Unread => format!("the first {} bytes of data are zeros", thousands(READ_BYTES_MAX)),
    };
    let pages = counted(u64::from(anchor.page_count), "page");
    let what = format!("{} bytes past the last page", thousands(length));
    if !anchor.header.is_page_count_valid() && anchor.log.is_none_or(|log| log.committed_count == 0) {
        let why = format!(
            "the page count in the header is not valid, so that SQLite takes the size of the file; after {pages} it is a \
             hole, which was not read; {content}"
        );
        return Some(NotChecked::coverage(None, &what, &why));
    }
    let (source, next) = match anchor.log.is_some_and(|log| log.committed_count > 0) {
        true => ("the last commit in the WAL", "a checkpoint truncates the file"),
        false => (
            "the header",
            "harmless where the application lets the file grow in chunks (SQLITE_FCNTL_CHUNK_SIZE) or something was appended; VACUUM truncates the file",
        ),
    };
    let why = format!("{source} states {pages}, and SQLite does not read beyond them; {content}; {next}");
    Some(NotChecked::out_of_scope(None, what, why))
}

/// What a part of a file holds. Holes of a sparse file are not read.
fn content(file: &File, start: u64, end: u64) -> Content {
    let (mut at, mut read_bytes) = (start, 0);
    let mut buffer = vec![0; STEP_BYTES];
    while let Some(stretch) = stretch_from(file, at, end) {
        at = stretch.start;
        while at < stretch.end {
            if read_bytes >= READ_BYTES_MAX {
                return Content::Unread;
            }
            let wanted = usize::try_from(stretch.end - at).unwrap_or(STEP_BYTES).min(STEP_BYTES);
            let Some(bytes) = buffer.get_mut(..wanted) else { return Content::Unread };
            match file.read_at(bytes, at) {
                Ok(0) => return Content::Zeros,
                Ok(count) => {
                    let found = bytes.iter().take(count).position(|byte| *byte != 0);
                    if let Some(index) = found {
                        return Content::Data(at + index as u64);
                    }
                    at += count as u64;
                    read_bytes += count as u64;
                }
                Err(_) => return Content::Unread,
            }
        }
    }
    Content::Zeros
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn holes_are_not_read_and_data_in_them_is_found() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[1; 4096], 0).unwrap();
        file.set_len(1 << 40).unwrap();
        assert_eq!(content(&file, 4096, 1 << 40), Content::Zeros);
        file.write_all_at(&[7], 5 << 30).unwrap();
        assert_eq!(content(&file, 4096, 1 << 40), Content::Data(5 << 30));
    }
}
