//! Rules about hash indexes.

check::rules! {
    HASH_META {
        id: "pg-hash-meta",
        level: Structure,
        role: (Record, Object, Other),
        invariant: "the metapage of a hash index is valid: masks, buckets, overflow and bitmap pages agree with each other and the file",
        meaning: "Searches reach wrong blocks, or the index cannot be used.",
        next_step: "run REINDEX INDEX on the index",
        evidence: "src/include/access/hash.h",
    }
    HASH_PAGE {
        id: "pg-hash-page",
        level: Structure,
        role: (Page, Object, Other),
        invariant: "each block of a hash index is of the kind and bucket that belong to its block number",
        meaning: "Searches in the bucket fail (unexpected zero page, corrupted page) or miss rows: a zeroed block, a lost write, or a misplaced block.",
        next_step: "run REINDEX INDEX on the index",
        evidence: "src/backend/access/hash/README",
    }
    HASH_CHAIN {
        id: "pg-hash-chain",
        level: Structure,
        role: (Link, Object, Other),
        invariant: "pages of a bucket are linked in both directions and belong to the same bucket; each overflow page in use is in one chain",
        meaning: "Searches miss the rows after the broken link, or return those of another bucket; an overflow page may be used twice.",
        next_step: "run REINDEX INDEX on the index",
        evidence: "src/backend/access/hash/README",
    }
    HASH_BITMAP {
        id: "pg-hash-bitmap",
        level: Structure,
        role: (Record, Object, Other),
        invariant: "a bitmap page has a set bit for each overflow page in use, and a clear one for each that is free",
        meaning: "A page in use is allocated to another bucket and loses its entries; or a free page is never used again.",
        next_step: "run REINDEX INDEX on the index",
        evidence: "src/backend/access/hash/README",
    }
    HASH_ORDER {
        id: "pg-hash-order",
        level: Structure,
        role: (Record, Object, Other),
        invariant: "entries of a page of a hash index ascend by hash value",
        meaning: "Searches in the page miss rows.",
        next_step: "run REINDEX INDEX on the index",
        evidence: "src/backend/access/hash/README",
    }
    HASH_BUCKET {
        id: "pg-hash-bucket",
        level: Structure,
        role: (Record, Object, Other),
        invariant: "an entry is in the bucket of its hash value, or in a bucket that was split and is not cleaned up yet",
        meaning: "Searches read another bucket and miss the row.",
        next_step: "run REINDEX INDEX on the index",
        evidence: "src/backend/access/hash/hashutil.c _hash_hashkey2bucket",
    }
}
