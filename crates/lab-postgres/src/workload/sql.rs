//! The SQL of a run, for readers: the statements that `prepare`, the sessions and `clean` execute.

use lab::engine::{ServerShare, SqlPart};
use lab::work::{Amount, LoopSide, Placement, WarmUp, Work, Workload};

use crate::capabilities::Capabilities;
use crate::settings::server_settings;
use crate::workload::fixture::durably;
use crate::workload::guid::{self, FixtureTables};
use crate::workload::look_up::LookUp;
use crate::workload::{schema, wal_space};

/// The statements of a run, in order, on a managed PostgreSQL with one data directory.
pub(crate) fn parts(work: &Work) -> Vec<SqlPart> {
    let mut parts = vec![settings(work)];
    if work.workload == Workload::Own {
        let database = SqlPart::new("database, before each run", [])
            .note("a copy (CREATE DATABASE ... TEMPLATE) of the one in which schema and load were executed")
            .note("all connections are those of a role that is no superuser and owns it");
        parts.push(database);
        return parts;
    }
    if let Some(fixture) = FixtureTables::of(work) {
        let mut statements = fixture.create();
        statements.extend(fixture.choose_keys(work));
        parts.push(SqlPart::new("tables to read, kept from run to run", durably(statements)));
    }
    let server = Capabilities { storage_plain: true, procedures: true, ..Capabilities::default() };
    let mut schema = SqlPart::new("schema, before each run", schema::create(work, &[None], &server));
    if work.placement == Placement::DataApart {
        schema = schema.note("placement data-apart: the objects are in a tablespace in the log directory");
    }
    parts.push(schema);
    if work.workload.adds_rows() {
        let wanted = wal_space::segments_wanted(work);
        let part = SqlPart::new(
            format!("before each run, until {wanted} WAL segments are there"),
            wal_space::STATEMENTS.map(str::to_owned),
        );
        parts.push(part);
    }
    parts.push(SqlPart::new("before each run", ["CHECKPOINT".to_owned()]));
    if !work.workload.is_task() {
        parts.push(session(work));
        parts.push(measured(work));
    }
    parts.push(SqlPart::new("after each run", schema::drop_all(true)));
    parts.retain(|part| !part.is_empty());
    parts
}

fn settings(work: &Work) -> SqlPart {
    let settings = server_settings(work).into_iter().map(|(name, value)| format!("{name} = {value}"));
    let mut part = SqlPart::new("settings of the managed server", []);
    part.notes.extend(settings);
    part
}

/// What each client does before its loop.
fn session(work: &Work) -> SqlPart {
    let planner = guid::PLANNER.map(str::to_owned);
    let part = SqlPart::new(
        "each connection, once",
        planner.into_iter().filter(|_| work.workload.looks_up()).collect::<Vec<_>>(),
    );
    if work.workload.looks_up() || work.loop_side == LoopSide::Server {
        return part;
    }
    let row = schema::row_statement(work);
    let values = if row.takes_key { " (uuid)" } else { "" };
    part.repeated(format!("PREPARE row{values} AS {}", row.sql), 1)
        .note("the statement is prepared by a Parse message, not by PREPARE")
}

/// What is measured.
fn measured(work: &Work) -> SqlPart {
    if let Some(fixture) = FixtureTables::of(work).filter(|_| work.workload.looks_up()) {
        let statement = LookUp::explained(&fixture.question(work));
        return SqlPart::new("transaction", [statement]);
    }
    if work.loop_side == LoopSide::Server {
        let (rows, time) = match work.amount {
            Amount::Rows(rows) => (Some(work.share_of(rows, 0)), None),
            Amount::Time(time) => (None, Some(time)),
        };
        let call = schema::call(ServerShare { rows, time, batch_size: work.batch_size });
        let part = SqlPart::new("measured, by each connection", [call]);
        return match work.warm_up {
            WarmUp::None => part,
            _ => part.note("the warm-up is such a call, too"),
        };
    }
    let row = schema::row_statement(work);
    if row.takes_all || work.batch_size == 1 {
        return SqlPart::new("transaction", [row.sql.into_owned()]);
    }
    if work.workload == Workload::SelectOne {
        return SqlPart::new("transaction", []).repeated(row.sql, work.batch_size);
    }
    SqlPart::new("transaction, a round trip per statement", [schema::BEGIN.to_owned()])
        .repeated(row.sql, work.batch_size)
        .repeated(schema::COMMIT, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transaction(work: &Work) -> Vec<(String, u64)> {
        let part = parts(work).into_iter().find(|part| part.title.starts_with("transaction"));
        part.into_iter().flat_map(|part| part.statements).map(|one| (one.text, one.times)).collect()
    }

    #[test]
    fn a_transaction_of_several_rows_is_framed_and_one_of_one_row_is_not() {
        let mut work = Work::example();
        let insert = "INSERT INTO fathom_rows DEFAULT VALUES;".to_owned();
        let framed = [("BEGIN;".to_owned(), 1), (insert.clone(), 10), ("COMMIT;".to_owned(), 1)];
        assert_eq!(transaction(&work), framed);
        work.batch_size = 1;
        assert_eq!(transaction(&work), [(insert, 1)]);
        work.workload = Workload::SelectOne;
        work.batch_size = 3;
        assert_eq!(transaction(&work), [("SELECT 1;".to_owned(), 3)]);
    }

    #[test]
    fn a_loop_on_the_server_is_one_call_of_the_procedure_that_the_schema_makes() {
        let work = Work { loop_side: LoopSide::Server, ..Work::example() };
        let all: Vec<String> =
            parts(&work).into_iter().flat_map(|part| part.statements).map(|one| one.text).collect();
        assert!(all.iter().any(|text| text == "CALL fathom_run(50, NULL, 10, 0, 0);"), "{all:?}");
        assert!(all.iter().any(|text| text.starts_with("CREATE PROCEDURE fathom_run")), "{all:?}");
        assert!(!all.iter().any(|text| text == "BEGIN;"), "{all:?}");
    }
}
