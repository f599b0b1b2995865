//! Rules about BRIN indexes.

crate::rules! {
    BRIN_META {
        id: "pg-brin-meta",
        level: Structure,
        role: (Record, Object, Other),
        promise: "the first block of a BRIN index describes it, with sizes that can be",
        meaning: "The index cannot be used, or is read with the wrong size of ranges and skips rows.",
        next_step: "REINDEX the index",
        evidence: "src/include/access/brin_page.h",
    }
    BRIN_PAGE {
        id: "pg-brin-page",
        level: Structure,
        role: (Page, Object, Other),
        promise: "a block of a BRIN index bears the mark of its kind, and the range map takes the blocks that the first block says",
        meaning: "The block belongs to another file or was overwritten; scans of the index fail or skip ranges.",
        next_step: "REINDEX the index",
        evidence: "src/include/access/brin_page.h",
    }
    BRIN_TUPLE {
        id: "pg-brin-tuple",
        level: Structure,
        role: (Record, Object, Other),
        promise: "the summary of a range fits its header and null bits, and is of a range that can be",
        meaning: "Scans of the index fail, or skip ranges whose rows they should give.",
        next_step: "REINDEX the index",
        evidence: "src/include/access/brin_tuple.h",
    }
    BRIN_RANGE {
        id: "pg-brin-range",
        level: Structure,
        role: (Link, Object, Other),
        promise: "each entry of the range map names the summary of its range, and each summary is named",
        meaning: "A range is judged by the summary of another one, so that its rows are missed; or insertions into it fail. A lost write of a block of the index, or of its map. Existing tools do not read BRIN indexes.",
        next_step: "REINDEX the index",
        evidence: "src/backend/access/brin/README",
    }
    BRIN_SUMMARY {
        id: "pg-brin-summary",
        level: Full,
        role: (Comparison, Nothing, Row),
        promise: "each visible row lies within what a BRIN index knows of its range: bounds, ranges, filter, and whether there are nulls or rows at all",
        meaning: "Scans of the index skip the range and miss the row: a block of the index or of the table is stale (a lost write), or was changed behind the server. Existing tools do not see this. Two faults of the server leave it, too: releases before May 2023 could lose the mark for nulls, and minmax-multi operator classes lose values of rows that are inserted while their range is being summarised (measured with 15: index scans miss them).",
        next_step: "compare the row with a backup; REINDEX makes the index follow the rows",
        evidence: "src/backend/access/brin/brin_minmax.c, brin_minmax_multi.c, brin_bloom.c",
    }
}
