//! One row of sqlite_schema against its own definition.

use std::collections::HashSet;

use formats::sqlite::Encoding;

use crate::catalog::ObjectKind;
use crate::catalog::definition::Definition;
use crate::catalog::schema_row::SchemaRow;
use crate::catalog::text::decode;
use crate::plan::OwnedValue;

/// Most characters of a damaged text that are quoted in a finding.
const QUOTED_CHARS_MAX: usize = 60;
/// How the name of an index begins that SQLite made for a UNIQUE or PRIMARY KEY constraint.
// EVIDENCE: sqlite fileformat2 2.6, "sqlite_autoindex_TABLE_N"
const AUTOINDEX_PREFIX: &str = "sqlite_autoindex_";

/// A row as the file holds it. Texts are in the encoding of the file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StoredRow {
    pub(crate) page: u32,
    pub(crate) slot: usize,
    /// type, name, tbl_name, rootpage, sql.
    pub(crate) values: [OwnedValue; 5],
}

/// What disagrees in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RowDamage {
    pub(crate) expected: String,
    pub(crate) found: String,
    /// Whether it is damage although SQLite may open the database.
    pub(crate) is_damage_by_itself: bool,
}

/// A row as it should be, as far as its parts tell, and what disagrees in it.
#[derive(Debug, Clone)]
pub(crate) struct ResolvedRow {
    pub(crate) stored: StoredRow,
    pub(crate) row: SchemaRow,
    pub(crate) damages: Vec<RowDamage>,
}

impl ResolvedRow {
    /// What the type column holds, as text of an encoding.
    pub(crate) fn type_text(&self, encoding: Encoding) -> String {
        let [kind, ..] = &self.stored.values;
        text_of(kind, encoding).unwrap_or_default()
    }
}

/// Compares rows with their definitions; `page_count` bounds their root pages.
pub(crate) fn resolve(stored: Vec<StoredRow>, encoding: Encoding, page_count: u32) -> Vec<ResolvedRow> {
    let text = |row: &StoredRow, column: usize| text_of(row.values.get(column)?, encoding);
    let tables: HashSet<String> = stored
        .iter()
        .filter(|row| matches!(text(row, 0).as_deref(), Some("table" | "view")))
        .filter_map(|row| Some(text(row, 1)?.to_ascii_lowercase()))
        .collect();
    stored.into_iter().map(|row| Resolver { tables: &tables, encoding, page_count }.row(row)).collect()
}

fn text_of(value: &OwnedValue, encoding: Encoding) -> Option<String> {
    match value {
        OwnedValue::Text(bytes) => Some(decode(bytes, encoding)),
        _ => None,
    }
}

/// A stored value for a finding: short, in quotes when it is text.
fn shown(value: &OwnedValue, encoding: Encoding) -> String {
    match value {
        OwnedValue::Null => "NULL".to_owned(),
        OwnedValue::Integer(number) => number.to_string(),
        OwnedValue::Real(number) => number.to_string(),
        OwnedValue::Text(bytes) => quoted_text(&decode(bytes, encoding)),
        OwnedValue::Blob(bytes) => format!("a BLOB of {} bytes", bytes.len()),
    }
}

fn quoted_text(text: &str) -> String {
    let mut short: String = text.chars().take(QUOTED_CHARS_MAX).collect();
    if short.len() < text.len() {
        short.push_str("...");
    }
    format!("'{short}'")
}

struct Resolver<'a> {
    tables: &'a HashSet<String>,
    encoding: Encoding,
    page_count: u32,
}

impl Resolver<'_> {
    fn row(&self, stored: StoredRow) -> ResolvedRow {
        let [kind, name, table_name, root, sql] = &stored.values;
        let text = |value| text_of(value, self.encoding);
        let mut damages = Vec::new();
        let mut sql_text = text(sql).filter(|sql| !sql.is_empty());
        if let Some((at, sql)) = sql_text.as_mut().and_then(|sql| Some((sql.find('\0')?, sql))) {
            sql.truncate(at);
            let expected = "a definition without zero bytes";
            push(&mut damages, expected, format!("sql has a zero byte after {at} bytes"), true);
        }
        let head = sql_text.as_deref().and_then(Definition::of);
        let word = text(kind).unwrap_or_default();
        let by_word = ObjectKind::of_type(&word.to_ascii_lowercase());
        let stored_name = text(name).unwrap_or_default();
        let is_autoindex = sql_text.is_none() && stored_name.starts_with(AUTOINDEX_PREFIX);
        let by_parts = head.as_ref().map(|head| head.kind).or(is_autoindex.then_some(ObjectKind::Index));
        let resolved = by_parts.or(by_word).unwrap_or(ObjectKind::Table);
        if word != resolved.type_word() {
            let expected = format!("type '{}', as in {}", resolved.type_word(), self.reason(head.is_some()));
            let is_no_type = ObjectKind::of_type(&word).is_none() || is_autoindex;
            push(&mut damages, expected, format!("type {}", shown(kind, self.encoding)), is_no_type);
        }
        let mut row = SchemaRow {
            is_table: resolved == ObjectKind::Table,
            kind: resolved,
            name: stored_name,
            table_name: text(table_name).unwrap_or_default(),
            root: 0,
            definition: sql_text,
            page: stored.page,
            slot: stored.slot,
        };
        match &head {
            Some(head) => self.names(&mut row, head, (name, table_name), &mut damages),
            None if is_autoindex => autoindex_table(&mut row, &mut damages),
            None => {}
        }
        self.root(&mut row, root, &mut damages);
        ResolvedRow { row, damages, stored }
    }

    fn reason(&self, has_definition: bool) -> &'static str {
        if has_definition { "its definition" } else { "sqlite_schema" }
    }

    /// Compares the names of a row with those in its definition, and takes the ones that most of them agree on.
    fn names(
        &self,
        row: &mut SchemaRow,
        head: &Definition,
        (stored_name, stored_table): (&OwnedValue, &OwnedValue),
        damages: &mut Vec<RowDamage>,
    ) {
        let is_same = |left: &str, right: &str| left.eq_ignore_ascii_case(right);
        let mut rename = |range: &std::ops::Range<usize>, name: &str| {
            if let Some(sql) = &mut row.definition {
                sql.replace_range(range.clone(), &format!("\"{}\"", name.replace('"', "\"\"")));
            }
        };
        let Some((table, table_range)) = &head.table else {
            let is_definition_wrong = is_same(&row.name, &row.table_name)
                && !is_same(&row.name, &head.name)
                && !row.name.is_empty();
            if is_definition_wrong {
                let expected =
                    format!("{} in the definition, as in name and tbl_name", quoted_text(&row.name));
                rename(&head.name_range, &row.name);
                push(damages, expected, quoted_text(&head.name), false);
                return;
            }
            for (column, found, value) in
                [("name", &mut row.name, stored_name), ("tbl_name", &mut row.table_name, stored_table)]
            {
                if !is_same(found, &head.name) {
                    let expected = format!("{column} {}, as in its definition", quoted_text(&head.name));
                    push(damages, expected, format!("{column} {}", shown(value, self.encoding)), false);
                    found.clone_from(&head.name);
                }
            }
            return;
        };
        if !is_same(&row.table_name, table) {
            let is_known = |name: &str| self.tables.contains(&name.to_ascii_lowercase());
            if is_known(&row.table_name) && !is_known(table) {
                let expected =
                    format!("table {} in the definition, as in tbl_name", quoted_text(&row.table_name));
                rename(table_range, &row.table_name);
                push(damages, expected, quoted_text(table), false);
            } else {
                let expected = format!("tbl_name {}, as in its definition", quoted_text(table));
                push(damages, expected, format!("tbl_name {}", shown(stored_table, self.encoding)), false);
                row.table_name.clone_from(table);
            }
        }
        if !is_same(&row.name, &head.name) {
            let expected = format!("name {}, as in its definition", quoted_text(&head.name));
            push(damages, expected, format!("name {}", shown(stored_name, self.encoding)), false);
            row.name.clone_from(&head.name);
        }
    }

    fn root(&self, row: &mut SchemaRow, stored: &OwnedValue, damages: &mut Vec<RowDamage>) {
        let found = || format!("rootpage {}", shown(stored, self.encoding));
        let root = match stored {
            OwnedValue::Integer(root) => u32::try_from(*root).ok(),
            _ => None,
        };
        if row.kind.has_tree() {
            let is_right = root.is_some_and(|root| (2..=self.page_count).contains(&root));
            if is_right {
                row.root = root.unwrap_or(0);
            } else {
                let expected = format!("a root page from 2 to {}", self.page_count);
                push(damages, expected, found(), true);
            }
        } else if root != Some(0) && *stored != OwnedValue::Null {
            let expected = format!("rootpage 0, because a {} has no b-tree", row.kind.name());
            push(damages, expected, found(), true);
        }
    }
}

/// Compares the table of an index without a definition with the table in its name.
fn autoindex_table(row: &mut SchemaRow, damages: &mut Vec<RowDamage>) {
    let Some(rest) = row.name.strip_prefix(AUTOINDEX_PREFIX) else { return };
    let Some((table, number)) = rest.rsplit_once('_') else { return };
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    if is_number && !table.eq_ignore_ascii_case(&row.table_name) {
        let expected = format!("tbl_name {}, as in the name of the index", quoted_text(table));
        push(damages, expected, format!("tbl_name {}", quoted_text(&row.table_name)), true);
        row.table_name = table.to_owned();
    }
}

fn push(damages: &mut Vec<RowDamage>, expected: impl Into<String>, found: String, is_damage_by_itself: bool) {
    damages.push(RowDamage { expected: expected.into(), found, is_damage_by_itself });
}
