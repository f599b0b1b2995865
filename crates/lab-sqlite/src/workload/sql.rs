//! The SQL of a run, for readers: the statements that `prepare` and the sessions execute.

use std::path::Path;

use lab::engine::SqlPart;
use lab::work::{Work, Workload};

use crate::workload::guid::{self, FixtureTables};
use crate::workload::schema;

/// The statements of a run, in order.
pub(crate) fn parts(work: &Work) -> Vec<SqlPart> {
    let pragma = |(name, value): (&str, String)| format!("PRAGMA {name}={value}");
    let pragmas = schema::pragma_values(work);
    let of_connection = pragmas
        .iter()
        .filter(|(name, value)| schema::belongs_to_connection(name, value))
        .cloned()
        .map(pragma)
        .collect::<Vec<_>>();
    let mut parts = Vec::new();
    let fixture = FixtureTables::of(work, Path::new(""));
    match &fixture {
        Some(fixture) => parts.push(made(fixture, work)),
        None => parts.push(SqlPart::new("new database, before each run", pragmas.into_iter().map(pragma))),
    }
    if work.workload == Workload::Own {
        parts.push(SqlPart::new("each connection, once", of_connection));
        return parts;
    }
    if work.is_one_load() {
        let [table, key] = guid::SOURCE;
        let keys = SqlPart::new("file of keys, before each run", ["BEGIN".to_owned(), table.to_owned()]);
        parts.push(keys.repeated(key, work.batch_size).repeated("COMMIT", 1));
    }
    let mut schema = schema::create_statements(work);
    if fixture.is_none() {
        schema.push("PRAGMA wal_checkpoint(TRUNCATE)".to_owned());
    }
    parts.push(SqlPart::new("schema, before each run", schema));
    if work.workload.is_task() {
        parts.retain(|part| !part.is_empty());
        return parts;
    }
    let attach = work.is_one_load().then(|| guid::ATTACH.to_owned());
    parts.push(SqlPart::new("each connection, once", of_connection.into_iter().chain(attach)));
    if schema::reader_blocks_checkpoint(work) {
        let reader = ["BEGIN", "SELECT count(*) FROM sqlite_schema"].map(str::to_owned);
        parts.push(SqlPart::new("reader that holds its transaction open for the whole run", reader));
    }
    parts.push(transaction(work, fixture.as_ref()));
    parts.retain(|part| !part.is_empty());
    parts
}

/// Tables that are made once and read by the runs.
fn made(fixture: &FixtureTables, work: &Work) -> SqlPart {
    let mut part = SqlPart::new("tables to read, kept from run to run", []);
    for filling in fixture.fillings() {
        part.statements.extend(SqlPart::new("", filling.before).statements);
        part = part.repeated(filling.key, filling.rows);
        part.statements.extend(SqlPart::new("", filling.after).statements);
    }
    if let Some(keys) = fixture.choose_keys(work) {
        part = part.repeated(keys, 1);
    }
    part
}

/// What is measured.
fn transaction(work: &Work, fixture: Option<&FixtureTables>) -> SqlPart {
    let part =
        |statements: &[&str]| SqlPart::new("transaction", statements.iter().map(|&sql| sql.to_owned()));
    if let Some(fixture) = fixture.filter(|_| work.workload.looks_up()) {
        return part(&[&fixture.question(work)]);
    }
    let row = schema::row_statement(work);
    match work.batch_size {
        _ if work.is_one_load() => part(&[&row]),
        1 => part(&[&row]),
        rows if !work.workload.adds_rows() => part(&[]).repeated(row, rows),
        rows => part(&[schema::BEGIN]).repeated(row, rows).repeated(schema::COMMIT, 1),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn what_is_shown_can_be_executed_as_it_stands() {
        for (workload, secondary_indexes) in
            [(Workload::Populate, 2), (Workload::RandomInsert, 2), (Workload::GuidPopulate, 0)]
        {
            let work = Work { workload, secondary_indexes, ..Work::example() };
            let connection = Connection::open_in_memory().unwrap();
            for part in parts(&work) {
                for statement in part.statements {
                    // Values that the client draws are missing here.
                    let text = statement.text.replace("?1", "randomblob(16)");
                    connection.execute_batch(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
                }
            }
            let rows = connection.query_row("SELECT count(*) FROM fathom_rows", [], |row| row.get(0));
            assert_eq!(rows, Ok(1), "{workload:?}");
        }
    }

    #[test]
    fn a_transaction_of_several_rows_is_framed_and_one_of_one_row_is_not() {
        let mut work = Work::example();
        let count = |work: &Work| transaction(work, None).statements.len();
        assert_eq!(count(&work), 3);
        work.batch_size = 1;
        assert_eq!(count(&work), 1);
    }
}
