//! Rules about SP-GiST indexes.

check::rules! {
    SP_GIST_PAGE {
        id: "pg-spgist-page",
        level: Structure,
        role: (Page, Object, Other),
        invariant: "the metapage and roots of an SP-GiST index are in its first three blocks, and a block counts its redirects and placeholders correctly",
        meaning: "The index cannot be used, or its free space is not reused.",
        next_step: "run REINDEX INDEX on the index",
        evidence: "src/include/access/spgist_private.h",
    }
    SP_GIST_TUPLE {
        id: "pg-spgist-tuple",
        level: Structure,
        role: (Record, Object, Other),
        invariant: "an SP-GiST tuple is of a kind that its block may have, its parts fill it, and its nodes point into the index",
        meaning: "Searches fail (unexpected SPGiST tuple state), read beyond the tuple, or miss rows.",
        next_step: "run REINDEX INDEX on the index",
        evidence: "src/include/access/spgist_private.h",
    }
    SP_GIST_CHAIN {
        id: "pg-spgist-chain",
        level: Structure,
        role: (Link, Object, Other),
        invariant: "leaf tuples of a node form a finite chain inside their block; each is in one chain",
        meaning: "Searches miss the rows after the broken link, or loop. VACUUM fails (inconsistent tuple chain links).",
        next_step: "run REINDEX INDEX on the index",
        evidence: "src/backend/access/spgist/README",
    }
    SP_GIST_PARENT {
        id: "pg-spgist-parent",
        level: Structure,
        role: (Link, Object, Other),
        invariant: "each inner tuple and each chain of leaf tuples of an SP-GiST index is referenced by one node of the same tree",
        meaning: "Searches miss all rows below a tuple that no node references. Typical cause: a lost write or a wrong downlink.",
        next_step: "run REINDEX INDEX on the index",
        evidence: "src/backend/access/spgist/README",
    }
}
