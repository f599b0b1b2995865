//! Rules about tuples and long values.

check::rules! {
    ITEM_BOUNDS {
        id: "pg-item-bounds",
        level: Structure,
        role: (Record, Object, Other),
        invariant: "a line pointer points into the tuple space, MAXALIGNed",
        meaning: "A line pointer was overwritten; the server may crash when it reads the row.",
        next_step: "restore the block from a backup; do not run amcheck on it, the server may crash",
        evidence: "src/include/storage/itemid.h",
    }
    ITEM_OVERLAP {
        id: "pg-item-overlap",
        level: Structure,
        role: (Record, Object, Other),
        invariant: "no two line pointers share bytes",
        meaning: "Two rows share bytes: one overwrote the other, or one line pointer was changed.",
        next_step: "restore the block from a backup",
        evidence: "src/include/storage/bufpage.h",
    }
    ITEM_REDIRECT {
        id: "pg-item-redirect",
        level: Structure,
        role: (Record, Object, Other),
        invariant: "a redirect points to a heap-only tuple of its block",
        meaning: "Index entries point to no row; index scans miss this row, sequential scans return it.",
        next_step: "restore the block from a backup, or save the readable rows and then reindex",
        evidence: "src/backend/access/heap/README.HOT",
    }
    TUPLE_HEADER {
        id: "pg-tuple-header",
        level: Structure,
        role: (Record, Object, Row),
        invariant: "the header of a row fits its length",
        meaning: "The row cannot be parsed; reading it returns errors or wrong values.",
        next_step: "restore the block from a backup",
        evidence: "PostgreSQL docs 73.6.1",
    }
    TUPLE_ATTRIBUTE {
        id: "pg-tuple-attribute",
        level: Structure,
        role: (Record, Object, Row),
        invariant: "each column lies inside its row, and the last ends where the row ends",
        meaning: "Reading the row returns errors (invalid memory alloc request size) or wrong values, or crashes the server.",
        next_step: "restore the block from a backup",
        evidence: "src/backend/access/common/heaptuple.c",
    }
    HOT_CHAIN {
        id: "pg-hot-chain",
        level: Structure,
        role: (Record, Object, Row),
        invariant: "each visible heap-only tuple is reached from a line pointer that index entries point to",
        meaning: "Index scans miss this row, sequential scans return it.",
        next_step: "select the row by its ctid, save it, and restore the block from a backup",
        evidence: "src/backend/access/heap/README.HOT",
    }
    UPDATE_CHAIN {
        id: "pg-update-chain",
        level: Structure,
        role: (Record, Object, Row),
        invariant: "a row version and its successor fit: HEAP_HOT_UPDATED leads to a heap-only row of the same block, one chain leads to each heap-only row, and no committed transaction updates a row whose insert aborted",
        meaning: "Index scans return another row version than sequential scans, or miss the row. Bits of the row header, a ctid or a line pointer were changed outside PostgreSQL.",
        next_step: "select the rows of the block by ctid and save them; restore the block from a backup",
        evidence: "contrib/amcheck/verify_heapam.c (16); src/backend/access/heap/README.HOT",
    }
    XMIN_BOUNDS {
        id: "pg-xmin-bounds",
        level: Structure,
        role: (Record, Object, Row),
        invariant: "xmin is assigned and not older than relfrozenxid",
        meaning: "Reading the row fails (could not access status of transaction), or the row has a wrong visibility.",
        next_step: "keep a copy of the files; if many rows are reported, pg_control or pg_xact is older than the table: compare them with a backup; if it is one row, restore its block from a backup; do not use pg_surgery before that",
        evidence: "contrib/amcheck/verify_heapam.c",
    }
    XMAX_BOUNDS {
        id: "pg-xmax-bounds",
        level: Structure,
        role: (Record, Object, Row),
        invariant: "xmax is assigned and not older than relfrozenxid (multixact: relminmxid)",
        meaning: "Reading or updating the row fails, or the row has a wrong visibility.",
        next_step: "keep a copy of the files; if many rows are reported, pg_control or pg_xact is older than the table: compare them with a backup; if it is one row, restore its block from a backup; do not use pg_surgery before that",
        evidence: "contrib/amcheck/verify_heapam.c",
    }
    COMMIT_HINT {
        id: "pg-commit-hint",
        level: Structure,
        role: (Comparison, Object, Row),
        invariant: "hint bits of a row (committed, aborted, frozen; for xmin and xmax) agree with pg_xact, and its lock bits with xmax",
        meaning: "Rows of an aborted insert are visible, deleted rows are visible, or rows that were not deleted are invisible. VACUUM makes this permanent.",
        next_step: "pg_xact or the block is from another point in time: compare both with a backup",
        evidence: "src/include/access/htup_details.h",
    }
    TOAST_POINTER {
        id: "pg-toast-pointer",
        level: Structure,
        role: (Record, Object, Row),
        invariant: "a TOAST pointer is valid and refers to the TOAST table of its table",
        meaning: "The value cannot be read.",
        next_step: "restore the block from a backup",
        evidence: "src/include/varatt.h",
    }
    TOAST_CHUNK {
        id: "pg-toast-chunk",
        level: Structure,
        role: (Link, Object, Row),
        invariant: "each TOAST value has all its chunks, in order and of the right size",
        meaning: "Reading the value fails (missing chunk number, unexpected chunk size), and so does a dump of the table.",
        next_step: "restore the rows from a backup; to make the table readable, update them with a placeholder",
        evidence: "src/backend/access/common/toast_internals.c",
    }
    VALUE_COMPRESSION {
        id: "pg-value-compression",
        level: Full,
        role: (Record, Object, Row),
        invariant: "a compressed value decompresses to its recorded size",
        meaning: "Reading the value fails (compressed data is corrupt).",
        next_step: "restore the row from a backup",
        evidence: "src/common/pg_lzcompress.c; LZ4 block format",
    }
    NOT_NULL {
        id: "pg-not-null",
        level: Full,
        role: (Record, Nothing, Row),
        invariant: "a column declared NOT NULL has a value",
        meaning: "Applications that rely on the constraint fail; the row was changed outside the server.",
        next_step: "restore the row from a backup",
        evidence: "PostgreSQL docs 5.5.2",
    }
}
