//! From a byte of the text that SQLite was given to the character of the statement in the script.

use std::ops::Range;

use script::{Statement, Variables};

/// Which text SQLite was given.
#[derive(Clone, Copy, Debug)]
pub(super) enum Given<'a> {
    /// That with `$1`, `$2`, ...
    Numbered,
    /// That with the values of these variables.
    Written(&'a Variables),
}

/// Character of [`Statement::text`], counted from 1, for a byte of the text that was given. A byte inside a variable is
/// the variable's first character.
pub(super) fn position(statement: &Statement, given: Given<'_>, byte: usize) -> u32 {
    let text = statement.text();
    let mut passed = 0;
    let mut source = 0;
    let mut value = Vec::new();
    for (range, slot) in variables(statement).iter().zip(statement.parameters()) {
        let between = range.start - source;
        if byte < passed + between {
            break;
        }
        (passed, source) = (passed + between, range.start);
        value.clear();
        let length = match given {
            Given::Numbered => numbered_length(statement, passed),
            Given::Written(variables) => match variables.write(*slot, &mut value) {
                true => value.len(),
                false => range.len(),
            },
        };
        if byte < passed + length {
            return characters(text, source);
        }
        (passed, source) = (passed + length, range.end);
    }
    characters(text, source + (byte - passed))
}

/// The ranges of the variables in the text of a statement: where it differs from the numbered one.
fn variables(statement: &Statement) -> Vec<Range<usize>> {
    let (text, numbered) = (statement.text().as_bytes(), statement.numbered().as_bytes());
    let mut ranges = Vec::new();
    let (mut at, mut other) = (0, 0);
    while ranges.len() < statement.parameters().len() && at < text.len() {
        if text[at] == b':' && numbered.get(other) == Some(&b'$') {
            let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
            let length = 1 + text[at + 1..].iter().take_while(|byte| is_of_name(byte)).count();
            ranges.push(at..at + length);
            other += numbered_length(statement, other);
            at += length;
        } else {
            at += 1;
            other += 1;
        }
    }
    ranges
}

/// Bytes of `$n` that begins here. No digit follows it: it would be part of the variable's name.
fn numbered_length(statement: &Statement, at: usize) -> usize {
    let rest = statement.numbered().as_bytes().get(at + 1..).unwrap_or_default();
    1 + rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

fn characters(text: &str, byte: usize) -> u32 {
    let mut end = byte.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    u32::try_from(text[..end].chars().count()).unwrap_or(u32::MAX).saturating_add(1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use script::{Client, Dialect, Program, Protocol, Seeds};

    use super::*;

    /// The characters that bytes of the given text come from, as a text; a variable gives one character for each byte.
    fn traced(text: &str, definitions: &[&str], is_written: bool) -> String {
        let dialect = Dialect { engine: "sqlite".to_owned(), engines: vec!["sqlite".to_owned()] };
        let mut program = Program::new(dialect, Protocol::Simple);
        program.add("t.sql", text.as_bytes()).unwrap();
        definitions.iter().for_each(|definition| program.define(definition).unwrap());
        let client = Client::new(&program, &Seeds::new(1, 1), 0, 1);
        let statement = program.scripts()[0].commands()[0].statement().unwrap();
        let mut given = statement.numbered().as_bytes().to_vec();
        if is_written {
            given.clear();
            statement.write(client.variables(), &mut given);
        }
        let kind = if is_written { Given::Written(client.variables()) } else { Given::Numbered };
        let characters: Vec<char> = statement.text().chars().collect();
        let source = |byte| characters.get(position(statement, kind, byte) as usize - 1);
        (0..given.len()).filter_map(source).collect()
    }

    #[test]
    fn each_byte_comes_from_its_character_and_values_from_the_colon_of_their_variable() {
        let definitions = ["a=12345", "long=x:y $1 größe", "null=NULL"];
        for text in ["SELECT :a, b::c, ':a' $1 :none:a;", ":a", "x:a:a:a", "SELECT 1;", "[::a :long :null]"] {
            let shown: String = traced(text, &definitions, true);
            let expected = text
                .replace(":none", "#none")
                .replace("::a", "##a")
                .replace(":long", &":".repeat("x:y $1 größe".len()))
                .replace(":null", "::::")
                .replace(":a", ":::::")
                .replace("##a", "::a");
            assert_eq!(shown, expected.replace("#none", ":::::"), "{text}");
        }
        assert_eq!(traced("f(:a, :b), :a;", &[], false), "f(::, ::), ::;");
    }

    #[test]
    fn characters_are_counted_and_not_bytes() {
        assert_eq!(traced("'äö' :a", &["a=1"], true), "'ääöö' :");
    }
}
