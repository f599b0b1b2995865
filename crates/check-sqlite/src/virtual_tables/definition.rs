//! The definition of a virtual table: its name, its module and the arguments.

use rusqlite::Connection;

/// What a CREATE VIRTUAL TABLE statement says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Definition {
    /// In small letters.
    pub(super) module: String,
    /// Each as it is written, without spaces around it.
    pub(super) arguments: Vec<String>,
}

impl Definition {
    /// Reads the statement; `None` when it is none of a virtual table.
    // EVIDENCE: sqlite lang_createvtab; vtab.c, CREATE VIRTUAL TABLE name USING module(arguments)
    pub(super) fn of(sql: &str) -> Option<Self> {
        let words = sql.split_ascii_whitespace().take(3).map(str::to_ascii_uppercase);
        if !words.eq(["CREATE", "VIRTUAL", "TABLE"]) {
            return None;
        }
        let sql = without_comments(sql);
        let using = position_of_using(&sql)?;
        let rest = sql.get(using..)?;
        let open = rest.find('(').unwrap_or(rest.len());
        let module = rest.get(..open)?.trim().trim_matches(['"', '`', '[', ']', '\'']).to_ascii_lowercase();
        let list = rest.get(open + 1..).unwrap_or_default();
        let list = list.get(..list.rfind(')').unwrap_or(list.len())).unwrap_or_default();
        let arguments = split(list).into_iter().map(|argument| argument.trim().to_owned()).collect();
        Some(Self { module, arguments })
    }

    /// The value of an option such as `content=...`, without quotes; the newest one wins.
    pub(super) fn option(&self, name: &str) -> Option<String> {
        let options = self.arguments.iter().rev().filter_map(|argument| argument.split_once('='));
        let mut named = options.filter(|(option, _)| option.trim().eq_ignore_ascii_case(name));
        named.next().map(|(_, value)| value.trim().trim_matches(['"', '`', '[', ']', '\'']).to_owned())
    }
}

/// The statement with a blank in the place of each comment; what looks like one inside quotes stays.
// EVIDENCE: sqlite lang_comment
fn without_comments(sql: &str) -> String {
    let mut text = String::with_capacity(sql.len());
    let (mut rest, mut quote) = (sql, None);
    // Each step takes at least one letter.
    while let Some(letter) = rest.chars().next() {
        let end = match quote {
            None if rest.starts_with("--") => Some(rest.find('\n').unwrap_or(rest.len())),
            None if rest.starts_with("/*") => Some(rest.find("*/").map_or(rest.len(), |end| end + 2)),
            _ => None,
        };
        if let Some(end) = end {
            text.push(' ');
            rest = rest.get(end..).unwrap_or_default();
            continue;
        }
        quote = match (quote, letter) {
            (Some(closing), letter) if letter == closing => None,
            (None, '"' | '`' | '\'') => Some(letter),
            (None, '[') => Some(']'),
            (quote, _) => quote,
        };
        text.push(letter);
        rest = rest.get(letter.len_utf8()..).unwrap_or_default();
    }
    text
}

/// Behind the word USING that stands outside quotes.
fn position_of_using(sql: &str) -> Option<usize> {
    let mut quote = None;
    for (at, letter) in sql.char_indices() {
        match (quote, letter) {
            (Some(end), letter) if letter == end => quote = None,
            (Some(_), _) => {}
            (None, '"' | '`' | '\'') => quote = Some(letter),
            (None, '[') => quote = Some(']'),
            (None, 'u' | 'U') => {
                let is_word = sql.get(at..at + 5).is_some_and(|word| word.eq_ignore_ascii_case("using"));
                let is_outside = |letter: Option<char>| {
                    letter.is_none_or(|letter| !letter.is_alphanumeric() && letter != '_')
                };
                let before = sql.get(..at).and_then(|before| before.chars().next_back());
                let after = sql.get(at + 5..).and_then(|after| after.chars().next());
                if is_word && is_outside(before) && is_outside(after) {
                    return Some(at + 5);
                }
            }
            _ => {}
        }
    }
    None
}

/// The arguments between the commas that are outside quotes and parentheses.
fn split(list: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut quote) = (Vec::new(), 0, 0usize, None);
    for (at, letter) in list.char_indices() {
        match (quote, letter) {
            (Some(end), letter) if letter == end => quote = None,
            (Some(_), _) => {}
            (None, '"' | '`' | '\'') => quote = Some(letter),
            (None, '[') => quote = Some(']'),
            (None, '(') => depth += 1,
            (None, ')') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                parts.push(list.get(start..at).unwrap_or_default());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(list.get(start..).unwrap_or_default());
    parts
}

/// The columns of a table in a database of fathom's own: name, and whether it is the rowid.
pub(super) fn columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<(String, bool)>> {
    let quoted = crate::catalog::definitions::quoted(table);
    let mut statement = connection.prepare(&format!("PRAGMA table_info({quoted})"))?;
    let rows = statement.query_map([], |row| {
        Ok((row.get::<_, String>(1)?, row.get::<_, String>(2)?, row.get::<_, i64>(5)?))
    })?;
    let columns = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    // EVIDENCE: sqlite lang_createtable 5: a single INTEGER PRIMARY KEY is the rowid
    let is_single = columns.iter().filter(|(_, _, key)| *key > 0).count() == 1;
    let is_rowid =
        |declared: &str, key: i64| is_single && key > 0 && declared.eq_ignore_ascii_case("INTEGER");
    let columns = columns.into_iter();
    Ok(columns.map(|(name, declared, key)| (name, is_rowid(&declared, key))).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn module_and_arguments_are_found_between_quotes() {
        let sql = "CREATE VIRTUAL TABLE \"using (x\" USING Fts5(a, \"b,c\" UNINDEXED, tokenize = 'porter unicode61 \"x,y\"', content=\"\")";
        let found = Definition::of(sql).unwrap();
        assert_eq!(found.module, "fts5");
        assert_eq!(found.arguments.len(), 4);
        assert_eq!(found.arguments[1], "\"b,c\" UNINDEXED");
        assert_eq!(found.option("content").as_deref(), Some(""));
        assert_eq!(found.option("detail"), None);
        let plain = Definition::of("create virtual table r using rtree(id,x0,x1, +a TEXT)").unwrap();
        assert_eq!((plain.module.as_str(), plain.arguments.len()), ("rtree", 4));
        let commented = "CREATE VIRTUAL TABLE r USING rtree(\n id, -- the key, don't change (\n x0, x1 /* one, two */, [y--0], \"y/*1\" -- end\n)";
        let found = Definition::of(commented).unwrap();
        assert_eq!(found.arguments, ["id", "x0", "x1", "[y--0]", "\"y/*1\""]);
        assert_eq!(Definition::of("CREATE TABLE t(a)"), None);
        assert!(Definition::of("CREATE VIRTUAL TABLE d USING x").unwrap().arguments[0].is_empty());
    }
}
