//! Any text without the passwords that may be in it.
//!
//! What is in doubt is hidden: a host too many behind the mark costs less than a password shown.

use std::borrow::Cow;

/// Stands in place of what is hidden.
pub const HIDDEN: &str = "***";

/// Parts of a parameter's name, in lower case, that make its value a secret.
const SECRET_NAMES: [&str; 7] =
    ["password", "passwd", "passphrase", "passwort", "secret", "credential", "api_key"];

/// Names of parameters that are secret as a whole.
const SECRET_WORDS: [&str; 3] = ["pwd", "pass", "pw"];

/// Schemes of URLs that are recognised without any slash behind the colon.
const SERVER_SCHEMES: [&str; 2] = ["postgres:", "postgresql:"];

/// The text with every password replaced by [`HIDDEN`]: user information of URLs, with any number of slashes and
/// without a scheme; values of parameters such as `password=`, in connection strings, queries and variables; literals
/// behind the word PASSWORD in SQL.
pub fn redacted(text: &str) -> Cow<'_, str> {
    let is_suspicious = text.contains(['@', '='])
        || text.contains(":/")
        || text.matches(':').count() > 3
        || !sql_passwords(text).is_empty()
        || {
            let lower = text.to_ascii_lowercase();
            SERVER_SCHEMES.iter().any(|scheme| lower.contains(scheme))
        };
    if !is_suspicious {
        return Cow::Borrowed(text);
    }
    let hidden = without(text, sql_passwords(text));
    let hidden = without(&hidden, values_of_parameters(&hidden));
    let hidden = without(&hidden, user_information(&hidden));
    if hidden == text { Cow::Borrowed(text) } else { Cow::Owned(hidden) }
}

/// Byte ranges of a text, in order, none within another.
pub(super) type Ranges = Vec<std::ops::Range<usize>>;

fn without(text: &str, ranges: Ranges) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut end = 0;
    for range in ranges {
        shown.push_str(&text[end..range.start]);
        shown.push_str(HIDDEN);
        end = range.end;
    }
    shown.push_str(&text[end..]);
    shown
}

/// `PASSWORD 'x'` as SQL has it.
pub(super) fn sql_passwords(text: &str) -> Ranges {
    const WORD: &str = "password";
    let lower = text.to_ascii_lowercase();
    let mut ranges = Ranges::new();
    let mut from = 0;
    while let Some(found) = lower[from..].find(WORD) {
        let after = from + found + WORD.len();
        let start = after + (text[after..].len() - text[after..].trim_start().len());
        from = after;
        if start > after && text[start..].starts_with('\'') {
            let range = start..value_end(text, start, false);
            from = range.end;
            ranges.push(range);
        }
    }
    ranges
}

/// Values behind an equals sign whose parameter has a secret name.
fn values_of_parameters(text: &str) -> Ranges {
    let mut ranges = Ranges::new();
    let mut from = 0;
    while let Some(found) = text[from..].find('=') {
        let sign = from + found;
        from = sign + 1;
        let before = text[..sign].trim_end();
        let is_of_name = |letter: char| letter.is_alphanumeric() || "_-.%".contains(letter);
        let name_start = before.trim_end_matches(is_of_name).len();
        if !is_secret_name(&before[name_start..]) {
            continue;
        }
        let start = sign + 1 + (text[sign + 1..].len() - text[sign + 1..].trim_start().len());
        let space = text[..name_start].char_indices().rfind(|(_, letter)| letter.is_whitespace());
        let word_start = space.map_or(0, |(at, letter)| at + letter.len_utf8());
        let is_query = text[word_start..name_start].contains(['?', '&']);
        let range = start..value_end(text, start, is_query);
        from = range.end;
        if !matches!(&text[range.clone()], "" | HIDDEN | "...") {
            ranges.push(range);
        }
    }
    ranges
}

/// Where the value ends that starts here: at its closing quote, or at white space; in a query at the next parameter.
fn value_end(text: &str, start: usize, is_query: bool) -> usize {
    let text = &text[..closing_quote(text, start)];
    let value = &text[start..];
    let quote = value.chars().next().filter(|first| "'\"".contains(*first));
    let mut characters = value.char_indices().skip(usize::from(quote.is_some())).peekable();
    while let Some((at, character)) = characters.next() {
        match quote {
            Some(_) if character == '\\' => drop(characters.next()),
            // Not doubled: SQL writes a quote within quotes so.
            Some(quote) if character == quote && characters.next_if(|(_, next)| *next == quote).is_none() => {
                return start + at + character.len_utf8();
            }
            None if character == '\\' => drop(characters.next()),
            None if character.is_whitespace() || is_query && "&#".contains(character) => return start + at,
            _ => {}
        }
    }
    text.len()
}

/// The quotation mark that closes the string of JSON or TOML in which this place is; the end of the text elsewhere.
fn closing_quote(text: &str, place: usize) -> usize {
    let line_start = text[..place].rfind('\n').map_or(0, |end| end + 1);
    let (mut is_within, mut is_escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate().skip(line_start) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' if at >= place && is_within => return at,
            b'"' if at < place => is_within = !is_within,
            _ if at >= place && !is_within => break,
            _ => {}
        }
    }
    text.len()
}

/// Does a parameter with this name, which may be written with percent signs, hold a secret?
fn is_secret_name(name: &str) -> bool {
    let name = decoded(name).to_lowercase();
    let last = name.rsplit(['.', '-']).next().unwrap_or_default();
    SECRET_NAMES.iter().any(|secret| name.contains(secret)) || SECRET_WORDS.contains(&last)
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let code = (byte == b'%').then(|| after.get(..2)).flatten();
        let code = code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        bytes.push(code.unwrap_or(byte));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Passwords before the last `@` of a word, and what stands in place of a port without being one.
fn user_information(text: &str) -> Ranges {
    let mut ranges = Ranges::new();
    let mut from = 0;
    let is_between = |letter: char| letter.is_whitespace() || letter == '"';
    while let Some(found) = text[from..].find(|letter| !is_between(letter)) {
        let start = from + found;
        let end = text[start..].find(is_between).map_or(text.len(), |length| start + length);
        from = end;
        if let Some(range) = password_of_word(text, start, end) {
            from = from.max(range.end);
            ranges.push(range);
        }
    }
    ranges
}

fn password_of_word(text: &str, start: usize, end: usize) -> Option<std::ops::Range<usize>> {
    let word = &text[start..end];
    let (authority, is_url) = match behind_scheme(word) {
        Some(offset) => (start + offset, true),
        None => (start, false),
    };
    let rest = &text[authority..end];
    let range = |password: usize, password_end: usize| {
        let is_hidden = matches!(&text[password..password_end], "" | HIDDEN);
        (!is_hidden).then_some(password..password_end)
    };
    if let Some(at) = rest.rfind('@') {
        let colon = rest[..at].find(':')?;
        return range(authority + colon + 1, authority + at);
    }
    if !is_url {
        let (password, password_end) = of_password_file(rest)?;
        return range(authority + password, authority + password_end);
    }
    let hosts = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let host_end = if hosts.starts_with('[') { hosts.find(']')? } else { 0 };
    let colon = host_end + hosts[host_end..].find(':')?;
    let port = hosts[colon + 1..].trim_end_matches(['"', '\'', ',', '.', ';', ':', ')', ']', '>']);
    if port.chars().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    // White space within the password: its @ stands in a later word of the line.
    let line_end = text[end..].find('\n').map_or(text.len(), |length| end + length);
    let line_end = line_end.min(closing_quote(text, authority)).max(end);
    let password_end = text[end..line_end].rfind('@').map_or(end, |at| end + at);
    range(authority + colon + 1, password_end)
}

/// The password of `host:port:database:user:password`, a line of libpq's password file.
fn of_password_file(word: &str) -> Option<(usize, usize)> {
    let fields: Vec<&str> = word.splitn(5, ':').collect();
    let [host, port, database, user, password] = fields.as_slice() else { return None };
    let is_port = *port == "*" || !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    // Not an address of IP version 6, and not a time.
    let is_hexadecimal = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_line = is_port && ![host, database, user].into_iter().all(|field| is_hexadecimal(field));
    is_line.then(|| (word.len() - password.len(), word.len()))
}

/// Where the part behind the scheme of a URL begins, whatever the number of slashes; `None` in a word without a scheme.
fn behind_scheme(word: &str) -> Option<usize> {
    let behind = |colon: usize| {
        let slashes = word[colon + 1..].len() - word[colon + 1..].trim_start_matches('/').len();
        colon + 1 + slashes
    };
    let lower = word.to_ascii_lowercase();
    if let Some((at, scheme)) =
        SERVER_SCHEMES.iter().find_map(|scheme| Some((lower.find(scheme)?, scheme.len())))
    {
        return Some(behind(at + scheme - 1));
    }
    let colon = word.find(":/")?;
    let is_of_scheme = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
    let scheme = &word[word[..colon].trim_end_matches(is_of_scheme).len()..colon];
    (scheme.len() > 1 && !scheme.eq_ignore_ascii_case("file")).then(|| behind(colon))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn white_space_of_several_bytes_before_a_name_is_skipped_whole() {
        for space in ['\u{85}', '\u{a0}', '\u{3000}', '\u{2028}'] {
            let text = format!("host=a{space}?|password=b{space}c");
            assert_eq!(redacted(&text), format!("host=a{space}?|password=***{space}c"));
        }
    }

    #[test]
    fn no_spelling_of_an_address_keeps_its_password() {
        for text in [
            "postgres://u:geheim@h/db",
            "postgresql://u:geheim@h:5432/db?sslmode=require",
            "POSTGRES://u:geheim@h/db",
            "postgres:/u:geheim@h",
            "postgres:u:geheim@h",
            "postgres:///u:geheim@h",
            "postgresql:////u:geheim@h/db",
            "u:geheim@h/db",
            "postgres://u:gehe/geheim@h/db",
            "postgres://u:ge?geheim@h/db",
            "postgres://u:ge@geheim@h/db",
            "postgres://u:ge geheim@h/db",
            "postgres://u:geheim",
            "postgres://u:geheim/db",
            "postgres://h/db?password=geheim",
            "postgres://h/db?sslmode=require&password=geheim&x=y",
            "postgres://h/db?pass%77ord=geheim",
            "postgres://h/db?PASSWORD=geheim#x",
            "postgres://h/db?sslpassword=geheim",
            "host=h user=u password=geheim dbname=x",
            "host=h password = 'ge heim geheim' user=u",
            r"password='ge\'geheim'",
            r"password=ge\ geheim",
            "password=ge&geheim",
            "password='geheim",
            "PGPASSWORD=geheim psql",
            "ALTER ROLE u PASSWORD 'geheim'",
            "alter user u with encrypted password 'x''geheim'",
            "mysql://u:geheim@h/x",
            "jdbc:postgresql://h/db?user=u&password=geheim",
            "curl -u me:geheim@host",
            "127.0.0.1:5432:db:u:geheim",
            "*:*:*:*:geheim",
            "error: could not use \"postgres://u:geheim@h\": no such host",
            "--target=postgres://u:geheim@h",
            "openssl -passin pass=geheim",
            "postgres://u:ge\"geheim@h",
            "{\"target\":\"host=h password=geheim\"}",
        ] {
            assert!(!redacted(text).contains("geheim"), "{text}: {}", redacted(text));
            assert_eq!(redacted(&redacted(text)), redacted(text), "{text}");
        }
    }

    #[test]
    fn what_is_around_a_password_stays() {
        for (text, shown) in [
            ("postgres://u:x@h:5432/db?sslmode=require", "postgres://u:***@h:5432/db?sslmode=require"),
            ("postgres://h/db?password=x&sslmode=require", "postgres://h/db?password=***&sslmode=require"),
            ("host=h password='a b' user=u", "host=h password=*** user=u"),
            ("role u password 'a''b';", "role u password ***;"),
        ] {
            assert_eq!(redacted(text), shown);
        }
    }

    #[test]
    fn json_and_toml_stay_what_they_are() {
        for value in
            ["host=h password=x", "postgres://u:x@h", "postgres://u:x", "a\" password = \"x", "password='x"]
        {
            let before =
                serde_json::json!({ "a": "b:c", "value": value, "d": "e@f", "g": "postgres:/h:i j" });
            let after: serde_json::Value = serde_json::from_str(&redacted(&before.to_string())).unwrap();
            assert_eq!((&after["a"], &after["d"]), (&before["a"], &before["d"]));
            assert!(!after["value"].as_str().unwrap().contains('x'), "{after}");
        }
        let toml = "a = \"b:c\"\nx = \"host=h password=x\"\nd = 'e@f'\n";
        assert_eq!(redacted(toml), "a = \"b:c\"\nx = \"host=h password=***\"\nd = 'e@f'\n");
    }

    #[test]
    fn text_without_a_password_is_left_as_it_is() {
        for text in [
            "",
            "could not open \"/tmp/a=b/c:d\": No such file or directory (os error 2)",
            "postgres://u@h:5432/db?sslmode=require",
            "http://127.0.0.1:8080/, http://[::1]:8080/x?y=z",
            "server at 10.0.0.1:5432, database \"x\", user \"u@example.org\"",
            "hint: set PGPASSWORD, or add a line host:port:database:user:password to ~/.pgpass (mode 0600)",
            "PGPASSWORD=... fathom run x --seed 7",
            "connections=16, batch_size=1: 12:30:01 elapsed",
            "file:///tmp/a:b/c",
            "connect to 2001:0:0:1:2:3:4:5, fe80:1:2:3:4 at 10:20:30:40:50",
            "passfile=/etc/pgpass password_encryption",
            "password authentication failed for user \"u\"",
        ] {
            assert!(matches!(redacted(text), Cow::Borrowed(_)), "{text}: {}", redacted(text));
        }
    }
}
