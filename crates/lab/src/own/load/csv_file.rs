//! Rows of a CSV file.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read};
use std::rc::Rc;

use csv::ReaderBuilder;
use sha2::{Digest, Sha256};

use super::course::Course;
use crate::engine::{BulkLoad, TargetError};
use crate::own::Load;

/// Rows after which progress is told.
const TOLD_EVERY: u64 = 10_000;

/// Loads the file of `copy`, which is a [`Load::Copy`]; returns the rows that the engine counted.
pub(super) fn load(copy: &Load, loader: &mut dyn BulkLoad, course: &Course) -> Result<u64, TargetError> {
    let Load::Copy { path, sha256, table, columns, has_header, delimiter, null } = copy else { return Ok(0) };
    let opened = disk::regular::open(path);
    let file =
        opened.map_err(|source| TargetError::Io { action: "open file", path: path.clone(), source })?;
    let delimiter = u8::try_from(*delimiter).map_err(|_| {
        TargetError::refused(
            format!("delimiter \"{delimiter}\" is not a character of one byte"),
            "use , or ; or a tab",
        )
    })?;
    let passed = Rc::new(RefCell::new(Passed::default()));
    let mut reader = ReaderBuilder::new()
        .has_headers(*has_header)
        .delimiter(delimiter)
        .from_reader(Watched { file, passed: Rc::clone(&passed) });
    let wrong = |error: csv::Error| TargetError::Refused {
        text: format!("\"{}\": {error}", path.display()),
        hint: None,
    };
    let named: Vec<String> = match (columns.is_empty(), has_header) {
        (true, true) => reader.headers().map_err(wrong)?.iter().map(str::to_owned).collect(),
        _ => columns.clone(),
    };
    loader.begin(table, &named)?;
    let mut record = csv::StringRecord::new();
    let mut rows: u64 = 0;
    while reader.read_record(&mut record).map_err(wrong)? {
        let mut values: Vec<Option<&str>> = record.iter().map(Some).collect();
        let begin = record.position().map_or(0, csv::Position::byte);
        passed.borrow_mut().forget_before(begin);
        if record.iter().any(|value| value == null) {
            let is_quoted = quoted_values(passed.borrow().from(begin), delimiter, record.len());
            for (value, is_quoted) in values.iter_mut().zip(is_quoted) {
                *value = value.filter(|text| is_quoted || text != null);
            }
        }
        loader.row(&values)?;
        rows += 1;
        if rows.is_multiple_of(TOLD_EVERY) && !course.add(TOLD_EVERY) {
            return loader.end();
        }
    }
    let digest = passed.borrow_mut().hash.finalize_reset();
    let found: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    if found != *sha256 {
        return Err(TargetError::refused(
            format!(
                "\"{}\" changed after the study was made: its SHA-256 is {found}, not {sha256}",
                path.display()
            ),
            "run the spec again: with this file it is another study",
        ));
    }
    loader.end()
}

/// What was read of a file.
#[derive(Default)]
struct Passed {
    hash: Sha256,
    /// The bytes from the beginning of the last record.
    bytes: Vec<u8>,
    /// Those that were forgotten before them.
    forgotten: u64,
}

impl Passed {
    fn forget_before(&mut self, byte: u64) {
        let count = self.index(byte);
        // Moved only where it pays: what stays is shorter than what goes.
        if count > self.bytes.len() / 2 {
            self.bytes.drain(..count);
            self.forgotten += count as u64;
        }
    }

    fn from(&self, byte: u64) -> &[u8] {
        self.bytes.get(self.index(byte)..).unwrap_or_default()
    }

    fn index(&self, byte: u64) -> usize {
        (byte.saturating_sub(self.forgotten) as usize).min(self.bytes.len())
    }
}

/// A file that is hashed while it is read: what was loaded is what was hashed. The values of a record do not say whether they
/// were quoted, so its bytes are kept, too.
struct Watched {
    file: File,
    passed: Rc<RefCell<Passed>>,
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        let mut passed = self.passed.borrow_mut();
        passed.hash.update(&buffer[..count]);
        passed.bytes.extend_from_slice(&buffer[..count]);
        Ok(count)
    }
}

/// Which of the `count` values of the record at the start of `bytes` are quoted.
fn quoted_values(bytes: &[u8], delimiter: u8, count: usize) -> Vec<bool> {
    // The rest of the line break before it; and the mark of UTF-8 at the start of a file.
    let mark = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let mut at = mark + bytes[mark..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    let mut quoted = Vec::with_capacity(count);
    while quoted.len() < count {
        let is_quoted = bytes.get(at) == Some(&b'"');
        quoted.push(is_quoted);
        if is_quoted {
            at += 1;
            while let Some(byte) = bytes.get(at) {
                match (byte, bytes.get(at + 1)) {
                    (b'"', Some(b'"')) => at += 2,
                    (b'"', _) => break,
                    _ => at += 1,
                }
            }
        }
        let ends = |byte: &u8| *byte == delimiter || matches!(byte, b'\r' | b'\n');
        at += bytes.get(at..).unwrap_or_default().iter().take_while(|byte| !ends(byte)).count() + 1;
    }
    quoted
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Keeps the rows.
    #[derive(Default)]
    struct Kept(Vec<Vec<Option<String>>>);

    impl BulkLoad for Kept {
        fn begin(&mut self, _: &str, _: &[String]) -> Result<(), TargetError> {
            Ok(())
        }

        fn row(&mut self, values: &[Option<&str>]) -> Result<(), TargetError> {
            self.0.push(values.iter().map(|value| value.map(str::to_owned)).collect());
            Ok(())
        }

        fn end(&mut self) -> Result<u64, TargetError> {
            Ok(self.0.len() as u64)
        }
    }

    /// The rows of a file, NULL as a dot.
    fn rows(content: &str, delimiter: char, null: &str, has_header: bool) -> Vec<String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        let hash = Sha256::digest(content.as_bytes());
        let copy = Load::Copy {
            path: file.path().to_owned(),
            sha256: hash.iter().map(|byte| format!("{byte:02x}")).collect(),
            table: "t".to_owned(),
            columns: Vec::new(),
            has_header,
            delimiter,
            null: null.to_owned(),
        };
        let mut kept = Kept::default();
        load(&copy, &mut kept, &Course::default()).unwrap();
        let shown = |row: &Vec<Option<String>>| {
            row.iter().map(|value| value.as_deref().unwrap_or(".")).collect::<Vec<_>>().join("|")
        };
        kept.0.iter().map(shown).collect()
    }

    #[test]
    fn null_is_text_that_is_not_quoted() {
        let content = "\"\",,1\r\n,\"\",\"a\"\",\"\"\"\r\n\"\n\",\"\",\r\nx,\"\",\"\"\r\n";
        assert_eq!(rows(content, ',', "", false), ["|.|1", ".||a\",\"", "\n||.", "x||"]);
        let content = "NULL;\"NULL\";null\n\n\"N\"ULL;a\"NULL;NULL";
        assert_eq!(rows(content, ';', "NULL", false), [".|NULL|null", "NULL|a\"NULL|."]);
        let content = "\u{feff}a,b\n\"\",\n";
        assert_eq!(rows(content, ',', "", true), ["|."]);
        assert_eq!(rows("\u{feff}\"\",\n", ',', "", false), ["|."]);
    }

    #[test]
    fn records_are_found_in_files_longer_than_a_buffer() {
        let long = "x".repeat(9_000);
        let content: String = (0..3_000)
            .map(|n| match n % 3 {
                0 => format!("{n},\"\"\n"),
                1 => format!("\"{n}\",\n"),
                _ if n % 100 == 2 => format!("{n},\"{long}\"\n"),
                _ => format!(",\"{n}\"\r\n"),
            })
            .collect();
        for (n, row) in rows(&content, ',', "", false).iter().enumerate() {
            let expected = match n % 3 {
                0 => format!("{n}|"),
                1 => format!("{n}|."),
                _ if n % 100 == 2 => format!("{n}|{long}"),
                _ => format!(".|{n}"),
            };
            assert_eq!(*row, expected);
        }
    }
}
