//! Records of pax, read one by one: a header of theirs may claim gigabytes.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;

/// The most records of one header that are read; tar writes fewer than twenty.
const RECORDS_MAX: usize = 1 << 12;
/// The longest record that is read whole: a path of 4,096 bytes fits.
const RECORD_BYTES_MAX: u64 = 4200;
/// What is read of a longer one: its length and its key.
const START_BYTES: u64 = 128;

/// Shows key and value of each record; of one that is very long the start of the value. `None` where the bytes are no
/// records, or too many.
// EVIDENCE: POSIX.1-2017 pax, "pax Extended Header": "%d %s=%s\n", length, keyword, value
pub(super) fn read(
    file: &File,
    range: Range<u64>,
    mut show: impl FnMut(&[u8], &[u8]),
) -> io::Result<Option<()>> {
    let mut at = range.start;
    for _ in 0..RECORDS_MAX {
        if at >= range.end {
            return Ok(Some(()));
        }
        let rest_bytes = range.end - at;
        let mut bytes = vec![0; rest_bytes.min(START_BYTES) as usize];
        file.read_exact_at(&mut bytes, at)?;
        let Some(length) = length_of(&bytes).filter(|length| (3..=rest_bytes).contains(length)) else {
            return Ok(None);
        };
        if length <= RECORD_BYTES_MAX {
            bytes.resize(length as usize, 0);
            file.read_exact_at(&mut bytes, at)?;
        }
        let record = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let record = record.iter().position(|byte| *byte == b' ').and_then(|space| record.get(space + 1..));
        let Some((key, value)) = record.and_then(|record| {
            let equals = record.iter().position(|byte| *byte == b'=')?;
            Some((record.get(..equals)?, record.get(equals + 1..)?))
        }) else {
            return Ok(None);
        };
        if length <= RECORD_BYTES_MAX {
            show(key, value);
        } else {
            // Longer than any path that is kept.
            show(key, &[b'?'; RECORD_BYTES_MAX as usize]);
        }
        at += length;
    }
    Ok(None)
}

/// The decimal number that a record begins with.
fn length_of(bytes: &[u8]) -> Option<u64> {
    let digits = bytes.split(|byte| *byte == b' ').next()?;
    (!digits.is_empty()).then_some(())?;
    digits.iter().try_fold(0u64, |value, digit| match digit {
        b'0'..=b'9' => value.checked_mul(10)?.checked_add(u64::from(digit - b'0')),
        _ => None,
    })
}
