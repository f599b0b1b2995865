//! Rules about index entries and the rows that they point to, of all access methods.

crate::rules! {
    INDEX_PAGE {
        id: "pg-index-page",
        level: Structure,
        role: (Page, Object, Other),
        promise: "a block of a hash, GiST or SP-GiST index bears the mark of its access method and possible flags",
        meaning: "The block belongs to another file or was overwritten; scans of the index fail or miss rows.",
        next_step: "REINDEX the index",
        evidence: "src/include/access/hash.h, gist.h, spgist_private.h",
    }
    INDEX_TID {
        id: "pg-index-tid",
        level: Structure,
        role: (Comparison, Source, Entry),
        promise: "an entry of a hash, GIN, GiST or SP-GiST index names a block that the table has",
        meaning: "The table is shorter than when the index was written, or the entry was overwritten.",
        next_step: "compare the length of the table with a backup: if it was truncated, restore it, its missing rows are gone; do not run REINDEX before that",
        evidence: "PostgreSQL docs 73.1",
    }
    ENTRY_WITHOUT_ROW {
        id: "pg-entry-without-row",
        level: Full,
        role: (Comparison, Source, Entry),
        promise: "each index entry names a row of the table",
        meaning: "Rows that were there are gone: a block was zeroed, replaced by an older version of itself, or a line pointer was wiped. Existing tools do not see this.",
        next_step: "rows are lost: restore the table's block from a backup whose WAL is replayed; do not run VACUUM or REINDEX before, they remove the last trace of the loss",
        evidence: "src/backend/access/heap/README.HOT",
    }
    ROW_WITHOUT_ENTRY {
        id: "pg-row-without-entry",
        level: Full,
        role: (Comparison, Nothing, Row),
        promise: "each visible row has its entry in every index",
        meaning: "Table scans see rows that index scans do not; after a lost write of a table block these are old versions come back.",
        next_step: "REINDEX the index, after making sure that the rows are the newest (a stale block brings old rows back)",
        evidence: "contrib/amcheck heapallindexed",
    }
    ENTRY_DIFFERS {
        id: "pg-entry-differs",
        level: Full,
        role: (Comparison, Nothing, Entry),
        promise: "an index entry has the key of the row that it names",
        meaning: "Index and table disagree about a value: one of them was changed behind the server.",
        next_step: "compare row and entry with a backup; REINDEX makes the index follow the row",
        evidence: "contrib/amcheck heapallindexed",
    }
    ENTRY_DEAD {
        id: "pg-entry-dead",
        level: Full,
        role: (Comparison, Nothing, Entry),
        promise: "an index entry that is marked dead (LP_DEAD) leads to no visible row",
        meaning: "Index scans miss this row, sequential scans return it. The next insertion into the index page removes the entry.",
        next_step: "run REINDEX INDEX on the index",
        evidence: "src/backend/access/nbtree/nbtutils.c _bt_killitems; README, section on LP_DEAD",
    }
}
