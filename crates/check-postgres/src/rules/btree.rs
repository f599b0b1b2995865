//! Rules about B-trees.

check::rules! {
    BTREE_META {
        id: "pg-btree-meta",
        level: Structure,
        role: (Record, Object, Other),
        invariant: "the metapage of a B-tree is valid and points to its root",
        meaning: "The index cannot be used.",
        next_step: "run REINDEX INDEX on the index",
        evidence: "src/include/access/nbtree.h",
    }
    BTREE_LINKS {
        id: "pg-btree-links",
        level: Structure,
        role: (Record, Object, Other),
        invariant: "level, links and flags of a B-tree block fit each other",
        meaning: "Index searches fail or loop.",
        next_step: "run REINDEX INDEX on the index",
        evidence: "src/include/access/nbtree.h",
    }
    BTREE_TUPLE {
        id: "pg-btree-tuple",
        level: Structure,
        role: (Record, Object, Other),
        invariant: "a B-tree tuple is of the kind that its block requires",
        meaning: "Index searches fail or return wrong rows.",
        next_step: "run REINDEX INDEX on the index",
        evidence: "src/include/access/nbtree.h",
    }
    BTREE_POSTING {
        id: "pg-btree-posting",
        level: Structure,
        role: (Record, Object, Other),
        invariant: "the TIDs of a posting list are in ascending order",
        meaning: "Index scans return rows twice or not at all.",
        next_step: "run REINDEX INDEX on the index",
        evidence: "src/backend/access/nbtree/README",
    }
    BTREE_SIBLINGS {
        id: "pg-btree-siblings",
        level: Structure,
        role: (Link, Object, Other),
        invariant: "a B-tree block and its right sibling point to each other, on the same level",
        meaning: "Index scans skip or repeat a range of keys. Typical cause: a stale block or a lost write.",
        next_step: "run REINDEX INDEX on the index",
        evidence: "src/backend/access/nbtree/README",
    }
    BTREE_PARENT {
        id: "pg-btree-parent",
        level: Structure,
        role: (Link, Object, Other),
        invariant: "each B-tree block has one downlink, and its high key is the next separator in the parent",
        meaning: "Index searches for some keys reach a wrong block and miss rows. Typical cause: a stale block, a lost write or a wrong downlink.",
        next_step: "run REINDEX INDEX on the index",
        evidence: "src/backend/access/nbtree/README",
    }
    BTREE_TID {
        id: "pg-btree-tid",
        level: Structure,
        role: (Comparison, Source, Entry),
        invariant: "the TID of an index entry is inside the table",
        meaning: "The file of the table is shorter than when the index was written: it was truncated outside PostgreSQL, and the rows past its end are lost.",
        next_step: "the table was truncated outside PostgreSQL, or the index is from another copy: restore the table from a backup and replay its WAL; do not run VACUUM or REINDEX before, they remove the last trace of the missing rows",
        evidence: "PostgreSQL docs 73.1",
    }
    BTREE_ORDER {
        id: "pg-btree-order",
        level: Full,
        role: (Record, Object, Other),
        invariant: "keys of a B-tree block are in ascending order, above the separator in the parent and not above the high key",
        meaning: "Index searches miss rows, and duplicates can be inserted into unique indexes.",
        next_step: "run REINDEX; if the order is that of a collation, compare the version of the collation library",
        evidence: "src/backend/access/nbtree/README",
    }
    BTREE_UNIQUE {
        id: "pg-btree-unique",
        level: Full,
        role: (Comparison, Object, Entry),
        invariant: "no two visible rows have the same key in a unique index",
        meaning: "A primary key or unique constraint is violated: joins and updates return wrong results.",
        next_step: "find the rows by key without the index (SET enable_indexscan = off), keep one, and run REINDEX",
        evidence: "PostgreSQL docs 11.6",
    }
}
