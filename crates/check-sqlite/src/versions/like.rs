//! LIKE as a build of SQLite with SQLITE_CASE_SENSITIVE_LIKE computes it.

use rusqlite::Connection;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;

/// Puts a LIKE that tells small letters from capitals in the place of the built-in one.
// EVIDENCE: sqlite compile, SQLITE_CASE_SENSITIVE_LIKE; lang_expr, the LIKE operator calls like(pattern, text, escape)
pub(crate) fn make_case_sensitive(connection: &Connection) -> rusqlite::Result<()> {
    let flags =
        FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    for count in [2, 3] {
        connection.create_scalar_function("like", count, flags, |arguments| Ok(like(arguments)))?;
    }
    Ok(())
}

/// NULL where a text cannot be had as the built-in function would have it.
fn like(arguments: &Context<'_>) -> Option<bool> {
    let text = |index: usize| match arguments.get_raw(index) {
        ValueRef::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Integer(number) => Some(number.to_string()),
        _ => None,
    };
    let escape = if arguments.len() > 2 { Some(text(2)?.chars().next()?) } else { None };
    Some(matches(&text(0)?, &text(1)?, escape))
}

/// One sign of a pattern.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    Letter(char),
    AnyLetter,
    AnyText,
}

/// Whether a text matches a pattern. Cost: at most the product of both lengths.
fn matches(pattern: &str, text: &str, escape: Option<char>) -> bool {
    let mut signs = Vec::new();
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        signs.push(match letter {
            _ if Some(letter) == escape => match letters.next() {
                Some(letter) => Sign::Letter(letter),
                None => return false,
            },
            '%' => Sign::AnyText,
            '_' => Sign::AnyLetter,
            letter => Sign::Letter(letter),
        });
    }
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut sign) = (0, 0);
    // Where the newest `%` stands, and how much of the text it takes.
    let mut newest: Option<(usize, usize)> = None;
    while let Some(letter) = text.get(at) {
        match signs.get(sign) {
            Some(Sign::AnyText) => {
                newest = Some((sign, at));
                sign += 1;
            }
            Some(Sign::AnyLetter) => (at, sign) = (at + 1, sign + 1),
            Some(Sign::Letter(wanted)) if wanted == letter => (at, sign) = (at + 1, sign + 1),
            _ => {
                let Some((percent, taken)) = newest else { return false };
                newest = Some((percent, taken + 1));
                (at, sign) = (taken + 1, percent + 1);
            }
        }
    }
    signs.get(sign..).unwrap_or_default().iter().all(|sign| *sign == Sign::AnyText)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_matches_as_the_built_in_function_does_but_for_capitals() {
        for (pattern, text, escape, is_match) in [
            ("x%", "xa", None, true),
            ("x%", "Xa", None, false),
            ("%a_c%", "abcabac", None, true),
            ("%a_c", "abcabd", None, false),
            ("", "", None, true),
            ("%", "", None, true),
            ("a!%", "a%", Some('!'), true),
            ("a!%", "ab", Some('!'), false),
            ("%b%b", "abab", None, true),
        ] {
            assert_eq!(matches(pattern, text, escape), is_match, "{text} LIKE {pattern}");
        }
    }
}
