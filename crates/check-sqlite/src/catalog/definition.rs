//! What the first words of a definition say: the kind of object, its name, and the table of an index or a trigger.

use std::ops::Range;

use crate::catalog::ObjectKind;
use crate::catalog::expressions::{Token, index_text, names, table_text, text, tokens, unquoted, vocabulary};

/// Words at the front of a definition among which its name is looked for.
const HEAD_TOKENS_MAX: usize = 12;

/// The head of a CREATE statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Definition {
    pub(super) kind: ObjectKind,
    pub(super) name: String,
    /// Where the name stands in the text, quotes included.
    pub(super) name_range: Range<usize>,
    /// The table of an index or a trigger, and where its name stands.
    pub(super) table: Option<(String, Range<usize>)>,
}

impl Definition {
    /// Reads the head of a definition; `None` when it is not one of the statements that sqlite_schema holds.
    // EVIDENCE: sqlite lang_createtable, lang_createindex, lang_createview, lang_createtrigger, lang_createvtab
    pub(super) fn of(sql: &str) -> Option<Self> {
        let tokens = tokens(sql);
        let mut head = Head { sql, rest: &tokens };
        head.take("CREATE")?;
        let _ = head.take("TEMP").or_else(|| head.take("TEMPORARY"));
        let kind = if head.take("VIRTUAL").is_some() {
            head.take("TABLE").map(|()| ObjectKind::VirtualTable)
        } else if head.take("UNIQUE").is_some() {
            head.take("INDEX").map(|()| ObjectKind::Index)
        } else {
            let words = [ObjectKind::Table, ObjectKind::Index, ObjectKind::View, ObjectKind::Trigger];
            words.into_iter().find(|kind| head.take(kind.type_word()).is_some())
        }?;
        head.skip_if_not_exists();
        let (name, name_range) = head.name()?;
        let table = match kind {
            ObjectKind::Index | ObjectKind::Trigger => {
                // `ON` is a keyword, so that no column of UPDATE OF is called so without quotes.
                while head.take("ON").is_none() {
                    head.rest = head.rest.get(1..).filter(|rest| !rest.is_empty())?;
                }
                Some(head.name()?)
            }
            _ => None,
        };
        Some(Self { kind, name, name_range, table })
    }
}

/// A definition whose first words are damaged, with words that fit its kind in their place; `None` when the name is not
/// near its front.
pub(super) fn with_new_head(sql: &str, kind: ObjectKind, name: &str) -> Option<String> {
    if !kind.has_tree() {
        return None;
    }
    let tokens = tokens(sql);
    let is_name = |token: &&Token| unquoted(text(sql, token)).eq_ignore_ascii_case(name);
    let name = tokens.iter().take(HEAD_TOKENS_MAX).find(is_name)?;
    let rest = sql.get(name.start..)?;
    let repaired = format!("CREATE {} {rest}", kind.type_word().to_ascii_uppercase());
    Definition::of(&repaired).map(|_| repaired)
}

/// Takes any text apart as a definition and as an expression, for fuzzing. Nothing may panic; what comes back does not
/// matter.
pub fn exercise_definition(sql: &str) {
    let (table, index) = (table_text(sql), index_text(sql));
    let _parts = (table.is_some(), index.is_some(), names(sql).count(), vocabulary(sql).has_word("length"));
    let definition = Definition::of(sql);
    let name = definition.as_ref().map_or("t", |definition| &definition.name);
    for kind in [ObjectKind::Table, ObjectKind::Index] {
        let _repaired = with_new_head(sql, kind, name);
    }
    if let Some(definition) = &definition {
        let places = [Some(&definition.name_range), definition.table.as_ref().map(|(_, range)| range)];
        places.into_iter().flatten().for_each(|range| assert!(sql.get(range.clone()).is_some()));
    }
}

/// The tokens that are still to come.
struct Head<'a> {
    sql: &'a str,
    rest: &'a [Token],
}

impl Head<'_> {
    fn word(&self, index: usize) -> &str {
        self.rest.get(index).map_or("", |token| text(self.sql, token))
    }

    fn take(&mut self, word: &str) -> Option<()> {
        let is_next = self.word(0).eq_ignore_ascii_case(word);
        is_next.then(|| self.rest = self.rest.get(1..).unwrap_or_default())
    }

    fn skip_if_not_exists(&mut self) {
        let words = ["IF", "NOT", "EXISTS"];
        let is_there = (0..).zip(words).all(|(index, word)| self.word(index).eq_ignore_ascii_case(word));
        if is_there {
            self.rest = self.rest.get(words.len()..).unwrap_or_default();
        }
    }

    /// A name, without the schema before it.
    fn name(&mut self) -> Option<(String, Range<usize>)> {
        let mut token = *self.rest.first()?;
        self.rest = self.rest.get(1..)?;
        if self.word(0) == "." {
            token = *self.rest.get(1)?;
            self.rest = self.rest.get(2..)?;
        }
        Some((unquoted(text(self.sql, &token)), token.start..token.end))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_head_of_a_definition_says_kind_name_and_table() {
        let head = |sql: &str| {
            let found = Definition::of(sql)?;
            Some((found.kind, found.name, found.table.map(|(name, _)| name)))
        };
        let table = |name: &str| Some(name.to_owned());
        assert_eq!(head("CREATE TABLE t(a)"), Some((ObjectKind::Table, "t".into(), None)));
        assert_eq!(head("create table if(a)"), Some((ObjectKind::Table, "if".into(), None)));
        assert_eq!(
            head("CREATE TABLE IF NOT EXISTS \"a \"\"b\"(x)"),
            Some((ObjectKind::Table, "a \"b".into(), None))
        );
        assert_eq!(head("CREATE TABLE 'd_data'(id)"), Some((ObjectKind::Table, "d_data".into(), None)));
        assert_eq!(head("CREATE /* x */ VIEW main.[v w] AS"), Some((ObjectKind::View, "v w".into(), None)));
        assert_eq!(
            head("CREATE VIRTUAL TABLE f USING fts5(a)"),
            Some((ObjectKind::VirtualTable, "f".into(), None))
        );
        assert_eq!(
            head("CREATE UNIQUE INDEX `i` ON t(x)"),
            Some((ObjectKind::Index, "i".into(), table("t")))
        );
        assert_eq!(
            head("CREATE TRIGGER on_x AFTER UPDATE OF \"on\", b ON main.t BEGIN SELECT 1; END"),
            Some((ObjectKind::Trigger, "on_x".into(), table("t")))
        );
        assert_eq!(head("CREATE TABLf t(a)"), None);
        assert_eq!(head("CREATE INDEX i"), None);
        assert_eq!(head(""), None);
    }

    #[test]
    fn damaged_first_words_are_replaced_by_those_of_the_kind() {
        assert_eq!(
            with_new_head("CREATE TABLf t(a, b)", ObjectKind::Table, "T").unwrap(),
            "CREATE TABLE t(a, b)"
        );
        assert_eq!(with_new_head("CREATE TABLf u(a)", ObjectKind::Table, "t"), None);
    }
}
