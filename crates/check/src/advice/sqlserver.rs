//! The roles of the rules about SQL Server.

use super::role::{Rank, Role, Suspect, Unit};

/// The role of a rule; `None` for one that stands in no line here.
pub(super) fn role(rule: &str) -> Option<Role> {
    use Rank::{Comparison, Database, File, Link, Page, Record};
    let (rank, suspect, unit) = match rule {
        "mssql-readings-differ" | "mssql-file-header" | "mssql-boot-page" | "mssql-catalog" => {
            (Database, Suspect::Database, Unit::Other)
        }
        "mssql-file-size" | "mssql-backup-stream" | "mssql-backup-extent" => {
            (File, Suspect::Database, Unit::Other)
        }
        "mssql-map-page" => (Page, Suspect::Database, Unit::Other),
        "mssql-unreadable"
        | "mssql-page-checksum"
        | "mssql-page-torn"
        | "mssql-page-header"
        | "mssql-page-id"
        | "mssql-page-blank"
        | "mssql-page-owner"
        | "mssql-page-kind" => (Page, Suspect::Object, Unit::Other),
        "mssql-slot" | "mssql-record-overlap" | "mssql-lob-record" | "mssql-key-order" => {
            (Record, Suspect::Object, Unit::Other)
        }
        "mssql-record" => (Record, Suspect::Object, Unit::Row),
        "mssql-free-count" | "mssql-ghost-count" => (Record, Suspect::Nothing, Unit::Other),
        "mssql-not-null" | "mssql-value-range" => (Record, Suspect::Nothing, Unit::Row),
        "mssql-iam-chain"
        | "mssql-allocation-range"
        | "mssql-extent-owned-twice"
        | "mssql-page-owned-twice"
        | "mssql-index-sibling"
        | "mssql-index-child"
        | "mssql-index-orphan"
        | "mssql-index-two-parents"
        | "mssql-key-bounds"
        | "mssql-lob-orphan"
        | "mssql-lob-twice" => (Link, Suspect::Object, Unit::Other),
        "mssql-forward-target" | "mssql-forward-orphan" | "mssql-lob-target" | "mssql-lob-length" => {
            (Link, Suspect::Object, Unit::Row)
        }
        "mssql-extent-free"
        | "mssql-extent-leaked"
        | "mssql-page-unowned"
        | "mssql-pfs"
        | "mssql-pfs-space" => (Comparison, Suspect::Nothing, Unit::Other),
        "mssql-key-duplicate" => (Comparison, Suspect::Object, Unit::Entry),
        "mssql-row-without-entry" => (Comparison, Suspect::Nothing, Unit::Row),
        "mssql-entry-without-row" => (Comparison, Suspect::Source, Unit::Entry),
        _ => return None,
    };
    Some(Role::new(rank, suspect, unit))
}
