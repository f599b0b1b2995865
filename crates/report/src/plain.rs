//! Text from outside made harmless, as [`results::plain`] does it, and for Markdown.

pub use results::plain::{cell, is_hidden, json, lines, one_line, plain};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_does_nothing_in_markdown() {
        assert_eq!(plain_markdown("<b>|`x`*"), "&lt;b&gt;\\|\\`x\\`\\*");
    }
}
