//! A database that grows by the rows that were set aside in a schema of it.

use std::collections::HashMap;

use lab::expand::{
    ExpandError, Growing, Kind, Shift, Statements, Steps, Table, in_order, mark_name, of_steps,
};

use super::source::{SOURCE, engine, number};
use crate::control::{Control, identifier};

/// The database, with what a copy's statements are made of.
pub(crate) struct Copies<'a> {
    pub(crate) control: &'a mut Control,
    pub(crate) name: &'a str,
    pub(crate) tables: &'a [Table],
    pub(crate) shifts: &'a [Vec<Option<Shift>>],
    pub(crate) strides: HashMap<Shift, i64>,
    pub(crate) tag: String,
}

impl Statements for Copies<'_> {
    fn identity_type(&self) -> &'static str {
        "tid"
    }

    fn source(&self, _: &[Table], table: usize) -> String {
        format!("{SOURCE}.t{table}")
    }

    fn scratch(&self, name: &str) -> String {
        format!("{SOURCE}.{name}")
    }

    fn row_bytes(&self, _: &Table) -> String {
        "pg_column_size(t.*)::bigint".to_owned()
    }

    fn run(&mut self, sql: &str) -> Result<(), ExpandError> {
        self.control.work(sql).map(drop).map_err(|error| engine("fill", self.name, error))
    }

    fn changed(&mut self, update: &str) -> Result<u64, ExpandError> {
        let sql = format!("WITH changed AS ({update} RETURNING 1) SELECT count(*) FROM changed");
        self.number(&sql).map(i64::unsigned_abs)
    }

    fn number(&mut self, sql: &str) -> Result<i64, ExpandError> {
        number(self.control, sql).map_err(|error| engine("fill", self.name, error))
    }
}

impl Growing for Copies<'_> {
    fn size_bytes(&mut self) -> Result<u64, ExpandError> {
        let sql = format!(
            "SELECT pg_database_size(current_database()) - coalesce(sum(pg_total_relation_size(oid)), 0)::bigint \
             FROM pg_class WHERE relnamespace = '{SOURCE}'::regnamespace AND relkind = 'r'"
        );
        self.number(&sql).map(i64::unsigned_abs)
    }

    fn copy(&mut self, copy: u64, steps: Option<Steps>) -> Result<(), ExpandError> {
        let statements = in_order(self.tables).into_iter().map(|index| {
            let condition = steps.map_or(String::new(), |steps| {
                of_steps(&self.tables[index], &self.scratch(&mark_name(index)), steps)
            });
            self.copy_statement(index, copy) + &condition
        });
        let all: Vec<String> = statements.collect();
        self.run(&format!("BEGIN; SET CONSTRAINTS ALL DEFERRED; {}; COMMIT", all.join("; ")))
    }
}

impl Copies<'_> {
    /// Bytes of the tables and indexes of users, without the rows that were set aside.
    pub(crate) fn rows_bytes(&mut self) -> Result<u64, ExpandError> {
        let sql = format!(
            "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class WHERE relkind = 'r' \
             AND relnamespace NOT IN (SELECT oid FROM pg_namespace WHERE nspname = '{SOURCE}' \
             OR nspname = 'information_schema' OR nspname LIKE 'pg\\_%')"
        );
        self.number(&sql).map(i64::unsigned_abs)
    }

    fn copy_statement(&self, index: usize, copy: u64) -> String {
        let table = &self.tables[index];
        let names: Vec<String> = table.columns.iter().map(|column| identifier(&column.name)).collect();
        let suffix = format!("{}{copy}", self.tag);
        let by = |shift: &Shift| self.strides.get(shift).copied().unwrap_or(1);
        let values = names.iter().zip(&self.shifts[index]).map(|(name, shift)| match shift {
            Some(shift) => match shift.kind {
                Kind::Other => name.clone(),
                Kind::Integer => format!("{name} + {copy} * {}::bigint", by(shift)),
                Kind::Text => format!("{name} || '{suffix}'"),
                Kind::Uuid => format!("md5({name}::text || '{suffix}')::uuid"),
                Kind::Bytes => format!("{name} || convert_to('{suffix}', 'UTF8')"),
            },
            None => name.clone(),
        });
        let values: Vec<String> = values.collect();
        format!(
            "INSERT INTO {} ({}) OVERRIDING SYSTEM VALUE SELECT {} FROM {SOURCE}.t{index}",
            table.name,
            names.join(", "),
            values.join(", ")
        )
    }
}
