//! The tables of a SQLite database as far as copying their rows asks.

use std::path::Path;

use lab::expand::{Column, ExpandError, Kind, Reference, Table};
use rusqlite::Connection;

use super::sql::{engine, quoted};

/// The tables of a database; refuses what cannot be copied row by row.
pub(super) fn read_catalog(connection: &Connection, place: &Path) -> Result<Vec<Table>, ExpandError> {
    let failed = engine("read the schema of", place);
    let refuse = |reason: String| ExpandError::Source { place: format!("\"{}\"", place.display()), reason };
    let list = "SELECT name, type FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' \
                AND type <> 'view' ORDER BY name";
    let names: Vec<(String, String)> = connection
        .prepare(list)
        .and_then(|mut statement| statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect())
        .map_err(&failed)?;
    if let Some((name, _)) = names.iter().find(|(_, kind)| kind != "table") {
        return Err(refuse(format!("\"{name}\" is a virtual table, whose rows are not its own")));
    }
    if names.is_empty() {
        return Err(refuse("it has no table".to_owned()));
    }
    let names: Vec<String> = names.into_iter().map(|(name, _)| name).collect();
    let mut tables: Vec<Table> = Vec::new();
    for name in &names {
        tables.push(read_table(connection, name).map_err(&failed)?);
    }
    for (index, name) in names.iter().enumerate() {
        tables[index].references =
            read_references(connection, name, &names, &tables, index).map_err(&failed)?;
    }
    Ok(tables)
}

fn read_table(connection: &Connection, name: &str) -> rusqlite::Result<Table> {
    // Generated columns (hidden 2 and 3) cannot be written.
    let sql = "SELECT name, type, pk FROM pragma_table_xinfo(?1) WHERE hidden = 0 ORDER BY cid";
    let found: Vec<(String, String, i64)> = connection
        .prepare(sql)?
        .query_map([name], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let columns: Vec<Column> =
        found.iter().map(|(name, kind, _)| Column { name: name.clone(), kind: kind_of(kind) }).collect();
    let mut primary: Vec<(i64, usize)> =
        found.iter().enumerate().filter(|(_, one)| one.2 > 0).map(|(index, one)| (one.2, index)).collect();
    primary.sort_unstable();
    let mut keys: Vec<Vec<usize>> = Vec::new();
    if !primary.is_empty() {
        keys.push(primary.into_iter().map(|(_, index)| index).collect());
    }
    let indexes: Vec<String> = connection
        .prepare("SELECT name FROM pragma_index_list(?1) WHERE \"unique\" = 1 AND origin <> 'pk'")?
        .query_map([name], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for index in indexes {
        let members: Vec<Option<String>> = connection
            .prepare("SELECT name FROM pragma_index_info(?1) ORDER BY seqno")?
            .query_map([&index], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        let place =
            |member: Option<String>| columns.iter().position(|column| Some(&column.name) == member.as_ref());
        // An expression has no column: what is unique then depends on the others, or the copy fails and says so.
        keys.push(members.into_iter().filter_map(place).collect());
    }
    let identity = identity(connection, name, &columns, &keys)?;
    Ok(Table { name: quoted(name), columns, keys, references: Vec::new(), identity })
}

/// The name of the row number that no column hides; the primary key where there is none.
// EVIDENCE: sqlite lang_createtable 5, "ROWIDs and the INTEGER PRIMARY KEY"; withoutrowid 2
fn identity(
    connection: &Connection,
    name: &str,
    columns: &[Column],
    keys: &[Vec<usize>],
) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?1";
    let is_without: bool = connection.query_row(sql, [name], |row| row.get(0))?;
    let is_free = |word: &&str| !columns.iter().any(|column| column.name.eq_ignore_ascii_case(word));
    let row_number = ["rowid", "_rowid_", "oid"].into_iter().find(is_free).filter(|_| !is_without);
    let key = || keys.first().map(|key| key.iter().map(|&place| quoted(&columns[place].name)).collect());
    Ok(match row_number {
        Some(word) => vec![word.to_owned()],
        None => key().unwrap_or_default(),
    })
}

fn read_references(
    connection: &Connection,
    name: &str,
    names: &[String],
    tables: &[Table],
    own: usize,
) -> rusqlite::Result<Vec<Reference>> {
    let rows: Vec<(i64, String, String, Option<String>, i64)> = connection
        .prepare(
            "SELECT id, \"table\", \"from\", \"to\", seq FROM pragma_foreign_key_list(?1) ORDER BY id, seq",
        )?
        .query_map([name], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let mut references: Vec<(i64, Reference)> = Vec::new();
    for (id, table, from, to, sequence) in rows {
        let Some(table) = names.iter().position(|one| one.eq_ignore_ascii_case(&table)) else { continue };
        let column_of = |table: usize, name: &str| {
            tables[table].columns.iter().position(|column| column.name.eq_ignore_ascii_case(name))
        };
        // Without a name the primary key is meant.
        let to = match &to {
            Some(to) => column_of(table, to),
            None => tables[table].keys.first().and_then(|key| key.get(sequence as usize).copied()),
        };
        let (Some(from), Some(to)) = (column_of(own, &from), to) else { continue };
        match references.last_mut().filter(|(last, _)| *last == id) {
            Some((_, reference)) => reference.columns.push((from, to)),
            None => references.push((id, Reference { columns: vec![(from, to)], table })),
        }
    }
    Ok(references.into_iter().map(|(_, reference)| reference).collect())
}

/// Affinity by the declared type.
// EVIDENCE: sqlite datatype3 3.1
fn kind_of(declared: &str) -> Kind {
    let declared = declared.to_ascii_uppercase();
    let has = |words: &[&str]| words.iter().any(|word| declared.contains(word));
    if has(&["INT"]) {
        Kind::Integer
    } else if has(&["CHAR", "CLOB", "TEXT"]) {
        Kind::Text
    } else if has(&["BLOB"]) || declared.is_empty() {
        Kind::Bytes
    } else {
        Kind::Other
    }
}
