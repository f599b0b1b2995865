//! Rules about BRIN indexes.

check::rules! {
    BRIN_META {
        id: "pg-brin-meta",
        level: Structure,
        role: (Record, Object, Other),
        invariant: "the metapage of a BRIN index is valid",
        meaning: "The index cannot be used, or is read with a wrong range size and skips rows.",
        next_step: "run REINDEX INDEX on the index",
        evidence: "src/include/access/brin_page.h",
    }
    BRIN_PAGE {
        id: "pg-brin-page",
        level: Structure,
        role: (Page, Object, Other),
        invariant: "a block of a BRIN index has a valid page type, and the revmap has the blocks that the metapage states",
        meaning: "The block belongs to another file or was overwritten; index scans fail or skip ranges.",
        next_step: "run REINDEX INDEX on the index",
        evidence: "src/include/access/brin_page.h",
    }
    BRIN_TUPLE {
        id: "pg-brin-tuple",
        level: Structure,
        role: (Record, Object, Other),
        invariant: "the summary of a range fits its header and null bits, and its range is valid",
        meaning: "Index scans fail, or skip ranges with matching rows.",
        next_step: "run REINDEX INDEX on the index",
        evidence: "src/include/access/brin_tuple.h",
    }
    BRIN_RANGE {
        id: "pg-brin-range",
        level: Structure,
        role: (Link, Object, Other),
        invariant: "each revmap entry points to the summary of its range, and each summary has one entry",
        meaning: "Index scans use the summary of another range and miss rows, or inserts fail. Typical cause: a lost write to a block of the index or its revmap. Existing tools do not read BRIN indexes.",
        next_step: "run REINDEX INDEX on the index",
        evidence: "src/backend/access/brin/README",
    }
    BRIN_SUMMARY {
        id: "pg-brin-summary",
        level: Full,
        role: (Comparison, Nothing, Row),
        invariant: "each visible row is within the BRIN summary of its range: bounds, ranges, filter, nulls, empty ranges",
        meaning: "Index scans skip the range and miss the row: a block of the index or table is stale (a lost write), or was changed outside PostgreSQL. Existing tools do not report this. Two faults of the server leave it, too: releases before May 2023 could lose the mark for nulls, and minmax-multi operator classes lose values of rows that are inserted while their range is being summarised (measured with 15: index scans miss them).",
        next_step: "compare the row with a backup; if the row is right, run REINDEXs",
        evidence: "src/backend/access/brin/brin_minmax.c, brin_minmax_multi.c, brin_bloom.c",
    }
}
