//! Parts of a copy: the rows of all tables in steps, each row with or after the rows that it refers to.
//!
//! Every table is divided by bytes in the order of its keys, so that the first p % of the steps hold about p % of each
//! table. A row that a row of an earlier step refers to is moved to that step. Rows up to any step therefore keep the
//! foreign keys that the source keeps.

use super::{ExpandError, Reference, Table};

/// Steps of each table.
const STEPS: i64 = 1_000_000;

/// Rounds in which rows are moved one reference further; a chain of rows that is longer is copied at once.
const ROUNDS_MAX: usize = 64;

/// What an engine calls the things that the statements name, and how it runs them.
pub trait Statements {
    /// Type of the columns that identify a row, as a table is made with it.
    fn identity_type(&self) -> &'static str;

    /// The table with the source's rows of a table.
    fn source(&self, tables: &[Table], table: usize) -> String;

    /// A new table beside the source's, by its name.
    fn scratch(&self, name: &str) -> String;

    /// Bytes of a row of the source, which is called `t`.
    fn row_bytes(&self, table: &Table) -> String;

    /// Runs a statement.
    fn run(&mut self, sql: &str) -> Result<(), ExpandError>;

    /// Runs an UPDATE and counts the rows that it changed.
    fn changed(&mut self, update: &str) -> Result<u64, ExpandError>;

    /// A query's only number.
    fn number(&mut self, sql: &str) -> Result<i64, ExpandError>;
}

/// The condition that a row of the source belongs to some steps.
pub fn of_steps(table: &Table, mark: &str, (after, last): (i64, i64)) -> String {
    format!(
        " WHERE ({}) IN (SELECT {} FROM {mark} WHERE step > {after} AND step <= {last})",
        table.identity.join(", "),
        keys(table, "").join(", ")
    )
}

/// Name of the table with the steps of a table's rows.
pub fn mark_name(table: usize) -> String {
    format!("mark{table}")
}

/// The steps of a source, kept in scratch tables.
pub(super) struct Portion {
    pub(super) last_step: i64,
    /// Bytes of all rows.
    pub(super) row_bytes: u64,
}

impl Portion {
    /// Divides the rows. Reads each table once, and again for each reference to it.
    pub(super) fn make(engine: &mut impl Statements, tables: &[Table]) -> Result<Self, ExpandError> {
        for (index, table) in tables.iter().enumerate() {
            divide(engine, tables, index, table)?;
        }
        move_ahead(engine, tables)?;
        let (sums, plan) = (engine.scratch("sums"), engine.scratch("plan"));
        engine.run(&format!("CREATE TABLE {sums} (step bigint, bytes bigint)"))?;
        for index in 0..tables.len() {
            let mark = engine.scratch(&mark_name(index));
            engine.run(&format!("INSERT INTO {sums} SELECT step, sum(bytes) FROM {mark} GROUP BY step"))?;
        }
        engine.run(&format!("CREATE TABLE {plan} (step bigint PRIMARY KEY, total bigint)"))?;
        engine.run(&format!(
            "INSERT INTO {plan} SELECT step, CAST(sum(bytes) OVER (ORDER BY step) AS bigint) \
             FROM (SELECT step, sum(bytes) AS bytes FROM {sums} GROUP BY step) AS one"
        ))?;
        let last_step = engine.number(&format!("SELECT coalesce(max(step), -1) FROM {plan}"))?;
        let row_bytes = engine.number(&format!("SELECT coalesce(max(total), 0) FROM {plan}"))?;
        Ok(Self { last_step, row_bytes: row_bytes.unsigned_abs() })
    }

    /// The next step at which so many bytes of rows are reached, the last one at most, with the bytes up to it.
    pub(super) fn next(
        &self,
        engine: &mut impl Statements,
        after: i64,
        row_bytes: u64,
    ) -> Result<(i64, u64), ExpandError> {
        let plan = engine.scratch("plan");
        let step = engine.number(&format!(
            "SELECT coalesce(min(step), {}) FROM {plan} WHERE step > {after} AND total >= {row_bytes}",
            self.last_step
        ))?;
        let total = engine.number(&format!("SELECT total FROM {plan} WHERE step = {step}"))?;
        Ok((step, total.unsigned_abs()))
    }
}

/// Names of a row's identity in a table of steps.
fn keys(table: &Table, alias: &str) -> Vec<String> {
    (0..table.identity.len()).map(|index| format!("{alias}k{index}")).collect()
}

fn divide(
    engine: &mut impl Statements,
    tables: &[Table],
    index: usize,
    table: &Table,
) -> Result<(), ExpandError> {
    if table.identity.is_empty() {
        return Err(ExpandError::Source {
            place: format!("table {}", table.name),
            reason: "it has no primary key, and its columns hide the row number".to_owned(),
        });
    }
    let (source, mark) = (engine.source(tables, index), engine.scratch(&mark_name(index)));
    let bytes = engine.row_bytes(table);
    let total = engine.number(&format!("SELECT coalesce(sum({bytes}), 0) FROM {source} AS t"))?.max(1);
    let identity: Vec<String> =
        table.identity.iter().enumerate().map(|(place, one)| format!("t.{one} AS k{place}")).collect();
    let (keys, kind) = (keys(table, "").join(", "), engine.identity_type());
    let columns: Vec<String> = (0..table.identity.len()).map(|place| format!("k{place} {kind}")).collect();
    engine.run(&format!(
        "CREATE TABLE {mark} ({}, bytes bigint, step bigint, PRIMARY KEY ({keys}))",
        columns.join(", ")
    ))?;
    engine.run(&format!(
        "INSERT INTO {mark} SELECT {keys}, bytes, CAST((sum(bytes) OVER (ORDER BY {keys} ROWS UNBOUNDED PRECEDING) \
         - bytes) * {STEPS} / {total} AS bigint) FROM (SELECT {}, {bytes} AS bytes FROM {source} AS t) AS one",
        identity.join(", ")
    ))
}

/// Moves rows to the first step that holds a row which refers to them.
fn move_ahead(engine: &mut impl Statements, tables: &[Table]) -> Result<(), ExpandError> {
    let mut order = super::in_order(tables);
    order.reverse();
    for round in 0.. {
        let mut is_changed = false;
        for &child in &order {
            for reference in tables[child].references.iter().filter(|one| !one.columns.is_empty()) {
                if engine.changed(&move_statement(engine, tables, child, reference))? == 0 {
                    continue;
                }
                is_changed = true;
                if round >= ROUNDS_MAX {
                    let mark = engine.scratch(&mark_name(reference.table));
                    engine.run(&format!("UPDATE {mark} SET step = 0"))?;
                }
            }
        }
        if !is_changed {
            break;
        }
    }
    Ok(())
}

fn move_statement(engine: &impl Statements, tables: &[Table], child: usize, reference: &Reference) -> String {
    let parent = reference.table;
    let mark_of = |table| engine.scratch(&mark_name(table));
    let same = |left: Vec<String>, right: Vec<String>| {
        let pairs = left.iter().zip(&right).map(|(left, right)| format!("{left} = {right}"));
        pairs.collect::<Vec<_>>().join(" AND ")
    };
    let identity = |table: usize, alias: &str| -> Vec<String> {
        tables[table].identity.iter().map(|one| format!("{alias}{one}")).collect()
    };
    let column = |alias: &str, table: usize, place: usize| {
        format!("{alias}\"{}\"", tables[table].columns[place].name.replace('"', "\"\""))
    };
    let (own, referred) = reference
        .columns
        .iter()
        .map(|&(own, other)| (column("c.", child, own), column("p.", parent, other)))
        .unzip();
    let named: Vec<String> =
        identity(parent, "p.").iter().enumerate().map(|(place, one)| format!("{one} AS k{place}")).collect();
    format!(
        "UPDATE {} AS target SET step = needed.step FROM (SELECT {}, min(m.step) AS step FROM {} AS c JOIN {} AS m ON {} \
         JOIN {} AS p ON {} GROUP BY {}) AS needed WHERE {} AND needed.step < target.step",
        mark_of(parent),
        named.join(", "),
        engine.source(tables, child),
        mark_of(child),
        same(keys(&tables[child], "m."), identity(child, "c.")),
        engine.source(tables, parent),
        same(referred, own),
        identity(parent, "p.").join(", "),
        same(keys(&tables[parent], "target."), keys(&tables[parent], "needed.")),
    )
}
