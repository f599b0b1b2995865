//! The promises of the SQLite file format that are tested.

use results::check::CheckLevel::{Full, Page, Structure};

use crate::rule::Rule;

const RESTORE: &str = "keep a copy of the file as it is, look at the device's log, restore the newest backup that checks clean, or save what is left with the shell's .recover";
const REINDEX: &str = "keep a copy; when the table itself checks clean, REINDEX rebuilds the index from it";

macro_rules! rules {
    ($($name:ident: $id:literal, $level:expr, $promise:literal, $meaning:literal, $next:expr, $evidence:literal;)*) => {
        $(pub(super) static $name: Rule = Rule {
            id: $id, level: $level, promise: $promise, meaning: $meaning, next_step: $next, evidence: $evidence,
        };)*
        /// All rules about SQLite files, in the order in which they are documented.
        pub static RULES: &[Rule] = &[$($name),*];
    };
}

rules! {
    HEADER: "sqlite-header", Page,
        "the first 100 bytes of the file hold a header with allowed values",
        "SQLite refuses the file or reads it wrongly. An overwritten start of the file, or not a database at all.",
        RESTORE, "fileformat2 1.3";
    FILE_SIZE: "sqlite-file-size", Page,
        "the file has as many whole pages as its header says",
        "The file was cut or copied while it grew; SQLite refuses it, and what lay behind the end is lost.",
        RESTORE, "fileformat2 1.3.7";
    READ_ERROR: "sqlite-read-error", Page,
        "every page can be read from the device",
        "The device or file system gave an error twice for the same page.",
        "look at the kernel's log and the device's health, copy what can be read, restore the rest", "read(2)";
    READINGS_DIFFER: "sqlite-readings-differ", Page,
        "each page reads with the same bytes every time, as long as no process writes its file",
        "The device, its cable or controller, or the memory of this machine changes bytes. What this machine reads is not certain; the file itself may be intact.",
        "do not write to the database from this machine; copy the files and check the copy on another machine; then test the memory (memtest86+), the cables and the device (smartctl -a, dmesg) of this one",
        "read(2)";
    CHECKSUM: "sqlite-checksum", Page,
        "in a file kept by the extension cksumvfs, the last 8 bytes of each page are the checksum of the others",
        "A changed byte anywhere in the page, also in long values that no other rule covers; or the page was written without the extension.",
        RESTORE, "cksumvfs 4";
    WAL: "sqlite-wal", Page,
        "the frames of the write-ahead log follow each other with matching checksums up to the last commit",
        "Frames behind a damaged one are ignored by SQLite without a word: transactions that were committed are lost. A power cut with synchronous=NORMAL looks the same.",
        "keep a copy of database and log together before anything opens them; the frames behind the break may still be read by hand",
        "fileformat2 4.1 to 4.3";
    WAL_HEADER: "sqlite-wal-header", Page,
        "the WAL begins with a header whose magic number, version, page size, salts and checksum fit its frames",
        "SQLite ignores the whole WAL without a word: all transactions in it are lost, and the next writer overwrites them. A valid WAL with pages of another size is read all the same, and its frames replace pages that they do not belong to.",
        "copy the database and its -wal together before any program opens them; in the copy of the WAL, write the expected values into its first 32 bytes, then open the copy with SQLite and check it",
        "fileformat2 4.1";
    JOURNAL: "sqlite-journal", Page,
        "a rollback journal that was not ended begins with the eight bytes of its kind",
        "SQLite deletes the journal and rolls nothing back: a transaction that was interrupted stays half written in the database.",
        "copy the database and its -journal together before any program opens them; in the copy, write d9 d5 05 f9 20 a1 63 d7 over the first 8 bytes of the journal, then open the copy with SQLite, which rolls back, and check it",
        "fileformat2 3";
    SCHEMA: "sqlite-schema", Structure,
        "each row of sqlite_schema has the type, name and table that its definition says, and a root page of its own if the object has a b-tree",
        "SQLite refuses the whole database: \"malformed database schema\". One changed byte in a row is enough.",
        RESTORE, "fileformat2 2.6";
    PAGE_KIND: "sqlite-page-kind", Structure,
        "a page that a tree refers to is a tree page of the kind and at the depth that the tree needs",
        "The page was zeroed, overwritten, swapped with another or never written: all rows or entries on it are lost.",
        RESTORE, "fileformat2 1.6";
    PAGE_LAYOUT: "sqlite-page-layout", Structure,
        "cells and free blocks lie inside the page, in order, and all bytes are accounted for",
        "A changed byte in the page header or the pointer array, or a page put together from two versions (torn write).",
        RESTORE, "fileformat2 1.6";
    CELL_OVERLAP: "sqlite-cell-overlap", Structure,
        "each byte of a page belongs to at most one cell or free block",
        "Two rows or entries share bytes: at least one of them is wrong, and the next change to either damages the other.",
        RESTORE, "fileformat2 1.6";
    CHILD_POINTER: "sqlite-child-pointer", Structure,
        "an inner page refers to child pages inside the file that are neither page 1, the lock page nor a pointer map",
        "A branch of the tree is lost.",
        RESTORE, "fileformat2 1.6";
    PAGE_USED_TWICE: "sqlite-page-used-twice", Structure,
        "each page has exactly one use: a place in a tree, in an overflow chain, on the free list, or as a map",
        "Two owners write over each other. Comes from a lost write of one page of a transaction, or from two writers without locks.",
        RESTORE, "fileformat2 1.2";
    PAGE_UNUSED: "sqlite-page-unused", Structure,
        "no page is without a use: what nothing refers to is on the free list",
        "Space is lost, and often rows as well: the page that referred to this one was damaged or is an old version.",
        "VACUUM INTO a new file gets the space back once the rest checks clean; look for damaged inner pages first", "fileformat2 1.5";
    FREE_LIST: "sqlite-free-list", Structure,
        "the free list is a chain of trunk pages that lists as many free pages as the header says",
        "New rows may be written over pages in use.",
        "keep a copy; VACUUM INTO a new file when all else checks clean, else restore", "fileformat2 1.5";
    POINTER_MAP: "sqlite-pointer-map", Structure,
        "the pointer map of an auto-vacuum file says for each page what it is used for and which page refers to it",
        "The next vacuum moves pages wrongly and damages trees.",
        "keep a copy; VACUUM INTO a new file rebuilds the map when all else checks clean", "fileformat2 1.8";
    OVERFLOW: "sqlite-overflow-chain", Structure,
        "the overflow pages of a payload form one chain, exactly as long as the payload needs",
        "The end of a long value is lost or belongs to another row.",
        RESTORE, "fileformat2 1.7";
    ROWID_ORDER: "sqlite-rowid-order", Structure,
        "the rowids of a table page rise from cell to cell",
        "Rows cannot be found by their rowid. A changed byte, or a page written to the wrong place.",
        RESTORE, "fileformat2 1.6";
    PARENT_BOUNDS: "sqlite-parent-bounds", Structure,
        "all keys of a page lie between the two keys that enclose it in the pages above",
        "Rows or entries are not found by searching. A page written to the wrong place, an old version, or a changed key.",
        RESTORE, "fileformat2 1.6";
    RECORD: "sqlite-record", Structure,
        "a record has a header inside it, allowed types, and fields that fill it exactly",
        "The row or entry cannot be read, or reads wrongly.",
        RESTORE, "fileformat2 2.1";
    COLUMN_COUNT: "sqlite-column-count", Full,
        "a row has no more columns than its table, an index entry exactly as many as its index",
        "The record belongs to another object, or the definition was changed behind SQLite's back.",
        RESTORE, "fileformat2 2.3 and 2.4";
    KEY_ORDER: "sqlite-key-order", Full,
        "the entries of an index rise in the order of its columns and collations",
        "Searches and ranges miss rows. A changed byte, a page in the wrong place, or a collation that changed.",
        REINDEX, "fileformat2 1.6, datatype3 4";
    UNIQUE: "sqlite-unique", Full,
        "no two entries of a unique index or primary key are equal, NULL aside",
        "Two rows have one key: a row came back from an old version of a page, or the constraint was bypassed.",
        "find the rows with the key, decide which is right, delete the other, REINDEX", "lang_createtable, UNIQUE constraints";
    ROW_WITHOUT_ENTRY: "sqlite-row-without-entry", Full,
        "each row has its entry in each index of its table",
        "Queries through the index miss the row. An index page lost or older than its table.",
        REINDEX, "fileformat2 2.4";
    ENTRY_WITHOUT_ROW: "sqlite-entry-without-row", Full,
        "each index entry belongs to a row of its table",
        "The row is lost, or came back deleted: a table page was lost or is older than its index.",
        "the entries tell the lost rows' keys: note them before any REINDEX, then restore the rows from a backup", "fileformat2 2.4";
    ENTRY_DIFFERS: "sqlite-entry-differs", Full,
        "an index entry holds the same values as its row",
        "One of the two has a changed byte or is an old version. The format has no checksum, so that either may be wrong.",
        "compare both values with a backup; when the row is right, REINDEX", "fileformat2 2.4";
    NOT_NULL: "sqlite-not-null", Full,
        "a column declared NOT NULL holds no NULL",
        "A constraint was bypassed, or the type byte of a field changed.",
        "look at the row and set the value, or restore it", "lang_createtable, NOT NULL constraints";
    CHECK: "sqlite-check", Full,
        "each row satisfies the CHECK constraints of its table",
        "A constraint was bypassed, added behind the rows, or a value has a changed byte.",
        "look at the row and set the value, or restore it", "lang_createtable, CHECK constraints";
    GENERATED: "sqlite-generated-column", Full,
        "a STORED generated column holds the value of its expression",
        "Queries return a value that does not follow from the other columns. A changed byte in the row, or a changed definition.",
        "compare the row with a backup; when the other columns are right, UPDATE the row to compute the value again", "gencol 2.3";
    FULL_TEXT_ROW: "sqlite-full-text-row", Full,
        "each row of a full-text table has a row with its key in both shadow tables, %_content and %_docsize",
        "A row is lost, or came back deleted: a page of one shadow table was lost or is older than the other.",
        "restore the row from a backup first: INSERT INTO table(table) VALUES('rebuild') would remove what the index still has of it", "fts5 appendix, fts3 9";
    FULL_TEXT: "sqlite-full-text", Full,
        "the shadow tables of an FTS3, FTS4 or FTS5 table agree: each row is indexed by its words, and nothing else is",
        "Full-text queries miss rows or return wrong ones. Typical cause: a lost write to a page of a shadow table, or a shadow table that was changed by hand.",
        "keep a copy; when the rows themselves are intact, INSERT INTO table(table) VALUES('rebuild') makes the index anew", "fts5 appendix, fts3 9";
    RTREE: "sqlite-rtree", Full,
        "the shadow tables of an R-tree agree: each row and each node is in the node that its table names, inside the box above it",
        "Queries through the R-tree miss rows or return wrong ones. Typical cause: a lost write to a page of a shadow table, or a shadow table that was changed by hand.",
        "keep a copy; read the rows that can be read, and insert them into a new R-tree", "rtree 6";
    VALUE_TYPE: "sqlite-value-type", Full,
        "a value has a type that its column can hold: STRICT types, no number in a TEXT column, no numeric text in a numeric column",
        "Comparisons and indexes treat the value otherwise than expected. A changed type byte, or a changed definition.",
        "UPDATE the column to itself for this row, after comparing it with a backup", "datatype3 3, stricttables 2";
}
