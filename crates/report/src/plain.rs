//! Text from outside made harmless: no control character, no invisible or direction-changing one, no endless word.

/// Longest text that a table shows; the exports keep all of it.
const CHARS_MAX: usize = 200;

/// Makes one line of printable characters; others appear as `\u{1b}`, what is too long ends in `...`.
pub fn plain(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for (index, character) in text.chars().enumerate() {
        if index == CHARS_MAX {
            line.push_str("...");
            break;
        }
        match character {
            '\t' => line.push(' '),
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            _ if is_hidden(character) => line.push_str(&format!("\\u{{{:x}}}", u32::from(character))),
            _ => line.push(character),
        }
    }
    line
}

/// As [`plain`], with everything that Markdown or HTML would act on escaped.
pub(crate) fn plain_markdown(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in plain(text).chars() {
        match character {
            '<' => line.push_str("&lt;"),
            '>' => line.push_str("&gt;"),
            '&' => line.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' => {
                line.push('\\');
                line.push(character);
            }
            _ => line.push(character),
        }
    }
    line
}

/// Controls, line and paragraph separators, and the format characters that hide or reorder text.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_become_visible() {
        assert_eq!(plain("a\u{1b}[31mb\r\n\u{202e}c\0"), "a\\u{1b}[31mb\\r\\n\\u{202e}c\\u{0}");
        assert_eq!(plain("größe µs"), "größe µs");
    }

    #[test]
    fn a_long_text_is_cut_and_says_so() {
        let cut = plain(&"x".repeat(5000));
        assert_eq!(cut.len(), CHARS_MAX + 3);
        assert!(cut.ends_with("x..."));
    }

    #[test]
    fn markup_does_nothing_in_markdown() {
        assert_eq!(plain_markdown("<b>|`x`*"), "&lt;b&gt;\\|\\`x\\`\\*");
    }
}
