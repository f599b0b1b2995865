//! Rules about catalogs, and about the files that they name.

check::rules! {
    CATALOG {
        id: "pg-catalog",
        level: Page,
        role: (Database, Database, Other),
        invariant: "each database has rows in pg_class, pg_attribute and pg_index",
        meaning: "Connections to the database fail: its catalogs were lost or overwritten. Without them the owner of a file is unknown.",
        next_step: "restore the database from a backup; its blocks were verified one by one, without comparing tables and indexes",
        evidence: "PostgreSQL docs 52",
    }
    CATALOG_AGREEMENT {
        id: "pg-catalog-agreement",
        level: Structure,
        role: (Database, Object, Other),
        invariant: "rows of pg_attribute, pg_type, pg_index, pg_sequence and pg_class refer to existing rows of pg_class, each relation has all its columns, and each column is stored as its type in pg_type requires",
        meaning: "The relation cannot be opened (could not open relation with OID, pg_attribute catalog is missing attributes), although its files exist, or its columns are read at wrong offsets: rows of a catalog were lost or overwritten.",
        next_step: "keep a copy of the files; restore the block of the catalog from a backup; the files of the relation still have its rows, so do not drop objects that refer to it",
        evidence: "PostgreSQL docs 52; src/backend/utils/cache/relcache.c",
    }
    LARGE_OBJECT {
        id: "pg-large-object",
        level: Full,
        role: (Comparison, Object, Other),
        invariant: "each large object with data has a row in pg_largeobject_metadata",
        meaning: "Programs cannot open the large object (large object does not exist), and pg_dump omits it, although its data exist.",
        next_step: "keep a copy of the files; restore the block of pg_largeobject_metadata from a backup before running vacuumlo",
        evidence: "PostgreSQL docs 52.31",
    }
    FILE_MISSING {
        id: "pg-file-missing",
        level: Page,
        role: (File, Object, Other),
        invariant: "each relation in pg_class has its file",
        meaning: "The relation is lost. Typical causes: a file system repair, a deleted file, an incomplete copy.",
        next_step: "keep a copy of the directory; restore the file from a backup of the same cluster and replay its WAL",
        evidence: "PostgreSQL docs 73.1",
    }
    INIT_FORK {
        id: "pg-init-fork",
        level: Page,
        role: (File, Nothing, Other),
        invariant: "each unlogged table, index and sequence has an init fork of an empty relation; permanent relations have none",
        meaning: "Crash recovery resets the relation from its init fork. Without a valid one the server fails to open the relation, or returns deleted rows; a permanent relation with one is emptied.",
        next_step: "copy the rows into a new table while the server runs (CREATE TABLE ... AS), then drop this one; ALTER TABLE ... SET LOGGED also creates new files",
        evidence: "src/backend/storage/file/reinit.c; PostgreSQL docs 73.5",
    }
    SEGMENT_MISSING {
        id: "pg-segment-missing",
        level: Page,
        role: (File, Object, Other),
        invariant: "segments are complete: each but the last is full, none is longer or missing in between",
        meaning: "Rows of a whole segment (1 GB) are lost; the server silently ignores all later segments. A segment that is too long ends each session that asks for its length (\"segment too big\").",
        next_step: "restore the relation from a backup; rows of the missing range are lost",
        evidence: "PostgreSQL docs 73.1",
    }
    PARTIAL_BLOCK {
        id: "pg-partial-block",
        level: Page,
        role: (File, Object, Other),
        invariant: "a file is a whole number of blocks",
        meaning: "The file was truncated inside a block: a full disk, or an interrupted copy. The server ignores the partial block.",
        next_step: "compare the length of the file with a backup, and restore it",
        evidence: "PostgreSQL docs 73.6",
    }
}
