//! Words of what a user reads (strings of the crates, help texts, documents), and what evidence may name.
//!
//! The numbers are ratchets: they may only go down.

use crate::tree::{self, TextFile};

/// A phrase that no manual of the field uses, what to write, and how many are left.
const BANNED: &[(&str, &str, usize)] = &[
    ("row pointer", "TID (ctid), heap TID", 0),
    ("row pointers", "TIDs", 0),
    ("stands still", "unchanged since the last checkpoint", 0),
    ("stood still", "unchanged since the last checkpoint", 0),
    ("stand still", "unchanged", 0),
    ("held against", "compared with", 0),
    ("hold against", "compare with", 0),
    ("holds against", "compares with", 0),
    ("is told", "is reported", 0),
    ("are told", "are reported", 0),
    ("was told", "was reported", 0),
    ("named under", "listed under", 0),
    ("refers behind", "points past the end of", 0),
    ("refer behind", "point past the end of", 0),
    ("behind the page", "past the end of the page", 0),
    ("behind the file", "past the end of the file", 0),
    ("behind the end", "past the end", 0),
    ("behind the last page", "past the last page", 0),
    ("behind the directory", "underlying device", 0),
    ("behind the server", "outside the server", 0),
    ("packed", "compressed", 0),
    ("unpack", "decompress", 0),
    ("unpacks", "decompresses", 0),
    ("unpacked", "decompressed", 0),
    ("shut down in order", "shut down cleanly", 0),
    ("was cut", "was truncated", 0),
    ("cut off", "truncated", 0),
    ("cut short", "truncated, interrupted", 0),
    ("asks nothing of", "makes no network requests", 0),
    ("goes on where", "resumes", 0),
    ("going on from", "resuming", 0),
    ("went on", "continued", 0),
    ("kept the processors", "N % CPU used by other processes", 0),
    ("processor", "CPU", 1),
    ("processors", "CPUs", 2),
    ("log of transactions", "pg_xact", 0),
    ("position in the log", "LSN", 0),
    ("end of the log", "end of the WAL", 0),
    ("figures", "values, numbers, results", 0),
    ("somebody", "a user, another process", 0),
    ("nobody", "no user, no process", 2),
    ("whoever", "the process that", 0),
    ("by whomever", "by all processes", 0),
    ("the moment that is looked at", "as of the redo point of the last checkpoint", 0),
    ("one look a second", "one sample a second", 0),
    ("in no mean", "excluded from means", 0),
    ("speaks against", "is flagged", 0),
    ("so it was", "yes", 0),
    ("answers to one", "matches one", 0),
    ("changed for good", "change point", 0),
    ("believe", "trust", 0),
    ("believes", "trusts", 0),
    ("believed", "trusted", 0),
    ("stumble", "hit", 0),
    ("stumbles", "hits", 0),
    ("mends", "repairs", 0),
    ("mended", "repaired", 0),
    ("anew", "again", 0),
    ("a last key that is not", "the value: last key 17", 0),
    ("one that is not", "the value", 0),
    ("is none of", "is not one of", 0),
    ("not known here", "unknown", 0),
    ("out of reach", "cannot be read", 0),
    ("without a word", "silently", 0),
    ("crew", "client pool", 0),
    ("turnstile", "event loop", 0),
    ("farewell", "close", 0),
    ("premises", "managed directory", 0),
    ("aftermath", "post-run state", 0),
    ("against each other", "compares A and B", 0),
    ("bears the mark", "has the id", 0),
];

/// Crates whose strings are read by users.
const CRATES: [&str; 9] =
    ["check", "disk", "fathom", "formats", "lab", "lab-postgres", "lab-sqlite", "report", "results"];
/// Documents beside those of `docs`.
const DOCUMENTS: [&str; 5] =
    ["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "GLOSSARY.md", "README.md"];
/// Endings of files that are not source of an engine: evidence that names one needs it in this repository.
const ENDINGS: [&str; 7] = [".csv", ".json", ".md", ".pdf", ".toml", ".txt", ".yaml"];

/// What a user reads of a file, with the number of its first line.
fn user_visible(file: &TextFile) -> Vec<(usize, String)> {
    if file.path.starts_with("docs/") && file.path.ends_with(".md") || DOCUMENTS.contains(&file.path.as_str())
    {
        return file.text.lines().enumerate().map(|(index, line)| (index + 1, without_code(line))).collect();
    }
    let is_source = CRATES.iter().any(|name| file.path.starts_with(&format!("crates/{name}/src/")));
    if !is_source || !file.is_rust() || file.path.ends_with("/tests.rs") || file.path.contains("/tests/") {
        return Vec::new();
    }
    let text = file.text.split("#[cfg(test)]\nmod tests {").next().unwrap_or("");
    // Names and keys are one word; what is read has several.
    let mut found: Vec<_> = literals(text).into_iter().filter(|(_, literal)| literal.contains(' ')).collect();
    if file.path.starts_with("crates/fathom/src/arguments") {
        let helps = text.lines().enumerate();
        found.extend(
            helps.filter_map(|(index, line)| Some((index + 1, line.trim().strip_prefix("/// ")?.to_owned()))),
        );
    }
    found
}

/// A line of a document without what stands between backticks: names of code.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

/// The string literals of Rust text with the lines on which they begin, continued lines joined; comments are skipped.
fn literals(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut line = 1;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '\'' => character_length(rest),
            'r' if rest.starts_with("r\"") || rest.starts_with("r#\"") => {
                let (open, close) = if rest.starts_with("r\"") { (2, "\"") } else { (3, "\"#") };
                let end = rest[open..].find(close).map_or(rest.len(), |end| open + end);
                found.push((line, rest[open..end].to_owned()));
                (end + close.len()).min(rest.len())
            }
            '"' => {
                let end = string_end(rest);
                found.push((line, joined(&rest[1..end])));
                (end + 1).min(rest.len())
            }
            other => other.len_utf8(),
        };
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    found
}

/// Bytes of a character literal, or of the quote of a lifetime.
fn character_length(rest: &str) -> usize {
    let mut characters = rest.char_indices().skip(1);
    match characters.next() {
        Some((_, '\\')) => {
            rest[2..].char_indices().skip(1).find(|(_, c)| *c == '\'').map_or(1, |(at, _)| at + 3)
        }
        Some((_, _)) => match characters.next() {
            Some((at, '\'')) => at + 1,
            _ => 1,
        },
        None => 1,
    }
}

/// Place of the quote that ends the string at the beginning of `rest`.
fn string_end(rest: &str) -> usize {
    let mut is_escaped = false;
    for (at, character) in rest.char_indices().skip(1) {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at,
            _ => {}
        }
    }
    rest.len()
}

/// A literal with its continued lines in one.
fn joined(literal: &str) -> String {
    let mut parts = literal.split("\\\n");
    let first = parts.next().unwrap_or("").to_owned();
    parts.fold(first, |text, part| text + part.trim_start())
}

/// Whether a text has a phrase, with no letter before or behind it.
fn has(text: &str, phrase: &str) -> bool {
    let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(phrase).any(|(at, _)| {
        !is_letter(text[..at].chars().next_back()) && !is_letter(text[at + phrase.len()..].chars().next())
    })
}

#[test]
fn what_users_read_has_the_words_of_the_manuals() {
    let mut found: Vec<Vec<String>> = vec![Vec::new(); BANNED.len()];
    for file in tree::files() {
        for (line, text) in user_visible(&file) {
            let text = text.to_lowercase();
            for (index, (phrase, ..)) in BANNED.iter().enumerate() {
                if has(&text, phrase) {
                    found[index].push(format!("  {}:{line}: {text}", file.path));
                }
            }
        }
    }
    let mut faults = Vec::new();
    for ((phrase, instead, most), places) in BANNED.iter().zip(&found) {
        if places.len() > *most {
            faults.push(format!(
                "\"{phrase}\" {} times, {most} may: write {instead}\n{}",
                places.len(),
                places.join("\n")
            ));
        } else if places.len() < *most {
            faults.push(format!("\"{phrase}\": {} are left, lower the number from {most}", places.len()));
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn evidence_names_no_file_that_is_not_here() {
    let files = tree::files();
    let mut faults = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        for (index, line) in file.text.lines().enumerate() {
            let Some((_, evidence)) =
                ["// EVIDENCE:", "// OBSERVED:"].iter().find_map(|mark| line.split_once(mark))
            else {
                continue;
            };
            for word in evidence.split([' ', ',', ';', ':', '(', ')', '"', '`']) {
                let word = word.trim_end_matches('.');
                let is_document = ENDINGS.iter().any(|ending| word.ends_with(ending));
                let is_here = || files.iter().any(|known| known.path == word);
                if word.contains("..") || is_document && !word.contains("://") && !is_here() {
                    faults.push(format!("{}:{}: {word}", file.path, index + 1));
                }
            }
        }
    }
    assert!(faults.is_empty(), "evidence names files that are not in the repository:\n{}", faults.join("\n"));
}

#[test]
fn literals_are_read_without_comments_characters_and_lifetimes() {
    let text = "// \"no\"\nfn a<'a>(b: &'a str) { c('\"', '\\'', \"one \\\n        two\", r#\"th\"ree\"#) }";
    assert_eq!(literals(text), [(2, "one two".to_owned()), (3, "th\"ree".to_owned())]);
}
