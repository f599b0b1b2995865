//! Rules about GiST indexes.

check::rules! {
    GIST_LINKS {
        id: "pg-gist-links",
        level: Structure,
        role: (Link, Object, Other),
        invariant: "flags and rightlink of a GiST block are valid: the root is not deleted, leaves are on the lowest level",
        meaning: "Searches fail, or follow a rightlink to a wrong part of the tree.",
        next_step: "run REINDEX INDEX on the index",
        evidence: "src/backend/access/gist/README",
    }
    GIST_TUPLE {
        id: "pg-gist-tuple",
        level: Structure,
        role: (Record, Object, Other),
        invariant: "a GiST tuple fills its line pointer, and a downlink is valid and points to another block",
        meaning: "Searches fail (inner tuple marked as invalid), or reach a block that is not a child.",
        next_step: "run REINDEX INDEX on the index",
        evidence: "src/include/access/gist_private.h",
    }
    GIST_PARENT {
        id: "pg-gist-parent",
        level: Structure,
        role: (Link, Object, Other),
        invariant: "each used block of a GiST index except the root has one downlink, or its left sibling is marked F_FOLLOW_RIGHT",
        meaning: "Searches miss all rows below a block without downlink, and return those below a block with two downlinks twice. Typical cause: a lost write or a wrong downlink.",
        next_step: "run REINDEX INDEX on the index",
        evidence: "src/backend/access/gist/README",
    }
    GIST_KEYS {
        id: "pg-gist-keys",
        level: Full,
        role: (Record, Object, Other),
        invariant: "the key of a GiST downlink contains all keys of its child",
        meaning: "Searches miss rows whose keys are not contained: a changed key, or a lost write to an inner block.",
        next_step: "run REINDEX INDEX on the index",
        evidence: "src/backend/access/gist/README; src/backend/access/gist/gistproc.c",
    }
}
