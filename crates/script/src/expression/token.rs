//! Words of an expression.

use crate::names::{continues_name, starts_name};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'a> {
    /// One or two characters of punctuation.
    Symbol(&'static str),
    Integer(&'a str),
    Double(&'a str),
    /// A name after a colon.
    Variable(&'a str),
    /// A keyword or the name of a function.
    Word(&'a str),
    /// A character that no expression has.
    Unexpected(char),
    /// The end of the line, or of the script.
    End,
}

/// Longer ones first.
const SYMBOLS: [&str; 20] = [
    "<=", ">=", "<>", "!=", "<<", ">>", "<", ">", "=", "+", "-", "*", "/", "%", "(", ")", ",", "&", "|", "#",
];

/// Reads tokens up to the end of a line that does not end in a backslash.
#[derive(Clone)]
pub(super) struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(text: &'a str, at: usize) -> Self {
        Self { text, at }
    }

    /// Returns the next token and the offset of its first byte; the end stays where it is.
    pub(super) fn next(&mut self) -> (usize, Token<'a>) {
        self.at = after_blanks(self.text, self.at);
        let start = self.at;
        let rest = &self.text[start..];
        let bytes = rest.as_bytes();
        let Some(&first) = bytes.first() else { return (start, Token::End) };
        let (length, token) = if first == b'\n' {
            (0, Token::End)
        } else if first.is_ascii_digit() || (first == b'.' && bytes.get(1).is_some_and(u8::is_ascii_digit)) {
            number(rest)
        } else if starts_name(first) {
            let length = name_length(bytes);
            (length, Token::Word(&rest[..length]))
        } else if first == b':' && bytes.get(1).copied().is_some_and(continues_name) {
            let length = 1 + name_length(&bytes[1..]);
            (length, Token::Variable(&rest[1..length]))
        } else if first == b'~' {
            (1, Token::Symbol("~"))
        } else if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            (symbol.len(), Token::Symbol(symbol))
        } else {
            let character = rest.chars().next().unwrap_or_default();
            (character.len_utf8(), Token::Unexpected(character))
        };
        self.at += length;
        (start, token)
    }
}

/// Skips blanks and ends of lines behind a backslash.
pub(crate) fn after_blanks(text: &str, mut at: usize) -> usize {
    let bytes = text.as_bytes();
    loop {
        match bytes.get(at..).unwrap_or_default() {
            [b' ' | b'\t' | b'\r' | b'\x0b' | b'\x0c', ..] => at += 1,
            [b'\\', b'\n', ..] => at += 2,
            [b'\\', b'\r', b'\n', ..] => at += 3,
            _ => return at,
        }
    }
}

fn name_length(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| continues_name(**byte)).count()
}

/// The longest number at the start of the text.
fn number(text: &str) -> (usize, Token<'_>) {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count();
    let mut length = digits(0);
    let mut is_double = false;
    if bytes.get(length) == Some(&b'.') {
        is_double = true;
        length += 1 + digits(length + 1);
    }
    if matches!(bytes.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
        let exponent = digits(length + 1 + sign);
        if exponent > 0 {
            is_double = true;
            length += 1 + sign + exponent;
        }
    }
    let number = &text[..length];
    (length, if is_double { Token::Double(number) } else { Token::Integer(number) })
}
