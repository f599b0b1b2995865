//! Values as text, for the types that keys usually have.

use formats::postgres::Oid;
use formats::postgres::attribute::Datum;
use formats::postgres::varlena::Varlena;

use crate::catalog::order::{Numeric, plain};

/// Characters of a text, or bytes of another value, that are shown.
const SHOWN_MAX: usize = 40;
/// Microseconds of a day.
const DAY_US: i64 = 86_400_000_000;

/// A value as text: `17`, `'text'`, `null`; bytes as `\x...` where the type is not known here.
// EVIDENCE: src/include/catalog/pg_type.dat: bool 16, bytea 17, char 18, name 19, int8 20, int2 21, int4 23, text 25, oid
// 26, float4 700, float8 701, bpchar 1042, varchar 1043, date 1082, timestamp 1114, timestamptz 1184, numeric 1700, uuid 2950
pub(super) fn text_of(type_id: Oid, value: &Datum<'_>) -> String {
    if matches!(value, Datum::Null) {
        return "null".to_owned();
    }
    if matches!(value, Datum::Varlena(Varlena::External(_))) {
        return "(in TOAST)".to_owned();
    }
    let mut buffer = Vec::new();
    let Some(bytes) = plain(value, &mut buffer) else { return "(not readable)".to_owned() };
    fixed(type_id, bytes).unwrap_or_else(|| match type_id {
        19 => quoted(bytes.split(|byte| *byte == 0).next().unwrap_or(bytes)),
        18 | 25 | 1042 | 1043 => quoted(bytes),
        1700 => Numeric::read(bytes).map_or_else(|| hex(bytes), |number| numeric(&number)),
        _ => hex(bytes),
    })
}

fn fixed(type_id: Oid, bytes: &[u8]) -> Option<String> {
    Some(match type_id {
        16 => (*bytes.first()? != 0).to_string(),
        20 => i64::from_le_bytes(bytes.try_into().ok()?).to_string(),
        21 => i16::from_le_bytes(bytes.try_into().ok()?).to_string(),
        23 => i32::from_le_bytes(bytes.try_into().ok()?).to_string(),
        26 => u32::from_le_bytes(bytes.try_into().ok()?).to_string(),
        700 => f32::from_le_bytes(bytes.try_into().ok()?).to_string(),
        701 => f64::from_le_bytes(bytes.try_into().ok()?).to_string(),
        1082 => match i32::from_le_bytes(bytes.try_into().ok()?) {
            i32::MAX => "infinity".to_owned(),
            i32::MIN => "-infinity".to_owned(),
            days => date(i64::from(days)),
        },
        1114 | 1184 => match i64::from_le_bytes(bytes.try_into().ok()?) {
            i64::MAX => "infinity".to_owned(),
            i64::MIN => "-infinity".to_owned(),
            time => timestamp(time) + if type_id == 1184 { "+00" } else { "" },
        },
        2950 => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            let part = |start: usize, end: usize| digits.get(start..end);
            let parts = [part(0, 8)?, part(8, 12)?, part(12, 16)?, part(16, 20)?, part(20, 32)?];
            parts.join("-")
        }
        _ => return None,
    })
}

fn quoted(bytes: &[u8]) -> String {
    let text = decoded(bytes);
    let shown: String = text.chars().take(SHOWN_MAX).collect();
    let more = if text.chars().count() > SHOWN_MAX { "..." } else { "" };
    format!("'{}'{more}", shown.replace('\'', "''"))
}

/// Text in UTF-8; bytes of another encoding as `\xEB`.
fn decoded(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02X}")));
    }
    text
}

fn hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().take(SHOWN_MAX / 2).map(|byte| format!("{byte:02x}")).collect();
    format!("\\x{digits}{}", if bytes.len() > SHOWN_MAX / 2 { "..." } else { "" })
}

/// Days since 2000-01-01 as a date.
// Source: Howard Hinnant, "chrono-compatible low-level date algorithms", civil_from_days
fn date(days: i64) -> String {
    // 719468 days from 0000-03-01 to 1970-01-01, and 10957 more to 2000-01-01.
    let days = days + 719_468 + 10_957;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

fn timestamp(time_us: i64) -> String {
    let (day, rest) = (time_us.div_euclid(DAY_US), time_us.rem_euclid(DAY_US));
    let (seconds, micros) = (rest / 1_000_000, rest % 1_000_000);
    let fraction = if micros == 0 { String::new() } else { format!(".{micros:06}") };
    format!("{} {:02}:{:02}:{:02}{fraction}", date(day), seconds / 3600, seconds / 60 % 60, seconds % 60)
}

fn numeric(number: &Numeric<'_>) -> String {
    let sign = match number.class {
        3 => return "NaN".to_owned(),
        2 => return "Infinity".to_owned(),
        -2 => return "-Infinity".to_owned(),
        -1 => "-",
        _ => "",
    };
    let digit = |at: i32| {
        let at = usize::try_from(number.weight - at).ok()?;
        number.digits.get(at).map(|raw| i16::from_le_bytes(*raw))
    };
    if number.weight.unsigned_abs() as usize > SHOWN_MAX || number.digits.len() > SHOWN_MAX {
        return format!("{sign}(a number of {} digits)", number.digits.len() * 4);
    }
    let whole: String =
        (0..=number.weight.max(0)).rev().map(|at| format!("{:04}", digit(at).unwrap_or(0))).collect();
    let last = number.weight - number.digits.len() as i32 + 1;
    let fraction: String = (last..0).rev().map(|at| format!("{:04}", digit(at).unwrap_or(0))).collect();
    let whole = whole.trim_start_matches('0');
    let fraction = fraction.trim_end_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    format!("{sign}{whole}{}{fraction}", if fraction.is_empty() { "" } else { "." })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(type_id: Oid, bytes: &[u8]) -> String {
        text_of(type_id, &Datum::Bytes(bytes))
    }

    #[test]
    fn values_are_shown_as_psql_shows_them() {
        assert_eq!(shown(23, &(-7i32).to_le_bytes()), "-7");
        assert_eq!(shown(25, b"it's"), "'it''s'");
        assert_eq!(shown(19, b"name\0\0\0"), "'name'");
        assert_eq!(shown(1043, "Zoë, 東京".as_bytes()), "'Zoë, 東京'");
        // LATIN1 and EUC_JP: the bytes, which no other text can be taken for.
        assert_eq!(shown(1042, b"Zo\xEB "), "'Zo\\xEB '");
        assert_eq!(shown(25, b"\xC5\xEC"), "'\\xC5\\xEC'");
        assert_eq!(shown(1082, &0i32.to_le_bytes()), "2000-01-01");
        assert_eq!(shown(1082, &(-1i32).to_le_bytes()), "1999-12-31");
        assert_eq!(shown(1082, &8826i32.to_le_bytes()), "2024-03-01");
        assert_eq!(shown(1114, &(DAY_US + 3_661_000_001).to_le_bytes()), "2000-01-02 01:01:01.000001");
        assert_eq!(shown(2950, &[0xAB; 16]), "abababab-abab-abab-abab-abababababab");
        assert_eq!(shown(600, &[1, 2]), "\\x0102");
        assert_eq!(text_of(23, &Datum::Null), "null");
        assert_eq!(shown(23, &[1]), "\\x01");
    }

    #[test]
    fn numbers_of_any_weight_are_shown() {
        // 12345.67 in base 10000: 1, 2345, 6700; short form with weight 1.
        let of = |header: u16, digits: &[i16]| {
            let mut bytes = header.to_le_bytes().to_vec();
            digits.iter().for_each(|digit| bytes.extend(digit.to_le_bytes()));
            shown(1700, &bytes)
        };
        assert_eq!(of(0x8001, &[1, 2345, 6700]), "12345.67");
        assert_eq!(of(0xA000, &[5]), "-5");
        assert_eq!(of(0x807F, &[25]), "0.0025");
        assert_eq!(of(0x8002, &[3]), "300000000");
        assert_eq!(of(0x8000, &[]), "0");
        assert_eq!(of(0xC000, &[]), "NaN");
    }
}
