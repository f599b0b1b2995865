//! The SQLite checker against files made by SQLite: silent on all that is valid, and for each class of damage the finding
//! that it calls for.

mod causes;
mod checksums;
mod clean;
mod conditions;
mod corpus;
mod damage;
mod expressions;
#[path = "../../../check/tests/support/faults.rs"]
mod faults;
mod header;
mod histories;
mod limits;
mod live;
mod random;
mod schema_rows;
mod shadow_tables;
mod structure;
mod support;
mod versions;
mod virtual_tables;
mod wal;
