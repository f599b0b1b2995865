//! The rules about SQLite files: the source of `explain` and of the documentation.

use results::engine::EngineId;

use check::rule::RuleSet;

/// All rules about SQLite files.
pub static RULES: RuleSet = RuleSet {
    engine: EngineId::Sqlite,
    page_word: "page",
    slot_word: "cell",
    rebuild: "REINDEX",
    messages_word: "",
    tables: &[TABLE],
    is_of_one_database: |_| false,
    explains: |_, _| true,
};

const RESTORE: &str = "keep a copy of the file; check the kernel log and the device; restore the newest backup that checks clean, or save rows with .recover of the sqlite3 shell";
const REINDEX: &str = "keep a copy; when the table itself checks clean, run REINDEX";

check::rules! {
    HEADER {
        id: "sqlite-header",
        level: Page,
        role: (Database, Database, Other),
        invariant: "the database header (first 100 bytes) has valid values",
        meaning: "SQLite refuses the file or misreads it. The start of the file was overwritten, or it is not a database.",
        next_step: RESTORE,
        evidence: "fileformat2 1.3",
    }
    FILE_SIZE {
        id: "sqlite-file-size",
        level: Page,
        role: (File, Database, Other),
        invariant: "the file has as many whole pages as its header states",
        meaning: "The file was truncated, or copied while it grew; SQLite refuses it, and the pages past the end are lost.",
        next_step: RESTORE,
        evidence: "fileformat2 1.3.7",
    }
    READ_ERROR {
        id: "sqlite-read-error",
        level: Page,
        role: (Page, Object, Other),
        invariant: "every page can be read from the device",
        meaning: "The device or file system returned an error twice for the same page.",
        next_step: "check the kernel log (dmesg) and the device (smartctl -a), copy what can be read, restore the rest",
        evidence: "read(2)",
    }
    READINGS_DIFFER {
        id: "sqlite-readings-differ",
        level: Page,
        role: (Database, Database, Other),
        invariant: "each reading of a page returns the same bytes while no process writes the file",
        meaning: "The device, its cable or controller, or the memory of this machine corrupts data. Do not trust what this machine reads; the file itself may be valid.",
        next_step: "do not write to the database from this machine; copy the files and check the copy on another machine; then test the memory (memtest86+), the cables and the device (smartctl -a, dmesg) of this one",
        evidence: "read(2)",
    }
    CHECKSUM {
        id: "sqlite-checksum",
        level: Page,
        role: (Page, Object, Other),
        invariant: "with the cksumvfs extension, the last 8 bytes of each page are the checksum of the others",
        meaning: "A byte of the page changed, also in long values that no other rule covers; or the page was written without the extension.",
        next_step: RESTORE,
        evidence: "cksumvfs 4",
    }
    WAL {
        id: "sqlite-wal",
        level: Page,
        role: (Database, Database, Other),
        invariant: "the frames of the WAL have valid checksums up to the last commit",
        meaning: "SQLite silently ignores frames after a damaged one: committed transactions are lost. A power failure with synchronous=NORMAL looks the same.",
        next_step: "copy the database and its -wal together before any program opens them; frames after the damaged one may still be readable",
        evidence: "fileformat2 4.1 to 4.3",
    }
    WAL_HEADER {
        id: "sqlite-wal-header",
        level: Page,
        role: (Database, Database, Other),
        invariant: "the WAL begins with a header whose magic number, version, page size, salts and checksum fit its frames",
        meaning: "SQLite silently ignores the whole WAL: all its transactions are lost, and the next writer overwrites them. A valid WAL with pages of another size is read all the same, and its frames replace pages that they do not belong to.",
        next_step: "copy the database and its -wal together before any program opens them; in the copy of the WAL, write the expected values into its first 32 bytes, then open the copy with SQLite and check it",
        evidence: "fileformat2 4.1",
    }
    JOURNAL {
        id: "sqlite-journal",
        level: Page,
        role: (Database, Database, Other),
        invariant: "a hot rollback journal begins with its magic number (8 bytes)",
        meaning: "SQLite deletes the journal without rolling back: an interrupted transaction stays half written in the database.",
        next_step: "copy the database and its -journal together before any program opens them; in the copy, write d9 d5 05 f9 20 a1 63 d7 over the first 8 bytes of the journal, then open the copy with SQLite, which rolls back, and check it",
        evidence: "fileformat2 3",
    }
    SCHEMA {
        id: "sqlite-schema",
        level: Structure,
        role: (Database, Database, Other),
        invariant: "each row of sqlite_schema has the type, name and table of its definition, and its own root page if the object has a b-tree",
        meaning: "SQLite refuses the whole database: \"malformed database schema\". One changed byte in a row is enough.",
        next_step: RESTORE,
        evidence: "fileformat2 2.6",
    }
    PAGE_KIND {
        id: "sqlite-page-kind",
        level: Structure,
        role: (Page, Object, Other),
        invariant: "a page that a b-tree refers to is a b-tree page of the right kind and depth",
        meaning: "The page was zeroed, overwritten, swapped with another or never written: all its rows or entries are lost.",
        next_step: RESTORE,
        evidence: "fileformat2 1.6",
    }
    PAGE_LAYOUT {
        id: "sqlite-page-layout",
        level: Structure,
        role: (Page, Object, Other),
        invariant: "cells and freeblocks are inside the page, in order, and all bytes are accounted for",
        meaning: "A byte of the page header or the cell pointer array changed, or the page is torn.",
        next_step: RESTORE,
        evidence: "fileformat2 1.6",
    }
    CELL_OVERLAP {
        id: "sqlite-cell-overlap",
        level: Structure,
        role: (Record, Object, Other),
        invariant: "each byte of a page belongs to at most one cell or freeblock",
        meaning: "Two rows or entries share bytes: at least one of them is wrong, and the next change to either damages the other.",
        next_step: RESTORE,
        evidence: "fileformat2 1.6",
    }
    CHILD_POINTER {
        id: "sqlite-child-pointer",
        level: Structure,
        role: (Record, Object, Other),
        invariant: "child pointers of an interior page are inside the file, and not page 1, the lock-byte page or a pointer map page",
        meaning: "A subtree is lost.",
        next_step: RESTORE,
        evidence: "fileformat2 1.6",
    }
    PAGE_USED_TWICE {
        id: "sqlite-page-used-twice",
        level: Structure,
        role: (Link, Object, Other),
        invariant: "each page has exactly one use: in a b-tree, in an overflow chain, on the freelist, or as a pointer map",
        meaning: "Two owners overwrite each other. Typical cause: a lost write of one page of a transaction, or two writers without locks.",
        next_step: RESTORE,
        evidence: "fileformat2 1.2",
    }
    PAGE_UNUSED {
        id: "sqlite-page-unused",
        level: Structure,
        role: (Comparison, Nothing, Other),
        invariant: "each page without other use is on the freelist",
        meaning: "Space is leaked, and often rows are lost: the page that referred to this one was damaged or is an old version.",
        next_step: "look for damaged interior pages first; once the rest checks clean, VACUUM INTO a new file",
        evidence: "fileformat2 1.5",
    }
    FREE_LIST {
        id: "sqlite-free-list",
        level: Structure,
        role: (Link, Nothing, Other),
        invariant: "the freelist is a chain of trunk pages with as many free pages as the header states",
        meaning: "New rows may overwrite pages in use.",
        next_step: "keep a copy; VACUUM INTO a new file when all else checks clean, else restore",
        evidence: "fileformat2 1.5",
    }
    POINTER_MAP {
        id: "sqlite-pointer-map",
        level: Structure,
        role: (Link, Nothing, Other),
        invariant: "the pointer map of an auto-vacuum file has the type and the parent of each page",
        meaning: "The next auto-vacuum or incremental vacuum moves pages wrongly and damages b-trees.",
        next_step: "keep a copy; when all else checks clean, VACUUM INTO a new file rebuilds the map",
        evidence: "fileformat2 1.8",
    }
    OVERFLOW {
        id: "sqlite-overflow-chain",
        level: Structure,
        role: (Link, Object, Row),
        invariant: "the overflow pages of a payload form one chain of exactly the needed length",
        meaning: "The end of a long value is lost or belongs to another row.",
        next_step: RESTORE,
        evidence: "fileformat2 1.7",
    }
    ROWID_ORDER {
        id: "sqlite-rowid-order",
        level: Structure,
        role: (Record, Object, Other),
        invariant: "the rowids of a table page are in ascending order",
        meaning: "Lookups by rowid miss rows. A byte changed, or a page was written to a wrong place.",
        next_step: RESTORE,
        evidence: "fileformat2 1.6",
    }
    PARENT_BOUNDS {
        id: "sqlite-parent-bounds",
        level: Structure,
        role: (Link, Object, Other),
        invariant: "all keys of a page are between the two keys that enclose it in the parent pages",
        meaning: "Searches miss rows or entries. A page was written to a wrong place or is an old version, or a key changed.",
        next_step: RESTORE,
        evidence: "fileformat2 1.6",
    }
    RECORD {
        id: "sqlite-record",
        level: Structure,
        role: (Record, Object, Row),
        invariant: "a record has a valid header, valid serial types, and fields that fill it exactly",
        meaning: "The row or entry cannot be read, or has wrong values.",
        next_step: RESTORE,
        evidence: "fileformat2 2.1",
    }
    COLUMN_COUNT {
        id: "sqlite-column-count",
        level: Full,
        role: (Record, Object, Row),
        invariant: "a row has no more columns than its table, an index entry exactly as many as its index",
        meaning: "The record belongs to another object, or the schema was changed outside SQLite (writable_schema).",
        next_step: RESTORE,
        evidence: "fileformat2 2.3 and 2.4",
    }
    KEY_ORDER {
        id: "sqlite-key-order",
        level: Full,
        role: (Record, Object, Entry),
        invariant: "the entries of an index are in the order of its columns and collations",
        meaning: "Index searches miss rows. A byte changed, a page is in a wrong place, or a collation changed.",
        next_step: REINDEX,
        evidence: "fileformat2 1.6, datatype3 4",
    }
    UNIQUE {
        id: "sqlite-unique",
        level: Full,
        role: (Comparison, Object, Entry),
        invariant: "no two entries of a unique index or primary key are equal, except NULL",
        meaning: "Two rows have the same key: a page is an old version with a deleted row, or the constraint was bypassed.",
        next_step: "find the rows with the key, decide which is right, delete the other, run REINDEX",
        evidence: "lang_createtable, UNIQUE constraints",
    }
    ROW_WITHOUT_ENTRY {
        id: "sqlite-row-without-entry",
        level: Full,
        role: (Comparison, Nothing, Row),
        invariant: "each row has an entry in each index of its table",
        meaning: "Index scans miss this row, table scans return it. Typical cause: a lost write to an index page.",
        next_step: REINDEX,
        evidence: "fileformat2 2.4",
    }
    ENTRY_WITHOUT_ROW {
        id: "sqlite-entry-without-row",
        level: Full,
        role: (Comparison, Source, Entry),
        invariant: "each index entry points to a row of its table",
        meaning: "The row is lost, or a deleted entry came back. Typical cause: a lost write to a table page.",
        next_step: "the entries have the keys of the lost rows: save them before any REINDEX, then restore the rows from a backup",
        evidence: "fileformat2 2.4",
    }
    ENTRY_DIFFERS {
        id: "sqlite-entry-differs",
        level: Full,
        role: (Comparison, Nothing, Entry),
        invariant: "an index entry holds the same values as its row",
        meaning: "One of the two has a changed byte or is an old version. Without page checksums either may be wrong.",
        next_step: "compare both values with a backup; when the row is right, run REINDEX",
        evidence: "fileformat2 2.4",
    }
    NOT_NULL {
        id: "sqlite-not-null",
        level: Full,
        role: (Record, Nothing, Row),
        invariant: "a column declared NOT NULL has no NULL",
        meaning: "A constraint was bypassed, or the serial type of a field changed.",
        next_step: "inspect the row and set the value, or restore it",
        evidence: "lang_createtable, NOT NULL constraints",
    }
    CHECK {
        id: "sqlite-check",
        level: Full,
        role: (Record, Nothing, Row),
        invariant: "each row satisfies the CHECK constraints of its table",
        meaning: "A constraint was bypassed or added after the rows, or a byte of a value changed.",
        next_step: "inspect the row and set the value, or restore it",
        evidence: "lang_createtable, CHECK constraints",
    }
    GENERATED {
        id: "sqlite-generated-column",
        level: Full,
        role: (Record, Nothing, Row),
        invariant: "a STORED generated column has the value of its expression",
        meaning: "Queries return a value that does not follow from the other columns. A byte of the row or the definition changed.",
        next_step: "compare the row with a backup; when the other columns are right, UPDATE the row to compute the value again",
        evidence: "gencol 2.3",
    }
    FULL_TEXT_ROW {
        id: "sqlite-full-text-row",
        level: Full,
        role: (Comparison, Nothing, Row),
        invariant: "each row of a full-text table has a row with its key in both shadow tables, %_content and %_docsize",
        meaning: "A row is lost, or a deleted row came back. Typical cause: a lost write to a page of one shadow table.",
        next_step: "restore the row from a backup first: INSERT INTO table(table) VALUES('rebuild') removes its remaining index entries",
        evidence: "fts5 appendix, fts3 9",
    }
    FULL_TEXT {
        id: "sqlite-full-text",
        level: Full,
        role: (Comparison, Nothing, Other),
        invariant: "the shadow tables of an FTS3, FTS4 or FTS5 table agree: the index has the words of each row, and no others",
        meaning: "Full-text queries miss rows or return wrong ones. Typical cause: a lost write to a page of a shadow table, or a manually changed shadow table.",
        next_step: "keep a copy; when the rows themselves are valid, INSERT INTO table(table) VALUES('rebuild') rebuilds the index",
        evidence: "fts5 appendix, fts3 9",
    }
    RTREE {
        id: "sqlite-rtree",
        level: Full,
        role: (Comparison, Nothing, Other),
        invariant: "the shadow tables of an R-tree agree: each row and each node is in the node that %_rowid and %_parent state, inside its parent box",
        meaning: "Queries through the R-tree miss rows or return wrong ones. Typical cause: a lost write to a page of a shadow table, or a manually changed shadow table.",
        next_step: "keep a copy; read the rows that can be read, and insert them into a new R-tree",
        evidence: "rtree 6",
    }
    VALUE_TYPE {
        id: "sqlite-value-type",
        level: Full,
        role: (Record, Nothing, Row),
        invariant: "a value has a storage class that its column allows: STRICT types, no number in a TEXT column, no numeric text in a numeric column",
        meaning: "Comparisons and indexes treat the value differently than expected. A serial type or the definition changed.",
        next_step: "UPDATE the column to itself for this row, after comparing it with a backup",
        evidence: "datatype3 3, stricttables 2",
    }
}
