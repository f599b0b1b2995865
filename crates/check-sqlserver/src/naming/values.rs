//! Values as text, for the types that keys usually have.

use formats::sqlserver::{DateTime, RecordId, TypeInfo, Value, u16_at, utf16};

use crate::naming::code_page::CodePage;

/// Characters of a text, or bytes of another value, that are shown.
const SHOWN_MAX: usize = 40;
/// Days from 0001-01-01 to 1900-01-01.
const DAYS_TO_1900: i32 = 693_595;

/// A value as text: `17`, `'text'`, `NULL`; bytes as `0x...` where the type is not known here.
pub(crate) fn text_of(type_info: TypeInfo, value: Value<'_>, code_page: Option<CodePage>) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Absent => "(not in the record)".to_owned(),
        Value::Elsewhere(_) => "(off row)".to_owned(),
        Value::Bytes(bytes) => bytes_text(type_info, bytes, code_page),
    }
}

/// A value in its record; `code_page` is that of its column, where it is known.
pub(crate) fn bytes_text(type_info: TypeInfo, bytes: &[u8], code_page: Option<CodePage>) -> String {
    let is_time = matches!(type_info.code(), 0x28 | 0x3a | 0x3d);
    if type_info.fixed_bytes().is_some_and(|length| length != bytes.len())
        || is_time && type_info.out_of_range(bytes).is_some()
    {
        return hex(bytes);
    }
    match type_info.code() {
        0xe7 | 0xef => quoted(&utf16(bytes)),
        0xa7 | 0xaf => characters(bytes, code_page).map_or_else(|| hex(bytes), |text| quoted(&text)),
        code => numeric(code, type_info, bytes).unwrap_or_else(|| hex(bytes)),
    }
}

/// Numbers, times and GUIDs, by the codes of `sys.types`.
// EVIDENCE: Microsoft Learn, "sys.types"; "Data types (Transact-SQL)": units and ranges of each type
fn numeric(code: u8, type_info: TypeInfo, bytes: &[u8]) -> Option<String> {
    let parameter = |shift: u32| (type_info.0 >> shift) as u8;
    Some(match code {
        0x68 | 0x30 => bytes.first()?.to_string(),
        0x34 => i16::from_le_bytes(bytes.try_into().ok()?).to_string(),
        0x38 => i32::from_le_bytes(bytes.try_into().ok()?).to_string(),
        0x7f => i64::from_le_bytes(bytes.try_into().ok()?).to_string(),
        0x3b => f32::from_le_bytes(bytes.try_into().ok()?).to_string(),
        0x3e => f64::from_le_bytes(bytes.try_into().ok()?).to_string(),
        0x7a => scaled(i32::from_le_bytes(bytes.try_into().ok()?) < 0, little(bytes, true), 4),
        0x3c => scaled(i64::from_le_bytes(bytes.try_into().ok()?) < 0, little(bytes, true), 4),
        0x6a | 0x6c => {
            let (sign, digits) = bytes.split_first()?;
            scaled(*sign == 0, little(digits, false), parameter(16))
        }
        0x3d => {
            let time = DateTime::at(bytes, 0)?;
            format!("'{}.{:03}'", time.text(), (time.ticks % 300 * 10 + 1) / 3)
        }
        0x3a => {
            let (minutes, days) = (u16_at(bytes, 0)?, u16_at(bytes, 2)?);
            let time = DateTime { days: days.into(), ticks: u32::from(minutes) * 60 * 300 };
            format!("'{}'", time.text())
        }
        0x28 => format!("'{}'", date(bytes)?),
        0x29 => format!("'{}'", time(bytes, parameter(8))?),
        0x2a => {
            let (of_day, day) = bytes.split_at_checked(bytes.len().checked_sub(3)?)?;
            format!("'{} {}'", date(day)?, time(of_day, parameter(8))?)
        }
        0x24 => guid(bytes)?,
        _ => return None,
    })
}

/// A number with its least byte first; the size of a negative one.
fn little(bytes: &[u8], is_signed: bool) -> u128 {
    let is_negative = is_signed && bytes.last().is_some_and(|byte| *byte >= 0x80);
    let start = if is_negative { u128::MAX } else { 0 };
    let number = bytes.iter().take(16).rev().fold(start, |number, byte| number << 8 | u128::from(*byte));
    if is_negative { number.wrapping_neg() } else { number }
}

/// A number of which so many decimal digits stand behind the point.
fn scaled(is_negative: bool, number: u128, scale: u8) -> String {
    let digits = format!("{number:0width$}", width = usize::from(scale) + 1);
    let (whole, fraction) = digits.split_at(digits.len() - usize::from(scale));
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{}{whole}{point}{fraction}", if is_negative { "-" } else { "" })
}

fn date(bytes: &[u8]) -> Option<String> {
    let days = i32::try_from(little(bytes, false)).ok()? - DAYS_TO_1900;
    DateTime { days, ticks: 0 }.text().split(' ').next().map(str::to_owned)
}

/// A time of the day in tenths, hundredths, ... of a second.
fn time(bytes: &[u8], scale: u8) -> Option<String> {
    let units = 10u64.checked_pow(scale.into())?;
    let number = u64::try_from(little(bytes, false)).ok()?;
    let (seconds, rest) = (number / units, number % units);
    let fraction =
        if scale == 0 { String::new() } else { format!(".{rest:0width$}", width = usize::from(scale)) };
    Some(format!("{:02}:{:02}:{:02}{fraction}", seconds / 3600, seconds / 60 % 60, seconds % 60))
}

/// The first three parts stand with their least byte first.
// EVIDENCE: .NET reference source, SqlGuid and Guid.ToByteArray
fn guid(bytes: &[u8]) -> Option<String> {
    const ORDER: [usize; 16] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    let mut text = String::with_capacity(36);
    for (position, index) in ORDER.into_iter().enumerate() {
        if matches!(position, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text += &format!("{:02X}", bytes.get(index)?);
    }
    Some(text)
}

/// Text of one byte a character; `None` where a byte is not ASCII and the code page is not known, or has no character to
/// show for it.
fn characters(bytes: &[u8], code_page: Option<CodePage>) -> Option<String> {
    let shown = bytes.iter().map(|byte| match byte {
        b' '..=b'~' => Some(char::from(*byte)),
        byte => code_page?.character(*byte),
    });
    shown.collect()
}

fn quoted(text: &str) -> String {
    let text = text.trim_end_matches(' ');
    let shown: String = text.chars().take(SHOWN_MAX).collect();
    let more = if text.chars().count() > SHOWN_MAX { "..." } else { "" };
    format!("'{}'{more}", shown.replace('\'', "''"))
}

fn hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().take(SHOWN_MAX / 2).map(|byte| format!("{byte:02x}")).collect();
    format!("0x{digits}{}", if bytes.len() > SHOWN_MAX / 2 { "..." } else { "" })
}

/// The place of a row of a heap, as an index entry names it.
pub(super) fn rid_text(rid: RecordId) -> String {
    format!("RID {}:{}:{}", rid.page.file, rid.page.page, rid.slot)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(type_info: u32, bytes: &[u8]) -> String {
        bytes_text(TypeInfo(type_info), bytes, None)
    }

    #[test]
    fn numbers_are_shown_with_their_sign_and_their_scale() {
        assert_eq!(shown(0x38, &(-7i32).to_le_bytes()), "-7");
        assert_eq!(shown(0x30, &[200]), "200");
        assert_eq!(shown(0x3c, &(-123_456i64).to_le_bytes()), "-12.3456");
        assert_eq!(shown(0x7a, &i32::MIN.to_le_bytes()), "-214748.3648");
        assert_eq!(shown(0x02_126a, &[0, 5, 0, 0, 0, 0, 0, 0, 0]), "-0.05");
        assert_eq!(shown(0x00_096a, &[1, 5, 0, 0, 0]), "5");
        // A damaged length.
        assert_eq!(shown(0x38, &[1]), "0x01");
    }

    #[test]
    fn times_are_shown_as_literals() {
        let datetime = |days: i32, ticks: u32| [ticks.to_le_bytes(), days.to_le_bytes()].concat();
        assert_eq!(shown(0x3d, &datetime(41_195, 301)), "'2012-10-15 00:00:01.003'");
        assert_eq!(shown(0x3a, &[61, 0, 0, 0]), "'1900-01-01 01:01:00'");
        assert_eq!(shown(0x28, &[0, 0, 0]), "'0001-01-01'");
        assert_eq!(shown(0x28, &DAYS_TO_1900.to_le_bytes()[..3]), "'1900-01-01'");
        assert_eq!(shown(0x0329, &[0xe9, 3, 0, 0]), "'00:00:01.001'");
        assert_eq!(shown(0x002a, &[61, 0, 0, 1, 0, 0]), "'0001-01-02 00:01:01'");
        // Out of the range of its type.
        assert_eq!(shown(0x3d, &[0xff; 8]), "0xffffffffffffffff");
    }

    #[test]
    fn texts_are_quoted_and_the_rest_is_hexadecimal() {
        assert_eq!(shown(0x0ae7, b"i\0t\0'\0s\0"), "'it''s'");
        let western = |bytes: &[u8]| bytes_text(TypeInfo(0x0aaf), bytes, Some(CodePage::Windows1252));
        assert_eq!(western(b"a\xe9b       "), "'aéb'");
        assert_eq!(shown(0x0aaf, b"ab        "), "'ab'");
        assert_eq!(shown(0x0aaf, b"a\xe9        "), "0x61e92020202020202020");
        assert_eq!(western(b"a\x1b[1m"), "0x611b5b316d");
        assert_eq!(shown(0x02ad, &[1, 0xab]), "0x01ab");
        let guid: Vec<u8> = (0..16).collect();
        assert_eq!(shown(0x24, &guid), "03020100-0504-0706-0809-0A0B0C0D0E0F");
        assert_eq!(text_of(TypeInfo(0x38), Value::Null, None), "NULL");
    }
}
