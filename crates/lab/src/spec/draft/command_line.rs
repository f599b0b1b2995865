//! One `--set` of the command line.

use super::assignment::{Assignment, distinct};
use super::kind::{canonical, kind_of};
use crate::spec::error::{SpecError, SpecText};
use crate::spec::value::{Scalar, level};

/// Reads `key=value[,value...]` of the command line; a value in double quotes may hold commas.
pub(super) fn parse_override(key: &str, value: &str, is_own: bool) -> Result<Assignment, SpecError> {
    let source = SpecText::new("--set", &format!("{key}={value}"));
    let key_place = source.place(0..key.len());
    let name = canonical(key, is_own).to_owned();
    let kind = kind_of(&name, &key_place, is_own)?;
    let start = key.len() + 1;
    let mut levels = Vec::new();
    for (offset, word) in split_values(value) {
        let place = source.place(start + offset..start + offset + word.len());
        let bare = word.strip_prefix('"').and_then(|word| word.strip_suffix('"'));
        if word.is_empty() {
            return Err(SpecError::at(&place, format!("`{name}` is given no value"), "expected a value")
                .help("write key=value, or key=value,value to vary it"));
        }
        let scalar = match bare {
            Some(text) => Scalar::Text(text.to_owned()),
            None => Scalar::Word(word.to_owned()),
        };
        levels.push((level(&name, &kind, &scalar, &place)?, place));
    }
    distinct(&name, levels, &key_place, &source.place(start..start + value.len()))
}

/// Words between commas outside double quotes, trimmed, with their offsets; at least one, perhaps empty.
fn split_values(value: &str) -> Vec<(usize, &str)> {
    let mut words = Vec::new();
    let (mut start, mut is_quoted) = (0, false);
    for (offset, c) in value.char_indices().chain([(value.len(), ',')]) {
        is_quoted ^= c == '"';
        if c == ',' && (!is_quoted || offset == value.len()) {
            let part = &value[start..offset];
            let trimmed = part.trim();
            words.push((start + (part.len() - part.trim_start().len()), trimmed));
            start = offset + 1;
        }
    }
    words
}
