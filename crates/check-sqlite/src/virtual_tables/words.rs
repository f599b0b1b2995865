//! Where a damaged full-text index disagrees: the row of a shadow table, found by the copy that SQLite judged.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use rusqlite::Connection;

use crate::catalog::definitions::quoted;
use crate::virtual_tables::engine::Copy;

/// Bits of a rowid of %_data below the number of the segment.
// EVIDENCE: sqlite fts5_index.c: FTS5_DATA_PAGE_B 31, FTS5_DATA_HEIGHT_B 5, FTS5_DATA_DLI_B 1, fts5_dri
const SEGMENT_SHIFT: u32 = 31 + 5 + 1;
/// The row of %_data that holds the structure of the index.
// EVIDENCE: sqlite fts5_index.c: FTS5_STRUCTURE_ROWID 10
const STRUCTURE_ROWID: i64 = 10;

/// A row of a shadow table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShadowPlace {
    /// The end of its name: `_content`.
    pub(super) kind: &'static str,
    pub(super) rowid: i64,
    /// What about it differs, in words.
    pub(super) what: String,
}

/// The row that a damaged FTS5 table differs in; `None` when SQLite does not tell. `intact` is the same table, empty.
pub(super) fn of_fts5(copy: &Copy, message: &str, intact: Option<&Copy>) -> Option<ShadowPlace> {
    let of_data = |rowid| ShadowPlace { kind: "_data", rowid, what: "its block of the index".to_owned() };
    if let Some(rowid) = number_after(message, "reading blob ") {
        return Some(of_data(rowid));
    }
    if let Some((page, segment)) = number_after(message, "on page ").zip(number_after(message, "segment ")) {
        return Some(of_data((segment << SEGMENT_SHIFT) + page));
    }
    if message.contains("structure record") {
        return Some(of_data(STRUCTURE_ROWID));
    }
    rebuild(copy, intact?)?;
    let name = quoted(&copy.name);
    let make = format!(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.fathom_words USING fts5vocab(main, {name}, instance)"
    );
    [copy, intact?].iter().try_for_each(|copy| copy.connection.execute_batch(&make)).ok()?;
    let sql = "SELECT term, doc, col, \"offset\" FROM temp.fathom_words";
    let (term, doc) = first_difference(&copy.connection, &intact?.connection, sql)?;
    let what = format!("the term {} of the row", shown(&term));
    Some(ShadowPlace { kind: "_content", rowid: doc?, what })
}

/// The row that a damaged FTS3 or FTS4 table differs in.
pub(super) fn of_fts3(copy: &Copy, intact: Option<&Copy>) -> Option<ShadowPlace> {
    let name = quoted(&copy.name);
    let make = format!("CREATE VIRTUAL TABLE IF NOT EXISTS temp.fathom_words USING fts4aux(main, {name})");
    copy.connection.execute_batch(&make).ok()?;
    if let Some(rowid) = unreadable_segment(copy) {
        let what = "its segment of the index".to_owned();
        return Some(ShadowPlace { kind: "_segdir", rowid, what });
    }
    let intact = intact?;
    rebuild(copy, intact)?;
    intact.connection.execute_batch(&make).ok()?;
    let sql = "SELECT term, NULL, documents, occurrences FROM temp.fathom_words WHERE col = '*'";
    let (term, _) = first_difference(&copy.connection, &intact.connection, sql)?;
    let docs = |copy: &Copy| -> Option<BTreeSet<i64>> {
        let sql = format!("SELECT docid FROM {name} WHERE {name} MATCH ?1");
        let phrase = format!("\"{}\"", String::from_utf8_lossy(&term).replace('"', " "));
        let mut statement = copy.connection.prepare(&sql).ok()?;
        let rows = statement.query_map([phrase], |row| row.get(0)).ok()?;
        rows.collect::<rusqlite::Result<_>>().ok()
    };
    let (ours, theirs) = (docs(copy)?, docs(intact)?);
    let rowid = *ours.symmetric_difference(&theirs).next().or(theirs.first())?;
    let what = format!("the term {} of the row", shown(&term));
    Some(ShadowPlace { kind: "_content", rowid, what })
}

fn number_after(message: &str, words: &str) -> Option<i64> {
    let rest = message.split_once(words)?.1;
    let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '-').unwrap_or(rest.len());
    rest.get(..end)?.parse().ok()
}

fn shown(term: &[u8]) -> String {
    const LETTERS_MAX: usize = 40;
    let text: String = String::from_utf8_lossy(term).chars().take(LETTERS_MAX).collect();
    format!("'{}'", text.replace('\'', "''"))
}

/// Gives an empty table the rows of another one and lets SQLite index them.
fn rebuild(copy: &Copy, intact: &Copy) -> Option<()> {
    let content = format!("{}_content", copy.name);
    let columns = intact.columns(&content).ok()?;
    let places = vec!["?"; columns.len()].join(", ");
    let (table, shadow) = (quoted(&copy.name), quoted(&content));
    intact.connection.execute_batch("BEGIN").ok()?;
    {
        let mut rows = copy.connection.prepare(&format!("SELECT * FROM {shadow}")).ok()?;
        let mut insert =
            intact.connection.prepare(&format!("INSERT INTO {shadow} VALUES ({places})")).ok()?;
        let mut rows = rows.raw_query();
        while let Some(row) = rows.next().ok()? {
            for index in 0..columns.len() {
                let value = rusqlite::types::ToSqlOutput::Borrowed(row.get_ref(index).ok()?);
                insert.raw_bind_parameter(index + 1, value).ok()?;
            }
            insert.raw_execute().ok()?;
        }
    }
    let sql = format!("COMMIT; INSERT INTO {table}({table}) VALUES ('rebuild')");
    intact.connection.execute_batch(&sql).ok()
}

/// The first row in which two sequences in the same order differ: its term, and the rowid where there is one.
fn first_difference(left: &Connection, right: &Connection, sql: &str) -> Option<(Vec<u8>, Option<i64>)> {
    let (mut left, mut right) = (left.prepare(sql).ok()?, right.prepare(sql).ok()?);
    let (mut left, mut right) = (left.raw_query(), right.raw_query());
    let read = |row: Option<&rusqlite::Row<'_>>| -> Option<Option<Word>> {
        let Some(row) = row else { return Some(None) };
        let term = row.get_ref(0).ok()?.as_bytes().ok()?.to_vec();
        let value =
            |index| row.get::<_, rusqlite::types::Value>(index).ok().map(|value| format!("{value:?}"));
        Some(Some(Word { term, doc: row.get(1).ok()?, rest: [value(2)?, value(3)?] }))
    };
    loop {
        // An index that cannot be read any further differs where the other one goes on.
        let ours = left.next().ok().flatten().and_then(|row| read(Some(row))).flatten();
        let theirs = read(right.next().ok()?)?;
        match (ours, theirs) {
            (None, None) => return None,
            (Some(word), None) | (None, Some(word)) => return Some((word.term, word.doc)),
            (Some(ours), Some(theirs)) if ours == theirs => {}
            (Some(ours), Some(theirs)) => {
                let is_first = (&ours.term, ours.doc).cmp(&(&theirs.term, theirs.doc)) == Ordering::Less;
                let word = if is_first { ours } else { theirs };
                return Some((word.term, word.doc));
            }
        }
    }
}

/// One entry of an index.
#[derive(PartialEq, Eq)]
struct Word {
    term: Vec<u8>,
    doc: Option<i64>,
    rest: [String; 2],
}

/// The segment of an FTS3 or FTS4 index that cannot be read to its end, by its row in %_segdir.
fn unreadable_segment(copy: &Copy) -> Option<i64> {
    let segments = quoted(&format!("{}_segdir", copy.name));
    let connection = &copy.connection;
    let rowids: Vec<i64> = {
        let mut statement = connection.prepare(&format!("SELECT rowid FROM {segments}")).ok()?;
        let rows = statement.query_map([], |row| row.get(0)).ok()?;
        rows.collect::<rusqlite::Result<_>>().ok()?
    };
    rowids.into_iter().find(|rowid| {
        let alone = format!("SAVEPOINT alone; DELETE FROM {segments} WHERE rowid <> {rowid}");
        let is_alone = connection.execute_batch(&alone).is_ok();
        let count =
            connection.query_row("SELECT count(*) FROM temp.fathom_words", [], |row| row.get::<_, i64>(0));
        let is_back = connection.execute_batch("ROLLBACK TO alone; RELEASE alone").is_ok();
        is_alone && is_back && count.is_err()
    })
}
