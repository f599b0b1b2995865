//! Values of header fields that would make a database readable, when those in its header do not.
//!
//! One wrong field of the header makes all pages look wrong. So the schema is read with the values that the field can have:
//! when page 1 is intact and each row of sqlite_schema makes sense with exactly one of them, that is the value, the field is
//! the damage, and the check goes on with it.

mod recognition;

pub(crate) use crate::catalog::candidates::recognition::has_header;
pub(crate) use crate::catalog::candidates::recognition::is_database;

use formats::sqlite::{BtreePage, Coverage, Encoding, Geometry, Header};

use crate::catalog::schema::read_schema;
use crate::page::look::{Look, look};
use crate::source::reader::PageReader;

/// Pages that are looked at for each candidate.
const SAMPLE_COUNT: u32 = 32;
/// Of pages that are tree pages at all, so many in a hundred have to be intact.
const INTACT_PERCENT_MIN: usize = 90;
/// Reserved bytes that extensions use: checksums, nonces and codes of encrypted pages.
const RESERVED: [u8; 8] = [0, 8, 12, 16, 24, 32, 40, 48];

/// A field of the header with another value than the pages need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WrongField {
    pub(crate) offset_bytes: u64,
    pub(crate) name: &'static str,
    pub(crate) expected: String,
    pub(crate) found: String,
}

/// What a database looks like with certain values in its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Trial {
    is_first_page_intact: bool,
    row_count: usize,
    readable_count: usize,
    /// Objects whose root page is a tree page of their kind.
    root_count: usize,
}

impl Trial {
    fn is_readable(self) -> bool {
        self.is_first_page_intact && self.readable_count == self.row_count
    }

    /// Whether nothing speaks against the values, and the rows of a schema for them.
    fn is_proof(self) -> bool {
        self.is_readable() && self.row_count > 0 && self.root_count == self.row_count
    }
}

/// Finds the values with which a database is readable that is not with those in its header; changes the header to them.
pub(crate) fn settle(reader: &mut PageReader, header: &mut Header, file_bytes: u64) -> Vec<WrongField> {
    let stored = *header;
    let stored_size = reader.page_size_bytes;
    if is_readable(reader, &stored, file_bytes) {
        return Vec::new();
    }
    let mut found: Option<Header> = None;
    let sizes = std::iter::once(stored.page_size_bytes).chain((9..=16).map(|power| 1 << power));
    for page_size_bytes in sizes.filter(|size| (512..=65536).contains(size)) {
        if reader.brake.is_over() {
            break;
        }
        reader.page_size_bytes = page_size_bytes as usize;
        let measured = measured_reserve(reader, page_size_bytes, file_bytes);
        let reserves = std::iter::once(stored.reserved_bytes).chain(measured).chain(RESERVED);
        for reserved_bytes in reserves {
            for encoding in [stored.encoding, Encoding::Utf8, Encoding::Utf16Le, Encoding::Utf16Be] {
                let candidate = Header { page_size_bytes, reserved_bytes, encoding, ..stored };
                let Some(geometry) = candidate.geometry() else { continue };
                let is_new = found.is_none() && trial(reader, geometry, encoding, file_bytes).is_proof();
                if is_new && is_mostly_intact(reader, geometry, file_bytes) {
                    found = Some(candidate);
                }
            }
        }
        if found.is_some() {
            break;
        }
    }
    let Some(right) = found else {
        reader.page_size_bytes = stored_size;
        return Vec::new();
    };
    *header = right;
    differences(&stored, &right)
}

/// Whether page 1 is intact and all rows of sqlite_schema can be read with the values of the header.
pub(crate) fn is_readable(reader: &PageReader, header: &Header, file_bytes: u64) -> bool {
    let geometry = header.geometry();
    geometry.is_some_and(|geometry| trial(reader, geometry, header.encoding, file_bytes).is_readable())
}

fn differences(stored: &Header, right: &Header) -> Vec<WrongField> {
    let mut fields = Vec::new();
    let mut compare = |offset_bytes, name, expected: String, found: String| {
        if expected != found {
            let expected =
                format!("{expected}: with it page 1 is valid and all rows of sqlite_schema can be read");
            fields.push(WrongField { offset_bytes, name, expected, found });
        }
    };
    compare(16, "page size", right.page_size_bytes.to_string(), stored.page_size_bytes.to_string());
    compare(
        20,
        "reserved bytes per page",
        right.reserved_bytes.to_string(),
        stored.reserved_bytes.to_string(),
    );
    compare(56, "text encoding", encoding_text(right.encoding), encoding_text(stored.encoding));
    fields
}

// EVIDENCE: sqlite fileformat2 1.3.13
pub(crate) fn encoding_text(encoding: Encoding) -> String {
    match encoding {
        Encoding::Utf8 => "1 (UTF-8)",
        Encoding::Utf16Le => "2 (UTF-16le)",
        Encoding::Utf16Be => "3 (UTF-16be)",
    }
    .to_owned()
}

fn page_count(geometry: Geometry, file_bytes: u64) -> u32 {
    u32::try_from(file_bytes / u64::from(geometry.page_size_bytes)).unwrap_or(u32::MAX)
}

fn trial(reader: &PageReader, geometry: Geometry, encoding: Encoding, file_bytes: u64) -> Trial {
    let mut bytes = Vec::new();
    let mut coverage = Coverage::default();
    let is_first_page_intact = reader.read(1, &mut bytes).is_ok()
        && matches!(look(&bytes, 1, geometry, &mut coverage), Look::Intact);
    // With pages of another size or encoding, few rows are there at all: nothing more is read for them.
    let schema = read_schema(reader, geometry, encoding, page_count(geometry, file_bytes));
    let types = ["table", "index", "view", "trigger"];
    let resolved = &schema.resolved;
    let readable = resolved.iter().filter(|row| types.contains(&row.type_text(encoding).as_str()));
    let readable_count = readable.count();
    let mut is_root = |row: &&crate::catalog::ResolvedRow| {
        !row.row.kind.has_tree()
            || row.row.root > 0
                && reader.read(row.row.root, &mut bytes).is_ok()
                && BtreePage::new(&bytes, 0, geometry).0.is_some()
    };
    let root_count = resolved.iter().filter(|row| is_root(row)).count();
    let row_count = resolved.len() + schema.unreadable.len();
    Trial { is_first_page_intact, row_count, readable_count, root_count }
}

/// Whether most of the tree pages in a sample are intact.
fn is_mostly_intact(reader: &PageReader, geometry: Geometry, file_bytes: u64) -> bool {
    let pages = page_count(geometry, file_bytes);
    let (mut bytes, mut coverage) = (Vec::new(), Coverage::default());
    let (mut intact, mut wrong) = (0, 0);
    for page in (1..=pages).step_by((pages / SAMPLE_COUNT).max(1) as usize) {
        if reader.brake.is_over() {
            return false;
        }
        if reader.read(page, &mut bytes).is_ok() {
            match look(&bytes, page, geometry, &mut coverage) {
                Look::Intact => intact += 1,
                Look::Wrong(_) => wrong += 1,
                Look::Zeros | Look::Other => {}
            }
        }
    }
    intact > 0 && intact * 100 >= (intact + wrong) * INTACT_PERCENT_MIN
}

/// Reserved bytes as page 1 shows them: its first cell was put at the end of the usable part.
fn measured_reserve(reader: &PageReader, page_size_bytes: u32, file_bytes: u64) -> Option<u8> {
    let geometry = Geometry { page_size_bytes, usable_bytes: page_size_bytes, auto_vacuum: false };
    let mut bytes = Vec::new();
    if file_bytes < u64::from(page_size_bytes) {
        return None;
    }
    reader.read(1, &mut bytes).ok()?;
    let view = BtreePage::new(&bytes, 100, geometry).0?;
    let end = (0..view.cell_count).map(|slot| view.cell(slot).0).map(|cell| cell.offset + cell.size).max()?;
    u8::try_from((page_size_bytes as usize).checked_sub(end)?).ok()
}
