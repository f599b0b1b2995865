//! Rules about pages and their allocation.

// EVIDENCE: messages: Microsoft Learn, "Database engine events and errors", 2000 to 2999 and 8000 to 8999, the messages' texts
crate::rules! {
    PAGE_CHECKSUM {
        id: "mssql-page-checksum",
        level: Page,
        role: (Page, Object, Other),
        promise: "the checksum in the header is that of the page's bytes",
        meaning: "Bytes changed after the server wrote the page. Reading it in the server fails with message 824.",
        next_step: "restore the page from a backup (RESTORE ... PAGE); check the device and its cables",
        evidence: "observed: 1,544 pages of six files and 1,185 of four backups",
        messages: "8928, 8939",
    }
    PAGE_TORN {
        id: "mssql-page-torn",
        level: Page,
        role: (Page, Object, Other),
        promise: "all sectors of a page carry the signature of the same write",
        meaning: "Only a part of the page reached the disk when power failed. Reading it in the server fails with message 824.",
        next_step: "restore the page from a backup (RESTORE ... PAGE)",
        evidence: "Microsoft Learn, ALTER DATABASE SET TORN_PAGE_DETECTION; observed: 1,218 pages of three files",
        messages: "8928, 8939",
    }
    PAGE_HEADER {
        id: "mssql-page-header",
        level: Page,
        role: (Page, Object, Other),
        promise: "version, kind, slot count and end of the records fit a page",
        meaning: "The header was overwritten; the server refuses the page.",
        next_step: "restore the page from a backup",
        evidence: "sqlskills.com, Anatomy of a page",
        messages: "8939",
    }
    PAGE_ID {
        id: "mssql-page-id",
        level: Page,
        role: (Page, Object, Other),
        promise: "a page in use carries its own number",
        meaning: "The page was written to a wrong place, or belongs to another file; the page that should be here is lost.",
        next_step: "restore the page from a backup, and look for the page whose number it carries",
        evidence: "sqlskills.com, Anatomy of a page",
        messages: "8909",
    }
    PAGE_BLANK {
        id: "mssql-page-blank",
        level: Page,
        role: (Page, Object, Other),
        promise: "a page in use is not blank",
        meaning: "A write was lost, or the page was wiped: its rows are gone.",
        next_step: "restore the page from a backup",
        evidence: "observed: no allocated page of any file is blank",
        messages: "8909",
    }
    MAP_PAGE {
        id: "mssql-map-page",
        level: Page,
        role: (Page, Database, Other),
        promise: "the page due at this place is the map that belongs there, with its records",
        meaning: "What the map describes can neither be allocated nor freed safely; the server may give pages out twice.",
        next_step: "restore from a backup: allocation maps cannot be restored page by page",
        evidence: "sqlskills.com, GAM, SGAM, PFS and other allocation maps",
        messages: "8946, 8998",
    }
    IAM_CHAIN {
        id: "mssql-iam-chain",
        level: Structure,
        role: (Link, Object, Other),
        promise: "the allocation pages of a table or index form a chain: kind, owner, order and both links agree",
        meaning: "Scans of the table end early or read pages of another table.",
        next_step: "restore from a backup; DBCC repairs this by throwing data away",
        evidence: "sqlskills.com, IAM pages, IAM chains, and allocation units",
        messages: "2575, 2576, 2577, 8959, 8969",
    }
    ALLOCATION_RANGE {
        id: "mssql-allocation-range",
        level: Structure,
        role: (Link, Object, Other),
        promise: "an allocation page names pages that the database has",
        meaning: "The file was cut, or the allocation page is from another time.",
        next_step: "compare the length of the file with the original; restore from a backup",
        evidence: "Microsoft Learn, message 2579",
        messages: "2579, 8968",
    }
    EXTENT_OWNED_TWICE {
        id: "mssql-extent-owned-twice",
        level: Structure,
        role: (Link, Object, Other),
        promise: "an extent belongs to one table or index",
        meaning: "Two tables write over each other's rows.",
        next_step: "restore from a backup from before both grew into the same extent",
        evidence: "Microsoft Learn, message 8904",
        messages: "8904, 8913",
    }
    PAGE_OWNED_TWICE {
        id: "mssql-page-owned-twice",
        level: Structure,
        role: (Link, Object, Other),
        promise: "a page of a mixed extent belongs to one table or index",
        meaning: "Two tables write over each other's rows.",
        next_step: "restore from a backup",
        evidence: "Microsoft Learn, message 8910",
        messages: "8910",
    }
    EXTENT_FREE {
        id: "mssql-extent-free",
        level: Structure,
        role: (Comparison, Nothing, Other),
        promise: "an extent that the GAM calls free is in nobody's use, and no mixed extent",
        meaning: "The server will give the extent to another table, which then overwrites what is in it.",
        next_step: "do not write to the database; restore from a backup",
        evidence: "Microsoft Learn, message 8903; sqlskills.com, GAM, SGAM, PFS and other allocation maps",
        messages: "8903",
    }
    EXTENT_LEAKED {
        id: "mssql-extent-leaked",
        level: Structure,
        role: (Comparison, Nothing, Other),
        promise: "an extent that the GAM calls used belongs to a table, an index, or to mixed use",
        meaning: "Space is lost; if rows were there, their table no longer knows.",
        next_step: "look for missing pages in other findings; DBCC CHECKALLOC frees the extent",
        evidence: "Microsoft Learn, message 8905",
        messages: "8905",
    }
    PAGE_UNOWNED {
        id: "mssql-page-unowned",
        level: Structure,
        role: (Comparison, Nothing, Other),
        promise: "a page that the PFS calls used belongs to a table, an index or the maps",
        meaning: "The page is lost to its table, or was not freed.",
        next_step: "look for missing pages in other findings",
        evidence: "Microsoft Learn, message 8906",
        messages: "8906",
    }
    PFS_STATE {
        id: "mssql-pfs",
        level: Structure,
        role: (Comparison, Nothing, Other),
        promise: "the PFS agrees with the allocation pages about kind and use of each page",
        meaning: "The server may give the page out a second time, or never use it again.",
        next_step: "restore from a backup; DBCC CHECKALLOC corrects the PFS byte",
        evidence: "Microsoft Learn, message 8948",
        messages: "8948",
    }
    PFS_SPACE {
        id: "mssql-pfs-space",
        level: Structure,
        role: (Comparison, Nothing, Other),
        promise: "the PFS tells how full a page of a heap or of large values is",
        meaning: "Space is not found again, or is looked for in full pages. No row is lost: the server does not log each change of these bits, and a crash can leave them behind.",
        next_step: "none is urgent: ALTER TABLE ... REBUILD writes the bits anew, once the table's other findings are resolved",
        evidence: "Microsoft Learn, message 8914; observed: 124 pages of heaps and large values in five files, all in step",
        messages: "8914",
    }
    PAGE_OWNER {
        id: "mssql-page-owner",
        level: Structure,
        role: (Page, Object, Other),
        promise: "a page carries the number of the allocation unit that it is allocated to",
        meaning: "A page of another table stands here: a write went to a wrong place or was lost. The rows of the page that belongs here are gone.",
        next_step: "restore the page from a backup",
        evidence: "Microsoft Learn, messages 2533 and 2534",
        messages: "2533, 2534",
    }
    PAGE_KIND {
        id: "mssql-page-kind",
        level: Structure,
        role: (Page, Object, Other),
        promise: "a page is of the kind that its owner has",
        meaning: "The page was overwritten, or belongs elsewhere.",
        next_step: "restore the page from a backup",
        evidence: "Microsoft Learn, message 8938",
        messages: "8938",
    }
}
