//! Rules about pages and their allocation.

// EVIDENCE: messages: Microsoft Learn, "Database engine events and errors", 2000 to 2999 and 8000 to 8999, the messages' texts
check::rules! {
    PAGE_CHECKSUM {
        id: "mssql-page-checksum",
        level: Page,
        role: (Page, Object, Other),
        invariant: "the checksum in the header matches the bytes of the page",
        meaning: "Bytes changed after the server wrote the page. Reading it in the server fails with message 824.",
        next_step: "restore the page from a backup (RESTORE ... PAGE); check the device and its cables",
        evidence: "observed: 1,544 pages of six files and 1,185 of four backups",
        messages: "8928, 8939",
    }
    PAGE_TORN {
        id: "mssql-page-torn",
        level: Page,
        role: (Page, Object, Other),
        invariant: "all sectors of a page have the torn-page bits of the same write",
        meaning: "Only a part of the page reached the disk when power failed. Reading it in the server fails with message 824.",
        next_step: "restore the page from a backup (RESTORE ... PAGE)",
        evidence: "Microsoft Learn, ALTER DATABASE SET TORN_PAGE_DETECTION; observed: 1,218 pages of three files",
        messages: "8928, 8939",
    }
    PAGE_HEADER {
        id: "mssql-page-header",
        level: Page,
        role: (Page, Object, Other),
        invariant: "version, type, slot count and free-data offset of the page header are valid",
        meaning: "The header was overwritten; the server refuses the page.",
        next_step: "restore the page from a backup",
        evidence: "sqlskills.com, Anatomy of a page",
        messages: "8939",
    }
    PAGE_ID {
        id: "mssql-page-id",
        level: Page,
        role: (Page, Object, Other),
        invariant: "a page in use has its own page id",
        meaning: "The page was written to a wrong place, or belongs to another file; the page expected here is lost.",
        next_step: "restore the page from a backup, and check the page whose id it has",
        evidence: "sqlskills.com, Anatomy of a page",
        messages: "8909",
    }
    PAGE_BLANK {
        id: "mssql-page-blank",
        level: Page,
        role: (Page, Object, Other),
        invariant: "a page in use is not blank",
        meaning: "A write was lost, or the page was zeroed: its rows are lost.",
        next_step: "restore the page from a backup",
        evidence: "observed: no allocated page of any file is blank",
        messages: "8909",
    }
    MAP_PAGE {
        id: "mssql-map-page",
        level: Page,
        role: (Page, Database, Other),
        invariant: "the page at a fixed allocation map position is that map, with its records",
        meaning: "Pages of this map cannot be allocated or freed safely; the server may allocate pages twice.",
        next_step: "restore from a backup: allocation maps cannot be restored page by page",
        evidence: "sqlskills.com, GAM, SGAM, PFS and other allocation maps",
        messages: "8946, 8998",
    }
    IAM_CHAIN {
        id: "mssql-iam-chain",
        level: Structure,
        role: (Link, Object, Other),
        invariant: "the IAM pages of a table or index form a chain: type, owner, order and both links agree",
        meaning: "Scans of the table end early or read pages of another table.",
        next_step: "restore from a backup; DBCC repairs this with loss of data",
        evidence: "sqlskills.com, IAM pages, IAM chains, and allocation units",
        messages: "2575, 2576, 2577, 8959, 8969",
    }
    ALLOCATION_RANGE {
        id: "mssql-allocation-range",
        level: Structure,
        role: (Link, Object, Other),
        invariant: "an IAM page refers to pages inside the database",
        meaning: "The file was truncated, or the IAM page is from another point in time.",
        next_step: "compare the length of the file with the original; restore from a backup",
        evidence: "Microsoft Learn, message 2579",
        messages: "2579, 8968",
    }
    EXTENT_OWNED_TWICE {
        id: "mssql-extent-owned-twice",
        level: Structure,
        role: (Link, Object, Other),
        invariant: "an extent belongs to one table or index",
        meaning: "Two tables overwrite each other's rows.",
        next_step: "restore from a backup from before both grew into the same extent",
        evidence: "Microsoft Learn, message 8904",
        messages: "8904, 8913",
    }
    PAGE_OWNED_TWICE {
        id: "mssql-page-owned-twice",
        level: Structure,
        role: (Link, Object, Other),
        invariant: "a page of a mixed extent belongs to one table or index",
        meaning: "Two tables overwrite each other's rows.",
        next_step: "restore from a backup",
        evidence: "Microsoft Learn, message 8910",
        messages: "8910",
    }
    EXTENT_FREE {
        id: "mssql-extent-free",
        level: Structure,
        role: (Comparison, Nothing, Other),
        invariant: "an extent that the GAM marks free is not allocated and not a mixed extent",
        meaning: "The server will allocate the extent to another table, which overwrites its contents.",
        next_step: "do not write to the database; restore from a backup",
        evidence: "Microsoft Learn, message 8903; sqlskills.com, GAM, SGAM, PFS and other allocation maps",
        messages: "8903",
    }
    EXTENT_LEAKED {
        id: "mssql-extent-leaked",
        level: Structure,
        role: (Comparison, Nothing, Other),
        invariant: "an extent that the GAM marks used is allocated to a table or index, or is a mixed extent",
        meaning: "Space is leaked; rows in it are lost to their table.",
        next_step: "look for missing pages in other findings; DBCC CHECKALLOC frees the extent",
        evidence: "Microsoft Learn, message 8905",
        messages: "8905",
    }
    PAGE_UNOWNED {
        id: "mssql-page-unowned",
        level: Structure,
        role: (Comparison, Nothing, Other),
        invariant: "a page that the PFS marks allocated belongs to a table, an index or an allocation map",
        meaning: "The page is lost to its table, or was not freed.",
        next_step: "look for missing pages in other findings",
        evidence: "Microsoft Learn, message 8906",
        messages: "8906",
    }
    PFS_STATE {
        id: "mssql-pfs",
        level: Structure,
        role: (Comparison, Nothing, Other),
        invariant: "the PFS agrees with the IAM pages about type and allocation of each page",
        meaning: "The server may allocate the page a second time, or never use it again.",
        next_step: "restore from a backup; DBCC CHECKALLOC corrects the PFS byte",
        evidence: "Microsoft Learn, message 8948",
        messages: "8948",
    }
    PFS_SPACE {
        id: "mssql-pfs-space",
        level: Structure,
        role: (Comparison, Nothing, Other),
        invariant: "the PFS states how full a heap or LOB page is",
        meaning: "Free space is not reused, or the server tries full pages. No row is lost: the server does not log each change of these bits, and a crash can leave them outdated.",
        next_step: "not urgent: once the other findings of the table are resolved, ALTER TABLE ... REBUILD rewrites the bits",
        evidence: "Microsoft Learn, message 8914; observed: 124 pages of heaps and large values in five files, all in step",
        messages: "8914",
    }
    PAGE_OWNER {
        id: "mssql-page-owner",
        level: Structure,
        role: (Page, Object, Other),
        invariant: "a page has the id of the allocation unit that it is allocated to",
        meaning: "A page of another table is here: a write went to a wrong place or was lost. The rows of the expected page are lost.",
        next_step: "restore the page from a backup",
        evidence: "Microsoft Learn, messages 2533 and 2534",
        messages: "2533, 2534",
    }
    PAGE_KIND {
        id: "mssql-page-kind",
        level: Structure,
        role: (Page, Object, Other),
        invariant: "a page has a type that its owner uses",
        meaning: "The page was overwritten, or belongs elsewhere.",
        next_step: "restore the page from a backup",
        evidence: "Microsoft Learn, message 8938",
        messages: "8938",
    }
}
