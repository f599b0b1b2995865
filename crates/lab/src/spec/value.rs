//! Values: from what is written to the type that the parameter wants.

use results::model::Level;

use super::duration::{duration, duration_text};
use super::error::{Span, SpecError, quoted, suggestion};
use super::parameters::ParameterType;

/// A scalar as written, before its parameter has had a say.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scalar {
    Boolean(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    /// A word of the command line, whose type only the parameter tells.
    Word(String),
}

impl Scalar {
    fn type_name(&self) -> &'static str {
        match self {
            Self::Boolean(_) => "a boolean",
            Self::Integer(_) => "a whole number",
            Self::Float(_) => "a decimal number",
            Self::Text(_) => "text",
            Self::Word(_) => "a word",
        }
    }

    fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(value) => Some(*value),
            Self::Word(word) => word.replace('_', "").parse().ok(),
            _ => None,
        }
    }

    fn float(&self) -> Option<f64> {
        match self {
            Self::Integer(value) => Some(*value as f64),
            Self::Float(value) => Some(*value),
            Self::Word(word) => word.replace('_', "").parse().ok(),
            _ => None,
        }
    }

    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Word(text) => Some(text),
            _ => None,
        }
    }
}

/// Characters of a level of the user's own at most: levels are part of the names of cells.
const OWN_LEVEL_CHARS_MAX: usize = 4096;

/// How a size is written.
const SIZE_HELP: &str = "write 64, 64MiB (2^20 bytes) or 1GiB; a size with MB or kB (10^6, 10^3 bytes) must be a whole number of \
                         the parameter's unit";

/// A size with a unit, in the unit of the parameter's name; `None` where it is none, or no whole number of them.
fn size(name: &str, scalar: &Scalar) -> Option<i64> {
    let unit = unit_of(name)?;
    let text = scalar.text().filter(|text| text.contains(char::is_alphabetic))?;
    let bytes = disk::space::parse_bytes(text).ok()?;
    bytes.is_multiple_of(unit).then(|| i64::try_from(bytes / unit).ok())?
}

/// Bytes in the unit that a parameter has in its name.
fn unit_of(name: &str) -> Option<u64> {
    match name.rsplit_once('_')?.1 {
        "kib" => Some(1 << 10),
        "mib" => Some(1 << 20),
        _ => None,
    }
}

/// How a length of time is written.
const DURATION_HELP: &str = "write 500ms, 10s, 2min (or 2m) or 1h; on the command line 10 is 10 seconds";

/// The value of parameter `name`, in its canonical form: `1m` for `60s`, 100.0 for a rate of 100.
pub(crate) fn level(
    name: &str,
    kind: &ParameterType,
    scalar: &Scalar,
    place: &Span,
) -> Result<Level, SpecError> {
    match kind {
        ParameterType::Integer { min, max } => match scalar.integer().or(size(name, scalar)) {
            Some(value) if (*min..=*max).contains(&value) => Ok(Level::Integer(value)),
            Some(_) => Err(out_of_range(name, kind, place)),
            None => Err(wrong_type(name, kind, scalar, place)),
        },
        ParameterType::Float { min, max } => match scalar.float() {
            Some(value) if (*min..=*max).contains(&value) => Ok(Level::Float(value)),
            Some(_) => Err(out_of_range(name, kind, place)),
            None => Err(wrong_type(name, kind, scalar, place)),
        },
        ParameterType::Word(words) => {
            let text = scalar.text().ok_or_else(|| wrong_type(name, kind, scalar, place))?;
            if words.iter().any(|(word, _)| *word == text) {
                return Ok(Level::Text(text.to_owned()));
            }
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let title = format!("`{name}` does not take the value {}", quoted(text));
            Err(SpecError::at(place, title, kind.describe()).help(suggestion(text, &known)))
        }
        ParameterType::Duration { min, max } => {
            let text = scalar.text().ok_or_else(|| wrong_type(name, kind, scalar, place))?;
            // On a command line a number alone counts seconds, as pgbench takes it; a spec states the unit.
            let seconds = match scalar {
                Scalar::Word(word) => duration(&format!("{word}s")),
                _ => None,
            };
            match seconds.or_else(|| duration(text)) {
                Some(value) if (*min..=*max).contains(&value) => Ok(Level::Text(duration_text(value))),
                Some(_) => Err(out_of_range(name, kind, place).help(DURATION_HELP)),
                None => Err(wrong_type(name, kind, scalar, place)),
            }
        }
        ParameterType::Text { chars_max } => {
            let text = scalar.text().ok_or_else(|| wrong_type(name, kind, scalar, place))?;
            if text.chars().count() > *chars_max || text.chars().any(char::is_control) {
                return Err(out_of_range(name, kind, place));
            }
            Ok(Level::Text(text.to_owned()))
        }
        ParameterType::Boolean => match scalar {
            Scalar::Boolean(value) => Ok(Level::Boolean(*value)),
            Scalar::Word(word) if word == "true" || word == "false" => Ok(Level::Boolean(word == "true")),
            _ => Err(wrong_type(name, kind, scalar, place)),
        },
        ParameterType::Own => own(name, scalar, place).and_then(|level| short(name, level, place)),
        ParameterType::Setting => setting(name, scalar, place),
    }
}

fn setting(name: &str, scalar: &Scalar, place: &Span) -> Result<Level, SpecError> {
    let level = match scalar {
        Scalar::Boolean(value) => Level::Boolean(*value),
        Scalar::Integer(value) => Level::Integer(*value),
        Scalar::Float(value) => Level::Float(*value),
        Scalar::Text(text) => Level::Text(text.clone()),
        Scalar::Word(word) => match (word.as_str(), word.parse::<i64>(), word.parse::<f64>()) {
            ("true", ..) => Level::Boolean(true),
            ("false", ..) => Level::Boolean(false),
            (_, Ok(value), _) => Level::Integer(value),
            // `inf` and `nan` parse as numbers, and are words to an engine.
            (_, _, Ok(value)) if value.is_finite() => Level::Float(value),
            _ => Level::Text(word.clone()),
        },
    };
    match &level {
        Level::Float(value) if !value.is_finite() => Err(out_of_range(name, &ParameterType::Setting, place)),
        Level::Text(text) if text.chars().any(char::is_control) => {
            let title = format!("`{name}` holds a control character");
            Err(SpecError::at(place, title, "").help("write the value on one line"))
        }
        _ => Ok(level),
    }
}

/// A level of the user's own. A word of the command line is a number where that is written back in the same way: `007`
/// is text.
fn own(name: &str, scalar: &Scalar, place: &Span) -> Result<Level, SpecError> {
    let Scalar::Word(word) = scalar else { return setting(name, scalar, place) };
    let is_grouped = word.contains('_') && word.split('_').all(|group| !group.is_empty());
    let digits = if is_grouped { word.replace('_', "") } else { word.clone() };
    let same = |level: Level| Some(level).filter(|level| level.to_string() == digits);
    let number = digits.parse().ok().and_then(|value| same(Level::Integer(value)));
    let number = number.or_else(|| digits.parse().ok().and_then(|value| same(Level::Float(value))));
    let is_word = matches!(word.as_str(), "true" | "false");
    match number.filter(|number| !matches!(number, Level::Float(value) if !value.is_finite())) {
        Some(number) => Ok(number),
        None if is_word => Ok(Level::Boolean(word == "true")),
        None => setting(name, &Scalar::Text(word.clone()), place),
    }
}

/// Refuses a level that is too long to be part of the name of a cell.
fn short(name: &str, level: Level, place: &Span) -> Result<Level, SpecError> {
    match &level {
        Level::Text(text) if text.chars().count() > OWN_LEVEL_CHARS_MAX => {
            let title = format!("a level of `{name}` has more than {OWN_LEVEL_CHARS_MAX} characters");
            Err(SpecError::at(place, title, "")
                .help("put the text into a file of [workload], and its name here"))
        }
        _ => Ok(level),
    }
}

fn wrong_type(name: &str, kind: &ParameterType, scalar: &Scalar, place: &Span) -> SpecError {
    let title = match scalar {
        Scalar::Word(word) => format!("`{name}` takes {}, found {}", kind.describe(), quoted(word)),
        Scalar::Text(text) => format!("`{name}` takes {}, found the text {}", kind.describe(), quoted(text)),
        _ => format!("`{name}` takes {}, found {}", kind.describe(), scalar.type_name()),
    };
    let error = SpecError::at(place, title, format!("expected {}", kind.describe()));
    match (kind, scalar) {
        (ParameterType::Integer { .. } | ParameterType::Float { .. }, Scalar::Text(text))
            if text.parse::<f64>().is_ok() =>
        {
            error.help(format!("write {text} without quotes"))
        }
        (ParameterType::Duration { .. }, Scalar::Integer(value)) => {
            error.help(format!("write \"{value}s\" if seconds are meant"))
        }
        (ParameterType::Duration { .. }, _) => error.help(DURATION_HELP),
        (ParameterType::Integer { .. }, _) if unit_of(name).is_some() => error.help(SIZE_HELP),
        _ => error,
    }
}

fn out_of_range(name: &str, kind: &ParameterType, place: &Span) -> SpecError {
    let title = format!("`{name}` takes {}, found {}", kind.describe(), quoted(place.written()));
    SpecError::at(place, title, "outside the range")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_size_may_have_a_unit_and_is_a_whole_number_of_that_of_its_parameter() {
        let size = |name: &str, text: &str| super::size(name, &Scalar::Text(text.to_owned()));
        assert_eq!(size("buffer_pool_mib", "64MiB"), Some(64));
        assert_eq!(size("buffer_pool_mib", "2GiB"), Some(2048));
        assert_eq!(size("transfer_kib", "8k"), Some(8));
        assert_eq!(size("buffer_pool_mib", "1048.576MB"), Some(1000));
        for (name, text) in [
            ("buffer_pool_mib", "64MB"),
            ("buffer_pool_mib", "64x"),
            ("buffer_pool_mib", "1048576"),
            ("rows_total", "1MiB"),
        ] {
            assert_eq!(size(name, text), None, "{text}");
        }
    }

    #[test]
    fn times_have_one_canonical_form() {
        for (written, canonical) in [
            ("60s", "1m"),
            ("1.5s", "1500ms"),
            ("90s", "90s"),
            ("120min", "2h"),
            ("250 ms", "250ms"),
            ("0ms", "0s"),
        ] {
            assert_eq!(duration_text(duration(written).unwrap()), canonical);
            assert_eq!(duration(canonical), duration(written));
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in ["", "10", "s", "-1s", "10 parsecs", "1e3s", "..s", "99999999999999999999h", "1s2", "ms5"]
        {
            assert_eq!(duration(text), None, "{text}");
        }
    }
}
