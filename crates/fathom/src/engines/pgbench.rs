//! The tables of pgbench, in the SQL of each engine that has them.
//!
//! EVIDENCE: PostgreSQL documentation, pgbench, "-i" and "--init-steps": the steps are those of `dtgvp`

/// Makes the empty tables; `{{fillfactor}}` is used where the engine has one.
pub(crate) const SCHEMA: &str = include_str!("pgbench/schema.sql");

/// Fills them for `{{scale}}`: 1 branch, 10 tellers and 100,000 accounts each.
pub(crate) const LOAD: &str = include_str!("pgbench/load.sql");
