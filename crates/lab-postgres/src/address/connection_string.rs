//! The two forms in which libpq takes the parameters of a connection, taken apart: `postgresql://...` and `key=value`.
//!
//! No error quotes the text: a slip of the pen may put the password anywhere in it.

/// Parameters by libpq's names, in the order in which they stand; a later one overrides an earlier one.
pub(crate) type Parameters = Vec<(String, String)>;

/// Beginnings of a URL.
const URL_PREFIXES: [&str; 2] = ["postgresql://", "postgres://"];

/// Takes the text apart.
///
/// # Errors
/// What is wrong with it, in words that quote nothing.
// EVIDENCE: PostgreSQL documentation, "Connection Strings" (libpq)
pub(crate) fn parameters(text: &str) -> Result<Parameters, &'static str> {
    match URL_PREFIXES.iter().find_map(|prefix| text.strip_prefix(prefix)) {
        Some(rest) => url(rest),
        None => key_values(text),
    }
}

/// `user:password@host:port/database?key=value&...`, every part optional.
fn url(text: &str) -> Result<Parameters, &'static str> {
    let mut parameters = Parameters::new();
    let mut add = |name: &str, value: &str| -> Result<(), &'static str> {
        if !value.is_empty() {
            parameters.push((decoded(name)?, decoded(value)?));
        }
        Ok(())
    };
    // The last one: a password may hold others. But none beyond the first slash or question mark, where a slip would
    // make the front of a password a host, and send it to a name server.
    let (authority, rest) = text.split_at(text.find(['/', '?']).unwrap_or(text.len()));
    let (credentials, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (path, options) = rest.split_once('?').unwrap_or((rest, ""));
    if path.contains('@') {
        return Err("a slash before an @ must be written as %2F, and an @ after a slash as %40");
    }
    let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
    add("user", user)?;
    add("password", password)?;
    let (host, port) = host_and_port(hosts)?;
    add("host", host)?;
    add("port", port)?;
    add("dbname", path.strip_prefix('/').unwrap_or(path))?;
    for option in options.split('&').filter(|option| !option.is_empty()) {
        let (name, value) = option.split_once('=').ok_or("an option after the question mark has no value")?;
        add(name, value)?;
    }
    Ok(parameters)
}

/// An address of version 6 stands in brackets.
fn host_and_port(text: &str) -> Result<(&str, &str), &'static str> {
    let Some(rest) = text.strip_prefix('[') else {
        return Ok(text.split_once(':').unwrap_or((text, "")));
    };
    let (host, rest) = rest.split_once(']').ok_or("a bracket around an address is not closed")?;
    match rest.strip_prefix(':') {
        Some(port) => Ok((host, port)),
        None if rest.is_empty() => Ok((host, "")),
        None => Err("something other than a port follows an address in brackets"),
    }
}

/// `%20` and the like replaced by what they stand for.
fn decoded(text: &str) -> Result<String, &'static str> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: &u8| char::from(*byte).to_digit(16);
        let (code, after) = rest.split_at_checked(2).ok_or("a percent sign is not followed by two digits")?;
        let [Some(high), Some(low)] = [digit(&code[0]), digit(&code[1])] else {
            return Err("a percent sign is not followed by two digits");
        };
        bytes.push((high * 16 + low) as u8);
        rest = after;
    }
    String::from_utf8(bytes).map_err(|_| "the percent-encoded bytes are not UTF-8")
}

/// `key=value key='a value'`, with a backslash before quotes and backslashes.
fn key_values(text: &str) -> Result<Parameters, &'static str> {
    let mut parameters = Parameters::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=').ok_or("it is neither a URL nor a list of key=value")?;
        let name = name.trim_end();
        if name.is_empty() || name.contains(char::is_whitespace) {
            return Err("it is neither a URL nor a list of key=value");
        }
        let (value, after) = value(after.trim_start())?;
        parameters.push((name.to_owned(), value));
        rest = after.trim_start();
    }
    if parameters.is_empty() { Err("it is empty") } else { Ok(parameters) }
}

/// The value at the start of the text, and what follows it.
fn value(text: &str) -> Result<(String, &str), &'static str> {
    let (is_quoted, text) = text.strip_prefix('\'').map_or((false, text), |text| (true, text));
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((position, character)) = characters.next() {
        match character {
            '\\' => value.extend(characters.next().map(|(_, character)| character)),
            '\'' if is_quoted => return Ok((value, text.get(position + 1..).unwrap_or_default())),
            _ if !is_quoted && character.is_whitespace() => {
                return Ok((value, text.get(position..).unwrap_or_default()));
            }
            _ => value.push(character),
        }
    }
    if is_quoted { Err("a quoted value is not closed") } else { Ok((value, "")) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn flat(text: &str) -> String {
        let parts: Vec<_> =
            parameters(text).unwrap().into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        parts.join("|")
    }

    #[test]
    fn every_part_of_a_url_is_optional() {
        assert_eq!(
            flat("postgresql://a:b@c:1/d?e=f&g=h"),
            "user=a|password=b|host=c|port=1|dbname=d|e=f|g=h"
        );
        assert_eq!(flat("postgres://"), "");
        assert_eq!(flat("postgres://c"), "host=c");
        assert_eq!(flat("postgres://a@/?host=/run"), "user=a|host=/run");
        assert_eq!(flat("postgres://[::1]:6/d"), "host=::1|port=6|dbname=d");
        assert_eq!(flat("postgres://c?x=y"), "host=c|x=y");
        assert_eq!(flat("postgres://c/?user=x@y"), "host=c|user=x@y");
    }

    #[test]
    fn what_percent_signs_stand_for_is_put_in_their_place() {
        assert_eq!(
            flat("postgres://a:%40%3a%C3%A4@%2Frun/x%20y"),
            "user=a|password=@:ä|host=/run|dbname=x y"
        );
        for text in ["postgres://a%", "postgres://a%4", "postgres://a%gg", "postgres://%ff"] {
            assert!(parameters(text).is_err(), "{text}");
        }
    }

    #[test]
    fn no_piece_of_a_password_is_taken_for_a_host() {
        assert_eq!(flat("postgres://a:b@c@d/e"), "user=a|password=b@c|host=d|dbname=e");
        for text in ["postgres://a:1/b@c", "postgres://a:1?b@c"] {
            assert!(parameters(text).is_err(), "{text}");
        }
    }

    #[test]
    fn keys_and_values_may_be_spaced_and_quoted() {
        assert_eq!(
            flat(r" host = a  password='b \' c\\' port=1 dbname=x\ y"),
            r"host=a|password=b ' c\|port=1|dbname=x y"
        );
    }

    #[test]
    fn text_of_neither_form_is_refused() {
        for text in ["", " ", "db", "a:b@c", "=x", "a b=c", "host='x", "mysql//x"] {
            assert!(parameters(text).is_err(), "{text}");
        }
    }
}
