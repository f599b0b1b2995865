//! The first 100 bytes of a database file.

use super::damage::{Damage, Fault};
use super::geometry::Geometry;
use super::read::{u16_at, u32_at};

/// Size of the header at the start of page 1.
// EVIDENCE: sqlite fileformat2 1.3
pub const HEADER_SIZE_BYTES: usize = 100;
/// The first 16 bytes of every database file.
pub const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// How text is stored in the whole file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// UTF-8.
    Utf8,
    /// UTF-16, low byte first.
    Utf16Le,
    /// UTF-16, high byte first.
    Utf16Be,
}

/// The fields of the header, as they stand in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Bytes per page; 0 when the field holds no allowed size.
    pub page_size_bytes: u32,
    /// 1 for a rollback journal, 2 for a write-ahead log.
    pub write_version: u8,
    /// 1 for a rollback journal, 2 for a write-ahead log.
    pub read_version: u8,
    /// Bytes kept free at the end of each page.
    pub reserved_bytes: u8,
    /// Rises with each transaction that writes the file.
    pub change_counter: u32,
    /// Pages of the file; holds only when [`Header::is_page_count_valid`].
    pub page_count: u32,
    /// First trunk page of the freelist, 0 for none.
    pub freelist_trunk: u32,
    /// Pages on the freelist.
    pub freelist_count: u32,
    /// Rises when the schema changes.
    pub schema_cookie: u32,
    /// Format of the schema, 0 in an empty file, else 1 to 4.
    pub schema_format: u32,
    /// Highest root page, 0 without auto-vacuum.
    pub largest_root: u32,
    /// How text is stored; UTF-8 for an empty file or a wrong field.
    pub encoding: Encoding,
    /// Whether vacuum is incremental.
    pub incremental_vacuum: bool,
    /// Change counter at which the page count was written.
    pub version_valid_for: u32,
    /// SQLite version that wrote last.
    pub library_version: u32,
}

impl Header {
    /// Reads the header from the first bytes of the file and gives each broken invariant to `damage`.
    ///
    /// Bytes behind the end of a shorter file count as zero.
    pub fn new(bytes: &[u8], mut damage: impl FnMut(Damage)) -> Self {
        let byte = |offset: usize| bytes.get(offset).copied().unwrap_or(0);
        let word = |offset: usize| u32_at(bytes, offset).unwrap_or(0);
        let mut test = |fault, offset, allowed: std::ops::RangeInclusive<u64>, found: u64| {
            if !allowed.contains(&found) {
                damage(Damage::new(fault, offset, allowed, found));
            }
        };
        // EVIDENCE: sqlite fileformat2 1.3, the table of offsets
        let is_magic = bytes.get(..16) == Some(MAGIC.as_slice());
        test(Fault::Magic, 0, 1..=1, u64::from(is_magic));
        let size_field = u16_at(bytes, 16).unwrap_or(0);
        let page_size_bytes = page_size(size_field);
        test(
            Fault::PageSize,
            16,
            512..=65536,
            u64::from(page_size_bytes.unwrap_or(u32::from(size_field) & 511)),
        );
        test(Fault::FormatVersion, 18, 1..=2, u64::from(byte(18)));
        test(Fault::FormatVersion, 19, 1..=2, u64::from(byte(19)));
        if let Some(size) = page_size_bytes {
            test(Fault::ReservedBytes, 20, 0..=u64::from(size) - 480, u64::from(byte(20)));
        }
        for (offset, fraction) in [(21, 64), (22, 32), (23, 32)] {
            test(Fault::PayloadFraction, offset, fraction..=fraction, u64::from(byte(offset)));
        }
        test(Fault::SchemaFormat, 44, 0..=4, u64::from(word(44)));
        test(Fault::TextEncoding, 56, 0..=3, u64::from(word(56)));
        let expansion = bytes.get(72..92).unwrap_or_default();
        let first = expansion.iter().position(|byte| *byte != 0);
        if let Some(index) = first {
            test(Fault::HeaderExpansion, 72 + index, 0..=0, u64::from(byte(72 + index)));
        }
        if word(52) == 0 {
            test(Fault::IncrementalVacuum, 64, 0..=0, u64::from(word(64)));
        }
        Self {
            page_size_bytes: page_size_bytes.unwrap_or(0),
            write_version: byte(18),
            read_version: byte(19),
            reserved_bytes: byte(20),
            change_counter: word(24),
            page_count: word(28),
            freelist_trunk: word(32),
            freelist_count: word(36),
            schema_cookie: word(40),
            schema_format: word(44),
            largest_root: word(52),
            encoding: match word(56) {
                2 => Encoding::Utf16Le,
                3 => Encoding::Utf16Be,
                _ => Encoding::Utf8,
            },
            incremental_vacuum: word(64) != 0,
            version_valid_for: word(92),
            library_version: word(96),
        }
    }

    /// Whether the page count in the header was kept by the last writer.
    ///
    /// Versions before 3.7.0 did not write the count; then only the size of the file tells.
    #[must_use]
    pub fn is_page_count_valid(&self) -> bool {
        self.page_count > 0 && self.change_counter == self.version_valid_for
    }

    /// Page size, usable size and vacuum mode; `None` when the page size or the reserved bytes cannot be true.
    #[must_use]
    pub fn geometry(&self) -> Option<Geometry> {
        let usable_bytes = self.page_size_bytes.checked_sub(u32::from(self.reserved_bytes))?;
        (usable_bytes >= 480).then_some(Geometry {
            page_size_bytes: self.page_size_bytes,
            usable_bytes,
            auto_vacuum: self.largest_root != 0,
        })
    }
}

fn page_size(field: u16) -> Option<u32> {
    match field {
        1 => Some(65536),
        size if size >= 512 && size.is_power_of_two() => Some(u32::from(size)),
        _ => None,
    }
}
