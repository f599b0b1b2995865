//! Rules about records, indexes and long values.

// EVIDENCE: messages: Microsoft Learn, "Database engine events and errors", 2000 to 2999 and 8000 to 8999, the messages' texts
check::rules! {
    SLOT {
        id: "mssql-slot",
        level: Structure,
        role: (Record, Object, Other),
        invariant: "a slot points into the record area of its page",
        meaning: "The record cannot be found; reading the page in the server fails.",
        next_step: "restore the page from a backup",
        evidence: "Microsoft Learn, message 8941",
        messages: "8941",
    }
    RECORD_BOUNDS {
        id: "mssql-record",
        level: Structure,
        role: (Record, Object, Row),
        invariant: "a record is of a type that its page may have, and its parts are inside it",
        meaning: "The row cannot be parsed; queries fail or return wrong values.",
        next_step: "restore the page from a backup",
        evidence: "sqlskills.com, Anatomy of a record",
        messages: "8943, 8944",
    }
    RECORD_OVERLAP {
        id: "mssql-record-overlap",
        level: Structure,
        role: (Record, Object, Other),
        invariant: "no two records share bytes",
        meaning: "One record overwrote another, or a slot was changed.",
        next_step: "restore the page from a backup",
        evidence: "Microsoft Learn, message 8942",
        messages: "8942",
    }
    FREE_COUNT {
        id: "mssql-free-count",
        level: Structure,
        role: (Record, Nothing, Other),
        invariant: "the free byte count of the header matches records and slots",
        meaning: "Inserts overwrite records, or fail although there is space: the page was changed outside SQL Server.",
        next_step: "restore the page from a backup",
        evidence: "observed: all data, index and text pages of all files",
        messages: "8939",
    }
    GHOST_COUNT {
        id: "mssql-ghost-count",
        level: Structure,
        role: (Record, Nothing, Other),
        invariant: "the ghost record count of the header matches the page",
        meaning: "Deleted rows are never removed, or the page was changed outside SQL Server.",
        next_step: "rebuild the index or table",
        evidence: "Microsoft Learn, message 8927",
        messages: "8927",
    }
    INDEX_SIBLING {
        id: "mssql-index-sibling",
        level: Structure,
        role: (Link, Object, Other),
        invariant: "siblings on a level of a B-tree point to each other",
        meaning: "Scans skip or repeat a range of keys: a write was lost, or an old version of a page came back.",
        next_step: "restore the reported pages from a backup; a nonclustered index can be rebuilt",
        evidence: "Microsoft Learn, messages 8936, 8978 and 8981",
        messages: "8936, 8978, 8981",
    }
    INDEX_CHILD {
        id: "mssql-index-child",
        level: Structure,
        role: (Link, Object, Other),
        invariant: "each entry of an inner page points to a page of the level below in the same B-tree",
        meaning: "Searches reach a wrong page or fail.",
        next_step: "restore the reported pages from a backup; a nonclustered index can be rebuilt",
        evidence: "Microsoft Learn, messages 8931, 8976 and 8980",
        messages: "8931, 8976, 8980",
    }
    INDEX_ORPHAN {
        id: "mssql-index-orphan",
        level: Structure,
        role: (Link, Object, Other),
        invariant: "each page of a B-tree except the root has a parent",
        meaning: "Searches miss the keys of the page.",
        next_step: "restore the reported pages from a backup; a nonclustered index can be rebuilt",
        evidence: "Microsoft Learn, messages 8977 and 8979",
        messages: "8977, 8979",
    }
    INDEX_TWO_PARENTS {
        id: "mssql-index-two-parents",
        level: Structure,
        role: (Link, Object, Other),
        invariant: "a page of a B-tree has one parent entry",
        meaning: "Searches for two key ranges reach the same page.",
        next_step: "restore the reported pages from a backup; a nonclustered index can be rebuilt",
        evidence: "Microsoft Learn, message 8937",
        messages: "8937",
    }
    KEY_BOUNDS {
        id: "mssql-key-bounds",
        level: Structure,
        role: (Link, Object, Other),
        invariant: "the keys of a page are between those that enclose it in its parent",
        meaning: "Searches miss rows: a write was lost, or an old version of a page came back.",
        next_step: "restore the reported pages from a backup; a nonclustered index can be rebuilt",
        evidence: "Microsoft Learn, messages 8933 and 8934",
        messages: "8933, 8934",
    }
    FORWARD_TARGET {
        id: "mssql-forward-target",
        level: Structure,
        role: (Link, Object, Row),
        invariant: "a forwarded row is where its stub points, and points back",
        meaning: "The row is lost to queries.",
        next_step: "restore the page from a backup",
        evidence: "Microsoft Learn, message 8993",
        messages: "8993",
    }
    FORWARD_ORPHAN {
        id: "mssql-forward-orphan",
        level: Structure,
        role: (Link, Object, Row),
        invariant: "the stub of a forwarded row points to it",
        meaning: "The row appears in scans and not by its index, or not at all.",
        next_step: "restore the page from a backup",
        evidence: "Microsoft Learn, message 8994",
        messages: "8994",
    }
    LOB_RECORD {
        id: "mssql-lob-record",
        level: Structure,
        role: (Record, Object, Other),
        invariant: "lengths and links of a LOB record are valid",
        meaning: "Reading the value fails.",
        next_step: "restore the page from a backup",
        evidence: "improve.dk, What are the different LOB structure types",
    }
    LOB_TARGET {
        id: "mssql-lob-target",
        level: Structure,
        role: (Link, Object, Row),
        invariant: "a LOB pointer points to a record of that value",
        meaning: "Reading the value fails, or returns another one.",
        next_step: "restore the page from a backup; to make the row readable, set the value again",
        evidence: "Microsoft Learn, messages 8961 and 8965",
        messages: "8961, 8965",
    }
    LOB_ORPHAN {
        id: "mssql-lob-orphan",
        level: Structure,
        role: (Link, Object, Other),
        invariant: "each LOB record is referenced by a row or another record",
        meaning: "The row of the value is lost or has another value; or space was not freed.",
        next_step: "look for lost rows of the table in other findings",
        evidence: "Microsoft Learn, message 8964",
        messages: "8964",
    }
    LOB_LENGTH {
        id: "mssql-lob-length",
        level: Structure,
        role: (Link, Object, Row),
        invariant: "a LOB record has the length that the row or node pointing to it states",
        meaning: "Reading the value fails, or returns too much or too little.",
        next_step: "restore the page from a backup; to make the row readable, set the value again",
        evidence: "Microsoft Learn, message 8961; observed: 110 pieces of four files, all as long as their nodes say",
        messages: "8961",
    }
    LOB_TWICE {
        id: "mssql-lob-twice",
        level: Structure,
        role: (Link, Object, Other),
        invariant: "a LOB record is referenced once",
        meaning: "Two rows share a value; deleting one takes it from the other.",
        next_step: "restore the page from a backup",
        evidence: "Microsoft Learn, message 8974",
        messages: "8974",
    }
    KEY_ORDER {
        id: "mssql-key-order",
        level: Full,
        role: (Record, Object, Other),
        invariant: "keys within a page are in ascending order (descending where the index says so)",
        meaning: "Searches miss rows.",
        next_step: "restore the page from a backup; a nonclustered index can be rebuilt",
        evidence: "Microsoft Learn, message 2511",
        messages: "2511",
    }
    KEY_DUPLICATE {
        id: "mssql-key-duplicate",
        level: Full,
        role: (Comparison, Object, Entry),
        invariant: "no two entries of a B-tree have the same key",
        meaning: "A primary key or unique constraint is violated.",
        next_step: "find the rows by their key, keep one, and rebuild the index",
        evidence: "Microsoft Learn, message 2512",
        messages: "2512",
    }
    ROW_WITHOUT_ENTRY {
        id: "mssql-row-without-entry",
        level: Full,
        role: (Comparison, Nothing, Row),
        invariant: "each row has an entry in each nonclustered index",
        meaning: "Index scans miss this row, table scans return it.",
        next_step: "make sure that the row is the newest, then rebuild the index",
        evidence: "Microsoft Learn, message 8951",
        messages: "8951",
    }
    ENTRY_WITHOUT_ROW {
        id: "mssql-entry-without-row",
        level: Full,
        role: (Comparison, Source, Entry),
        invariant: "each entry of a nonclustered index points to a row",
        meaning: "The row is lost or was changed outside SQL Server: a page was lost or zeroed, or is an old version (lost write).",
        next_step: "rows may be lost: restore the page of the table from a backup; rebuilding the index would hide the loss",
        evidence: "Microsoft Learn, message 8952",
        messages: "8952",
    }
    NOT_NULL {
        id: "mssql-not-null",
        level: Full,
        role: (Record, Nothing, Row),
        invariant: "a column that was created NOT NULL has a value",
        meaning: "Applications that rely on the constraint fail; the row was changed outside the server.",
        next_step: "restore the row from a backup",
        evidence: "Microsoft Learn, message 8970",
        messages: "8970",
    }
    VALUE_RANGE {
        id: "mssql-value-range",
        level: Full,
        role: (Record, Nothing, Row),
        invariant: "a value is in the range of its type",
        meaning: "Queries return wrong results or fail when they read the value.",
        next_step: "set the value again (UPDATE by the key of the row)",
        evidence: "Microsoft Learn, message 2570 and DBCC CHECKDB, DATA_PURITY",
        messages: "2570",
    }
}
