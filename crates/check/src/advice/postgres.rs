//! The roles of the rules about PostgreSQL.

use super::role::{Rank, Role, Suspect, Unit};

/// The role of a rule; `None` for one that stands in no line here.
pub(super) fn role(rule: &str) -> Option<Role> {
    use Rank::{Comparison, Database, File, Link, Page, Record};
    let (rank, suspect, unit) = match rule {
        "pg-readings-differ"
        | "pg-control-file"
        | "pg-relation-map"
        | "pg-catalog"
        | "pg-transaction-log-missing"
        | "pg-transaction-end"
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
        "pg-commit-hint" => (Comparison, Suspect::Object, Unit::Row),
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

/// Whether a rule that calls everything into question is about one database: the one in whose directory its file lies.
pub(super) fn is_of_one_database(rule: &str) -> bool {
    matches!(rule, "pg-relation-map" | "pg-catalog")
}

/// Whether findings of a rule probably follow from a finding of another about the cluster or a database; `None` where that
/// is about a table or index.
pub(super) fn explains(cause: &str, rule: &str) -> Option<bool> {
    let rank = || role(rule).map(|role| role.rank);
    Some(match cause {
        "pg-relation-map" | "pg-catalog" => {
            matches!(rank(), Some(Rank::File | Rank::Comparison)) || rule == "pg-catalog-agreement"
        }
        "pg-control-file" | "pg-next-xid" | "pg-transaction-log-missing" | "pg-transaction-end" => {
            let by_transactions = [
                "pg-xmin-bounds",
                "pg-xmax-bounds",
                "pg-page-lsn",
                "pg-toast-chunk",
                "pg-transaction-log-missing",
                "pg-transaction-end",
                "pg-next-xid",
            ];
            by_transactions.contains(&rule) || matches!(rank(), Some(Rank::Comparison))
        }
        "pg-checkpoint-record" | "pg-recovery-wal" | "pg-backup-label" | "pg-directory-missing" => false,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_follows_only_from_what_its_object_depends_on() {
        assert_eq!(explains("pg-relation-map", "pg-page-checksum"), Some(false));
        assert_eq!(explains("pg-relation-map", "pg-file-missing"), Some(true));
        assert_eq!(explains("pg-control-file", "pg-xmin-bounds"), Some(true));
        assert_eq!(explains("pg-control-file", "pg-page-checksum"), Some(false));
        assert_eq!(explains("pg-recovery-wal", "pg-row-without-entry"), Some(false));
        assert_eq!(explains("pg-page-checksum", "pg-row-without-entry"), None);
        assert!(is_of_one_database("pg-relation-map") && !is_of_one_database("pg-control-file"));
    }
}
