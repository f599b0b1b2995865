//! Text from outside made harmless: no control character, no invisible or direction-changing one, no formula of a
//! spreadsheet. The one place that knows which characters these are.

use std::borrow::Cow;

/// Longest text that a table shows; the exports keep all of it.
const CHARS_MAX: usize = 200;

/// Makes one line of printable characters; others appear as `\u{1b}`, what is too long ends in `...`.
pub fn plain(text: &str) -> String {
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => one_line(text.get(..end).unwrap_or_default()) + "...",
        None => one_line(text),
    }
}

/// As [`plain`], at any length.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\t' => line.push(' '),
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            _ if is_hidden(character) => line.push_str(&written_out(character)),
            _ => line.push(character),
        }
    }
    line
}

/// Keeps lines and tabs, and makes everything else printable: the last gate before a terminal.
pub fn lines(text: &str) -> Cow<'_, str> {
    let acts = |character: char| is_hidden(character) && !matches!(character, '\n' | '\t');
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let mut harmless = String::with_capacity(text.len());
    for character in text.chars() {
        if acts(character) {
            harmless.push_str(&written_out(character));
        } else {
            harmless.push(character);
        }
    }
    Cow::Owned(harmless)
}

/// A document of JSON that reads as the same values, with every hidden character escaped as JSON does.
// EVIDENCE: RFC 8259 7: characters beyond U+FFFF are escaped as a pair of surrogates
pub fn json(document: &str) -> Cow<'_, str> {
    // Outside of strings only the white space of the layout can be hidden.
    let acts = |character: char| is_hidden(character) && !matches!(character, '\n' | '\t' | '\r');
    if !document.contains(acts) {
        return Cow::Borrowed(document);
    }
    let mut escaped = String::with_capacity(document.len());
    for character in document.chars() {
        if acts(character) {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            escaped.push(character);
        }
    }
    Cow::Owned(escaped)
}

/// A field of CSV, before quotes: one line, and no formula where a spreadsheet opens it. A text that begins as one gets
/// an apostrophe in front; numbers stay as they are.
pub fn cell(text: &str) -> String {
    let line = one_line(text);
    let is_formula =
        line.trim_start().starts_with(['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}']);
    if is_formula && line.parse::<f64>().is_err() { format!("'{line}") } else { line }
}

/// Controls, line and paragraph separators, and the format characters that hide or reorder text.
pub fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
                | '\u{180b}'..='\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
                | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
        )
}

fn written_out(character: char) -> String {
    format!("\\u{{{:x}}}", u32::from(character))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const HOSTILE: &str = "a\u{1b}[31mb\r\n\t\u{202e}c\0\u{9b}\u{e0041}";

    #[test]
    fn control_characters_become_visible() {
        assert_eq!(plain("a\u{1b}[31mb\r\n\u{202e}c\0"), "a\\u{1b}[31mb\\r\\n\\u{202e}c\\u{0}");
        assert_eq!(plain("größe µs"), "größe µs");
        assert_eq!(lines(HOSTILE), "a\\u{1b}[31mb\\u{d}\n\t\\u{202e}c\\u{0}\\u{9b}\\u{e0041}");
        assert!(matches!(lines("two\nlines\tand größe"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_long_text_is_cut_and_says_so() {
        let cut = plain(&"x".repeat(5000));
        assert_eq!(cut.len(), CHARS_MAX + 3);
        assert!(cut.ends_with("x..."));
        assert_eq!(one_line(&"x".repeat(5000)).len(), 5000);
    }

    #[test]
    fn json_reads_as_the_same_values() {
        let value = serde_json::json!({ HOSTILE: [HOSTILE, 1, null] });
        for document in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let harmless = json(&document);
            assert!(!harmless.chars().any(|character| is_hidden(character) && character != '\n'));
            assert_eq!(serde_json::from_str::<serde_json::Value>(&harmless).unwrap(), value);
        }
    }

    #[test]
    fn a_field_is_no_formula_and_a_number_stays_one() {
        for (text, field) in [
            ("=1+1", "'=1+1"),
            ("+cmd", "'+cmd"),
            ("-2+3", "'-2+3"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "' =1"),
            ("-5", "-5"),
            ("+1.5e3", "+1.5e3"),
            ("a=b", "a=b"),
            ("", ""),
        ] {
            assert_eq!(cell(text), field);
        }
    }
}
