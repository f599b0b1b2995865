//! A WAL whose 32-byte header is damaged: SQLite ignores all its frames.
//!
//! The frames tell for themselves that they belong together: all have the same salts, and the checksum of each continues from
//! the one before it. So they can be counted, and the header that they would need can be put together.

use disk::input::File;
use std::collections::BTreeMap;
use std::io::{self, BufReader, Seek, SeekFrom};

use formats::sqlite::{
    FRAME_HEADER_SIZE_BYTES, FrameHeader, Header, WAL_HEADER_SIZE_BYTES, WAL_MAGIC, WAL_VERSION, WalHeader,
    WalSum,
};
use results::check::Confidence;

use crate::source::reader::Brake;
use crate::source::wal::facts::fill;

/// What is wrong with the header of a WAL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeaderDamage {
    pub(crate) expected: String,
    pub(crate) found: String,
    pub(crate) confidence: Confidence,
    /// Bytes per page of a WAL that is valid but for that: SQLite reads it.
    pub(crate) other_page_size_bytes: Option<u32>,
}

/// What to do about a WAL whose pages have another size than those of the database.
pub(crate) const OTHER_DATABASE: &str = "copy the database and its -wal together before any program opens them; the WAL is probably one of another database: find out which, put it beside that one, and check a copy of the database file alone";

impl HeaderDamage {
    /// A WAL that ends inside its header.
    pub(super) fn cut(length: u64) -> Self {
        Self {
            expected: format!("a header of {WAL_HEADER_SIZE_BYTES} bytes"),
            found: format!("a WAL of {length} bytes"),
            confidence: Confidence::Possible,
            other_page_size_bytes: None,
        }
    }
}

/// Examines a WAL whose header SQLite does not accept; `None` when no committed frame is in it, so that nothing is lost.
pub(super) fn examine(
    (file, length): (&File, u64),
    head: &[u8; WAL_HEADER_SIZE_BYTES],
    database_header: &Header,
    database: &File,
    brake: &Brake,
) -> io::Result<Option<HeaderDamage>> {
    let stored = word(head, 8);
    let mut sizes = vec![database_header.page_size_bytes, if stored == 1 { 65536 } else { stored }];
    sizes.retain(|size| (512..=65536).contains(size) && size.is_power_of_two());
    sizes.dedup();
    for page_size_bytes in sizes {
        for is_big_endian in [word(head, 0) & 1 == 1, word(head, 0) & 1 == 0] {
            let chain = Chain::read((file, length), head, page_size_bytes, is_big_endian, brake)?;
            if chain.commit_count > 0 {
                let differing = chain.differing_pages(file, database, brake)?;
                return Ok(Some(chain.damage(head, database_header, differing)));
            }
        }
    }
    Ok(None)
}

fn word(bytes: &[u8], offset: usize) -> u32 {
    bytes.get(offset..offset + 4).and_then(|word| word.try_into().ok()).map_or(0, u32::from_be_bytes)
}

/// Frames from the first on that continue each other.
struct Chain {
    page_size_bytes: u32,
    is_big_endian: bool,
    salt: (u32, u32),
    /// The checksum before the first frame, when its own fits.
    start: Option<(u32, u32)>,
    committed_count: u64,
    commit_count: u64,
    /// Offsets of the newest committed version of each page.
    offsets: BTreeMap<u32, u64>,
}

impl Chain {
    fn read(
        (file, length): (&File, u64),
        head: &[u8; WAL_HEADER_SIZE_BYTES],
        page_size_bytes: u32,
        is_big_endian: bool,
        brake: &Brake,
    ) -> io::Result<Self> {
        let mut frame = vec![0; FRAME_HEADER_SIZE_BYTES + page_size_bytes as usize];
        let mut reader = BufReader::with_capacity(1 << 20, file);
        reader.seek(SeekFrom::Start(WAL_HEADER_SIZE_BYTES as u64))?;
        let mut chain = Self {
            page_size_bytes,
            is_big_endian,
            salt: (0, 0),
            start: None,
            committed_count: 0,
            commit_count: 0,
            offsets: BTreeMap::new(),
        };
        let mut before: Option<WalSum> = None;
        let mut since_commit = Vec::new();
        let mut offset = WAL_HEADER_SIZE_BYTES as u64;
        let frame_count = length.saturating_sub(offset) / frame.len() as u64;
        for index in 0..frame_count {
            brake.go_on(offset, length)?;
            brake.wait(frame.len());
            if !fill(&mut reader, &mut frame)? {
                break;
            }
            let found = FrameHeader::new(&frame);
            let after = match before {
                Some(before) => found.continues(&chain.expected_header(before), before, &frame),
                None => chain.first(head, &found, &frame),
            };
            let Some(after) = after else { break };
            before = Some(after);
            since_commit.push((found.page, offset + FRAME_HEADER_SIZE_BYTES as u64));
            if found.page_count_after_commit > 0 {
                chain.offsets.extend(since_commit.drain(..));
                chain.commit_count += 1;
                chain.committed_count = index + 1;
            }
            offset += frame.len() as u64;
        }
        // One frame that only has the salts that it has itself proves nothing.
        if chain.start.is_none() && chain.committed_count < 2 {
            chain.commit_count = 0;
        }
        Ok(chain)
    }

    /// The first frame: it continues one of the sums that the header tells, or is taken as it is.
    fn first(
        &mut self,
        head: &[u8; WAL_HEADER_SIZE_BYTES],
        found: &FrameHeader,
        frame: &[u8],
    ) -> Option<WalSum> {
        if found.page == 0 || found.salt == (0, 0) {
            return None;
        }
        self.salt = found.salt;
        let stored = WalSum::new(self.is_big_endian, (word(head, 24), word(head, 28)));
        let computed = WalSum::new(self.is_big_endian, (0, 0)).after(head.get(..24).unwrap_or_default());
        for sum in [stored, computed] {
            if let Some(after) = found.continues(&self.expected_header(sum), sum, frame) {
                self.start = Some(sum.halves());
                return Some(after);
            }
        }
        Some(WalSum::new(self.is_big_endian, found.sum))
    }

    fn expected_header(&self, sum: WalSum) -> WalHeader {
        WalHeader { page_size_bytes: self.page_size_bytes, checkpoint_sequence: 0, salt: self.salt, sum }
    }

    /// Pages whose newest committed version is not what the database file has.
    fn differing_pages(&self, file: &File, database: &File, brake: &Brake) -> io::Result<u64> {
        let size = self.page_size_bytes as usize;
        let (mut ours, mut theirs) = (vec![0; size], vec![0; size]);
        let mut count = 0;
        for (done, (page, offset)) in self.offsets.iter().enumerate() {
            brake.go_on((done * size) as u64, (self.offsets.len() * size) as u64)?;
            brake.wait(2 * size);
            file.read_exact_at(&mut ours, *offset)?;
            let place = u64::from(page.saturating_sub(1)) * size as u64;
            let is_same = database.read_exact_at(&mut theirs, place).is_ok() && ours == theirs;
            count += u64::from(!is_same);
        }
        Ok(count)
    }

    fn damage(&self, head: &[u8; WAL_HEADER_SIZE_BYTES], header: &Header, differing: u64) -> HeaderDamage {
        let fields = self.fields(head, header);
        let side = |values: fn(&FieldDamage) -> &String| {
            fields
                .iter()
                .map(|field| format!("{} {}", field.name, values(field)))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let other_page_size_bytes = self.other_page_size(head, header);
        // EVIDENCE: sqlite wal.c walIndexRecover: the page size of the WAL's header is used, whatever the database has
        // OBSERVED: SQLite 3.40.1 and 3.50, a database of 4096 byte pages beside a WAL of 512 byte pages, and the reverse
        let fate = match other_page_size_bytes {
            Some(_) => format!("SQLite reads them as pages of {} bytes", header.page_size_bytes),
            None => "SQLite ignores them".to_owned(),
        };
        let frames = format!(
            "{} frames with {} commits follow it with valid checksums, and {fate}",
            self.committed_count, self.commit_count
        );
        let lost = match differing {
            0 => "the database file has the same pages (checkpointed): nothing is lost".to_owned(),
            count => format!("{count} of their {} pages differ in the database file", self.offsets.len()),
        };
        HeaderDamage {
            expected: side(|field| &field.expected),
            found: match other_page_size_bytes {
                Some(_) => format!("{}; {frames}", side(|field| &field.found)),
                None => format!("{}; {frames}; {lost}", side(|field| &field.found)),
            },
            other_page_size_bytes,
            confidence: if differing == 0 && other_page_size_bytes.is_none() {
                Confidence::Possible
            } else {
                Confidence::Certain
            },
        }
    }

    /// Bytes per page, where they are all in which the header differs from what the database needs.
    fn other_page_size(&self, head: &[u8; WAL_HEADER_SIZE_BYTES], header: &Header) -> Option<u32> {
        let mut is_valid = true;
        WalHeader::new(head, self.page_size_bytes, |_| is_valid = false);
        (is_valid && self.page_size_bytes != header.page_size_bytes).then_some(self.page_size_bytes)
    }

    /// The fields of the header that do not fit the frames.
    fn fields(&self, head: &[u8; WAL_HEADER_SIZE_BYTES], header: &Header) -> Vec<FieldDamage> {
        let magic = WAL_MAGIC | u32::from(self.is_big_endian);
        let size = if self.page_size_bytes == 65536 { 1 } else { self.page_size_bytes };
        let expected = [
            ("magic", 0, magic),
            ("version", 4, WAL_VERSION),
            ("page size", 8, size),
            ("salt-1", 16, self.salt.0),
            ("salt-2", 20, self.salt.1),
        ];
        let mut right = *head;
        let mut fields = Vec::new();
        for (name, offset, value) in expected {
            let found = word(head, offset);
            if found != value {
                let text = |value: u32| {
                    if name == "version" || name == "page size" {
                        value.to_string()
                    } else {
                        format!("{value:#010x}")
                    }
                };
                fields.push(FieldDamage { name, expected: text(value), found: text(found) });
            }
            if let Some(field) = right.get_mut(offset..offset + 4) {
                field.copy_from_slice(&value.to_be_bytes());
            }
        }
        let sum = WalSum::new(self.is_big_endian, (0, 0)).after(right.get(..24).unwrap_or_default()).halves();
        let stored = (word(head, 24), word(head, 28));
        let pair = |sum: (u32, u32)| format!("{:#010x} {:#010x}", sum.0, sum.1);
        // Bytes 12 to 15 are covered by the checksum alone: which of the two is wrong, the first frame tells.
        if fields.is_empty() && sum != stored && self.start == Some(stored) {
            let found = word(head, 12).to_string();
            let name = "checkpoint sequence number";
            fields.push(FieldDamage { name, expected: "that fits the checksum".to_owned(), found });
        } else if sum != stored && self.start != Some(stored) {
            fields.push(FieldDamage { name: "checksum", expected: pair(sum), found: pair(stored) });
        }
        if fields.is_empty() && header.page_size_bytes != self.page_size_bytes {
            let expected = format!("{}, as in the database", header.page_size_bytes);
            let found = self.page_size_bytes.to_string();
            fields.push(FieldDamage { name: "page size", expected, found });
        }
        fields
    }
}

/// One field of the header that is not as the frames need it.
struct FieldDamage {
    name: &'static str,
    expected: String,
    found: String,
}
