//! Passwords in SQL that users wrote. A column may be called `password`, and a text may have an address of mail: only what
//! is a password for a server is one.

use std::borrow::Cow;
use std::ops::Range;

use super::text::{HIDDEN, redacted, sql_passwords};

/// Keys of a connection string, one of which stands beside its password.
const CONNECTION_KEYS: [&str; 6] = ["host=", "hostaddr=", "user=", "dbname=", "port=", "service="];
/// A text of SQL in a spec as it is stored begins with one of these, on a line of its own; see `redacted_spec`.
const LITERAL: &str = "sql = '''";
const ESCAPED: &str = "sql = \"";

/// The first password in a text of SQL: a literal behind the word PASSWORD, one in a connection string or in a URL.
pub fn sql_password(text: &str) -> Option<Range<usize>> {
    let literal = sql_passwords(text).into_iter().find(|range| text[range.clone()].len() > 2);
    literal.or_else(|| in_connection_string(text)).or_else(|| in_url(text))
}

/// A spec as it is stored: texts of SQL without what `sql_password` finds, all other lines as `redacted` has them.
pub fn redacted_spec(spec: &str) -> Cow<'_, str> {
    let mut out = String::with_capacity(spec.len());
    let mut rest = spec;
    while let Some((start, length)) = next_sql(rest) {
        out.push_str(&redacted(&rest[..start]));
        out.push_str(&without_passwords(&rest[start..start + length]));
        rest = &rest[start + length..];
    }
    if out.is_empty() {
        return redacted(spec);
    }
    out.push_str(&redacted(rest));
    if out == spec { Cow::Borrowed(spec) } else { Cow::Owned(out) }
}

/// Where the next text of SQL is, and how long.
fn next_sql(spec: &str) -> Option<(usize, usize)> {
    let mut start = 0;
    for line in spec.split_inclusive('\n') {
        if line.trim_end() == LITERAL {
            let inner = start + LITERAL.len();
            let length = spec[inner..].find("'''").map_or(spec.len() - inner, |end| end + 3);
            return Some((start, LITERAL.len() + length));
        }
        if line.starts_with(ESCAPED) {
            return Some((start, line.len()));
        }
        start += line.len();
    }
    None
}

fn without_passwords(text: &str) -> Cow<'_, str> {
    let mut shown = Cow::Borrowed(text);
    // Each turn takes one password away.
    while let Some(range) = sql_password(&shown).filter(|range| shown[range.clone()] != *HIDDEN) {
        shown.to_mut().replace_range(range, HIDDEN);
    }
    shown
}

/// `password=x` where another key of a connection string is on the same line.
fn in_connection_string(text: &str) -> Option<Range<usize>> {
    const KEY: &str = "password=";
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let lower = line.to_ascii_lowercase();
        if CONNECTION_KEYS.iter().any(|key| lower.contains(key)) {
            for (at, _) in lower.match_indices(KEY) {
                let value = &line[at + KEY.len()..];
                let ends = |letter: char| letter.is_whitespace() || letter == '\'' || letter == '"';
                let length = value.find(ends).unwrap_or(value.len());
                let value_start = start + at + KEY.len();
                if length > 0 && value[..length] != *HIDDEN {
                    return Some(value_start..value_start + length);
                }
            }
        }
        start += line.len();
    }
    None
}

/// What stands between user and host of a URL.
fn in_url(text: &str) -> Option<Range<usize>> {
    for (at, mark) in text.match_indices("://") {
        let start = at + mark.len();
        let ends = |letter: char| letter.is_whitespace() || "/?#'\"".contains(letter);
        let end = text[start..].find(ends).map_or(text.len(), |length| start + length);
        let Some(host) = text[start..end].rfind('@') else { continue };
        let Some(colon) = text[start..start + host].find(':') else { continue };
        let range = start + colon + 1..start + host;
        if !range.is_empty() && text[range.clone()] != *HIDDEN {
            return Some(range);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_password_for_a_server_is_found_in_sql() {
        for text in [
            "CREATE ROLE r LOGIN PASSWORD 'geheim';",
            "SELECT dblink('host=h user=u password=geheim', 'SELECT 1');",
            "CREATE SUBSCRIPTION s CONNECTION 'postgres://u:geheim@h/db' PUBLICATION p;",
        ] {
            assert!(text[sql_password(text).unwrap()].contains("geheim"), "{text}");
            assert!(!without_passwords(text).contains("geheim"), "{text}");
        }
    }

    #[test]
    fn columns_addresses_and_literals_of_a_workload_are_no_passwords() {
        for text in [
            "UPDATE users SET password = :p, password_hash='x' WHERE id=:id;",
            "INSERT INTO users (name, password) VALUES (:aid || 'x@example.com', 'a:b@c');",
            "SELECT 'https://example.com/a?b=c', '12:34:56:78:90', 'http://example.com:80/@x';",
            "ALTER ROLE r PASSWORD '';",
        ] {
            assert_eq!(sql_password(text), None, "{text}");
            let spec = format!("name = \"x\"\n[workload.schema]\nsql = '''\n{text}\n'''\nfile = \"x.sql\"\n");
            assert_eq!(redacted_spec(&spec), spec);
        }
    }

    #[test]
    fn the_other_lines_of_a_spec_are_redacted_as_any_text() {
        let spec = "source = \"postgres://u:geheim@h/db\"\nsql = '''\nSELECT 'a:b@c', 'x://u:geheim@h';\n'''\nlabel = \"password=geheim\"\n";
        let shown = redacted_spec(spec);
        assert!(!shown.contains("geheim"), "{shown}");
        assert!(shown.contains("'a:b@c'"), "{shown}");
        let spec = "sql = \"SELECT 'a:b@c';\\r\\n\"\nlabel = \"u:geheim@h\"\n";
        assert_eq!(redacted_spec(spec), spec.replace("geheim", HIDDEN));
        for text in ["sql = '''\nSELECT", "sql = \"", "", "\n"] {
            assert_eq!(redacted_spec(text), text);
        }
    }
}
