//! The roles of the rules about PostgreSQL.

use super::role::{Rank, Role, Suspect, Unit};

/// The role of a rule; `None` for one that stands in no line here.
pub(super) fn role(rule: &str) -> Option<Role> {
    use Rank::{Comparison, Database, File, Link, Page, Record};
    let (rank, suspect, unit) = match rule {
        "pg-control-file"
        | "pg-relation-map"
        | "pg-catalog"
        | "pg-transaction-log-missing"
        | "pg-directory-missing"
        | "pg-checkpoint-record"
        | "pg-recovery-wal"
        | "pg-backup-label"
        | "pg-next-xid" => (Database, Suspect::Database, Unit::Other),
        "pg-version-file" => (Database, Suspect::Nothing, Unit::Other),
        "pg-database-directory" | "pg-tablespace" => (Database, Suspect::Object, Unit::Other),
        "pg-catalog-agreement" => (Database, Suspect::Object, Unit::Other),
        "pg-large-object" => (Comparison, Suspect::Object, Unit::Other),
        "pg-sequence" => (Record, Suspect::Object, Unit::Other),
        "pg-init-fork" => (File, Suspect::Nothing, Unit::Other),
        "pg-file-missing" | "pg-segment-missing" | "pg-partial-block" => (File, Suspect::Object, Unit::Other),
        "pg-unreadable"
        | "pg-page-checksum"
        | "pg-page-bounds"
        | "pg-page-version"
        | "pg-page-flags"
        | "pg-page-special"
        | "pg-page-new-not-zero"
        | "pg-page-lsn"
        | "pg-index-page"
        | "pg-brin-page"
        | "pg-gin-page"
        | "pg-hash-page"
        | "pg-spgist-page" => (Page, Suspect::Object, Unit::Other),
        "pg-item-bounds" | "pg-item-overlap" | "pg-item-redirect" => (Record, Suspect::Object, Unit::Other),
        "pg-tuple-header"
        | "pg-tuple-attribute"
        | "pg-hot-chain"
        | "pg-update-chain"
        | "pg-xmin-bounds"
        | "pg-xmax-bounds"
        | "pg-toast-pointer"
        | "pg-value-compression" => (Record, Suspect::Object, Unit::Row),
        "pg-commit-hint" | "pg-transaction-end" => (Comparison, Suspect::Object, Unit::Row),
        "pg-toast-chunk" => (Link, Suspect::Object, Unit::Row),
        "pg-not-null" => (Record, Suspect::Nothing, Unit::Row),
        "pg-free-space" => (Record, Suspect::Nothing, Unit::Other),
        "pg-visibility-map" => (Comparison, Suspect::Nothing, Unit::Other),
        "pg-btree-meta" | "pg-btree-links" | "pg-btree-tuple" | "pg-btree-posting" | "pg-btree-order"
        | "pg-brin-meta" | "pg-brin-tuple" | "pg-gin-meta" | "pg-gin-entry" | "pg-gin-posting"
        | "pg-gin-pending" | "pg-gin-order" | "pg-hash-meta" | "pg-hash-bitmap" | "pg-hash-order"
        | "pg-hash-bucket" | "pg-gist-tuple" | "pg-gist-keys" | "pg-spgist-tuple" => {
            (Record, Suspect::Object, Unit::Other)
        }
        "pg-btree-siblings" | "pg-btree-parent" | "pg-gin-tree" | "pg-gin-siblings" | "pg-hash-chain"
        | "pg-gist-links" | "pg-gist-parent" | "pg-spgist-chain" | "pg-spgist-parent" | "pg-brin-range" => {
            (Link, Suspect::Object, Unit::Other)
        }
        "pg-btree-tid" | "pg-index-tid" | "pg-entry-without-row" => {
            (Comparison, Suspect::Source, Unit::Entry)
        }
        "pg-btree-unique" => (Comparison, Suspect::Object, Unit::Entry),
        "pg-entry-differs" => (Comparison, Suspect::Nothing, Unit::Entry),
        "pg-entry-dead" => (Comparison, Suspect::Nothing, Unit::Entry),
        "pg-row-without-entry" | "pg-brin-summary" => (Comparison, Suspect::Nothing, Unit::Row),
        _ => return None,
    };
    Some(Role::new(rank, suspect, unit))
}
