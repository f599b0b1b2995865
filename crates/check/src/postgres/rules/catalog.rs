//! Rules about catalogs, and about the files that they name.

crate::rules! {
    CATALOG {
        id: "pg-catalog",
        level: Page,
        role: (Database, Database, Other),
        promise: "each database has rows in pg_class, pg_attribute and pg_index",
        meaning: "Connections to the database fail: its catalogs were lost or overwritten. Without them it is not known which table or index a file belongs to.",
        next_step: "restore the database from a backup; its blocks were tested one by one, without what tables and indexes say of each other",
        evidence: "PostgreSQL docs 52",
    }
    CATALOG_AGREEMENT {
        id: "pg-catalog-agreement",
        level: Structure,
        role: (Database, Object, Other),
        promise: "rows of pg_attribute, pg_type, pg_index, pg_sequence and pg_class refer to rows of pg_class that are there, each relation has all its columns, and each column is stored as its type in pg_type says",
        meaning: "The relation cannot be opened (could not open relation with OID, pg_attribute catalog is missing attributes), although its files are there, or its rows are read at wrong places: rows of a catalog were lost or overwritten.",
        next_step: "keep a copy of the files; restore the catalog's block from a backup; the files of the relation still have its rows, so do not drop anything that names it",
        evidence: "PostgreSQL docs 52; src/backend/utils/cache/relcache.c",
    }
    LARGE_OBJECT {
        id: "pg-large-object",
        level: Full,
        role: (Comparison, Object, Other),
        promise: "each large object with data has a row in pg_largeobject_metadata",
        meaning: "Programs cannot open the large object (large object does not exist), and pg_dump leaves it out, although its data are there.",
        next_step: "keep a copy of the files; restore the block of pg_largeobject_metadata from a backup; do not run vacuumlo before",
        evidence: "PostgreSQL docs 52.31",
    }
    FILE_MISSING {
        id: "pg-file-missing",
        level: Page,
        role: (File, Object, Other),
        promise: "each relation of the catalog has its file",
        meaning: "The relation is lost, by a file system repair, a wrong rm, or a copy that left it out.",
        next_step: "keep a copy of the directory, and restore the file from a backup of the same cluster whose WAL is replayed",
        evidence: "PostgreSQL docs 73.1",
    }
    INIT_FORK {
        id: "pg-init-fork",
        level: Page,
        role: (File, Nothing, Other),
        promise: "each unlogged table, index and sequence has its init fork, which is that of an empty relation; permanent relations have none",
        meaning: "A start after a crash replaces the relation by its init fork: without a valid one the server fails when it opens the relation, or shows rows that were deleted; a permanent relation with one is emptied.",
        next_step: "copy the rows into a new table while the server runs (CREATE TABLE ... AS), then drop this one; ALTER TABLE ... SET LOGGED makes new files as well",
        evidence: "src/backend/storage/file/reinit.c; PostgreSQL docs 73.5",
    }
    SEGMENT_MISSING {
        id: "pg-segment-missing",
        level: Page,
        role: (File, Object, Other),
        promise: "segments are complete: each but the last is full, none is longer or missing in between",
        meaning: "Rows of a whole gigabyte are gone; the server takes what follows for absent and says nothing. A segment that is too long ends each session that asks for its length (\"segment too big\").",
        next_step: "restore the relation from a backup; rows of the missing range are gone",
        evidence: "PostgreSQL docs 73.1",
    }
    PARTIAL_BLOCK {
        id: "pg-partial-block",
        level: Page,
        role: (File, Object, Other),
        promise: "a file is a whole number of blocks",
        meaning: "The file was cut inside a block: a full disk, or an interrupted copy. The server ignores the rest of the block.",
        next_step: "the file was cut: compare its length with a backup",
        evidence: "PostgreSQL docs 73.6",
    }
}
