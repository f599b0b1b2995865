//! The rules about SQLite files: the source of `explain` and of the documentation.

use results::engine::EngineId;

use crate::rule::RuleSet;

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

const RESTORE: &str = "keep a copy of the file as it is, look at the device's log, restore the newest backup that checks clean, or save what is left with the shell's .recover";
const REINDEX: &str = "keep a copy; when the table itself checks clean, REINDEX rebuilds the index from it";

crate::rules! {
    HEADER {
        id: "sqlite-header",
        level: Page,
        role: (Database, Database, Other),
        promise: "the first 100 bytes of the file hold a header with allowed values",
        meaning: "SQLite refuses the file or reads it wrongly. An overwritten start of the file, or not a database at all.",
        next_step: RESTORE,
        evidence: "fileformat2 1.3",
    }
    FILE_SIZE {
        id: "sqlite-file-size",
        level: Page,
        role: (File, Database, Other),
        promise: "the file has as many whole pages as its header says",
        meaning: "The file was cut or copied while it grew; SQLite refuses it, and what lay behind the end is lost.",
        next_step: RESTORE,
        evidence: "fileformat2 1.3.7",
    }
    READ_ERROR {
        id: "sqlite-read-error",
        level: Page,
        role: (Page, Object, Other),
        promise: "every page can be read from the device",
        meaning: "The device or file system gave an error twice for the same page.",
        next_step: "look at the kernel's log and the device's health, copy what can be read, restore the rest",
        evidence: "read(2)",
    }
    READINGS_DIFFER {
        id: "sqlite-readings-differ",
        level: Page,
        role: (Database, Database, Other),
        promise: "each page reads with the same bytes every time, as long as no process writes its file",
        meaning: "The device, its cable or controller, or the memory of this machine changes bytes. What this machine reads is not certain; the file itself may be intact.",
        next_step: "do not write to the database from this machine; copy the files and check the copy on another machine; then test the memory (memtest86+), the cables and the device (smartctl -a, dmesg) of this one",
        evidence: "read(2)",
    }
    CHECKSUM {
        id: "sqlite-checksum",
        level: Page,
        role: (Page, Object, Other),
        promise: "in a file kept by the extension cksumvfs, the last 8 bytes of each page are the checksum of the others",
        meaning: "A changed byte anywhere in the page, also in long values that no other rule covers; or the page was written without the extension.",
        next_step: RESTORE,
        evidence: "cksumvfs 4",
    }
    WAL {
        id: "sqlite-wal",
        level: Page,
        role: (Database, Database, Other),
        promise: "the frames of the write-ahead log follow each other with matching checksums up to the last commit",
        meaning: "Frames behind a damaged one are ignored by SQLite without a word: transactions that were committed are lost. A power cut with synchronous=NORMAL looks the same.",
        next_step: "keep a copy of database and log together before anything opens them; the frames behind the break may still be read by hand",
        evidence: "fileformat2 4.1 to 4.3",
    }
    WAL_HEADER {
        id: "sqlite-wal-header",
        level: Page,
        role: (Database, Database, Other),
        promise: "the WAL begins with a header whose magic number, version, page size, salts and checksum fit its frames",
        meaning: "SQLite ignores the whole WAL without a word: all transactions in it are lost, and the next writer overwrites them. A valid WAL with pages of another size is read all the same, and its frames replace pages that they do not belong to.",
        next_step: "copy the database and its -wal together before any program opens them; in the copy of the WAL, write the expected values into its first 32 bytes, then open the copy with SQLite and check it",
        evidence: "fileformat2 4.1",
    }
    JOURNAL {
        id: "sqlite-journal",
        level: Page,
        role: (Database, Database, Other),
        promise: "a rollback journal that was not ended begins with the eight bytes of its kind",
        meaning: "SQLite deletes the journal and rolls nothing back: a transaction that was interrupted stays half written in the database.",
        next_step: "copy the database and its -journal together before any program opens them; in the copy, write d9 d5 05 f9 20 a1 63 d7 over the first 8 bytes of the journal, then open the copy with SQLite, which rolls back, and check it",
        evidence: "fileformat2 3",
    }
    SCHEMA {
        id: "sqlite-schema",
        level: Structure,
        role: (Database, Database, Other),
        promise: "each row of sqlite_schema has the type, name and table that its definition says, and a root page of its own if the object has a b-tree",
        meaning: "SQLite refuses the whole database: \"malformed database schema\". One changed byte in a row is enough.",
        next_step: RESTORE,
        evidence: "fileformat2 2.6",
    }
    PAGE_KIND {
        id: "sqlite-page-kind",
        level: Structure,
        role: (Page, Object, Other),
        promise: "a page that a tree refers to is a tree page of the kind and at the depth that the tree needs",
        meaning: "The page was zeroed, overwritten, swapped with another or never written: all rows or entries on it are lost.",
        next_step: RESTORE,
        evidence: "fileformat2 1.6",
    }
    PAGE_LAYOUT {
        id: "sqlite-page-layout",
        level: Structure,
        role: (Page, Object, Other),
        promise: "cells and free blocks lie inside the page, in order, and all bytes are accounted for",
        meaning: "A changed byte in the page header or the pointer array, or a page put together from two versions (torn write).",
        next_step: RESTORE,
        evidence: "fileformat2 1.6",
    }
    CELL_OVERLAP {
        id: "sqlite-cell-overlap",
        level: Structure,
        role: (Record, Object, Other),
        promise: "each byte of a page belongs to at most one cell or free block",
        meaning: "Two rows or entries share bytes: at least one of them is wrong, and the next change to either damages the other.",
        next_step: RESTORE,
        evidence: "fileformat2 1.6",
    }
    CHILD_POINTER {
        id: "sqlite-child-pointer",
        level: Structure,
        role: (Record, Object, Other),
        promise: "an inner page refers to child pages inside the file that are neither page 1, the lock page nor a pointer map",
        meaning: "A branch of the tree is lost.",
        next_step: RESTORE,
        evidence: "fileformat2 1.6",
    }
    PAGE_USED_TWICE {
        id: "sqlite-page-used-twice",
        level: Structure,
        role: (Link, Object, Other),
        promise: "each page has exactly one use: a place in a tree, in an overflow chain, on the free list, or as a map",
        meaning: "Two owners write over each other. Comes from a lost write of one page of a transaction, or from two writers without locks.",
        next_step: RESTORE,
        evidence: "fileformat2 1.2",
    }
    PAGE_UNUSED {
        id: "sqlite-page-unused",
        level: Structure,
        role: (Comparison, Nothing, Other),
        promise: "no page is without a use: what nothing refers to is on the free list",
        meaning: "Space is lost, and often rows as well: the page that referred to this one was damaged or is an old version.",
        next_step: "VACUUM INTO a new file gets the space back once the rest checks clean; look for damaged inner pages first",
        evidence: "fileformat2 1.5",
    }
    FREE_LIST {
        id: "sqlite-free-list",
        level: Structure,
        role: (Link, Nothing, Other),
        promise: "the free list is a chain of trunk pages that lists as many free pages as the header says",
        meaning: "New rows may be written over pages in use.",
        next_step: "keep a copy; VACUUM INTO a new file when all else checks clean, else restore",
        evidence: "fileformat2 1.5",
    }
    POINTER_MAP {
        id: "sqlite-pointer-map",
        level: Structure,
        role: (Link, Nothing, Other),
        promise: "the pointer map of an auto-vacuum file says for each page what it is used for and which page refers to it",
        meaning: "The next vacuum moves pages wrongly and damages trees.",
        next_step: "keep a copy; VACUUM INTO a new file rebuilds the map when all else checks clean",
        evidence: "fileformat2 1.8",
    }
    OVERFLOW {
        id: "sqlite-overflow-chain",
        level: Structure,
        role: (Link, Object, Row),
        promise: "the overflow pages of a payload form one chain, exactly as long as the payload needs",
        meaning: "The end of a long value is lost or belongs to another row.",
        next_step: RESTORE,
        evidence: "fileformat2 1.7",
    }
    ROWID_ORDER {
        id: "sqlite-rowid-order",
        level: Structure,
        role: (Record, Object, Other),
        promise: "the rowids of a table page rise from cell to cell",
        meaning: "Rows cannot be found by their rowid. A changed byte, or a page written to the wrong place.",
        next_step: RESTORE,
        evidence: "fileformat2 1.6",
    }
    PARENT_BOUNDS {
        id: "sqlite-parent-bounds",
        level: Structure,
        role: (Link, Object, Other),
        promise: "all keys of a page lie between the two keys that enclose it in the pages above",
        meaning: "Rows or entries are not found by searching. A page written to the wrong place, an old version, or a changed key.",
        next_step: RESTORE,
        evidence: "fileformat2 1.6",
    }
    RECORD {
        id: "sqlite-record",
        level: Structure,
        role: (Record, Object, Row),
        promise: "a record has a header inside it, allowed types, and fields that fill it exactly",
        meaning: "The row or entry cannot be read, or reads wrongly.",
        next_step: RESTORE,
        evidence: "fileformat2 2.1",
    }
    COLUMN_COUNT {
        id: "sqlite-column-count",
        level: Full,
        role: (Record, Object, Row),
        promise: "a row has no more columns than its table, an index entry exactly as many as its index",
        meaning: "The record belongs to another object, or the definition was changed behind SQLite's back.",
        next_step: RESTORE,
        evidence: "fileformat2 2.3 and 2.4",
    }
    KEY_ORDER {
        id: "sqlite-key-order",
        level: Full,
        role: (Record, Object, Entry),
        promise: "the entries of an index rise in the order of its columns and collations",
        meaning: "Searches and ranges miss rows. A changed byte, a page in the wrong place, or a collation that changed.",
        next_step: REINDEX,
        evidence: "fileformat2 1.6, datatype3 4",
    }
    UNIQUE {
        id: "sqlite-unique",
        level: Full,
        role: (Comparison, Object, Entry),
        promise: "no two entries of a unique index or primary key are equal, NULL aside",
        meaning: "Two rows have one key: a row came back from an old version of a page, or the constraint was bypassed.",
        next_step: "find the rows with the key, decide which is right, delete the other, REINDEX",
        evidence: "lang_createtable, UNIQUE constraints",
    }
    ROW_WITHOUT_ENTRY {
        id: "sqlite-row-without-entry",
        level: Full,
        role: (Comparison, Nothing, Row),
        promise: "each row has its entry in each index of its table",
        meaning: "Queries through the index miss the row. An index page lost or older than its table.",
        next_step: REINDEX,
        evidence: "fileformat2 2.4",
    }
    ENTRY_WITHOUT_ROW {
        id: "sqlite-entry-without-row",
        level: Full,
        role: (Comparison, Source, Entry),
        promise: "each index entry belongs to a row of its table",
        meaning: "The row is lost, or came back deleted: a table page was lost or is older than its index.",
        next_step: "the entries tell the lost rows' keys: note them before any REINDEX, then restore the rows from a backup",
        evidence: "fileformat2 2.4",
    }
    ENTRY_DIFFERS {
        id: "sqlite-entry-differs",
        level: Full,
        role: (Comparison, Nothing, Entry),
        promise: "an index entry holds the same values as its row",
        meaning: "One of the two has a changed byte or is an old version. The format has no checksum, so that either may be wrong.",
        next_step: "compare both values with a backup; when the row is right, REINDEX",
        evidence: "fileformat2 2.4",
    }
    NOT_NULL {
        id: "sqlite-not-null",
        level: Full,
        role: (Record, Nothing, Row),
        promise: "a column declared NOT NULL holds no NULL",
        meaning: "A constraint was bypassed, or the type byte of a field changed.",
        next_step: "look at the row and set the value, or restore it",
        evidence: "lang_createtable, NOT NULL constraints",
    }
    CHECK {
        id: "sqlite-check",
        level: Full,
        role: (Record, Nothing, Row),
        promise: "each row satisfies the CHECK constraints of its table",
        meaning: "A constraint was bypassed, added behind the rows, or a value has a changed byte.",
        next_step: "look at the row and set the value, or restore it",
        evidence: "lang_createtable, CHECK constraints",
    }
    GENERATED {
        id: "sqlite-generated-column",
        level: Full,
        role: (Record, Nothing, Row),
        promise: "a STORED generated column holds the value of its expression",
        meaning: "Queries return a value that does not follow from the other columns. A changed byte in the row, or a changed definition.",
        next_step: "compare the row with a backup; when the other columns are right, UPDATE the row to compute the value again",
        evidence: "gencol 2.3",
    }
    FULL_TEXT_ROW {
        id: "sqlite-full-text-row",
        level: Full,
        role: (Comparison, Nothing, Row),
        promise: "each row of a full-text table has a row with its key in both shadow tables, %_content and %_docsize",
        meaning: "A row is lost, or came back deleted: a page of one shadow table was lost or is older than the other.",
        next_step: "restore the row from a backup first: INSERT INTO table(table) VALUES('rebuild') would remove what the index still has of it",
        evidence: "fts5 appendix, fts3 9",
    }
    FULL_TEXT {
        id: "sqlite-full-text",
        level: Full,
        role: (Comparison, Nothing, Other),
        promise: "the shadow tables of an FTS3, FTS4 or FTS5 table agree: each row is indexed by its words, and nothing else is",
        meaning: "Full-text queries miss rows or return wrong ones. Typical cause: a lost write to a page of a shadow table, or a shadow table that was changed by hand.",
        next_step: "keep a copy; when the rows themselves are intact, INSERT INTO table(table) VALUES('rebuild') makes the index anew",
        evidence: "fts5 appendix, fts3 9",
    }
    RTREE {
        id: "sqlite-rtree",
        level: Full,
        role: (Comparison, Nothing, Other),
        promise: "the shadow tables of an R-tree agree: each row and each node is in the node that its table names, inside the box above it",
        meaning: "Queries through the R-tree miss rows or return wrong ones. Typical cause: a lost write to a page of a shadow table, or a shadow table that was changed by hand.",
        next_step: "keep a copy; read the rows that can be read, and insert them into a new R-tree",
        evidence: "rtree 6",
    }
    VALUE_TYPE {
        id: "sqlite-value-type",
        level: Full,
        role: (Record, Nothing, Row),
        promise: "a value has a type that its column can hold: STRICT types, no number in a TEXT column, no numeric text in a numeric column",
        meaning: "Comparisons and indexes treat the value otherwise than expected. A changed type byte, or a changed definition.",
        next_step: "UPDATE the column to itself for this row, after comparing it with a backup",
        evidence: "datatype3 3, stricttables 2",
    }
}
