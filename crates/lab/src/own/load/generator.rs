//! Made-up rows: a generator for each column, the same rows for the same workload.

use std::sync::Arc;

use jiff::civil::DateTime;
use script::{Action, Client, Dialect, Program, Protocol, Seeds, Slot};
use stats::random::{Random, derive_seed};

use crate::engine::TargetError;
use crate::own::OwnWorkload;

/// Rows that are made from one seed: the rows do not depend on the number of connections.
pub(super) const SLICE_ROWS: u64 = 10_000;
/// Longest made-up text, in characters.
const TEXT_CHARS_MAX: u64 = 1 << 20;
/// Milliseconds since 1970 of the first row's UUID of version 7: 2024-01-01.
const UUID_EPOCH_MS: u64 = 1_704_067_200_000;
/// Letters of made-up text.
const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz      ";

/// Takes one row.
type TakeRow<'a> = &'a mut dyn FnMut(&[Option<&str>]) -> Result<(), TargetError>;

/// What makes the values of one column.
#[derive(Clone, Debug, PartialEq)]
enum Column {
    /// Number of the row, from 1.
    Row,
    /// Random letters, this many at least and at most.
    Text(u64, u64),
    UuidV4,
    /// Grows with the row.
    UuidV7,
    /// Seconds since 1970, first and last.
    Timestamp(i64, i64),
    /// Value of this variable of the script.
    Expression(usize),
    /// NULL in this percentage of the rows.
    Null(f64, Box<Self>),
}

/// Makes rows.
#[derive(Debug)]
pub(super) struct Generator {
    columns: Vec<Column>,
    program: Arc<Program>,
    /// Variables of the expressions.
    slots: Vec<Option<Slot>>,
    rows: u64,
    scale: i64,
}

impl Generator {
    /// Reads the generators of all columns.
    pub(super) fn new(own: &OwnWorkload, columns: &[(String, String)], rows: u64) -> Result<Self, String> {
        let mut expressions = Vec::new();
        let columns = columns
            .iter()
            .map(|(name, text)| {
                column(text, &mut expressions).map_err(|reason| format!("column {name}: {reason}"))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let program = program(&expressions, &own.definitions)?;
        let slots = (0..expressions.len()).map(|index| program.names().slot(&variable(index))).collect();
        let scale = i64::try_from(own.scale).unwrap_or(i64::MAX);
        Ok(Self { columns, program: Arc::new(program), slots, rows, scale })
    }

    /// Makes the rows of slice `index`, counted from 0; returns how many there were.
    pub(super) fn slice(&self, index: u64, take: TakeRow<'_>) -> Result<u64, TargetError> {
        let first = index.saturating_mul(SLICE_ROWS);
        let last = first.saturating_add(SLICE_ROWS).min(self.rows);
        let seeds = Seeds::new(derive_seed(1, &[index]), 1);
        let mut client = Client::new(&self.program, &seeds, 0, self.scale);
        let mut random = Random::new(derive_seed(2, &[index]));
        let names = self.program.names();
        let (row_slot, rows_slot) = (names.slot("row"), names.slot("rows"));
        let mut values: Vec<Option<String>> = Vec::with_capacity(self.columns.len());
        for row in first..last {
            for (slot, value) in [(row_slot, row + 1), (rows_slot, self.rows)] {
                if let Some(slot) = slot {
                    client.variables_mut().set(slot, script::Value::Integer(value as i64));
                }
            }
            if !self.slots.is_empty() {
                client.begin(0);
                match client.step(&self.program) {
                    Ok(Action::Done) => {}
                    Ok(_) => return Err(refused(row, "a generator is an expression")),
                    Err(failure) => return Err(refused(row, &failure.message)),
                }
            }
            values.clear();
            values.extend(self.columns.iter().map(|column| self.value(column, row, &client, &mut random)));
            let borrowed: Vec<Option<&str>> = values.iter().map(Option::as_deref).collect();
            take(&borrowed)?;
        }
        Ok(last.saturating_sub(first))
    }

    fn value(&self, column: &Column, row: u64, client: &Client, random: &mut Random) -> Option<String> {
        match column {
            Column::Row => Some((row + 1).to_string()),
            Column::Text(low, high) => {
                let length = low + random.below(high - low + 1);
                let letter =
                    |random: &mut Random| LETTERS[random.below(LETTERS.len() as u64) as usize] as char;
                Some((0..length).map(|_| letter(random)).collect())
            }
            Column::UuidV4 => Some(uuid(random.next_u64(), random.next_u64(), 4)),
            Column::UuidV7 => {
                let time = (UUID_EPOCH_MS + row) << 16;
                Some(uuid(time | random.below(1 << 16), random.next_u64(), 7))
            }
            Column::Timestamp(first, last) => {
                let span = u64::try_from(last - first).unwrap_or(0);
                let second = first + random.below(span.saturating_add(1)) as i64;
                let time = jiff::Timestamp::from_second(second).ok()?;
                Some(time.to_zoned(jiff::tz::TimeZone::UTC).strftime("%Y-%m-%d %H:%M:%S").to_string())
            }
            Column::Expression(index) => {
                let mut out = Vec::new();
                let slot = (*self.slots.get(*index)?)?;
                client.variables().write(slot, &mut out).then(|| String::from_utf8(out).ok()).flatten()
            }
            Column::Null(percent, inner) => {
                let is_null = random.unit_f64() * 100.0 < *percent;
                // Drawn in any case, so that a percentage changes no other value.
                let value = self.value(inner, row, client, random);
                value.filter(|_| !is_null)
            }
        }
    }
}

fn refused(row: u64, reason: &str) -> TargetError {
    TargetError::Refused { text: format!("row {} of the load: {reason}", row + 1), hint: None }
}

/// The generators of columns as a program: what cannot be read is told as `column NAME: reason`.
///
/// # Errors
/// The first generator that cannot be read.
pub fn column_program(own: &OwnWorkload, columns: &[(String, String)]) -> Result<(), String> {
    Generator::new(own, columns, 1).map(drop)
}

fn variable(index: usize) -> String {
    format!("fathom_column_{index}")
}

fn program(expressions: &[String], definitions: &[(String, String)]) -> Result<Program, String> {
    let dialect = Dialect { engine: "load".to_owned(), engines: vec!["load".to_owned()] };
    let mut program = Program::new(dialect, Protocol::Simple);
    let lines: String = expressions
        .iter()
        .enumerate()
        .map(|(index, expression)| format!("\\set {} {expression}\n", variable(index)))
        .collect();
    if !expressions.is_empty() {
        program.add("load", lines.as_bytes()).map_err(|error| {
            let expression = expressions.get(error.line.saturating_sub(1) as usize);
            format!("generator \"{}\": {}", expression.map_or("", String::as_str), error.message)
        })?;
    }
    for (name, value) in definitions {
        program.define(&format!("{name}={value}")).map_err(|error| error.to_string())?;
    }
    Ok(program)
}

/// Reads one generator.
fn column(text: &str, expressions: &mut Vec<String>) -> Result<Column, String> {
    let text = text.trim();
    if text.is_empty() || text.contains(['\n', '\r']) {
        return Err("a generator is one line".to_owned());
    }
    let call = |name: &str| text.strip_prefix(name)?.trim_start().strip_prefix('(')?.strip_suffix(')');
    match text {
        "row" => return Ok(Column::Row),
        "uuidv4" => return Ok(Column::UuidV4),
        "uuidv7" => return Ok(Column::UuidV7),
        _ => {}
    }
    if let Some(inner) = call("text") {
        let bounds: Vec<Option<u64>> = inner.split(',').map(|word| word.trim().parse().ok()).collect();
        return match bounds.as_slice() {
            [Some(length)] if *length <= TEXT_CHARS_MAX => Ok(Column::Text(*length, *length)),
            [Some(low), Some(high)] if low <= high && *high <= TEXT_CHARS_MAX => {
                Ok(Column::Text(*low, *high))
            }
            _ => Err(format!("\"{text}\": expected text(LOW, HIGH), at most {TEXT_CHARS_MAX} characters")),
        };
    }
    if let Some(inner) = call("timestamp") {
        let time = |word: &str| {
            let word = word.trim().trim_matches(['"', '\'']);
            let full = if word.len() == 10 { format!("{word} 00:00:00") } else { word.to_owned() };
            let time: DateTime = full.parse().ok()?;
            Some(time.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_second())
        };
        let times: Vec<Option<i64>> = inner.split(',').map(time).collect();
        return match times.as_slice() {
            [Some(first), Some(last)] if first <= last => Ok(Column::Timestamp(*first, *last)),
            _ => Err(format!("\"{text}\": expected timestamp(\"2020-01-01\", \"2024-12-31\")")),
        };
    }
    if let Some(inner) = call("null") {
        let (percent, rest) = inner.split_once(',').unwrap_or((inner, ""));
        return match percent.trim().parse::<f64>() {
            Ok(percent) if (0.0..=100.0).contains(&percent) && !rest.trim().is_empty() => {
                Ok(Column::Null(percent, Box::new(column(rest, expressions)?)))
            }
            _ => Err(format!("\"{text}\": expected null(PERCENT, GENERATOR)")),
        };
    }
    expressions.push(text.to_owned());
    Ok(Column::Expression(expressions.len() - 1))
}

/// Text form of a UUID with this version and the variant of RFC 9562.
// EVIDENCE: RFC 9562 4.1 and 4.2: version in the four highest bits of the third group, variant 10 in the two highest bits of
// the fourth; 5.7: version 7 begins with 48 bits of milliseconds since 1970
fn uuid(high: u64, low: u64, version: u64) -> String {
    let high = high & !0xf000 | version << 12;
    let low = low & !(0b11 << 62) | 0b10 << 62;
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn rows(columns: &[&str], rows: u64, slice: u64) -> Vec<Vec<Option<String>>> {
        let own =
            OwnWorkload { definitions: vec![("customers".into(), "7".into())], ..OwnWorkload::default() };
        let columns: Vec<_> = columns.iter().map(|text| ("c".to_owned(), (*text).to_owned())).collect();
        let generator = Generator::new(&own, &columns, rows).unwrap();
        let mut made = Vec::new();
        let mut take = |values: &[Option<&str>]| {
            made.push(values.iter().map(|value| value.map(str::to_owned)).collect());
            Ok(())
        };
        generator.slice(slice, &mut take).unwrap();
        made
    }

    #[test]
    fn each_kind_of_column_makes_values_of_its_kind() {
        let columns = [
            "row",
            "random(1, :customers)",
            ":row * 2 + 1",
            "text(3, 5)",
            "uuidv4",
            "uuidv7",
            "timestamp(\"2020-01-01\", \"2020-01-02\")",
            "null(50, random(1, 3))",
        ];
        let made = rows(&columns, 1000, 0);
        assert_eq!(made.len(), 1000);
        let text = |row: usize, column: usize| made[row][column].clone().unwrap();
        for row in 0..1000 {
            assert_eq!(text(row, 0), (row + 1).to_string());
            assert!((1..=7).contains(&text(row, 1).parse::<i32>().unwrap()));
            assert_eq!(text(row, 2), (2 * (row + 1) + 1).to_string());
            assert!((3..=5).contains(&text(row, 3).len()));
            assert!(text(row, 4).as_bytes()[14] == b'4' && b"89ab".contains(&text(row, 4).as_bytes()[19]));
            assert_eq!(text(row, 5).as_bytes()[14], b'7');
            assert!(row == 0 || text(row - 1, 5) < text(row, 5));
            assert!(text(row, 6).starts_with("2020-01-0") && text(row, 6).len() == 19);
        }
        let nulls = made.iter().filter(|row| row[7].is_none()).count();
        assert!((400..600).contains(&nulls), "{nulls}");
    }

    #[test]
    fn rows_are_the_same_each_time_and_the_last_slice_is_smaller() {
        let columns = ["row", "random_zipfian(1, 1000, 1.1)", "text(20)"];
        assert_eq!(rows(&columns, 25_000, 1), rows(&columns, 25_000, 1));
        assert_ne!(rows(&columns, 25_000, 0)[0][1..], rows(&columns, 25_000, 1)[0][1..]);
        assert_eq!(rows(&columns, 25_000, 2).len(), 5_000);
        assert!(rows(&columns, 25_000, 3).is_empty());
    }

    #[test]
    fn what_is_no_generator_is_named_with_its_column() {
        let own = OwnWorkload::default();
        for (text, reason) in [
            ("", "one line"),
            ("text(5, 3)", "expected text(LOW, HIGH)"),
            ("text(-1)", "expected text(LOW, HIGH)"),
            ("timestamp(\"x\", \"y\")", "expected timestamp"),
            ("null(200, row)", "expected null"),
            ("random(1", "syntax error"),
            ("nonsense(1)", "nonsense"),
            ("row\nrow", "one line"),
        ] {
            let error = column_program(&own, &[("c".to_owned(), text.to_owned())]).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
