//! Backups: the stream of Microsoft Tape Format that holds the pages of data files.

use super::bytes::{u16_at, u32_at, u64_at};

/// Length of the header of a stream, bytes.
// EVIDENCE: Microsoft Tape Format Specification 1.00a, 6.1 "Data stream header"
pub const STREAM_HEADER_BYTES: usize = 22;
/// First bytes of a backup that is compressed.
// OBSERVED: tsqlv4-compressed.bak
pub const COMPRESSED_MAGIC: &[u8; 8] = b"MSSQLBAK";
/// First bytes of a backup that is not.
// EVIDENCE: Microsoft Tape Format Specification 1.00a, 5.2.1 "Tape header": TAPE
pub const TAPE_MAGIC: &[u8; 4] = b"TAPE";
/// Bytes between the header of a stream of pages and the first page.
// OBSERVED: two bytes of zero in both backups at hand
pub const PAGES_OFFSET: u64 = 2;

/// The header of a block of descriptors.
// EVIDENCE: Microsoft Tape Format Specification 1.00a, 5.1 "Common block header"
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Its kind: `TAPE`, `SSET`, `VOLB`, `MSCI`, `MSDA`, `MSTL`, `ESET`, `SFMB` and others.
    pub kind: [u8; 4],
    /// Bytes from its start to its first stream.
    pub streams_offset: u16,
}

impl Block {
    /// Reads a header; `None` when the bytes are no block.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let kind: [u8; 4] = bytes.get(..4)?.try_into().ok()?;
        let streams_offset = u16_at(bytes, 8)?;
        let is_name = kind.iter().all(u8::is_ascii_uppercase);
        // EVIDENCE: Microsoft Tape Format Specification 1.00a, 5.1: a common header has 52 bytes
        (is_name && streams_offset >= 52).then_some(Self { kind, streams_offset })
    }

    /// Whether the checksum of the common header fits.
    // EVIDENCE: Microsoft Tape Format Specification 1.00a, 5.1: exclusive or of all words before the checksum, at 50
    // OBSERVED: all 79 blocks of four backups
    #[must_use]
    pub fn has_checksum(bytes: &[u8]) -> bool {
        let (stored, computed) = Self::checksums(bytes);
        stored == Some(computed)
    }

    /// The checksum of the common header as stored, and as computed from the words before it.
    #[must_use]
    pub fn checksums(bytes: &[u8]) -> (Option<u16>, u16) {
        let words = (0..25).filter_map(|index| u16_at(bytes, 2 * index));
        (u16_at(bytes, 50), words.fold(0, |sum, word| sum ^ word))
    }

    /// Whether it has no streams: the next block follows at `streams_offset`.
    // EVIDENCE: Microsoft Tape Format Specification 1.00a, 5.2.9 "Soft filemark": SFMB
    #[must_use]
    pub fn has_no_streams(&self) -> bool {
        &self.kind == b"SFMB"
    }

    /// The end of this many bytes of a block whose stream headers ends at a boundary of four bytes.
    #[must_use]
    pub fn aligned(offset: u64) -> u64 {
        offset.saturating_add(3) & !3
    }
}

/// The header of a stream.
// EVIDENCE: Microsoft Tape Format Specification 1.00a, 6.1 "Data stream header"
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream {
    /// Its kind: `MQDA` pages of a data file, `MQTL` log, `SPAD` padding to the next block and others.
    pub kind: [u8; 4],
    /// Bytes behind the header.
    pub length_bytes: u64,
    /// Encryption; 0 for none.
    pub encryption: u16,
    /// Compression; 0 for none.
    pub compression: u16,
}

impl Stream {
    /// Reads a header and proves its checksum; `None` when it is none.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let header = bytes.get(..STREAM_HEADER_BYTES)?;
        // EVIDENCE: Microsoft Tape Format Specification 1.00a, 6.1: exclusive or of all words before the checksum
        let words = (0..STREAM_HEADER_BYTES / 2 - 1).filter_map(|index| u16_at(header, 2 * index));
        if words.fold(0, |sum, word| sum ^ word) != u16_at(header, 20)? || u32_at(header, 0)? == 0 {
            return None;
        }
        Some(Self {
            kind: header.get(..4)?.try_into().ok()?,
            length_bytes: u64_at(header, 8)?,
            encryption: u16_at(header, 16)?,
            compression: u16_at(header, 18)?,
        })
    }

    /// Whether it holds pages of a data file.
    #[must_use]
    pub fn holds_pages(&self) -> bool {
        &self.kind == b"MQDA"
    }

    /// Whether it is the last of its block.
    #[must_use]
    pub fn ends_block(&self) -> bool {
        &self.kind == b"SPAD"
    }
}

/// What the first block of a backup file says about the file's place in its media set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Media {
    /// Media families: the stripes that a backup on this media set consists of.
    pub stripe_count: u16,
    /// The media family in this file, from 1.
    pub stripe: u16,
}

impl Media {
    /// Reads the description of the media set; `None` when the file has none.
    // OBSERVED: RAID stream, 20 and 24 bytes behind its header: 1 and 1 in pubs-2012-checksum.bak and
    // Northwind-xande.bak; 2 and 1 in Northwind-CCono.bak, which has the even extents; 2 and 2 in northwind-torn.bak, which
    // has the odd ones
    #[must_use]
    pub fn new(start: &[u8]) -> Option<Self> {
        let offset = usize::from(Block::new(start)?.streams_offset);
        let stream = Stream::new(start.get(offset..)?)?;
        let data = offset + STREAM_HEADER_BYTES;
        let numbers = Self { stripe_count: u16_at(start, data + 20)?, stripe: u16_at(start, data + 24)? };
        (&stream.kind == b"RAID").then_some(numbers)
    }
}

/// What a backup set holds, as its first block says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetKind {
    /// Everything: a full backup, of the database or of files.
    Full,
    /// What changed since the full backup that it is based on.
    Differential,
    /// Anything else; the attributes.
    Other(u32),
}

impl SetKind {
    /// Reads the attributes of a block of kind `SSET`; `None` for other blocks.
    // EVIDENCE: Microsoft Tape Format Specification 1.00a, 5.2.2 "Start of data set": attributes at 52; bit 1 copy, bit 2
    // normal, bit 3 differential
    // OBSERVED: 4 in the four full backups at hand
    #[must_use]
    pub fn new(block: &[u8]) -> Option<Self> {
        let attributes = u32_at(block, 52).filter(|_| block.starts_with(b"SSET"))?;
        Some(match attributes {
            attributes if attributes & 8 != 0 => Self::Differential,
            attributes if attributes & 6 != 0 => Self::Full,
            attributes => Self::Other(attributes),
        })
    }
}
