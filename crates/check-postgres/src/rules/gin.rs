//! Rules about GIN indexes.

check::rules! {
    GIN_META {
        id: "pg-gin-meta",
        level: Structure,
        role: (Record, Object, Other),
        invariant: "the metapage of a GIN index is valid, and its pending list fits its counts",
        meaning: "The index cannot be used, or entries of its pending list are lost.",
        next_step: "run REINDEX INDEX on the index",
        evidence: "src/include/access/ginblock.h",
    }
    GIN_PAGE {
        id: "pg-gin-page",
        level: Structure,
        role: (Page, Object, Other),
        invariant: "flags, links and contents of a GIN block are those of one kind of block",
        meaning: "The block belongs to another file or was overwritten; index searches fail or crash the server.",
        next_step: "run REINDEX INDEX on the index",
        evidence: "src/include/access/ginblock.h",
    }
    GIN_ENTRY {
        id: "pg-gin-entry",
        level: Structure,
        role: (Record, Object, Other),
        invariant: "a GIN entry has a key, and points to what its block requires: a child, a posting tree, or rows",
        meaning: "Searches for some keys fail, miss rows, or crash the server.",
        next_step: "run REINDEX INDEX on the index",
        evidence: "src/backend/access/gin/README",
    }
    GIN_POSTING {
        id: "pg-gin-posting",
        level: Structure,
        role: (Record, Object, Other),
        invariant: "the posting list of a GIN key can be decompressed, has ascending TIDs, as many as the entry states, all below the bound of the block",
        meaning: "Searches for the key miss rows or return others.",
        next_step: "run REINDEX INDEX on the index",
        evidence: "src/backend/access/gin/ginpostinglist.c",
    }
    GIN_TREE {
        id: "pg-gin-tree",
        level: Structure,
        role: (Link, Object, Other),
        invariant: "each block of a GIN tree has one downlink and the bound that the downlink states",
        meaning: "Searches for some keys reach a wrong block and miss rows. Typical cause: a stale block, a lost write or a wrong link.",
        next_step: "run REINDEX INDEX on the index",
        evidence: "src/backend/access/gin/README; contrib/amcheck/verify_gin.c (18)",
    }
    GIN_SIBLINGS {
        id: "pg-gin-siblings",
        level: Structure,
        role: (Link, Object, Other),
        invariant: "the right sibling of a GIN block is of its kind, and the next in the order of the level above",
        meaning: "Index scans skip or repeat keys or rows. Typical cause: a stale block or a lost write.",
        next_step: "run REINDEX INDEX on the index",
        evidence: "src/backend/access/gin/README",
    }
    GIN_PENDING {
        id: "pg-gin-pending",
        level: Structure,
        role: (Record, Object, Other),
        invariant: "the pending list leads from its head to its tail, with as many blocks and rows as the metapage states",
        meaning: "Searches miss recently inserted rows, or cleaning up the list fails.",
        next_step: "run REINDEX INDEX on the index",
        evidence: "src/backend/access/gin/ginfast.c",
    }
    GIN_ORDER {
        id: "pg-gin-order",
        level: Full,
        role: (Record, Object, Other),
        invariant: "the keys of a GIN block are in ascending order without duplicates",
        meaning: "Searches for some keys miss rows, and inserts create duplicate entries.",
        next_step: "run REINDEX; if the order is that of a collation, compare the version of the collation library",
        evidence: "src/backend/access/gin/README; contrib/amcheck/verify_gin.c (18)",
    }
}
