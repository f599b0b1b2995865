//! JSON documents in a text that may have other lines before, between and after them.

use std::io::{BufRead, Read};

use serde_json::Value;

use crate::ImportError;

/// Largest JSON file: a parsed document takes some times its size in memory.
const BYTES_MAX: u64 = 256 << 20;
/// Most documents of one file. A HammerDB script prints three for a job.
const DOCUMENTS_MAX: usize = 100_000;

/// One document with the line on which it begins.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    /// Counted from 1.
    pub(crate) line: u64,
    pub(crate) value: Value,
}

/// Reads all documents. A document begins on a line whose first character is `{` or `[`.
///
/// # Errors
/// The file is larger than 256 MiB, not UTF-8, or a document is not JSON (truncated ones included).
pub(crate) fn read(reader: impl BufRead, file: &str) -> Result<Vec<Document>, ImportError> {
    let mut bytes = Vec::new();
    let read = reader.take(BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| ImportError::new(file, error.to_string()))?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(ImportError::new(
            file,
            format!("a JSON file may have {BYTES_MAX} bytes, this one has more"),
        ));
    }
    let text = std::str::from_utf8(&bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let line = before.iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
        crate::lines::not_utf8(file, line, &bytes[start..], error.valid_up_to() - start)
    })?;
    let mut documents = Vec::new();
    let mut rest = text.trim_start_matches('\u{FEFF}');
    let mut line = 1;
    while !rest.is_empty() && documents.len() < DOCUMENTS_MAX {
        if !rest.trim_start_matches([' ', '\t']).starts_with(['{', '[']) {
            let (_, after) = rest.split_once('\n').unwrap_or((rest, ""));
            (rest, line) = (after, line + 1);
            continue;
        }
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        match stream.next() {
            Some(Ok(value)) => documents.push(Document { line, value }),
            Some(Err(error)) => return Err(not_json(file, line, &error)),
            None => break,
        }
        let (document, after) = rest.split_at(stream.byte_offset());
        line += document.bytes().filter(|byte| *byte == b'\n').count() as u64;
        // What follows on the same line and is no document is skipped above.
        rest = after;
    }
    Ok(documents)
}

fn not_json(file: &str, line: u64, error: &serde_json::Error) -> ImportError {
    let at = line + error.line() as u64 - 1;
    if error.is_eof() {
        return ImportError::new(file, format!("the JSON document that begins on line {line} is truncated"))
            .at(at)
            .hint("copy the whole output of the tool");
    }
    ImportError::new(file, format!("not JSON: {error}")).at(at)
}

/// The number that a JSON value holds, as a number or as its text; `None` for anything else.
pub(crate) fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => crate::number::number(text).ok(),
        _ => None,
    };
    number.filter(|number| number.is_finite())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn lines_of(text: &str) -> Vec<(u64, Value)> {
        read(text.as_bytes(), "f")
            .unwrap()
            .into_iter()
            .map(|document| (document.line, document.value))
            .collect()
    }

    #[test]
    fn documents_are_found_between_other_lines() {
        let text = "warning: x\nTIMES\n{\n \"a\": 1\n}\nCOUNT\n[1,\n2] trailing\n\n{}";
        let found = lines_of(text);
        assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [3, 7, 10]);
        assert_eq!(found[0].1["a"], 1);
        assert!(lines_of("no document\n").is_empty());
    }

    #[test]
    fn a_truncated_document_is_refused_with_its_line() {
        let error = read("x\n{\"jobs\": [\n{\"a\":".as_bytes(), "f").unwrap_err();
        assert_eq!((error.line, error.reason.contains("truncated")), (Some(3), true), "{error}");
        let error = read("{\"a\": }".as_bytes(), "f").unwrap_err();
        assert!(error.reason.starts_with("not JSON"), "{error}");
        let deep = "[".repeat(100_000);
        assert!(read(deep.as_bytes(), "f").is_err());
    }
}
