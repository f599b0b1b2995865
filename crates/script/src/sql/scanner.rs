//! Where a statement ends, by the rules of psql: quotes, dollar quotes, comments, parentheses, BEGIN ATOMIC.

use std::ops::Range;

use crate::names::{continues_name, starts_name};

/// What a statement ended with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Semicolon,
    /// A backslash command begins.
    Backslash,
    Text,
}

/// A statement as it is sent, and where reading goes on: behind the semicolon, at the backslash.
#[derive(Debug)]
pub(crate) struct Scanned {
    pub(crate) text: String,
    pub(crate) end: End,
    pub(crate) next: usize,
    /// Its line comments, from behind the two dashes to the end of the line.
    pub(crate) comments: Vec<Range<usize>>,
}

/// Reads statements one by one; parentheses that are open at a backslash command stay open behind it.
#[derive(Debug, Default)]
pub(crate) struct Scanner {
    parentheses: usize,
    /// BEGIN and CASE without their END in the body of a routine.
    blocks: usize,
    words: usize,
    /// Initials of the first words, where they may be those of CREATE FUNCTION.
    initials: [u8; 4],
}

/// An unfinished quote or comment: where it starts and what it is.
#[derive(Debug)]
pub(crate) struct Unfinished {
    pub(crate) offset: usize,
    pub(crate) what: &'static str,
}

impl Scanner {
    /// Reads one statement from `at`, where neither a blank nor a line comment stands.
    pub(crate) fn scan(&mut self, text: &str, mut at: usize) -> Result<Scanned, Unfinished> {
        let bytes = text.as_bytes();
        let mut out = String::new();
        let mut copied = at;
        let mut comments = Vec::new();
        let end = loop {
            let rest = &bytes[at..];
            match rest {
                [] => break End::Text,
                [b';', ..] => {
                    at += 1;
                    if self.parentheses == 0 && self.blocks == 0 {
                        self.forget_words();
                        break End::Semicolon;
                    }
                }
                [b'\\', mark @ (b';' | b':'), ..] => {
                    out.push_str(&text[copied..at]);
                    copied = at + 1;
                    at += 2;
                    if *mark == b';' {
                        self.forget_words();
                    }
                }
                [b'\\', ..] => break End::Backslash,
                [b'-', b'-', comment @ ..] => {
                    let length = comment.iter().position(|byte| *byte == b'\n').unwrap_or(comment.len());
                    comments.push(at + 2..at + 2 + length);
                    at += 2 + length;
                }
                [b'(', ..] => {
                    self.parentheses += 1;
                    at += 1;
                }
                [b')', ..] => {
                    self.parentheses = self.parentheses.saturating_sub(1);
                    at += 1;
                }
                _ => at = self.pass(bytes, at)?,
            }
        };
        out.push_str(&text[copied..at]);
        out.truncate(out.trim_end().len());
        Ok(Scanned { text: out, end, next: at, comments })
    }

    fn forget_words(&mut self) {
        self.words = 0;
        self.initials = [0; 4];
    }

    /// Passes a token that cannot end a statement.
    fn pass(&mut self, bytes: &[u8], at: usize) -> Result<usize, Unfinished> {
        let rest = &bytes[at..];
        let passed = match rest {
            [b'\'', ..] => quoted(rest, 1, b'\'').ok_or("quoted string"),
            [b'"', ..] => quoted(rest, 1, b'"').ok_or("quoted identifier"),
            [b'e' | b'E', b'\'', ..] => escaped(rest).ok_or("quoted string"),
            [b'/', b'*', ..] => comment(rest).ok_or("/* comment"),
            [b'$', ..] => dollar_quoted(rest).ok_or("dollar-quoted string"),
            [first, ..] if starts_name(*first) => {
                let length = rest.iter().take_while(|byte| continues_name(**byte) || **byte == b'$').count();
                self.word(&rest[..length]);
                Ok(length)
            }
            // A digit and what follows, so that the letters of 1e5 are no word.
            [b'0'..=b'9', ..] => Ok(rest.iter().take_while(|byte| byte.is_ascii_digit()).count()),
            _ => Ok(1),
        };
        passed.map(|length| at + length).map_err(|what| Unfinished { offset: at, what })
    }

    /// Counts BEGIN, CASE and END in the body of CREATE [OR REPLACE] FUNCTION and PROCEDURE, and in that of a trigger of
    /// SQLite; those of PostgreSQL have none.
    fn word(&mut self, word: &[u8]) {
        let is = |keyword: &str| word.eq_ignore_ascii_case(keyword.as_bytes());
        let is_temporary = is("temp") || is("temporary");
        let is_of_create =
            ["create", "function", "procedure", "or", "replace", "trigger"].into_iter().any(is)
                || is_temporary;
        if let Some(initial) = self.initials.get_mut(self.words)
            && is_of_create
        {
            *initial = if is_temporary { b'm' } else { word[0].to_ascii_lowercase() };
        }
        self.words += 1;
        let has_body = matches!(
            &self.initials,
            [b'c', b'f' | b'p' | b't', ..] | [b'c', b'o', b'r', b'f' | b'p'] | [b'c', b'm', b't', ..]
        );
        if !has_body || self.parentheses > 0 {
            return;
        }
        if is("begin") || (is("case") && self.blocks > 0) {
            self.blocks += 1;
        } else if is("end") {
            self.blocks = self.blocks.saturating_sub(1);
        }
    }
}

/// Length of a quote that `from` is inside of; a doubled mark is part of it.
fn quoted(rest: &[u8], from: usize, mark: u8) -> Option<usize> {
    let closing = rest.get(from..)?.iter().position(|byte| *byte == mark)?;
    // The second half of a doubled mark opens the next quote, which ends where this one does.
    Some(from + closing + 1)
}

/// Length of an E'' string with those that continue it on later lines.
fn escaped(rest: &[u8]) -> Option<usize> {
    let mut at = 2;
    loop {
        match rest.get(at)? {
            b'\\' => at += 2,
            b'\'' if rest.get(at + 1) == Some(&b'\'') => at += 2,
            b'\'' => match continuation(rest, at + 1) {
                Some(next) => at = next,
                None => return Some(at + 1),
            },
            _ => at += 1,
        }
    }
}

/// Where a string goes on that was closed before `at`: behind blanks with a line break and a quote.
fn continuation(rest: &[u8], mut at: usize) -> Option<usize> {
    let mut has_break = false;
    loop {
        match rest.get(at)? {
            b'\n' | b'\r' => has_break = true,
            b' ' | b'\t' | b'\x0b' | b'\x0c' => {}
            b'\'' if has_break => return Some(at + 1),
            _ => return None,
        }
        at += 1;
    }
}

/// Length of a block comment, with the comments inside of it.
fn comment(rest: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0;
    loop {
        match rest.get(at..)? {
            [b'/', b'*', ..] => {
                depth += 1;
                at += 2;
            }
            [b'*', b'/', ..] => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return Some(at);
                }
            }
            [] => return None,
            _ => at += 1,
        }
    }
}

/// Length of a dollar quote; of the dollar sign alone where none begins.
fn dollar_quoted(rest: &[u8]) -> Option<usize> {
    let name = rest[1..].iter().take_while(|byte| continues_name(**byte)).count();
    let is_quote = rest.get(name + 1) == Some(&b'$') && (name == 0 || starts_name(rest[1]));
    if !is_quote {
        return Some(1);
    }
    let mark = &rest[..name + 2];
    let mut at = mark.len();
    loop {
        at += rest.get(at..)?.iter().position(|byte| *byte == b'$')?;
        if rest[at..].starts_with(mark) {
            return Some(at + mark.len());
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn statements(text: &str) -> Vec<String> {
        let mut scanner = Scanner::default();
        let (mut at, mut all) = (0, Vec::new());
        loop {
            at += text[at..].len() - text[at..].trim_start().len();
            let scanned = scanner.scan(text, at).unwrap();
            if !scanned.text.is_empty() {
                all.push(scanned.text);
            }
            if scanned.end != End::Semicolon {
                return all;
            }
            at = scanned.next;
        }
    }

    #[test]
    fn a_semicolon_inside_of_a_token_does_not_end_a_statement() {
        for one in [
            "SELECT ';';",
            "SELECT 'it''s;';",
            r"SELECT E'\';';",
            "SELECT E'a'\n  '\\';' ;",
            "SELECT \";\"\"\";",
            "SELECT $$;$$;",
            "SELECT $a$;$b$;$$;$a$;",
            "SELECT 1 /* ; /* ; */ ; */;",
            "SELECT 1 -- ;\n;",
            "CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2);",
            "CREATE OR REPLACE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END;",
            "create procedure p() begin atomic insert into t values (1); end;",
            "CREATE TRIGGER a AFTER INSERT ON t BEGIN UPDATE u SET n = CASE WHEN n > 0 THEN 1 END; DELETE FROM v; END;",
            "create temp trigger if not exists a before delete on t begin select 1; end;",
            "CREATE TRIGGER a BEFORE UPDATE ON t EXECUTE FUNCTION f();",
            "CREATE TEMPORARY TABLE t (a int);",
            r"SELECT 1 \; SELECT 2;",
        ] {
            let found = statements(&format!("{one} SELECT 3;"));
            assert_eq!(found, [one.replace(r"\;", ";"), "SELECT 3;".to_owned()], "{one}");
        }
    }

    #[test]
    fn what_looks_like_a_quote_and_is_none_ends_nothing() {
        assert_eq!(statements("BEGIN; SELECT a$1$b; END"), ["BEGIN;", "SELECT a$1$b;", "END"]);
        assert_eq!(statements(r"SELECT '\'; SELECT $1 + $2;"), [r"SELECT '\';", "SELECT $1 + $2;"]);
        assert_eq!(statements("SELECT namee'a\\'; SELECT 2"), ["SELECT namee'a\\';", "SELECT 2"]);
    }

    #[test]
    fn an_unfinished_quote_is_reported_where_it_starts() {
        for (text, offset) in [("SELECT 'a", 7), ("SELECT $x$ $y$", 7), ("/* /* */", 0), ("E'\\'", 0)] {
            let unfinished = Scanner::default().scan(text, 0).unwrap_err();
            assert_eq!(unfinished.offset, offset, "{text}");
        }
    }
}
