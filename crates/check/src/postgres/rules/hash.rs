//! Rules about hash indexes.

crate::rules! {
    HASH_META {
        id: "pg-hash-meta",
        level: Structure,
        role: (Record, Object, Other),
        promise: "the first block of a hash index describes it: masks, buckets, overflow and bitmap pages fit each other and the file",
        meaning: "Searches go to wrong blocks, or the index cannot be used.",
        next_step: "REINDEX the index",
        evidence: "src/include/access/hash.h",
    }
    HASH_PAGE {
        id: "pg-hash-page",
        level: Structure,
        role: (Page, Object, Other),
        promise: "each block of a hash index is of the kind that its place calls for, and of the bucket that stands there, as it was last split",
        meaning: "Searches in the bucket fail (unexpected zero page, corrupted page) or miss rows: a zeroed block, a lost write, or a block of another place.",
        next_step: "REINDEX the index",
        evidence: "src/backend/access/hash/README",
    }
    HASH_CHAIN {
        id: "pg-hash-chain",
        level: Structure,
        role: (Link, Object, Other),
        promise: "pages of a bucket name each other, forwards and backwards, and are of the same bucket; each overflow page in use is in one chain",
        meaning: "Searches miss the rows behind the break, or find those of another bucket; an overflow page may be used twice.",
        next_step: "REINDEX the index",
        evidence: "src/backend/access/hash/README",
    }
    HASH_BITMAP {
        id: "pg-hash-bitmap",
        level: Structure,
        role: (Record, Object, Other),
        promise: "a bitmap page has a set bit for each overflow page in use, and a clear one for each that is free",
        meaning: "A page in use is given to another bucket, which loses its entries; or a free page is never used again.",
        next_step: "REINDEX the index",
        evidence: "src/backend/access/hash/README",
    }
    HASH_ORDER {
        id: "pg-hash-order",
        level: Structure,
        role: (Record, Object, Other),
        promise: "entries of a page of a hash index ascend by hash value",
        meaning: "Searches in the page miss rows.",
        next_step: "REINDEX the index",
        evidence: "src/backend/access/hash/README",
    }
    HASH_BUCKET {
        id: "pg-hash-bucket",
        level: Structure,
        role: (Record, Object, Other),
        promise: "an entry stands in the bucket of its hash value, or in the one that was split and is not cleaned yet",
        meaning: "Searches look in another bucket and miss the row.",
        next_step: "REINDEX the index",
        evidence: "src/backend/access/hash/hashutil.c _hash_hashkey2bucket",
    }
}
