//! The expressions in the definitions of tables and indexes: found by their place, never understood.
//!
//! SQLite has checked the grammar when the definitions were executed in the empty database; what is left is to find
//! where an expression begins and ends. So words, quotes, comments and parentheses are enough.

/// What the definition of a table says beyond what SQLite's own pragmas tell.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TableText {
    pub(crate) columns: Vec<ColumnText>,
    /// The expressions of all CHECK constraints, of columns and of the table.
    pub(crate) checks: Vec<String>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ColumnText {
    pub(crate) name: String,
    pub(crate) collation: Option<String>,
    /// The expression of a generated column.
    pub(crate) generated: Option<String>,
}

/// What the definition of an index says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct IndexText {
    /// The columns or expressions, without ASC and DESC.
    pub(crate) parts: Vec<String>,
    /// The condition of a partial index.
    pub(crate) condition: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Word,
    Quoted,
    /// A literal in single quotes.
    Text,
    Open,
    Close,
    Comma,
    Other,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Token {
    kind: Kind,
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Parentheses around it; those themselves count as outside.
    depth: usize,
}

/// The parts of a table's definition; `None` when it has no list of columns.
pub(crate) fn table_text(sql: &str) -> Option<TableText> {
    let tokens = tokens(sql);
    let mut table = TableText::default();
    for item in items(&tokens)?.0 {
        let is_constraint = item.first().is_some_and(|first| {
            first.kind == Kind::Word
                && ["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"]
                    .iter()
                    .any(|word| word.eq_ignore_ascii_case(text(sql, first)))
        });
        let mut column = ColumnText::default();
        for (index, token) in item.iter().enumerate().filter(|(_, token)| token.kind == Kind::Word) {
            let word = text(sql, token).to_ascii_uppercase();
            let rest = item.get(index + 1..).unwrap_or_default();
            match word.as_str() {
                _ if token.depth != 1 => {}
                "CHECK" => table.checks.extend(parenthesised(sql, rest)),
                "AS" if !is_constraint => column.generated = parenthesised(sql, rest),
                "COLLATE" if !is_constraint => {
                    column.collation = rest.first().map(|token| unquoted(text(sql, token)));
                }
                _ => {}
            }
        }
        if let Some(first) = item.first().filter(|_| !is_constraint) {
            column.name = unquoted(text(sql, first));
            table.columns.push(column);
        }
    }
    Some(table)
}

/// The parts of an index's definition; `None` when it has no list of columns.
pub(crate) fn index_text(sql: &str) -> Option<IndexText> {
    let tokens = tokens(sql);
    let (items, rest) = items(&tokens)?;
    let is_direction = |token: &Token| {
        token.kind == Kind::Word
            && ["ASC", "DESC"].iter().any(|word| word.eq_ignore_ascii_case(text(sql, token)))
    };
    let parts = items.into_iter().map(|item| match item {
        [expression @ .., last] if is_direction(last) => span(sql, expression),
        item => span(sql, item),
    });
    let condition = match rest {
        [first, expression @ ..] if text(sql, first).eq_ignore_ascii_case("WHERE") => {
            let end = expression.iter().position(|token| text(sql, token) == ";");
            Some(span(sql, expression.get(..end.unwrap_or(expression.len())).unwrap_or_default()))
        }
        _ => None,
    };
    Some(IndexText { parts: parts.collect(), condition })
}

/// The names that an expression may mean, in small letters: all its words and quoted words.
pub(crate) fn names(expression: &str) -> impl Iterator<Item = String> {
    let tokens = tokens(expression).into_iter();
    // A text in single quotes is a name in some old definitions.
    let is_name = |token: &Token| matches!(token.kind, Kind::Word | Kind::Quoted | Kind::Text);
    tokens.filter(is_name).map(|token| unquoted(text(expression, &token)).to_ascii_lowercase())
}

/// What an expression is made of: enough to know which functions and operators are in it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Vocabulary {
    /// Functions that are called, in small letters.
    pub(crate) functions: Vec<String>,
    /// All words without quotes, in capitals.
    words: Vec<String>,
    pub(crate) has_concatenation: bool,
    /// `->` or `->>`.
    pub(crate) has_arrow: bool,
    pub(crate) has_arithmetic: bool,
    pub(crate) has_real_literal: bool,
}

impl Vocabulary {
    /// Adds what another expression is made of.
    pub(crate) fn add(&mut self, other: Self) {
        self.functions.extend(other.functions);
        self.words.extend(other.words);
        self.has_concatenation |= other.has_concatenation;
        self.has_arrow |= other.has_arrow;
        self.has_arithmetic |= other.has_arithmetic;
        self.has_real_literal |= other.has_real_literal;
    }

    /// Whether a word with this in it is in it.
    pub(crate) fn has_word_with(&self, part: &str) -> bool {
        self.words.iter().any(|known| known.contains(part))
    }

    /// Whether a keyword is in it. A column of that name counts as well.
    pub(crate) fn has_word(&self, word: &str) -> bool {
        self.words.iter().any(|known| known == word)
    }
}

/// Words before a parenthesis that call nothing.
const OPERATORS: [&str; 24] = [
    "AND", "AS", "BETWEEN", "CASE", "CAST", "CHECK", "COLLATE", "DISTINCT", "ELSE", "END", "ESCAPE",
    "EXISTS", "FROM", "IN", "IS", "ISNULL", "NOT", "NOTNULL", "OR", "SELECT", "THEN", "VALUES", "WHEN",
    "WHERE",
];

/// The functions, words and operators of an expression.
pub(crate) fn vocabulary(expression: &str) -> Vocabulary {
    let tokens = tokens(expression);
    let mut vocabulary = Vocabulary::default();
    // The name of a type may have a length in parentheses.
    let mut is_in_type = false;
    for (index, token) in tokens.iter().enumerate() {
        let word = text(expression, token);
        let next = tokens.get(index + 1);
        let touches =
            |sign: &str| next.is_some_and(|next| next.start == token.end && text(expression, next) == sign);
        match token.kind {
            Kind::Word | Kind::Quoted => {
                let name = unquoted(word);
                let capitals = name.to_ascii_uppercase();
                let is_keyword = token.kind == Kind::Word
                    && (OPERATORS.contains(&capitals.as_str())
                        || ["LIKE", "GLOB"].contains(&capitals.as_str()));
                is_in_type = is_in_type && !is_keyword || token.kind == Kind::Word && capitals == "AS";
                if next.is_some_and(|next| next.kind == Kind::Open) && !is_keyword && !is_in_type {
                    vocabulary.functions.push(name.to_ascii_lowercase());
                }
                if token.kind == Kind::Word {
                    vocabulary.words.push(capitals);
                }
                continue;
            }
            Kind::Other => match word {
                "|" => vocabulary.has_concatenation |= touches("|"),
                "-" if touches(">") => vocabulary.has_arrow = true,
                "+" | "-" | "*" | "/" | "%" => vocabulary.has_arithmetic = true,
                "." => vocabulary.has_real_literal |= is_beside_digit(expression, token),
                number if number.starts_with(|first: char| first.is_ascii_digit()) => {
                    let is_hexadecimal = number.to_ascii_lowercase().starts_with("0x");
                    vocabulary.has_real_literal |= !is_hexadecimal && number.contains(['e', 'E']);
                }
                _ => {}
            },
            _ => {}
        }
        is_in_type = false;
    }
    vocabulary
}

fn is_beside_digit(expression: &str, token: &Token) -> bool {
    let bytes = expression.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    is_digit(token.end) || token.start.checked_sub(1).is_some_and(is_digit)
}

/// The items of the first list in parentheses, and what follows the list.
fn items(tokens: &[Token]) -> Option<(Vec<&[Token]>, &[Token])> {
    let open = tokens.iter().position(|token| token.kind == Kind::Open)?;
    let inside = tokens.get(open + 1..)?;
    let length = inside.iter().position(|token| token.kind == Kind::Close && token.depth == 0)?;
    let list = inside.get(..length)?;
    let is_comma = |token: &Token| token.kind == Kind::Comma && token.depth == 1;
    Some((list.split(is_comma).collect(), inside.get(length + 1..)?))
}

/// The text between the parentheses that these tokens begin with.
fn parenthesised(sql: &str, tokens: &[Token]) -> Option<String> {
    let open = tokens.first().filter(|token| token.kind == Kind::Open)?;
    let rest = tokens.get(1..)?;
    let length = rest.iter().position(|token| token.kind == Kind::Close && token.depth == open.depth)?;
    Some(span(sql, rest.get(..length)?))
}

/// The text from the first to the last token. Comments at its end are left out, so that more can be written behind.
fn span(sql: &str, tokens: &[Token]) -> String {
    match (tokens.first(), tokens.last()) {
        (Some(first), Some(last)) => sql.get(first.start..last.end).unwrap_or_default().to_owned(),
        _ => String::new(),
    }
}

pub(crate) fn text<'a>(sql: &'a str, token: &Token) -> &'a str {
    sql.get(token.start..token.end).unwrap_or_default()
}

/// A name without its quotes.
pub(crate) fn unquoted(name: &str) -> String {
    let inside = |quote: char| {
        let inner = name.strip_prefix(quote)?.strip_suffix(quote)?;
        Some(inner.replace(&format!("{quote}{quote}"), &quote.to_string()))
    };
    let bracketed = || Some(name.strip_prefix('[')?.strip_suffix(']')?.to_owned());
    inside('"').or_else(|| inside('`')).or_else(|| inside('\'')).or_else(bracketed).unwrap_or(name.to_owned())
}

/// Splits a definition into tokens. Every step takes at least one byte.
// EVIDENCE: sqlite lang_keywords (four ways to quote), lang_comment
pub(crate) fn tokens(sql: &str) -> Vec<Token> {
    let bytes = sql.as_bytes();
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80;
    let mut tokens = Vec::new();
    let (mut at, mut depth) = (0, 0usize);
    while at < bytes.len() {
        let start = at;
        let mut kind = Kind::Other;
        let mut level = depth;
        at += 1;
        match byte(start) {
            blank if blank.is_ascii_whitespace() => continue,
            b'-' if byte(at) == b'-' => {
                at = end_of(bytes, at, |rest| rest.first() == Some(&b'\n'), 1);
                continue;
            }
            b'/' if byte(at) == b'*' => {
                at = end_of(bytes, at + 1, |rest| rest.starts_with(b"*/"), 2);
                continue;
            }
            quote @ (b'\'' | b'"' | b'`') => {
                kind = if quote == b'\'' { Kind::Text } else { Kind::Quoted };
                at = end_of_quote(bytes, at, quote);
            }
            b'[' => {
                kind = Kind::Quoted;
                at = end_of(bytes, at, |rest| rest.first() == Some(&b']'), 1);
            }
            b'(' => {
                kind = Kind::Open;
                depth += 1;
            }
            b')' => {
                kind = Kind::Close;
                depth = depth.saturating_sub(1);
                level = depth;
            }
            b',' => kind = Kind::Comma,
            first if is_word(first) => {
                kind = if first.is_ascii_digit() { Kind::Other } else { Kind::Word };
                while is_word(byte(at)) {
                    at += 1;
                }
            }
            _ => {}
        }
        tokens.push(Token { kind, start, end: at.min(bytes.len()), depth: level });
    }
    tokens
}

/// Behind the first place from `at` where `is_end` holds, or the end.
fn end_of(bytes: &[u8], mut at: usize, is_end: impl Fn(&[u8]) -> bool, size: usize) -> usize {
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        if is_end(rest) {
            return at + size;
        }
        at += 1;
    }
    bytes.len()
}

/// Behind the quote that ends a text; a doubled one does not.
fn end_of_quote(bytes: &[u8], mut at: usize, quote: u8) -> usize {
    while let Some(byte) = bytes.get(at) {
        at += 1;
        if *byte == quote {
            if bytes.get(at) != Some(&quote) {
                return at;
            }
            at += 1;
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn checks_and_generated_columns_are_found_between_quotes_and_comments() {
        let sql = "CREATE TABLE \"t (\" (a INT CHECK(a > (1) -- )\n ), \"b \"\"as\" TEXT COLLATE NOCASE AS (a || ')') STORED,
            [c)] VARCHAR(10, 2) DEFAULT (1 /* , */) NOT NULL CONSTRAINT x CHECK ([c)] <> ',' AND (1)),
            PRIMARY KEY(a COLLATE RTRIM), CHECK(length(a) < 5) CONSTRAINT y CHECK(a IN (1, 2))) STRICT";
        let table = table_text(sql).unwrap();
        assert_eq!(table.checks, ["a > (1)", "[c)] <> ',' AND (1)", "length(a) < 5", "a IN (1, 2)"]);
        let names: Vec<_> = table.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["a", "b \"as", "c)"]);
        assert_eq!(table.columns[1].generated.as_deref(), Some("a || ')'"));
        assert_eq!(table.columns[1].collation.as_deref(), Some("NOCASE"));
        assert_eq!(table.columns[2], ColumnText { name: "c)".to_owned(), ..ColumnText::default() });
    }

    #[test]
    fn parts_and_condition_of_an_index_are_found() {
        let sql = "CREATE UNIQUE INDEX `i(` ON t(abs(a, ',') COLLATE NOCASE DESC, \"b\" asc) where a > 1 /* end */ ;";
        let index = index_text(sql).unwrap();
        assert_eq!(index.parts, ["abs(a, ',') COLLATE NOCASE", "\"b\""]);
        assert_eq!(index.condition.as_deref(), Some("a > 1"));
        assert_eq!(index_text("CREATE INDEX i ON t(a)").unwrap().condition, None);
        let all: Vec<_> = names("Lower([a b]) > 'x' || 1e5").collect();
        assert_eq!(all, ["lower", "a b", "x"]);
    }

    #[test]
    fn functions_are_told_from_keywords_columns_and_types() {
        let found = vocabulary("NOT (Abs(a.b) IN (1, 2)) AND CAST(c AS VARCHAR(10)) LIKE ('x') || \"f\" (3)");
        assert_eq!(found.functions, ["abs", "f"]);
        assert!(found.has_concatenation && found.has_word("LIKE") && !found.has_arithmetic);
        assert!(!found.has_real_literal && !found.has_arrow);
        assert!(vocabulary("a->>'b'").has_arrow && vocabulary("a - b").has_arithmetic);
        assert!(vocabulary("1.5").has_real_literal && vocabulary("1e3").has_real_literal);
        assert!(!vocabulary("0x1e3 + t.e1").has_real_literal);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(sql in "[a-zA-Z(),'\"`\\[\\]*/ \n0-9;é-]{0,80}") {
            let _ = (table_text(&sql), index_text(&sql), names(&sql).count(), vocabulary(&sql));
        }
    }
}
