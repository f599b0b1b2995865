//! What the server sends, taken apart in place. No input makes these functions panic.

use std::fmt;

use results::plain::one_line;

/// Largest message accepted. Answers to our statements are a few hundred bytes, the settings of a server some tens
/// of kilobytes in many messages; an error text may quote a row.
pub(super) const MESSAGE_BYTES_MAX: usize = 4 << 20;

/// Bytes before the body of a message: one for its kind, four for the length, which counts itself and the body.
// EVIDENCE: PostgreSQL documentation, "Message Formats"
pub(super) const HEADER_BYTES: usize = 5;

/// Longest text kept of an error: enough for people, too short to fill the results.
const ERROR_TEXT_BYTES_MAX: usize = 2000;

/// Values in one row that are kept.
// EVIDENCE: PostgreSQL src/include/access/htup_details.h, MaxTupleAttributeNumber
const ROW_VALUES_MAX: usize = 1664;

/// Is there a whole message at the start of the bytes?
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// A message of this kind, `size_bytes` long with its header.
    Whole { tag: u8, size_bytes: usize },
    /// More bytes must come before the message, or its header, is complete.
    Partial { needed_bytes: usize },
}

/// Looks at the first message of `bytes`. The error is a length outside of what the protocol and we allow.
#[inline]
pub(super) fn frame(bytes: &[u8]) -> Result<Frame, i64> {
    let &[tag, a, b, c, d, ..] = bytes else {
        return Ok(Frame::Partial { needed_bytes: HEADER_BYTES });
    };
    let length = u32::from_be_bytes([a, b, c, d]);
    let size_bytes = length as usize + 1;
    if !(HEADER_BYTES..=MESSAGE_BYTES_MAX).contains(&size_bytes) {
        return Err(i64::from(length));
    }
    if bytes.len() < size_bytes {
        return Ok(Frame::Partial { needed_bytes: size_bytes });
    }
    Ok(Frame::Whole { tag, size_bytes })
}

/// Size of the message at the start of the bytes, with its header, as it says itself; `None` before the header is there.
#[inline]
pub(super) fn size_bytes(bytes: &[u8]) -> Option<usize> {
    let &[_, a, b, c, d, ..] = bytes else { return None };
    Some(u32::from_be_bytes([a, b, c, d]) as usize + 1)
}

/// An error as the server reported it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct ServerError {
    /// `ERROR`, `FATAL` or `PANIC`.
    pub(in super::super) severity: String,
    /// SQLSTATE, five characters.
    pub(in super::super) code: String,
    /// Primary message.
    pub(in super::super) message: String,
    /// Character of the statement that it points at, counted from 1.
    pub(in super::super) position: Option<u32>,
    /// Where it happened inside of the server, e.g. the line and column of a COPY; often empty.
    pub(in super::super) context: String,
}

impl fmt::Display for ServerError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", one_line(&self.message), one_line(&self.code))
    }
}

/// Reads the fields of an ErrorResponse; what is missing stays empty.
pub(in super::super) fn server_error(body: &[u8]) -> ServerError {
    let mut error = ServerError::default();
    // Fields are a letter and a text that ends with a zero byte; a zero byte ends the list.
    for field in body.split(|&byte| byte == 0) {
        let Some((kind, text)) = field.split_first() else {
            break;
        };
        let text = text.get(..text.len().min(ERROR_TEXT_BYTES_MAX)).unwrap_or_default();
        let text = || String::from_utf8_lossy(text).into_owned();
        match kind {
            // `V` is `S` without translation; it comes after `S`.
            b'S' | b'V' => error.severity = text(),
            b'C' => error.code = text(),
            b'M' => error.message = text(),
            b'P' => error.position = text().parse().ok(),
            b'W' => error.context = text(),
            _ => {}
        }
    }
    error
}

/// Reads a DataRow in text format; `None` when it ends too early or has too many values.
pub(in super::super) fn text_row(body: &[u8]) -> Option<Vec<Option<String>>> {
    let (count, mut rest) = body.split_first_chunk::<2>()?;
    let count = usize::from(u16::from_be_bytes(*count));
    if count > ROW_VALUES_MAX {
        return None;
    }
    let mut row = Vec::with_capacity(count);
    for _ in 0..count {
        let (length, after) = rest.split_first_chunk::<4>()?;
        rest = after;
        let length = i32::from_be_bytes(*length);
        if length == -1 {
            row.push(None);
            continue;
        }
        let (value, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        rest = after;
        row.push(Some(String::from_utf8_lossy(value).into_owned()));
    }
    Some(row)
}

/// Reads the names of the columns out of a RowDescription; `None` when it ends too early or has too many.
pub(in super::super) fn column_names(body: &[u8]) -> Option<Vec<String>> {
    /// Behind each name: table, column, type with size and modifier, format.
    const FIELD_BYTES: usize = 18;
    let (count, mut rest) = body.split_first_chunk::<2>()?;
    let count = usize::from(u16::from_be_bytes(*count));
    if count > ROW_VALUES_MAX {
        return None;
    }
    let mut names = Vec::with_capacity(count);
    for _ in 0..count {
        let end = rest.iter().position(|&byte| byte == 0)?;
        names.push(String::from_utf8_lossy(&rest[..end]).into_owned());
        rest = rest.get(end + 1 + FIELD_BYTES..)?;
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_message_is_whole_only_when_all_its_bytes_are_there() {
        let ready = b"Z\0\0\0\x05I";
        assert_eq!(frame(ready), Ok(Frame::Whole { tag: b'Z', size_bytes: 6 }));
        assert_eq!(frame(&ready[..5]), Ok(Frame::Partial { needed_bytes: 6 }));
        assert_eq!(frame(&ready[..3]), Ok(Frame::Partial { needed_bytes: 5 }));
    }

    #[test]
    fn a_length_below_the_header_or_above_the_bound_is_refused() {
        assert_eq!(frame(b"Z\0\0\0\x03I"), Err(3));
        assert_eq!(frame(b"D\x7f\xff\xff\xffxxxx"), Err(0x7fff_ffff));
        assert_eq!(frame(b"D\xff\xff\xff\xffxxxx"), Err(0xffff_ffff));
    }

    #[test]
    fn an_error_keeps_severity_code_and_message() {
        let error = server_error(b"SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0");
        assert_eq!(error.severity, "FATAL");
        assert_eq!(error.to_string(), "terminating connection (57P01)");
    }

    #[test]
    fn an_error_that_is_cut_short_loses_only_what_is_missing() {
        let whole = b"SERROR\0C40001\0Mcould not serialize\0\0";
        for length in 0..whole.len() {
            let error = server_error(&whole[..length]);
            assert!("could not serialize".starts_with(&error.message));
        }
    }

    #[test]
    fn rows_of_text_tell_null_from_empty() {
        let row = b"\0\x03\xff\xff\xff\xff\0\0\0\0\0\0\0\x02ab";
        assert_eq!(text_row(row).unwrap(), vec![None, Some(String::new()), Some("ab".to_owned())]);
    }

    #[test]
    fn a_row_that_is_cut_short_or_lies_about_lengths_is_refused() {
        let row = b"\0\x02\0\0\0\x01a\0\0\0\x02ab";
        for length in 0..row.len() {
            assert_eq!(text_row(&row[..length]), None, "cut to {length} bytes");
        }
        assert_eq!(text_row(b"\0\x01\xff\xff\xff\xfe"), None);
        assert_eq!(text_row(b"\xff\xff"), None);
    }
}
