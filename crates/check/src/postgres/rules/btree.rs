//! Rules about B-trees.

crate::rules! {
    BTREE_META {
        id: "pg-btree-meta",
        level: Structure,
        role: (Record, Object, Other),
        promise: "the first block of a B-tree describes it, and the root it names is the root",
        meaning: "The index cannot be used.",
        next_step: "REINDEX the index",
        evidence: "src/include/access/nbtree.h",
    }
    BTREE_LINKS {
        id: "pg-btree-links",
        level: Structure,
        role: (Record, Object, Other),
        promise: "level, links and flags of a B-tree block fit each other",
        meaning: "Searches in the index fail or go round in circles.",
        next_step: "REINDEX the index",
        evidence: "src/include/access/nbtree.h",
    }
    BTREE_TUPLE {
        id: "pg-btree-tuple",
        level: Structure,
        role: (Record, Object, Other),
        promise: "a B-tree tuple is of the kind that its block calls for",
        meaning: "Searches in the index fail or give wrong rows.",
        next_step: "REINDEX the index",
        evidence: "src/include/access/nbtree.h",
    }
    BTREE_POSTING {
        id: "pg-btree-posting",
        level: Structure,
        role: (Record, Object, Other),
        promise: "the row pointers of a posting list ascend",
        meaning: "Index scans give rows twice or not at all.",
        next_step: "REINDEX the index",
        evidence: "src/backend/access/nbtree/README",
    }
    BTREE_SIBLINGS {
        id: "pg-btree-siblings",
        level: Structure,
        role: (Link, Object, Other),
        promise: "a B-tree block and its right sibling name each other, on the same level",
        meaning: "Scans along the index skip or repeat a range of keys: a stale block or a lost write.",
        next_step: "REINDEX the index",
        evidence: "src/backend/access/nbtree/README",
    }
    BTREE_PARENT {
        id: "pg-btree-parent",
        level: Structure,
        role: (Link, Object, Other),
        promise: "each B-tree block has one downlink, and its high key is the next separator in the parent",
        meaning: "Searches for some keys go to the wrong block and find nothing: a stale block, a lost write or a wrong downlink.",
        next_step: "REINDEX the index",
        evidence: "src/backend/access/nbtree/README",
    }
    BTREE_TID {
        id: "pg-btree-tid",
        level: Structure,
        role: (Comparison, Source, Entry),
        promise: "an index entry names a block that the table has",
        meaning: "The file of the table is shorter than when the index was written: it was truncated outside PostgreSQL, and the rows past its end are lost.",
        next_step: "the table was truncated outside PostgreSQL, or the index is from another copy: restore the table from a backup whose WAL is replayed; do not run VACUUM or REINDEX before, they remove the last trace of the missing rows",
        evidence: "PostgreSQL docs 73.1",
    }
    BTREE_ORDER {
        id: "pg-btree-order",
        level: Full,
        role: (Record, Object, Other),
        promise: "keys of a B-tree block ascend, from above the separator that leads to the block up to its high key",
        meaning: "Searches miss rows, and unique keys can be entered twice.",
        next_step: "REINDEX the index; if its order is that of a collation, compare the library's version",
        evidence: "src/backend/access/nbtree/README",
    }
    BTREE_UNIQUE {
        id: "pg-btree-unique",
        level: Full,
        role: (Comparison, Object, Entry),
        promise: "no two visible rows have the same key in a unique index",
        meaning: "The promise of a primary key or unique constraint does not hold: results of joins and updates are wrong.",
        next_step: "find the rows by the key without the index (enable_indexscan off), keep one, and REINDEX",
        evidence: "PostgreSQL docs 11.6",
    }
}
