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
use formats::postgres::Promise;
use results::engine::EngineId;

pub(crate) use crate::rules::brin::{BRIN_META, BRIN_PAGE, BRIN_RANGE, BRIN_SUMMARY, BRIN_TUPLE};
pub(crate) use crate::rules::btree::{
    BTREE_LINKS, BTREE_META, BTREE_ORDER, BTREE_PARENT, BTREE_POSTING, BTREE_SIBLINGS, BTREE_TID,
    BTREE_TUPLE, BTREE_UNIQUE,
};
pub(crate) use crate::rules::catalog::{
    CATALOG, CATALOG_AGREEMENT, FILE_MISSING, INIT_FORK, LARGE_OBJECT, PARTIAL_BLOCK, SEGMENT_MISSING,
};
pub(crate) use crate::rules::cluster::{
    BACKUP_LABEL, CHECKPOINT_RECORD, CONTROL_FILE, DATABASE_DIRECTORY, DIRECTORY, NEXT_XID, RECOVERY_WAL,
    RELATION_MAP, TABLESPACE, TRANSACTION_END, TRANSACTION_LOG, VERSION_FILE,
};
pub(crate) use crate::rules::gin::{
    GIN_ENTRY, GIN_META, GIN_ORDER, GIN_PAGE, GIN_PENDING, GIN_POSTING, GIN_SIBLINGS, GIN_TREE,
};
pub(crate) use crate::rules::gist::{GIST_KEYS, GIST_LINKS, GIST_PARENT, GIST_TUPLE};
pub(crate) use crate::rules::hash::{HASH_BITMAP, HASH_BUCKET, HASH_CHAIN, HASH_META, HASH_ORDER, HASH_PAGE};
pub(crate) use crate::rules::heap::{
    COMMIT_HINT, HOT_CHAIN, ITEM_BOUNDS, ITEM_OVERLAP, ITEM_REDIRECT, NOT_NULL, TOAST_CHUNK, TOAST_POINTER,
    TUPLE_ATTRIBUTE, TUPLE_HEADER, UPDATE_CHAIN, VALUE_COMPRESSION, XMAX_BOUNDS, XMIN_BOUNDS,
};
pub(crate) use crate::rules::index::{
    ENTRY_DEAD, ENTRY_DIFFERS, ENTRY_WITHOUT_ROW, INDEX_PAGE, INDEX_TID, ROW_WITHOUT_ENTRY,
};
pub(crate) use crate::rules::page::{
    FREE_SPACE_MAP, PAGE_BOUNDS, PAGE_CHECKSUM, PAGE_FLAGS, PAGE_LSN, PAGE_NEW_NOT_ZERO, PAGE_SPECIAL,
    PAGE_VERSION, READINGS_DIFFER, SEQUENCE, UNREADABLE, VISIBILITY_MAP,
};
pub(crate) use crate::rules::spgist::{SP_GIST_CHAIN, SP_GIST_PAGE, SP_GIST_PARENT, SP_GIST_TUPLE};

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

/// The rule of a promise that the format readers test.
pub(crate) fn of(promise: Promise) -> &'static Rule {
    match promise {
        Promise::PageChecksum => &PAGE_CHECKSUM,
        Promise::PageBounds => &PAGE_BOUNDS,
        Promise::PageVersion => &PAGE_VERSION,
        Promise::PageFlags => &PAGE_FLAGS,
        Promise::PageSpecial => &PAGE_SPECIAL,
        Promise::PageNewNotZero => &PAGE_NEW_NOT_ZERO,
        Promise::ItemBounds => &ITEM_BOUNDS,
        Promise::ItemOverlap => &ITEM_OVERLAP,
        Promise::ItemRedirect => &ITEM_REDIRECT,
        Promise::TupleHeader => &TUPLE_HEADER,
        Promise::TupleAttribute => &TUPLE_ATTRIBUTE,
        Promise::ValueCompression => &VALUE_COMPRESSION,
        Promise::ToastPointer => &TOAST_POINTER,
        Promise::BtreeMeta => &BTREE_META,
        Promise::BtreeLinks => &BTREE_LINKS,
        Promise::BtreeTuple => &BTREE_TUPLE,
        Promise::BtreePosting => &BTREE_POSTING,
        Promise::IndexPage => &INDEX_PAGE,
        Promise::BrinMeta => &BRIN_META,
        Promise::BrinPage => &BRIN_PAGE,
        Promise::BrinTuple => &BRIN_TUPLE,
        Promise::GinMeta => &GIN_META,
        Promise::GinPage => &GIN_PAGE,
        Promise::GinEntry => &GIN_ENTRY,
        Promise::GinPosting => &GIN_POSTING,
        Promise::HashMeta => &HASH_META,
        Promise::HashPage => &HASH_PAGE,
        Promise::GistLinks => &GIST_LINKS,
        Promise::GistTuple => &GIST_TUPLE,
        Promise::SpGistPage => &SP_GIST_PAGE,
        Promise::SpGistTuple => &SP_GIST_TUPLE,
        Promise::SpGistChain => &SP_GIST_CHAIN,
        Promise::FreeSpaceMap => &FREE_SPACE_MAP,
        Promise::MapPage => &PAGE_BOUNDS,
        Promise::Sequence => &SEQUENCE,
        Promise::ControlFile => &CONTROL_FILE,
        Promise::RelationMap => &RELATION_MAP,
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
