//! Constraints and computed columns that no level verifies: listed with the statement that does.

use std::collections::BTreeMap;

use formats::postgres::catalog::{Column, Row};
use results::check::NotChecked;

use crate::run::unverified::listed;

/// A kind of rule that is not verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Check,
    Domain,
    Exclusion,
    ForeignKey,
    ForeignTable,
    Partition,
    Stored,
    Temporal,
}

impl Kind {
    /// One of them, several of them, and how they are verified.
    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Kind::Check => (
                "CHECK constraint",
                "CHECK constraints",
                "expressions are not evaluated: SELECT * FROM table WHERE NOT (expression), with the expression from \
                 pg_get_constraintdef(oid)",
            ),
            Kind::Domain => (
                "constraint of a domain",
                "constraints of domains",
                "expressions are not evaluated: SELECT * FROM table WHERE NOT (expression), for each column of the domain",
            ),
            Kind::Exclusion => (
                "exclusion constraint",
                "exclusion constraints",
                "operators are not evaluated: REINDEX INDEX on the constraint's index verifies it",
            ),
            Kind::ForeignKey => (
                "foreign key",
                "foreign keys",
                "rows of two tables are not compared: SELECT * FROM child c WHERE column IS NOT NULL AND NOT EXISTS \
                 (SELECT FROM parent p WHERE p.key = c.column)",
            ),
            Kind::ForeignTable => {
                ("foreign table", "foreign tables", "their rows are stored elsewhere: check them there")
            }
            Kind::Partition => (
                "partition",
                "partitions",
                "rows are not compared with the bounds of their partition: SELECT * FROM partition WHERE NOT \
                 (expression), with the expression from pg_get_partition_constraintdef(oid)",
            ),
            Kind::Temporal => (
                "key WITHOUT OVERLAPS",
                "keys WITHOUT OVERLAPS",
                "overlapping ranges are not compared: REINDEX INDEX on the constraint's index verifies them",
            ),
            Kind::Stored => (
                "STORED generated column",
                "STORED generated columns",
                "expressions are not evaluated: SELECT * FROM table WHERE column IS DISTINCT FROM (expression)",
            ),
        }
    }
}

/// What one database has of each kind, by name.
#[derive(Debug, Default)]
pub(crate) struct Constraints {
    by_kind: BTreeMap<Kind, Vec<String>>,
}

impl Constraints {
    /// Takes a row of `pg_constraint`; `schema` is that of the constraint. Those that were never validated say nothing.
    // EVIDENCE: PostgreSQL docs 51.13 pg_constraint: contype c check, f foreign key, x exclusion; contypid: of a domain
    pub(crate) fn add_constraint(&mut self, row: &Row<'_>, schema: &str) {
        if is_of_system(schema) || row.bool("convalidated") == Some(false) {
            return;
        }
        let is_of_domain = row.u32("contypid").is_some_and(|domain| domain != 0);
        let kind = match row.u8("contype") {
            Some(b'c') if is_of_domain => Kind::Domain,
            Some(b'c') => Kind::Check,
            Some(b'f') => Kind::ForeignKey,
            Some(b'x') => Kind::Exclusion,
            // EVIDENCE: PostgreSQL 18 docs 52.13: conperiod, of a primary or unique key WITHOUT OVERLAPS
            Some(b'p' | b'u') if row.bool("conperiod") == Some(true) => Kind::Temporal,
            _ => return,
        };
        self.add(kind, schema, &row.text("conname").unwrap_or_else(|| "?".to_owned()));
    }

    /// Takes a row of `pg_class` with its columns.
    // EVIDENCE: PostgreSQL docs 51.11 pg_class: relkind f foreign table, relispartition; 51.7 attgenerated s
    pub(crate) fn add_relation(
        &mut self,
        schema: &str,
        name: &str,
        kind: u8,
        is_partition: bool,
        columns: &[Column],
    ) {
        if is_of_system(schema) {
            return;
        }
        match kind {
            b'f' => self.add(Kind::ForeignTable, schema, name),
            b'r' | b'p' if is_partition => self.add(Kind::Partition, schema, name),
            _ => {}
        }
        if kind == b'r' {
            for column in columns.iter().filter(|column| column.is_stored && !column.dropped) {
                self.add(Kind::Stored, schema, &format!("{name}.{}", column.name));
            }
        }
    }

    fn add(&mut self, kind: Kind, schema: &str, name: &str) {
        self.by_kind.entry(kind).or_default().push(format!("{schema}.{name}"));
    }

    /// What is listed of a database, one entry for each kind.
    pub(crate) fn gaps(&self, database: &str) -> Vec<NotChecked> {
        let of_kind = |(kind, names): (&Kind, &Vec<String>)| {
            let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
            names.sort_unstable();
            let (one, many, why) = kind.words();
            NotChecked::out_of_scope(Some(database), listed(&names, one, many), why)
        };
        self.by_kind.iter().map(of_kind).collect()
    }
}

fn is_of_system(schema: &str) -> bool {
    schema == "information_schema" || schema.starts_with("pg_")
}
