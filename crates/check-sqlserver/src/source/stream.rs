//! The blocks and streams of a backup file: which backup sets it has, and where their pages are.

use disk::input::File;
use std::io;
use std::ops::Range;

use formats::sqlserver::{Block, Media, PAGE_BYTES, PAGES_OFFSET, STREAM_HEADER_BYTES, SetKind, Stream};

use crate::source::read::read_up_to;

/// Blocks and streams of one backup that are followed; far more than one has, and an end for a cycle.
const BLOCKS_MAX: usize = 1 << 20;

/// What a backup file consists of.
#[derive(Default)]
pub(crate) struct Layout {
    /// Its place in the media set.
    pub(crate) media: Option<Media>,
    pub(crate) sets: Vec<BackupSet>,
    /// The first break of the format.
    pub(crate) broken: Option<Break>,
    /// Where bytes begin that are no block, behind the end of the last backup set.
    pub(crate) trailing: Option<u64>,
}

/// A backup set.
pub(crate) struct BackupSet {
    pub(crate) kind: SetKind,
    /// Bytes of the file with pages.
    pub(crate) ranges: Vec<Range<u64>>,
    /// Where a stream of pages is compressed or encrypted.
    pub(crate) encoded: Option<u64>,
    is_ended: bool,
}

/// A place where blocks and streams do not follow each other as the format says.
#[derive(Clone)]
pub(crate) struct Break {
    pub(crate) expected: String,
    pub(crate) found: String,
}

impl Layout {
    /// Follows the blocks of a file of so many bytes.
    pub(crate) fn read(file: &File, bytes: u64) -> io::Result<Self> {
        let mut layout = Self::default();
        let mut head = [0; 512];
        let mut offset = 0;
        for _ in 0..BLOCKS_MAX {
            if offset >= bytes {
                break;
            }
            let length = read_up_to(file, offset, &mut head)?;
            let head = head.get(..length).unwrap_or_default();
            if offset == 0 {
                layout.media = Media::new(head);
            }
            let Some(block) = Block::new(head) else {
                let is_behind = layout.sets.last().is_some_and(|set| set.is_ended);
                if is_behind {
                    layout.trailing = Some(offset);
                } else {
                    layout.break_at(
                        format!("a block at byte {offset}"),
                        "bytes that are not a block".to_owned(),
                    );
                }
                return Ok(layout);
            };
            if !Block::has_checksum(head) {
                let name = String::from_utf8_lossy(&block.kind).into_owned();
                let (stored, computed) = Block::checksums(head);
                let expected = format!("header checksum {computed:#06x} of block {name} at byte {offset}");
                let found = stored.map_or("none".to_owned(), |stored| format!("{stored:#06x}"));
                layout.break_at(expected, format!("{found}: bytes of the block header changed"));
            }
            if let Some(kind) = SetKind::new(head) {
                layout.begin_set(kind);
            }
            offset += u64::from(block.streams_offset);
            if !block.has_no_streams() {
                let Some(end) = layout.read_streams(file, bytes, offset)? else { return Ok(layout) };
                offset = end;
            }
            if &block.kind == b"ESET"
                && let Some(set) = layout.sets.last_mut()
            {
                set.is_ended = true;
            }
        }
        if layout.sets.last().is_none_or(|set| !set.is_ended) {
            let expected = "the block that ends the backup set (ESET)".to_owned();
            layout.break_at(expected, format!("the end of the file at byte {bytes}"));
        }
        Ok(layout)
    }

    fn begin_set(&mut self, kind: SetKind) {
        self.sets.push(BackupSet { kind, ranges: Vec::new(), encoded: None, is_ended: false });
    }

    fn break_at(&mut self, expected: String, found: String) {
        self.broken.get_or_insert(Break { expected, found });
    }

    /// Keeps the streams of one block; the offset of the next block, or `None` when the streams break.
    fn read_streams(&mut self, file: &File, bytes: u64, start: u64) -> io::Result<Option<u64>> {
        let mut offset = start;
        let mut head = [0; STREAM_HEADER_BYTES];
        for _ in 0..BLOCKS_MAX {
            let length = read_up_to(file, offset, &mut head)?;
            let Some(stream) = Stream::new(head.get(..length).unwrap_or_default()) else {
                let found = match offset >= bytes {
                    true => format!("the end of the file at byte {bytes}"),
                    false => "bytes that are not a stream, or with a wrong checksum".to_owned(),
                };
                self.break_at(format!("the header of a stream at byte {offset}"), found);
                return Ok(None);
            };
            let data = offset + STREAM_HEADER_BYTES as u64;
            let end = data.saturating_add(stream.length_bytes);
            if stream.holds_pages() {
                self.add_pages(&stream, offset, end.min(bytes));
            }
            if end > bytes {
                let name = String::from_utf8_lossy(&stream.kind).into_owned();
                let expected = format!("stream {name} at byte {offset} up to byte {end}");
                self.break_at(expected, format!("the end of the file at byte {bytes}"));
                return Ok(None);
            }
            offset = Block::aligned(end);
            if stream.ends_block() {
                return Ok(Some(offset));
            }
        }
        Ok(None)
    }

    fn add_pages(&mut self, stream: &Stream, offset: u64, end: u64) {
        if self.sets.is_empty() {
            // The block that begins the set is damaged.
            self.begin_set(SetKind::Other(0));
        }
        let Some(set) = self.sets.last_mut() else { return };
        let first = offset + STREAM_HEADER_BYTES as u64 + PAGES_OFFSET;
        if (stream.encryption, stream.compression) != (0, 0) {
            set.encoded.get_or_insert(offset);
        } else if stream.length_bytes > PAGES_OFFSET && end > first {
            let whole = (end - first) / PAGE_BYTES as u64;
            set.ranges.push(first..first + whole * PAGE_BYTES as u64);
        }
    }

    /// The backup set that is checked, by its position: the last full one with pages, else the last one with pages.
    pub(crate) fn chosen(&self) -> Option<usize> {
        let has_pages = |set: &BackupSet| !set.ranges.is_empty() || set.encoded.is_some();
        let full = self.sets.iter().rposition(|set| set.kind == SetKind::Full && has_pages(set));
        full.or_else(|| self.sets.iter().rposition(has_pages))
    }
}
