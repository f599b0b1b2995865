//! Rules about GIN indexes.

crate::rules! {
    GIN_META {
        id: "pg-gin-meta",
        level: Structure,
        role: (Record, Object, Other),
        promise: "the first block of a GIN index describes it, and its list of pending entries fits its counts",
        meaning: "The index cannot be used, or its pending entries are lost.",
        next_step: "REINDEX the index",
        evidence: "src/include/access/ginblock.h",
    }
    GIN_PAGE {
        id: "pg-gin-page",
        level: Structure,
        role: (Page, Object, Other),
        promise: "flags, links and contents of a GIN block are those of one kind of block",
        meaning: "The block belongs to another file or was overwritten; searches in the index fail or end the server.",
        next_step: "REINDEX the index",
        evidence: "src/include/access/ginblock.h",
    }
    GIN_ENTRY {
        id: "pg-gin-entry",
        level: Structure,
        role: (Record, Object, Other),
        promise: "a GIN entry has a key, and leads to what its block calls for: a child, a posting tree, or rows",
        meaning: "Searches for some keys fail, miss rows, or end the server.",
        next_step: "REINDEX the index",
        evidence: "src/backend/access/gin/README",
    }
    GIN_POSTING {
        id: "pg-gin-posting",
        level: Structure,
        role: (Record, Object, Other),
        promise: "the row pointers of a GIN key can be unpacked, ascend, are as many as the entry says, and stay below the block's bound",
        meaning: "Searches for the key miss rows or give others.",
        next_step: "REINDEX the index",
        evidence: "src/backend/access/gin/ginpostinglist.c",
    }
    GIN_TREE {
        id: "pg-gin-tree",
        level: Structure,
        role: (Link, Object, Other),
        promise: "each block of a GIN index's trees has one link from above, and the bound that stands there",
        meaning: "Searches for some keys go to the wrong block and find nothing: a stale block, a lost write or a wrong link.",
        next_step: "REINDEX the index",
        evidence: "src/backend/access/gin/README; contrib/amcheck/verify_gin.c (18)",
    }
    GIN_SIBLINGS {
        id: "pg-gin-siblings",
        level: Structure,
        role: (Link, Object, Other),
        promise: "the right sibling of a GIN block is of its kind, and the next in the order of the level above",
        meaning: "Scans along the index skip or repeat keys or rows: a stale block or a lost write.",
        next_step: "REINDEX the index",
        evidence: "src/backend/access/gin/README",
    }
    GIN_PENDING {
        id: "pg-gin-pending",
        level: Structure,
        role: (Record, Object, Other),
        promise: "the list of pending entries leads from its first block to its last, with as many blocks and rows as the meta page says",
        meaning: "Rows that were added lately are not found by searches, or cleaning the list fails.",
        next_step: "REINDEX the index",
        evidence: "src/backend/access/gin/ginfast.c",
    }
    GIN_ORDER {
        id: "pg-gin-order",
        level: Full,
        role: (Record, Object, Other),
        promise: "the keys of a GIN block ascend, each once",
        meaning: "Searches for some keys find nothing, and rows that are added get entries of their own beside the old ones.",
        next_step: "REINDEX the index; if its order is that of a collation, compare the library's version",
        evidence: "src/backend/access/gin/README; contrib/amcheck/verify_gin.c (18)",
    }
}
