//! The rules about PostgreSQL files: the source of `explain` and of the documentation.

mod brin;
mod btree;
mod catalog;
mod cluster;
mod gin;
mod gist;
mod hash;
mod heap;
mod index;
mod page;
mod spgist;

use check::rule::{Rank, Rule, RuleSet};
use formats::postgres::Invariant;
use results::engine::EngineId;

pub(crate) use crate::rules::brin::*;
pub(crate) use crate::rules::btree::*;
pub(crate) use crate::rules::catalog::*;
pub(crate) use crate::rules::cluster::*;
pub(crate) use crate::rules::gin::*;
pub(crate) use crate::rules::gist::*;
pub(crate) use crate::rules::hash::*;
pub(crate) use crate::rules::heap::*;
pub(crate) use crate::rules::index::*;
pub(crate) use crate::rules::page::*;
pub(crate) use crate::rules::spgist::*;

/// All rules about PostgreSQL files.
pub static RULES: RuleSet = RuleSet {
    engine: EngineId::Postgres,
    page_word: "block",
    slot_word: "item",
    rebuild: "REINDEX",
    messages_word: "",
    tables: &[
        cluster::TABLE,
        catalog::TABLE,
        page::TABLE,
        heap::TABLE,
        index::TABLE,
        btree::TABLE,
        brin::TABLE,
        gin::TABLE,
        hash::TABLE,
        gist::TABLE,
        spgist::TABLE,
    ],
    is_of_one_database,
    explains,
};

/// The rule of an invariant that the format readers test.
pub(crate) fn of(invariant: Invariant) -> &'static Rule {
    match invariant {
        Invariant::PageChecksum => &PAGE_CHECKSUM,
        Invariant::PageBounds => &PAGE_BOUNDS,
        Invariant::PageVersion => &PAGE_VERSION,
        Invariant::PageFlags => &PAGE_FLAGS,
        Invariant::PageSpecial => &PAGE_SPECIAL,
        Invariant::PageNewNotZero => &PAGE_NEW_NOT_ZERO,
        Invariant::ItemBounds => &ITEM_BOUNDS,
        Invariant::ItemOverlap => &ITEM_OVERLAP,
        Invariant::ItemRedirect => &ITEM_REDIRECT,
        Invariant::TupleHeader => &TUPLE_HEADER,
        Invariant::TupleAttribute => &TUPLE_ATTRIBUTE,
        Invariant::ValueCompression => &VALUE_COMPRESSION,
        Invariant::ToastPointer => &TOAST_POINTER,
        Invariant::BtreeMeta => &BTREE_META,
        Invariant::BtreeLinks => &BTREE_LINKS,
        Invariant::BtreeTuple => &BTREE_TUPLE,
        Invariant::BtreePosting => &BTREE_POSTING,
        Invariant::IndexPage => &INDEX_PAGE,
        Invariant::BrinMeta => &BRIN_META,
        Invariant::BrinPage => &BRIN_PAGE,
        Invariant::BrinTuple => &BRIN_TUPLE,
        Invariant::GinMeta => &GIN_META,
        Invariant::GinPage => &GIN_PAGE,
        Invariant::GinEntry => &GIN_ENTRY,
        Invariant::GinPosting => &GIN_POSTING,
        Invariant::HashMeta => &HASH_META,
        Invariant::HashPage => &HASH_PAGE,
        Invariant::GistLinks => &GIST_LINKS,
        Invariant::GistTuple => &GIST_TUPLE,
        Invariant::SpGistPage => &SP_GIST_PAGE,
        Invariant::SpGistTuple => &SP_GIST_TUPLE,
        Invariant::SpGistChain => &SP_GIST_CHAIN,
        Invariant::FreeSpaceMap => &FREE_SPACE_MAP,
        Invariant::MapPage => &PAGE_BOUNDS,
        Invariant::Sequence => &SEQUENCE,
        Invariant::ControlFile => &CONTROL_FILE,
        Invariant::RelationMap => &RELATION_MAP,
    }
}

/// Whether a rule that calls everything into question is about one database: the one in whose directory its file lies.
fn is_of_one_database(rule: &str) -> bool {
    matches!(rule, "pg-relation-map" | "pg-catalog")
}

/// Whether findings of a rule probably follow from a finding of another: about the cluster or a database, or about a table
/// or index that theirs depends on.
fn explains(cause: &str, rule: &str) -> bool {
    let rank = RULES.role(rule).rank;
    match cause {
        "pg-relation-map" | "pg-catalog" => {
            matches!(rank, Rank::File | Rank::Comparison) || rule == "pg-catalog-agreement"
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
            by_transactions.contains(&rule) || rank == Rank::Comparison
        }
        "pg-checkpoint-record" | "pg-recovery-wal" | "pg-backup-label" | "pg-directory-missing" => false,
        // Bytes of a page are as they are, whatever was found elsewhere.
        _ => rank > Rank::Record,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_follows_only_from_what_its_object_depends_on() {
        assert!(!explains("pg-relation-map", "pg-page-checksum"));
        assert!(explains("pg-relation-map", "pg-file-missing"));
        assert!(explains("pg-control-file", "pg-xmin-bounds"));
        assert!(!explains("pg-control-file", "pg-page-checksum"));
        assert!(!explains("pg-recovery-wal", "pg-row-without-entry"));
        assert!(explains("pg-page-checksum", "pg-row-without-entry"));
        assert!(is_of_one_database("pg-relation-map") && !is_of_one_database("pg-control-file"));
    }
}
