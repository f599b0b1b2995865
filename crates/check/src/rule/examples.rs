//! Rules of no engine, for tests of what all engines have in common.

use results::engine::EngineId;

use super::RuleSet;

pub(crate) static RULES: RuleSet = RuleSet {
    engine: EngineId::Postgres,
    page_word: "block",
    slot_word: "item",
    rebuild: "REINDEX",
    messages_word: "",
    tables: &[TABLE],
    is_of_one_database: |_| false,
    explains: |cause, rule| cause == "test-control-file" || RULES.role(rule).rank > super::Rank::Record,
};

const RESTORE: &str = "restore the block from a backup";
const REINDEX: &str = "keep a copy; when the table itself checks clean, REINDEX the index";

macro_rules! examples {
    ($($name:ident $id:literal ($rank:ident, $suspect:ident, $unit:ident) $next_step:expr;)*) => {
        crate::rules! {
            $($name {
                id: $id,
                level: Full,
                role: ($rank, $suspect, $unit),
                invariant: "what holds",
                meaning: "What it means.",
                next_step: $next_step,
                evidence: "none",
            })*
        }
    };
}

examples! {
    CONTROL_FILE "test-control-file" (Database, Database, Other) "restore the control file from a backup";
    PAGE_CHECKSUM "test-page-checksum" (Page, Object, Other) RESTORE;
    ITEM_BOUNDS "test-item-bounds" (Record, Object, Other) RESTORE;
    XMIN_BOUNDS "test-xmin-bounds" (Record, Object, Row) "freeze or kill the row with pg_surgery";
    VALUE_COMPRESSION "test-value-compression" (Record, Object, Row) "restore the row from a backup";
    NOT_NULL "test-not-null" (Record, Nothing, Row) "set the value";
    BTREE_ORDER "test-btree-order" (Record, Object, Other) REINDEX;
    VISIBILITY_MAP "test-visibility-map" (Comparison, Nothing, Other) "VACUUM (DISABLE_PAGE_SKIPPING) the table";
    ROW_WITHOUT_ENTRY "test-row-without-entry" (Comparison, Nothing, Row) REINDEX;
    ENTRY_WITHOUT_ROW "test-entry-without-row" (Comparison, Source, Entry) "restore the table from a backup";
}
