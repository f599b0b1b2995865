//! Rust text as the tokens that paths are made of.

/// Words, `::` and single characters. Comments, strings, characters and lifetimes are left out.
pub(crate) fn tokens(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let skipped = skipped_length(rest, first);
        let length = skipped.unwrap_or_else(|| match first {
            _ if is_word(first) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            ':' if rest.starts_with("::") => 2,
            other => other.len_utf8(),
        });
        if skipped.is_none() {
            found.push(&rest[..length]);
        }
        rest = &rest[length..];
    }
    found
}

/// Whether a token is a word.
pub(crate) fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Bytes of what is no token at the beginning of `rest`.
fn skipped_length(rest: &str, first: char) -> Option<usize> {
    match first {
        _ if rest.starts_with("//") => Some(rest.find('\n').unwrap_or(rest.len())),
        _ if rest.starts_with("/*") => Some(rest.find("*/").map_or(rest.len(), |end| end + 2)),
        '\'' => Some(quote_length(rest)),
        _ if first.is_whitespace() => Some(first.len_utf8()),
        _ => string_length(rest),
    }
}

/// Bytes of a string literal of any kind at the beginning of `rest`.
fn string_length(rest: &str) -> Option<usize> {
    let prefix = ["", "b", "c", "r", "br", "cr"].into_iter().find(|prefix| {
        rest.strip_prefix(prefix).is_some_and(|rest| {
            let hashes = if prefix.ends_with('r') { rest.trim_start_matches('#') } else { rest };
            hashes.starts_with('"')
        })
    })?;
    let hashes = rest[prefix.len()..].chars().take_while(|c| *c == '#').count();
    let open = prefix.len() + hashes + 1;
    if prefix.ends_with('r') {
        let close = format!("\"{}", "#".repeat(hashes));
        return Some(rest[open..].find(&close).map_or(rest.len(), |end| open + end + close.len()));
    }
    let mut is_escaped = false;
    for (at, character) in rest.char_indices().skip(open) {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return Some(at + 1),
            _ => {}
        }
    }
    Some(rest.len())
}

/// Bytes of a character literal, or of a lifetime with its name.
fn quote_length(rest: &str) -> usize {
    let mut characters = rest.char_indices().skip(1);
    match (characters.next(), characters.next()) {
        (Some((_, '\\')), _) => rest[3..].find('\'').map_or(rest.len(), |end| 3 + end + 1),
        (Some(_), Some((at, '\''))) => at + 1,
        _ => rest[1..].find(|c| !is_word(c)).map_or(rest.len(), |end| end + 1),
    }
}

/// The tokens outside of what `#[cfg(test)]` marks, and the names of the modules that it marks.
pub(crate) fn without_tests<'a>(tokens: &[&'a str]) -> (Vec<&'a str>, Vec<&'a str>) {
    let (mut kept, mut test_modules) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < tokens.len() {
        let Some(end) = end_of_test_attribute(&tokens[at..]) else {
            kept.push(tokens[at]);
            at += 1;
            continue;
        };
        if tokens[at + 1] == "!" {
            return (Vec::new(), test_modules);
        }
        let item = at + end;
        at = item + item_length(&tokens[item..]);
        if let Some(name) = tokens[item..at].iter().skip_while(|token| **token != "mod").nth(1) {
            test_modules.push(*name);
        }
    }
    (kept, test_modules)
}

/// Tokens of an attribute at the beginning that is `cfg(test)`, or `cfg(all(..))` with `test` in it.
fn end_of_test_attribute(tokens: &[&str]) -> Option<usize> {
    let open = match tokens {
        ["#", "[", ..] => 1,
        ["#", "!", "[", ..] => 2,
        _ => return None,
    };
    let end = open + tokens[open..].iter().position(|token| *token == "]")?;
    let inside = &tokens[open + 1..end];
    let is_test = inside.first() == Some(&"cfg")
        && inside.contains(&"test")
        && !inside.contains(&"not")
        && !inside.contains(&"any");
    is_test.then_some(end + 1)
}

/// Tokens of the item, field or arm at the beginning, with the attributes before it.
fn item_length(tokens: &[&str]) -> usize {
    let mut start = 0;
    while tokens.get(start) == Some(&"#") {
        start += tokens[start..].iter().position(|token| *token == "]").map_or(1, |end| end + 1);
    }
    const ITEMS: [&str; 14] = [
        "pub",
        "fn",
        "mod",
        "use",
        "impl",
        "const",
        "static",
        "struct",
        "enum",
        "trait",
        "type",
        "unsafe",
        "async",
        "macro_rules",
    ];
    let is_item = tokens.get(start).is_some_and(|token| ITEMS.contains(token));
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(start) {
        match *token {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" if depth == 0 => return at,
            "}" if depth == 1 => return at + 1,
            "}" | ")" | "]" => depth -= 1,
            ";" if depth == 0 => return at + 1,
            "," if depth == 0 && !is_item => return at + 1,
            _ => {}
        }
    }
    tokens.len()
}

#[test]
fn strings_comments_characters_and_lifetimes_are_no_tokens() {
    let text =
        "use a::b; // c::d\nfn f<'a>(x: &'a str) { g(\"h::i\", '\"', '\\'', r#\"j\"k::l\"#, b\"\\\"\") }";
    let found = tokens(text).join(" ");
    assert_eq!(found, "use a :: b ; fn f < > ( x : & str ) { g ( , , , , ) }");
}

#[test]
fn what_is_compiled_for_tests_alone_is_left_out() {
    let text = "fn a() {} #[cfg(test)] #[path = \"x.rs\"] mod names; #[cfg(test)] mod tests { use super::*; } \
                struct S { #[cfg(test)] b: B, c: C } #[cfg(not(test))] fn d() {}";
    let all = tokens(text);
    let (kept, test_modules) = without_tests(&all);
    assert_eq!(kept.join(" "), "fn a ( ) { } struct S { c : C } # [ cfg ( not ( test ) ) ] fn d ( ) { }");
    assert_eq!(test_modules, ["names", "tests"]);
}
