//! `{{name}}` and blocks of levels in texts: found, replaced, and traced back from a place of the result.

use std::collections::BTreeSet;
use std::ops::Range;

use super::blocks;
use super::files::TEXT_BYTES_MAX;
use crate::spec::error::{Span, SpecText};

/// A text with placeholders.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    /// The text, and the name that messages call it by: its file.
    pub(super) source: SpecText,
    /// Where the spec names it.
    pub(super) place: Span,
    /// Of a text that has no name but its place: where in that place it begins, when it stands there without escapes.
    within: Option<usize>,
}

impl Template {
    pub(super) fn new(name: &str, text: &str, place: Span) -> Self {
        Self { source: SpecText::new(name, text), place, within: None }
    }

    /// A text of the spec itself, which no file has: errors point into the spec.
    pub(super) fn inline(name: &str, text: &str, place: Span) -> Self {
        let within = place.written().find(text).filter(|_| !text.is_empty());
        Self { within, ..Self::new(name, text, place) }
    }

    pub(super) fn text(&self) -> &str {
        self.source.text()
    }

    /// Where these bytes of the text are written.
    pub(super) fn at(&self, range: Range<usize>) -> Span {
        match self.within {
            Some(start) => self.place.part(start + range.start..start + range.end),
            None => self.source.place(range),
        }
    }
}

/// A text with its placeholders replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rendered {
    pub(crate) text: String,
    /// Each placeholder: its bytes in the result, and in the text as written.
    replaced: Vec<(Range<usize>, Range<usize>)>,
}

/// Why a text cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TemplateError {
    /// No such name; the bytes of the placeholder.
    Unknown(String, Range<usize>),
    /// Larger than a text may be.
    TooLarge,
}

/// The placeholders of a text in order: bytes and name. Braces around anything but a name of a variable are text: array
/// literals have them.
pub(crate) fn placeholders(text: &str) -> Vec<(Range<usize>, &str)> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(offset) = text[from..].find("{{") {
        let start = from + offset;
        from = start + 1;
        let inner = &text[start + 2..];
        let blank = |c: char| c == ' ' || c == '\t';
        let name_start = inner.len() - inner.trim_start_matches(blank).len();
        let name_length = inner[name_start..]
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii()))
            .unwrap_or(inner.len() - name_start);
        let name = &inner[name_start..name_start + name_length];
        let rest = &inner[name_start + name_length..];
        let closing = rest.trim_start_matches(blank);
        if !script::is_variable_name(name) || !closing.starts_with("}}") {
            continue;
        }
        let end = text.len() - closing.len() + 2;
        found.push((start..end, name));
        from = end;
    }
    found
}

/// The names that follow a colon in a text, as variables of scripts do; not the types of casts.
pub(crate) fn variables(text: &str) -> BTreeSet<&str> {
    let continues = |c: char| c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii();
    let bytes = text.as_bytes();
    text.match_indices(':')
        .filter(|(at, _)| *at == 0 || bytes[at - 1] != b':')
        .map(|(at, _)| {
            let rest = &text[at + 1..];
            &rest[..rest.find(|c: char| !continues(c)).unwrap_or(rest.len())]
        })
        .filter(|name| script::is_variable_name(name))
        .collect()
}

/// The names whose levels decide what a text becomes: those of placeholders and of blocks.
pub(crate) fn names(text: &str) -> impl Iterator<Item = &str> {
    let placeholders = placeholders(text).into_iter().map(|(_, name)| name);
    placeholders.chain(blocks::blocks(text).into_iter().map(|block| block.name))
}

/// Replaces the placeholders by the values that `value` has for their names, and empties the lines of blocks of other
/// levels. Lines keep their numbers.
pub(crate) fn render(text: &str, value: &dyn Fn(&str) -> Option<String>) -> Result<Rendered, TemplateError> {
    let is_level = |name: &str, level: &str| value(name).map(|value| value == level);
    let left_out = blocks::left_out(text, &is_level)
        .map_err(|block| TemplateError::Unknown(block.name.to_owned(), block.place))?;
    let mut left_out = left_out.into_iter().peekable();
    let mut rendered = Rendered { text: String::with_capacity(text.len()), replaced: Vec::new() };
    let mut from = 0;
    for (range, name) in placeholders(text) {
        while let Some(line) = left_out.next_if(|line| line.start <= range.start) {
            rendered.replace(text, &mut from, line, "")?;
        }
        if range.start < from {
            continue;
        }
        let Some(value) = value(name) else { return Err(TemplateError::Unknown(name.to_owned(), range)) };
        rendered.replace(text, &mut from, range, &value)?;
    }
    for line in left_out {
        rendered.replace(text, &mut from, line, "")?;
    }
    rendered.replace(text, &mut from, text.len()..text.len(), "")?;
    Ok(rendered)
}

impl Rendered {
    /// Appends the text as written up to `range`, and `value` in place of that.
    fn replace(
        &mut self,
        text: &str,
        from: &mut usize,
        range: Range<usize>,
        value: &str,
    ) -> Result<(), TemplateError> {
        self.text.push_str(&text[*from..range.start]);
        let start = self.text.len();
        self.text.push_str(value);
        if self.text.len() > TEXT_BYTES_MAX {
            return Err(TemplateError::TooLarge);
        }
        *from = range.end;
        self.replaced.push((start..self.text.len(), range));
        Ok(())
    }

    /// The bytes as written from which the byte `offset` of the result comes: its own place, or the placeholder.
    pub(crate) fn origin(&self, offset: usize) -> Range<usize> {
        let before = self.replaced.iter().take_while(|(made, _)| made.start <= offset).last();
        match before {
            Some((made, written)) if offset < made.end => written.clone(),
            Some((made, written)) => {
                let at = written.end + (offset - made.end);
                at..at + 1
            }
            None => offset..offset + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn rendered(text: &str) -> Result<Rendered, TemplateError> {
        render(text, &|name| match name {
            "key" => Some("bigint".to_owned()),
            "größe" => Some("3".to_owned()),
            "leer" => Some(String::new()),
            _ => None,
        })
    }

    #[test]
    fn names_in_double_braces_are_replaced_and_all_other_braces_are_text() {
        for (text, made) in [
            ("id {{key}}, {{ key }} {{größe}}{{leer}}", "id bigint, bigint 3"),
            (
                "'{{1,2},{3,4}}' '{ {key}}' {key} {{}} {{a b}}",
                "'{{1,2},{3,4}}' '{ {key}}' {key} {{}} {{a b}}",
            ),
            ("{{{key}}} {{{{key}}}}", "{bigint} {{bigint}}"),
            ("{{key} } {{key", "{{key} } {{key"),
            ("", ""),
        ] {
            assert_eq!(rendered(text).unwrap().text, made, "{text}");
        }
        let blocks = "{{key}}\n-- fathom: key=uuid\n{{kay}}\n-- fathom: key=bigint\n{{key}}\n";
        assert_eq!(rendered(blocks).unwrap().text, "bigint\n\n\n\nbigint\n");
        assert_eq!(rendered("a {{kay}}"), Err(TemplateError::Unknown("kay".to_owned(), 2..9)));
    }

    #[test]
    fn a_place_of_the_result_is_traced_to_the_text_as_written() {
        let text = "x {{key}} y {{leer}}z";
        let made = rendered(text).unwrap();
        assert_eq!(made.text, "x bigint y z");
        assert_eq!(made.origin(0), 0..1);
        assert_eq!(made.origin(2), 2..9);
        assert_eq!(made.origin(7), 2..9);
        assert_eq!(&text[made.origin(9)], "y");
        assert_eq!(&text[made.origin(11)], "z");
    }

    #[test]
    fn a_result_larger_than_a_text_may_be_is_refused() {
        let text = "{{key}}".repeat(1000);
        let large = "x".repeat(TEXT_BYTES_MAX / 500);
        assert_eq!(render(&text, &|_| Some(large.clone())), Err(TemplateError::TooLarge));
    }

    #[test]
    fn a_variable_is_the_whole_name_behind_a_colon_that_is_no_cast() {
        for (text, expected) in [
            ("SELECT :key;", &["key"][..]),
            ("\\set x :key + 1", &["key"]),
            ("SELECT 1::key", &[]),
            ("SELECT :keys, :ke, key, :KEY, :1, '12:30'", &["KEY", "ke", "keys"]),
            ("SELECT :keyä", &["keyä"]),
            ("(:key)", &["key"]),
            (":key", &["key"]),
            (":", &[]),
        ] {
            assert_eq!(variables(text).into_iter().collect::<Vec<_>>(), expected, "{text}");
        }
    }
}
