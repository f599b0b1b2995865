//! Rules about index entries and the rows that they point to, of all access methods.

check::rules! {
    INDEX_PAGE {
        id: "pg-index-page",
        level: Structure,
        role: (Page, Object, Other),
        invariant: "a block of a hash, GiST or SP-GiST index has the page id of its access method and valid flags",
        meaning: "The block belongs to another file or was overwritten; index scans fail or miss rows.",
        next_step: "run REINDEX INDEX on the index",
        evidence: "src/include/access/hash.h, gist.h, spgist_private.h",
    }
    INDEX_TID {
        id: "pg-index-tid",
        level: Structure,
        role: (Comparison, Source, Entry),
        invariant: "the TID of a hash, GIN, GiST or SP-GiST entry is inside the table",
        meaning: "The table is shorter than when the index was written, or the entry was overwritten.",
        next_step: "compare the length of the table with a backup: if it was truncated, its missing rows are lost: restore it; do not run REINDEX before that",
        evidence: "PostgreSQL docs 73.1",
    }
    ENTRY_WITHOUT_ROW {
        id: "pg-entry-without-row",
        level: Full,
        role: (Comparison, Source, Entry),
        invariant: "each index entry points to a row of the table",
        meaning: "Rows are lost: a block was zeroed or is an old version (lost write), or a line pointer was cleared. Existing tools do not report this.",
        next_step: "restore the block of the table from a backup and replay its WAL; do not run VACUUM or REINDEX before, they remove the last trace of the rows",
        evidence: "src/backend/access/heap/README.HOT",
    }
    ROW_WITHOUT_ENTRY {
        id: "pg-row-without-entry",
        level: Full,
        role: (Comparison, Nothing, Row),
        invariant: "each visible row has its entry in every index",
        meaning: "Index scans miss this row, sequential scans return it. After a lost write to a table block such rows are old versions.",
        next_step: "make sure that the rows are the newest (a stale block has old rows), then run REINDEX",
        evidence: "contrib/amcheck heapallindexed",
    }
    ENTRY_DIFFERS {
        id: "pg-entry-differs",
        level: Full,
        role: (Comparison, Nothing, Entry),
        invariant: "an index entry has the key of the row that it points to",
        meaning: "Index and table disagree about a value: one of them was changed outside PostgreSQL, or a write was lost.",
        next_step: "compare row and entry with a backup; if the row is right, run REINDEX",
        evidence: "contrib/amcheck heapallindexed",
    }
    ENTRY_DEAD {
        id: "pg-entry-dead",
        level: Full,
        role: (Comparison, Nothing, Entry),
        invariant: "an index entry marked LP_DEAD points to no visible row",
        meaning: "Index scans miss this row, sequential scans return it. The next insertion into the index page removes the entry.",
        next_step: "run REINDEX INDEX on the index",
        evidence: "src/backend/access/nbtree/nbtutils.c _bt_killitems; README, section on LP_DEAD",
    }
}
