//! Reads a TOML document as tables of entries that know their place.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Span, SpecError, SpecText, quoted, suggestion};
use super::value::Scalar;

/// A spec is a page or two, and as stored it has the texts of an own workload, escaped. More than this is not a spec, and
/// reading it would only cost memory.
const SPEC_BYTES_MAX: usize = 96 << 20;

/// One key with its value, and where both stand.
#[derive(Clone)]
pub(crate) struct Entry<'a> {
    pub(crate) key: &'a str,
    pub(crate) key_place: Span,
    pub(crate) value_place: Span,
    value: &'a DeValue<'a>,
    source: &'a SpecText,
}

/// Parses the text, and hands its top-level entries to `read`: the document borrows the text.
pub(crate) fn read<T>(
    source: &SpecText,
    read: impl FnOnce(&[Entry<'_>]) -> Result<T, SpecError>,
) -> Result<T, SpecError> {
    let text = source.text();
    if text.len() > SPEC_BYTES_MAX {
        let title = format!("the spec has {} bytes, at most {SPEC_BYTES_MAX} are read", text.len());
        return Err(SpecError::at(&source.place(0..0), title, ""));
    }
    let document = DeTable::parse(text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        SpecError::at(&source.place(span), format!("the spec is not TOML: {}", error.message()), "")
    })?;
    read(&entries(source, document.get_ref()))
}

/// Entries in the order of the text.
fn entries<'a>(source: &'a SpecText, table: &'a DeTable<'a>) -> Vec<Entry<'a>> {
    let mut entries: Vec<Entry<'a>> =
        table.iter().map(|(key, value)| entry(source, key.get_ref(), key.span(), value)).collect();
    entries.sort_by_key(|entry| entry.start());
    entries
}

fn entry<'a>(
    source: &'a SpecText,
    key: &'a str,
    key_span: Range<usize>,
    value: &'a Spanned<DeValue<'a>>,
) -> Entry<'a> {
    Entry {
        key,
        key_place: source.place(key_span),
        value_place: source.place(value.span()),
        value: value.get_ref(),
        source,
    }
}

impl<'a> Entry<'a> {
    fn start(&self) -> usize {
        self.key_place.start()
    }

    /// The entries of a table, in the order of the text.
    pub(crate) fn table(&self) -> Result<Vec<Entry<'a>>, SpecError> {
        match self.value {
            DeValue::Table(table) => Ok(entries(self.source, table)),
            _ => Err(self.wrong_type("a table")),
        }
    }

    /// The tables of `[[key]]`.
    pub(crate) fn tables(&self) -> Result<Vec<(Span, Vec<Entry<'a>>)>, SpecError> {
        let DeValue::Array(items) = self.value else { return Err(self.wrong_type("tables [[…]]")) };
        items
            .iter()
            .map(|item| match item.get_ref() {
                DeValue::Table(table) => Ok((self.source.place(item.span()), entries(self.source, table))),
                _ => Err(self.wrong_type("tables [[…]]")),
            })
            .collect()
    }

    /// Is the value a table?
    pub(crate) fn is_table(&self) -> bool {
        self.value.is_table()
    }

    /// The elements of an array, or nothing when the value is not an array.
    pub(crate) fn elements(&self) -> Option<Vec<Element<'a>>> {
        self.value.as_array().map(|items| {
            items
                .iter()
                .map(|item| Element {
                    value: item.get_ref(),
                    place: self.source.place(item.span()),
                    source: self.source,
                })
                .collect()
        })
    }

    /// The value as one element.
    pub(crate) fn element(&self) -> Element<'a> {
        Element { value: self.value, place: self.value_place.clone(), source: self.source }
    }

    /// A text without control characters other than the line break and the tab.
    pub(crate) fn text(&self) -> Result<String, SpecError> {
        self.element().text(self.key)
    }

    /// A whole number in the range.
    pub(crate) fn count(&self, range: std::ops::RangeInclusive<u32>) -> Result<u32, SpecError> {
        let wanted = format!("a whole number from {} to {}", range.start(), range.end());
        match self.element().scalar(self.key)? {
            Scalar::Integer(value) => {
                u32::try_from(value).ok().filter(|value| range.contains(value)).ok_or_else(|| {
                    let title = format!("`{}` takes {wanted}, found {value}", self.key);
                    SpecError::at(&self.value_place, title, "outside the range")
                })
            }
            _ => Err(self.wrong_type(&wanted)),
        }
    }

    /// `true` or `false`.
    pub(crate) fn flag(&self) -> Result<bool, SpecError> {
        match self.element().scalar(self.key)? {
            Scalar::Boolean(value) => Ok(value),
            _ => Err(self.wrong_type("true or false")),
        }
    }

    /// One of the words.
    pub(crate) fn word<T: Copy>(&self, words: &[(&str, T)]) -> Result<T, SpecError> {
        let text = self.text()?;
        words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value).ok_or_else(|| {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let title = format!("`{}` does not take the value {}", self.key, quoted(&text));
            SpecError::at(&self.value_place, title, format!("one of {}", known.join(", ")))
                .help(suggestion(&text, &known))
        })
    }

    /// The error for a value of the wrong type.
    pub(crate) fn wrong_type(&self, wanted: &str) -> SpecError {
        self.element().wrong_type(self.key, wanted)
    }

    /// The error for a key that does not belong here.
    pub(crate) fn not_known(&self, place_name: &str, known: &[&str]) -> SpecError {
        let title = format!("{} is not a key of {place_name}", quoted(self.key));
        SpecError::at(&self.key_place, title, "not a key here").help(suggestion(self.key, known))
    }
}

/// A value with its place.
pub(crate) struct Element<'a> {
    value: &'a DeValue<'a>,
    pub(crate) place: Span,
    source: &'a SpecText,
}

impl<'a> Element<'a> {
    /// The entries of a table, in the order of the text; `None` where the value is no table.
    pub(crate) fn table(&self) -> Option<Vec<Entry<'a>>> {
        self.value.as_table().map(|table| entries(self.source, table))
    }

    /// The value as text, whatever characters it has; `None` where it is no text.
    pub(crate) fn any_text(&self) -> Option<&'a str> {
        match self.value {
            DeValue::String(text) => Some(text),
            _ => None,
        }
    }

    /// The value as a scalar; `name` is what a message calls it.
    pub(crate) fn scalar(&self, name: &str) -> Result<Scalar, SpecError> {
        match self.value {
            DeValue::String(text) => Ok(Scalar::Text(text.to_string())),
            DeValue::Boolean(value) => Ok(Scalar::Boolean(*value)),
            DeValue::Integer(number) => {
                i64::from_str_radix(number.as_str(), number.radix()).map(Scalar::Integer).map_err(|_| {
                    let title = format!("`{name}`: {} does not fit in 64 bits", quoted(&number.to_string()));
                    SpecError::at(&self.place, title, "too large")
                })
            }
            DeValue::Float(number) => match number.as_str().parse::<f64>() {
                Ok(value) if value.is_finite() => Ok(Scalar::Float(value)),
                _ => {
                    let title = format!("`{name}`: {} is not a finite number", quoted(number.as_str()));
                    Err(SpecError::at(&self.place, title, ""))
                }
            },
            DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => {
                Err(self.wrong_type(name, "a single value"))
            }
        }
    }

    /// The value as text; `name` is what a message calls it.
    pub(crate) fn text(&self, name: &str) -> Result<String, SpecError> {
        let DeValue::String(text) = self.value else { return Err(self.wrong_type(name, "text")) };
        if text.chars().any(|c| c.is_control() && c != '\n' && c != '\t') {
            return Err(SpecError::at(&self.place, format!("`{name}` holds a control character"), ""));
        }
        Ok(text.to_string())
    }

    /// The error for a value of the wrong type; `name` is what the message calls it.
    pub(crate) fn wrong_type(&self, name: &str, wanted: &str) -> SpecError {
        let found = match self.value {
            DeValue::String(_) => "text",
            DeValue::Boolean(_) => "a boolean",
            DeValue::Integer(_) => "a whole number",
            DeValue::Float(_) => "a decimal number",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        SpecError::at(
            &self.place,
            format!("`{name}` takes {wanted}, found {found}"),
            format!("expected {wanted}"),
        )
    }
}
