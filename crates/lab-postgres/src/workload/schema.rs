//! Tables, indexes and the procedure of each workload.
//!
//! A primary key on PostgreSQL is a heap beside a B-tree, not a clustered table. `char(4100)` would be compressed to
//! a few bytes; with STORAGE PLAIN it fills more than half a page, so that each page holds one row.

use std::borrow::Cow;

use lab::engine::ServerShare;
use lab::work::{KeyOrder, Work, Workload};

use crate::capabilities::Capabilities;
use crate::control::literal;
use crate::workload::guid;
use crate::workload::table::TABLE;

/// The statement that one row takes on the client's side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RowStatement {
    /// The statement.
    pub(crate) sql: Cow<'static, str>,
    /// Does it take a key of 16 bytes, drawn by the client?
    pub(crate) takes_key: bool,
    /// Does it do all rows of a transaction at once?
    pub(crate) takes_all: bool,
    /// What the server answers when it did it.
    pub(crate) tag: Cow<'static, [u8]>,
}

impl RowStatement {
    const fn new(sql: &'static str, takes_key: bool, tag: &'static [u8]) -> Self {
        Self { sql: Cow::Borrowed(sql), takes_key, takes_all: false, tag: Cow::Borrowed(tag) }
    }
}

/// What a client prepares.
pub(crate) fn row_statement(work: &Work) -> RowStatement {
    let insert = b"INSERT 0 1";
    if work.is_one_load() {
        return RowStatement {
            sql: Cow::Owned(guid::load_statement()),
            takes_key: false,
            takes_all: true,
            tag: Cow::Owned(format!("INSERT 0 {}", work.batch_size).into_bytes()),
        };
    }
    match (work.workload.adds_rows(), work.key) {
        (false, _) => RowStatement::new("SELECT 1", false, b"SELECT 1"),
        (true, KeyOrder::Sequential) => {
            RowStatement::new("INSERT INTO fathom_rows DEFAULT VALUES", false, insert)
        }
        (true, KeyOrder::Random) => {
            RowStatement::new("INSERT INTO fathom_rows (c1) VALUES ($1)", true, insert)
        }
    }
}

/// Statements that make a workload's objects, in order. `tablespaces` are the places of the partitions in turn
/// (`None` is the database's own place); never empty. What the server does not have is left out.
pub(crate) fn create(
    work: &Work,
    tablespaces: &[Option<String>],
    capabilities: &Capabilities,
) -> Vec<String> {
    let has_procedure = capabilities.procedures && work.workload != Workload::Own;
    let procedure = has_procedure.then(|| procedure(work));
    if !work.workload.adds_rows() {
        return procedure.into_iter().filter(|_| !work.workload.has_fixtures()).collect();
    }
    let place = |index: usize| {
        let name = tablespaces.get(index % tablespaces.len().max(1)).cloned().flatten().unwrap_or_default();
        // The indexes of a table, and of its partitions, follow this setting too.
        format!("SET default_tablespace = {}", literal(&name))
    };
    let needs_place = tablespaces.iter().any(Option::is_some);
    let mut statements = Vec::new();
    if work.workload == Workload::RandomInsert && work.key == KeyOrder::Sequential {
        statements.push("CREATE SEQUENCE fathom_keys".to_owned());
    }
    let mut columns = columns(work);
    columns
        .extend((1..=work.secondary_indexes).map(|number| {
            format!("k{number} bigint NOT NULL DEFAULT (random() * 9007199254740992)::bigint")
        }));
    let partitioned = work.data_files > 1;
    if needs_place && !partitioned {
        statements.push(place(0));
    }
    statements.push(format!(
        "CREATE TABLE {TABLE} ({}){}",
        columns.join(", "),
        if partitioned { " PARTITION BY HASH (c1)" } else { "" }
    ));
    if work.workload != Workload::RandomInsert && capabilities.storage_plain {
        // Before the partitions are made: they take it over.
        statements.push(format!("ALTER TABLE {TABLE} ALTER COLUMN c2 SET STORAGE PLAIN"));
    }
    statements.extend(guid::key_index(work));
    statements.extend(
        (1..=work.secondary_indexes)
            .map(|number| format!("CREATE INDEX {TABLE}_k{number} ON {TABLE} (k{number})")),
    );
    if partitioned {
        for index in 0..work.data_files {
            if needs_place {
                statements.push(place(index as usize));
            }
            statements.push(format!(
                "CREATE TABLE {TABLE}_p{index} PARTITION OF {TABLE} FOR VALUES WITH (MODULUS {}, REMAINDER {index})",
                work.data_files
            ));
        }
    }
    if needs_place {
        statements.push("RESET default_tablespace".to_owned());
    }
    statements.extend(procedure);
    statements.extend(guid::source(work));
    statements
}

/// Begins a transaction of several rows.
pub(crate) const BEGIN: &str = "BEGIN";

/// Ends it.
pub(crate) const COMMIT: &str = "COMMIT";

/// The call that has the server do a share.
pub(crate) fn call(share: ServerShare) -> String {
    let rows = share.rows.map_or_else(|| "NULL".to_owned(), |rows| rows.to_string());
    let seconds = share.time.map_or_else(|| "NULL".to_owned(), |time| time.as_secs_f64().to_string());
    format!("CALL fathom_run({rows}, {seconds}, {}, 0, 0)", share.batch_size.max(1))
}

/// Statements that remove whatever workload's objects there are.
pub(crate) fn drop_all(procedures: bool) -> Vec<String> {
    let mut statements = vec![
        format!("DROP TABLE IF EXISTS {TABLE}, {}", guid::SOURCE),
        "DROP SEQUENCE IF EXISTS fathom_keys".to_owned(),
    ];
    if procedures {
        statements.push("DROP PROCEDURE IF EXISTS fathom_run".to_owned());
    }
    statements
}

/// Bytes of one row as the client knows them: key and columns, without headers and indexes.
pub(crate) fn payload_bytes_per_row(work: &Work) -> u64 {
    let secondary = u64::from(work.secondary_indexes) * 8;
    match work.workload {
        Workload::GuidPopulate => 16 + guid::WIDE_CHARACTERS + secondary,
        Workload::Populate => 4100 + secondary + if work.key == KeyOrder::Random { 16 } else { 8 },
        Workload::RandomInsert => 16 + 8 + 111 + 4 + 4 + 8 + secondary,
        _ => 0,
    }
}

/// Log bytes that one row is expected to take, with its index entries and its share of the commit: an upper
/// estimate for sizing, measured as 4272 bytes for one row of `populate` in a transaction of its own.
pub(crate) fn log_bytes_per_row(work: &Work) -> u64 {
    if !work.workload.adds_rows() {
        return 0;
    }
    // A tree that holds the whole row writes it a second time.
    let copies = if guid::is_in_tree(work) { 2 } else { 1 };
    copies * payload_bytes_per_row(work) + 200 + u64::from(work.secondary_indexes) * 100
}

fn columns(work: &Work) -> Vec<String> {
    if work.workload == Workload::GuidPopulate {
        return guid::columns(work);
    }
    let (key, rest): (&str, &[&str]) = match (work.workload, work.key) {
        (Workload::RandomInsert, key) => (
            match key {
                KeyOrder::Random => "c1 uuid DEFAULT gen_random_uuid() PRIMARY KEY",
                KeyOrder::Sequential => {
                    "c1 uuid DEFAULT lpad(to_hex(nextval('fathom_keys')), 32, '0')::uuid PRIMARY KEY"
                }
            },
            &[
                "c2 timestamp DEFAULT now()",
                "c3 char(111) DEFAULT 'a'",
                "c4 int DEFAULT 1",
                "c5 int DEFAULT 2",
                "c6 bigint DEFAULT 42",
            ],
        ),
        (_, KeyOrder::Random) => {
            ("c1 uuid DEFAULT gen_random_uuid() PRIMARY KEY", &["c2 char(4100) NOT NULL DEFAULT 'a'"])
        }
        (_, KeyOrder::Sequential) => {
            ("c1 bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY", &["c2 char(4100) NOT NULL DEFAULT 'a'"])
        }
    };
    std::iter::once(key).chain(rest.iter().copied()).map(str::to_owned).collect()
}

/// The loop on the server: COMMIT after each batch, the last batch cut to size, or until the time is over.
fn procedure(work: &Work) -> String {
    let one_row = match work.workload.adds_rows() {
        false => "PERFORM 1".to_owned(),
        true => format!("INSERT INTO {TABLE} DEFAULT VALUES"),
    };
    format!(
        "CREATE PROCEDURE fathom_run(rows_wanted bigint, seconds double precision, batch_size bigint, \
         INOUT rows_done bigint, INOUT transactions_done bigint) LANGUAGE plpgsql AS $body$
DECLARE
    deadline timestamptz := clock_timestamp() + make_interval(secs => seconds);
    batch bigint := batch_size;
BEGIN
    rows_done := 0;
    transactions_done := 0;
    LOOP
        EXIT WHEN clock_timestamp() >= deadline;
        IF rows_wanted IS NOT NULL THEN
            batch := least(batch_size, rows_wanted - rows_done);
            EXIT WHEN batch <= 0;
        END IF;
        FOR i IN 1..batch LOOP
            {one_row};
        END LOOP;
        COMMIT;
        rows_done := rows_done + batch;
        transactions_done := transactions_done + 1;
    END LOOP;
END
$body$"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capabilities() -> Capabilities {
        Capabilities { storage_plain: true, procedures: true, ..Capabilities::default() }
    }

    #[test]
    fn what_a_server_does_not_have_is_left_out() {
        let text = create(&Work::example(), &[None], &Capabilities::default()).join("\n");
        assert!(!text.contains("PROCEDURE") && !text.contains("STORAGE"), "{text}");
        assert!(!drop_all(false).join("\n").contains("PROCEDURE"));
    }

    #[test]
    fn partitions_go_round_the_tablespaces_and_leave_none_out() {
        let mut work = Work::example();
        work.data_files = 4;
        let statements = create(&work, &[None, Some("b".to_owned())], &capabilities());
        let places: Vec<&str> =
            statements.iter().filter_map(|text| text.strip_prefix("SET default_tablespace = ")).collect();
        assert_eq!(places, ["''", "'b'", "''", "'b'"]);
        assert_eq!(statements.iter().filter(|text| text.contains("PARTITION OF")).count(), 4);
    }

    #[test]
    fn a_table_in_one_file_is_not_partitioned_and_stays_where_the_database_is() {
        let text = create(&Work::example(), &[None], &capabilities()).join("\n");
        assert!(!text.contains("PARTITION") && !text.contains("tablespace"), "{text}");
        assert!(text.contains("SET STORAGE PLAIN"), "{text}");
    }

    #[test]
    fn a_client_draws_the_key_only_where_it_is_random() {
        let mut work = Work::example();
        assert!(!row_statement(&work).takes_key);
        work.key = KeyOrder::Random;
        assert!(row_statement(&work).takes_key);
        work.workload = Workload::SelectOne;
        assert!(!row_statement(&work).takes_key);
    }
}
