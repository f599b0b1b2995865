//! A table as it stands in a file: a header and rows of text.

use std::io::BufRead;

use super::column::canonical;
use crate::ImportError;
use crate::error::quoted;

/// Most rows of a table: each becomes a run.
pub const ROWS_MAX: usize = 100_000;
/// Most columns of a table.
const COLUMNS_MAX: usize = 1_000;
/// Longest cell.
const CELL_BYTES_MAX: usize = 1 << 20;
/// Most bytes of a table.
const BYTES_MAX: u64 = 256 << 20;

/// A table as it stands in a file.
#[derive(Clone, Debug)]
pub struct Table {
    /// The file as the user named it.
    pub file: String,
    /// Names of the columns as printed.
    pub header: Vec<String>,
    /// The same in lower case, with one name for what has several.
    names: Vec<String>,
    /// The rows, each with a cell per column.
    pub rows: Vec<Row>,
}

/// A row of a table.
#[derive(Clone, Debug)]
pub struct Row {
    /// Line on which it begins, counted from 1.
    pub line: u64,
    /// One cell per column.
    pub cells: Vec<String>,
}

impl Table {
    /// Reads a table with a header; the delimiter (comma, semicolon or tab) is that of the header.
    ///
    /// # Errors
    /// No header, no row, a row with more or fewer cells than the header, two columns of one name, too many rows, text
    /// that is not UTF-8.
    pub fn read(mut reader: impl BufRead, file: &str) -> Result<Self, ImportError> {
        let start = reader.fill_buf().map_err(|error| ImportError::new(file, error.to_string()))?;
        if start.starts_with(b"\xFF\xFE") || start.starts_with(b"\xFE\xFF") {
            return Err(ImportError::new(file, "the file is UTF-16").hint("save it as CSV in UTF-8"));
        }
        let delimiter = delimiter(start);
        let limited = std::io::Read::take(reader, BYTES_MAX);
        let mut csv = csv::ReaderBuilder::new().delimiter(delimiter).flexible(true).from_reader(limited);
        let header = csv.byte_headers().map_err(|error| of_csv(file, &error))?.clone();
        let mut header = texts(&header, file, 1)?;
        if let Some(first) = header.first_mut() {
            *first = first.trim_start_matches('\u{FEFF}').to_owned();
        }
        require_header(file, &header)?;
        let names = header.iter().map(|name| canonical(name)).collect();
        let mut table = Self { file: file.to_owned(), header, names, rows: Vec::new() };
        let mut record = csv::ByteRecord::new();
        while csv.read_byte_record(&mut record).map_err(|error| of_csv(file, &error))? {
            let line = record.position().map_or(0, csv::Position::line);
            let cells = texts(&record, file, line)?;
            if cells.iter().all(|cell| cell.is_empty()) {
                continue;
            }
            if cells.len() != table.header.len() {
                let reason = format!("the row has {} cells, the header {}", cells.len(), table.header.len());
                return Err(ImportError::new(file, reason)
                    .at(line)
                    .hint("put cells with the delimiter or with line ends into double quotes"));
            }
            if table.rows.len() == ROWS_MAX {
                return Err(ImportError::new(file, format!("the table has more than {ROWS_MAX} rows"))
                    .at(line)
                    .hint("aggregate it first: each row becomes a run"));
            }
            table.rows.push(Row { line, cells });
        }
        if csv.into_inner().limit() == 0 {
            return Err(ImportError::new(
                file,
                format!("a table may have {BYTES_MAX} bytes, this one has more"),
            ));
        }
        if table.rows.is_empty() {
            return Err(ImportError::new(file, "the table has a header and no row"));
        }
        Ok(table)
    }

    /// Index of the column with this canonical name.
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    /// A cell's text without blanks around it; empty where the column is missing.
    pub(crate) fn text(&self, row: &Row, name: &str) -> String {
        let cell = self.column(name).and_then(|index| row.cells.get(index));
        cell.map(|cell| cell.trim().to_owned()).unwrap_or_default()
    }

    /// A cell's number; `None` where it is missing or no number.
    pub(crate) fn number(&self, row: &Row, name: &str) -> Option<f64> {
        crate::number::number(&self.text(row, name)).ok()
    }
}

/// The most frequent of the delimiters on the first line.
fn delimiter(start: &[u8]) -> u8 {
    let first = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let count = |delimiter: u8| first.iter().filter(|byte| **byte == delimiter).count();
    [b',', b';', b'\t']
        .into_iter()
        .max_by_key(|delimiter| (count(*delimiter), *delimiter == b','))
        .unwrap_or(b',')
}

fn require_header(file: &str, header: &[String]) -> Result<(), ImportError> {
    if header.len() > COLUMNS_MAX {
        return Err(ImportError::new(
            file,
            format!("the header has {} columns, {COLUMNS_MAX} may", header.len()),
        ));
    }
    for (index, name) in header.iter().enumerate() {
        let refuse = |reason: String| {
            Err(ImportError::new(file, reason).at(1).hint("the first line must name the columns"))
        };
        if name.trim().is_empty() {
            return refuse(format!("column {} has no name", index + 1));
        }
        if let Some(other) = header[..index].iter().position(|other| other == name) {
            return refuse(format!(
                "columns {} and {} have the same name {}",
                other + 1,
                index + 1,
                quoted(name)
            ));
        }
    }
    if header.iter().all(|name| crate::number::number(name).is_ok()) {
        return Err(ImportError::new(file, "the first line has numbers and no names")
            .at(1)
            .hint("the first line must name the columns"));
    }
    Ok(())
}

fn texts(record: &csv::ByteRecord, file: &str, line: u64) -> Result<Vec<String>, ImportError> {
    let text = |cell: &[u8]| {
        if cell.len() > CELL_BYTES_MAX {
            let reason =
                format!("a cell is longer than {CELL_BYTES_MAX} bytes: a double quote is not closed");
            return Err(ImportError::new(file, reason).at(line));
        }
        match std::str::from_utf8(cell) {
            Ok(text) if text.contains('\0') => {
                Err(ImportError::new(file, "a cell has a NUL byte: not a text file").at(line))
            }
            Ok(text) => Ok(text.trim().to_owned()),
            Err(error) => Err(crate::lines::not_utf8(file, line, cell, error.valid_up_to())),
        }
    };
    record.iter().map(text).collect()
}

fn of_csv(file: &str, error: &csv::Error) -> ImportError {
    let at = error.position().map(csv::Position::line);
    let plain = ImportError::new(file, error.to_string());
    at.map_or(plain.clone(), |line| plain.at(line))
}
