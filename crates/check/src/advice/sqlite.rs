//! The roles of the rules about SQLite.

use super::role::{Rank, Role, Suspect, Unit};

/// The role of a rule; `None` for one that stands in no line here.
pub(super) fn role(rule: &str) -> Option<Role> {
    use Rank::{Comparison, Database, File, Link, Page, Record};
    let (rank, suspect, unit) = match rule {
        // Opening the database would checkpoint or reset a damaged WAL: every rebuild waits for it.
        "sqlite-readings-differ"
        | "sqlite-header"
        | "sqlite-wal"
        | "sqlite-wal-header"
        | "sqlite-journal"
        | "sqlite-schema" => (Database, Suspect::Database, Unit::Other),
        "sqlite-file-size" => (File, Suspect::Database, Unit::Other),
        "sqlite-read-error" | "sqlite-checksum" | "sqlite-page-kind" | "sqlite-page-layout" => {
            (Page, Suspect::Object, Unit::Other)
        }
        "sqlite-cell-overlap" | "sqlite-child-pointer" | "sqlite-rowid-order" => {
            (Record, Suspect::Object, Unit::Other)
        }
        "sqlite-record" | "sqlite-column-count" => (Record, Suspect::Object, Unit::Row),
        "sqlite-key-order" => (Record, Suspect::Object, Unit::Entry),
        "sqlite-page-used-twice" | "sqlite-parent-bounds" => (Link, Suspect::Object, Unit::Other),
        "sqlite-overflow-chain" => (Link, Suspect::Object, Unit::Row),
        "sqlite-free-list" | "sqlite-pointer-map" => (Link, Suspect::Nothing, Unit::Other),
        // What nothing refers to is known when all else was followed: what refers to the wrong page is the cause.
        "sqlite-page-unused" => (Comparison, Suspect::Nothing, Unit::Other),
        "sqlite-not-null" | "sqlite-check" | "sqlite-value-type" | "sqlite-generated-column" => {
            (Record, Suspect::Nothing, Unit::Row)
        }
        "sqlite-full-text-row" => (Comparison, Suspect::Nothing, Unit::Row),
        "sqlite-full-text" | "sqlite-rtree" => (Comparison, Suspect::Nothing, Unit::Other),
        "sqlite-unique" => (Comparison, Suspect::Object, Unit::Entry),
        "sqlite-row-without-entry" => (Comparison, Suspect::Nothing, Unit::Row),
        "sqlite-entry-without-row" => (Comparison, Suspect::Source, Unit::Entry),
        "sqlite-entry-differs" => (Comparison, Suspect::Nothing, Unit::Entry),
        _ => return None,
    };
    Some(Role::new(rank, suspect, unit))
}
