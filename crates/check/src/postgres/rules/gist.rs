//! Rules about GiST indexes.

crate::rules! {
    GIST_LINKS {
        id: "pg-gist-links",
        level: Structure,
        role: (Link, Object, Other),
        promise: "flags and right link of a GiST block fit its place: the root is not deleted, leaves stand on the lowest level",
        meaning: "Searches fail, or follow a link to a block of another part of the tree.",
        next_step: "REINDEX the index",
        evidence: "src/backend/access/gist/README",
    }
    GIST_TUPLE {
        id: "pg-gist-tuple",
        level: Structure,
        role: (Record, Object, Other),
        promise: "a GiST tuple fills its line pointer, and a downlink names another block and is valid",
        meaning: "Searches fail (inner tuple marked as invalid), or go to a block that is no child.",
        next_step: "REINDEX the index",
        evidence: "src/include/access/gist_private.h",
    }
    GIST_PARENT {
        id: "pg-gist-parent",
        level: Structure,
        role: (Link, Object, Other),
        promise: "each used block of a GiST index but the root has one downlink, or its left sibling says that it has none yet",
        meaning: "Searches miss all rows below a block that no parent names, and find those twice that two name: a lost write or a wrong downlink.",
        next_step: "REINDEX the index",
        evidence: "src/backend/access/gist/README",
    }
    GIST_KEYS {
        id: "pg-gist-keys",
        level: Full,
        role: (Record, Object, Other),
        promise: "the box in a downlink of a GiST index has all boxes of its child in it",
        meaning: "Searches miss rows whose boxes stick out: a key that was changed, or a lost write of an inner block.",
        next_step: "REINDEX the index",
        evidence: "src/backend/access/gist/README; src/backend/access/gist/gistproc.c",
    }
}
