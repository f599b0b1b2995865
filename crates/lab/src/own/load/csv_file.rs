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
    let hash = Rc::new(RefCell::new(Sha256::new()));
    let mut reader = ReaderBuilder::new()
        .has_headers(*has_header)
        .delimiter(delimiter)
        .from_reader(Hashed { file, hash: Rc::clone(&hash) });
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
        let values: Vec<Option<&str>> =
            record.iter().map(|value| if value == null { None } else { Some(value) }).collect();
        loader.row(&values)?;
        rows += 1;
        if rows.is_multiple_of(TOLD_EVERY) && !course.add(TOLD_EVERY) {
            return loader.end();
        }
    }
    let digest = hash.borrow_mut().finalize_reset();
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

/// A file whose bytes are hashed while they are read: what was loaded is what was hashed.
struct Hashed {
    file: File,
    hash: Rc<RefCell<Sha256>>,
}

impl Read for Hashed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.hash.borrow_mut().update(&buffer[..count]);
        Ok(count)
    }
}
