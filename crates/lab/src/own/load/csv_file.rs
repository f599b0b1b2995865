//! Rows of a CSV file.

use std::fs::File;

use csv::ReaderBuilder;

use super::course::Course;
use crate::engine::{BulkLoad, TargetError};
use crate::own::Load;

/// Rows after which progress is told.
const TOLD_EVERY: u64 = 10_000;

/// Loads the file of `copy`, which is a [`Load::Copy`]; returns the rows that the engine counted.
pub(super) fn load(copy: &Load, loader: &mut dyn BulkLoad, course: &Course) -> Result<u64, TargetError> {
    let Load::Copy { path, table, columns, has_header, delimiter, null, .. } = copy else { return Ok(0) };
    let opened = File::open(path);
    let file =
        opened.map_err(|source| TargetError::Io { action: "open file", path: path.clone(), source })?;
    let delimiter = u8::try_from(*delimiter).map_err(|_| {
        TargetError::refused(
            format!("delimiter \"{delimiter}\" is not a character of one byte"),
            "use , or ; or a tab",
        )
    })?;
    let mut reader = ReaderBuilder::new().has_headers(*has_header).delimiter(delimiter).from_reader(file);
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
            break;
        }
    }
    loader.end()
}
