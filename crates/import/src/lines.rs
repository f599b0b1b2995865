//! Lines of a text file, one at a time: bounded in length, UTF-8, without their end.

use std::io::{BufRead, Read};

use crate::ImportError;

/// Longest line. A line of an HdrHistogram log has a histogram of at most some hundred KiB; this keeps a file without line
/// ends from being held whole.
pub(crate) const LINE_BYTES_MAX: usize = 16 << 20;

/// Reads lines and counts them from 1.
pub(crate) struct Lines<R> {
    reader: R,
    file: String,
    line: u64,
    bytes: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(reader: R, file: &str) -> Self {
        Self { reader, file: file.to_owned(), line: 0, bytes: Vec::new() }
    }

    /// The next line with its number, without its end and without a byte order mark; `None` at the end of the file.
    ///
    /// # Errors
    /// The file cannot be read, the line is too long, or is not UTF-8.
    pub(crate) fn next_line(&mut self) -> Result<Option<(u64, &str)>, ImportError> {
        self.bytes.clear();
        self.line += 1;
        let limit = LINE_BYTES_MAX as u64 + 1;
        let read = self.reader.by_ref().take(limit).read_until(b'\n', &mut self.bytes);
        let count = read.map_err(|error| ImportError::new(&self.file, error.to_string()).at(self.line))?;
        if count == 0 {
            return Ok(None);
        }
        if self.bytes.len() > LINE_BYTES_MAX {
            let reason = format!("the line is longer than {LINE_BYTES_MAX} bytes");
            return Err(ImportError::new(&self.file, reason).at(self.line));
        }
        let mut bytes: &[u8] = &self.bytes;
        if self.line == 1 {
            bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        }
        while let Some(rest) = bytes.strip_suffix(b"\n").or_else(|| bytes.strip_suffix(b"\r")) {
            bytes = rest;
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Some((self.line, text))),
            Err(error) => Err(not_utf8(&self.file, self.line, bytes, error.valid_up_to())),
        }
    }
}

/// Why bytes are no text, with the first byte that is not.
pub(crate) fn not_utf8(file: &str, line: u64, bytes: &[u8], at: usize) -> ImportError {
    let byte = bytes.get(at).copied().unwrap_or_default();
    ImportError::new(file, format!("byte {} of the line is 0x{byte:02X}, which is not UTF-8", at + 1))
        .at(line)
        .hint("convert the file first, as in `iconv -f LATIN1 -t UTF-8`")
}
