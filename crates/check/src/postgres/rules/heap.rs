//! Rules about tuples and long values.

crate::rules! {
    ITEM_BOUNDS {
        id: "pg-item-bounds",
        level: Structure,
        role: (Record, Object, Other),
        promise: "a line pointer stays inside the tuple space, on an eight byte boundary",
        meaning: "A line pointer was overwritten; reading it in the server can end the server.",
        next_step: "restore the block; do not run amcheck on it in a server, which may crash",
        evidence: "src/include/storage/itemid.h",
    }
    ITEM_OVERLAP {
        id: "pg-item-overlap",
        level: Structure,
        role: (Record, Object, Other),
        promise: "no two line pointers share bytes",
        meaning: "Two rows share bytes: one overwrote the other, or one line pointer was changed.",
        next_step: "restore the block from a backup",
        evidence: "src/include/storage/bufpage.h",
    }
    ITEM_REDIRECT {
        id: "pg-item-redirect",
        level: Structure,
        role: (Record, Object, Other),
        promise: "a redirect names a heap-only row of its block",
        meaning: "Index entries lead nowhere; index scans miss the row that a table scan sees.",
        next_step: "restore the block from a backup, or reindex after saving what can be read",
        evidence: "src/backend/access/heap/README.HOT",
    }
    TUPLE_HEADER {
        id: "pg-tuple-header",
        level: Structure,
        role: (Record, Object, Row),
        promise: "a row's header fits the row",
        meaning: "The row cannot be taken apart; reading it gives errors or wrong values.",
        next_step: "restore the block from a backup",
        evidence: "PostgreSQL docs 73.6.1",
    }
    TUPLE_ATTRIBUTE {
        id: "pg-tuple-attribute",
        level: Structure,
        role: (Record, Object, Row),
        promise: "each column lies inside its row, and the last ends where the row ends",
        meaning: "Reading the row gives errors (invalid memory alloc request size) or wrong values, or ends the server.",
        next_step: "restore the block from a backup",
        evidence: "src/backend/access/common/heaptuple.c",
    }
    HOT_CHAIN {
        id: "pg-hot-chain",
        level: Structure,
        role: (Record, Object, Row),
        promise: "each visible heap-only row is reached from a line pointer that indexes can name",
        meaning: "Table scans see the row, index scans do not.",
        next_step: "select the row by its ctid, save it, and restore the block",
        evidence: "src/backend/access/heap/README.HOT",
    }
    UPDATE_CHAIN {
        id: "pg-update-chain",
        level: Structure,
        role: (Record, Object, Row),
        promise: "a row version and its successor fit: HEAP_HOT_UPDATED leads to a heap-only row of the same block, one chain leads to each heap-only row, and no committed transaction updates a row whose insert aborted",
        meaning: "Index scans return another row version than sequential scans, or miss the row. Bits of the row header, a ctid or a line pointer were changed behind the server.",
        next_step: "select the rows of the block by ctid and save them; restore the block from a backup",
        evidence: "contrib/amcheck/verify_heapam.c (16); src/backend/access/heap/README.HOT",
    }
    XMIN_BOUNDS {
        id: "pg-xmin-bounds",
        level: Structure,
        role: (Record, Object, Row),
        promise: "the inserting transaction exists and is not older than the table's frozen horizon",
        meaning: "Reading the row fails (could not access status of transaction), or the row appears or vanishes wrongly.",
        next_step: "keep a copy of the files; if many rows are named, pg_control or pg_xact is older than the table: compare them with a backup; if it is one row, restore its block from a backup; do not freeze or kill rows before that",
        evidence: "contrib/amcheck/verify_heapam.c",
    }
    XMAX_BOUNDS {
        id: "pg-xmax-bounds",
        level: Structure,
        role: (Record, Object, Row),
        promise: "the deleting transaction or multixact exists and is not older than the table's horizon",
        meaning: "Reading or updating the row fails, or the row appears or vanishes wrongly.",
        next_step: "keep a copy of the files; if many rows are named, pg_control or pg_xact is older than the table: compare them with a backup; if it is one row, restore its block from a backup; do not freeze or kill rows before that",
        evidence: "contrib/amcheck/verify_heapam.c",
    }
    COMMIT_HINT {
        id: "pg-commit-hint",
        level: Structure,
        role: (Comparison, Object, Row),
        promise: "hint bits of a row (committed, aborted, frozen; for xmin and xmax) agree with pg_xact, and its lock bits with xmax",
        meaning: "Rows of an aborted insert are visible, deleted rows are visible, or rows that were not deleted are invisible. VACUUM makes this permanent.",
        next_step: "pg_xact or the block is from another time: compare both with a backup",
        evidence: "src/include/access/htup_details.h",
    }
    TOAST_POINTER {
        id: "pg-toast-pointer",
        level: Structure,
        role: (Record, Object, Row),
        promise: "a pointer into TOAST is possible and names the table's own TOAST table",
        meaning: "The value cannot be read.",
        next_step: "restore the block from a backup",
        evidence: "src/include/varatt.h",
    }
    TOAST_CHUNK {
        id: "pg-toast-chunk",
        level: Structure,
        role: (Link, Object, Row),
        promise: "each value kept in TOAST has all its pieces, in order and of the right size",
        meaning: "Reading the value fails (missing chunk number, unexpected chunk size), and so does a dump of the table.",
        next_step: "restore the rows that are named; update them with a placeholder to make the table readable",
        evidence: "src/backend/access/common/toast_internals.c",
    }
    VALUE_COMPRESSION {
        id: "pg-value-compression",
        level: Full,
        role: (Record, Object, Row),
        promise: "a compressed value unpacks to its recorded size",
        meaning: "Reading the value fails (compressed data is corrupt).",
        next_step: "restore the row from a backup",
        evidence: "src/common/pg_lzcompress.c; LZ4 block format",
    }
    NOT_NULL {
        id: "pg-not-null",
        level: Full,
        role: (Record, Nothing, Row),
        promise: "a column declared NOT NULL has a value",
        meaning: "Programs that rely on the constraint fail; the row was changed behind the server.",
        next_step: "restore the row from a backup",
        evidence: "PostgreSQL docs 5.5.2",
    }
}
