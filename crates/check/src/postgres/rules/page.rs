//! Rules about blocks of all kinds, maps and sequences.

crate::rules! {
    UNREADABLE {
        id: "pg-unreadable",
        level: Page,
        role: (Page, Object, Other),
        promise: "each block can be read",
        meaning: "The device or file system gives no bytes; the rows of the block are out of reach.",
        next_step: "look at the kernel log and the device, and copy the file away before more is lost",
        evidence: "pread(2)",
    }
    READINGS_DIFFER {
        id: "pg-readings-differ",
        level: Page,
        role: (Database, Database, Other),
        promise: "each block reads with the same bytes every time, as long as no process writes its file",
        meaning: "The device, its cable or controller, or the memory of this machine changes bytes. What this machine reads is not certain; the file itself may be intact.",
        next_step: "do not write to the database from this machine; copy the files and check the copy on another machine; then test the memory (memtest86+), the cables and the device (smartctl -a, dmesg) of this one",
        evidence: "pread(2)",
    }
    PAGE_CHECKSUM {
        id: "pg-page-checksum",
        level: Page,
        role: (Page, Object, Other),
        promise: "the checksum in the header is that of the block's bytes and number",
        meaning: "Bytes changed after the server wrote the block, or the block was written elsewhere, or only half of it.",
        next_step: "restore the block from a backup; check the device and its cables",
        evidence: "src/include/storage/checksum_impl.h",
    }
    PAGE_BOUNDS {
        id: "pg-page-bounds",
        level: Page,
        role: (Page, Object, Other),
        promise: "header <= lower <= upper <= special <= block size",
        meaning: "The block was overwritten; the server refuses to read it (invalid page).",
        next_step: "restore the block from a backup",
        evidence: "PostgreSQL docs 73.6",
    }
    PAGE_VERSION {
        id: "pg-page-version",
        level: Page,
        role: (Page, Object, Other),
        promise: "a block records the size and layout version of the cluster",
        meaning: "The block was overwritten or belongs to another cluster.",
        next_step: "restore the block from a backup",
        evidence: "PostgreSQL docs 73.6",
    }
    PAGE_FLAGS {
        id: "pg-page-flags",
        level: Page,
        role: (Page, Object, Other),
        promise: "only defined flag bits are set in a block's header",
        meaning: "The header was overwritten.",
        next_step: "restore the block from a backup",
        evidence: "src/include/storage/bufpage.h",
    }
    PAGE_SPECIAL {
        id: "pg-page-special",
        level: Page,
        role: (Page, Object, Other),
        promise: "the space at the end of a block is that of its access method",
        meaning: "The block belongs to a file of another kind, or its header was overwritten.",
        next_step: "the block belongs to another file or is damaged: restore it from a backup",
        evidence: "src/include/storage/bufpage.h; src/include/access/nbtree.h",
    }
    PAGE_NEW_NOT_ZERO {
        id: "pg-page-new-not-zero",
        level: Page,
        role: (Page, Object, Other),
        promise: "a block that was never used is zero throughout",
        meaning: "A header was wiped while the rest of the block remained; the server takes the block for empty.",
        next_step: "restore the block from a backup",
        evidence: "src/include/storage/bufpage.h PageIsNew",
    }
    PAGE_LSN {
        id: "pg-page-lsn",
        level: Page,
        role: (Page, Object, Other),
        promise: "no block was changed after the end of the log",
        meaning: "A block from a newer copy stands in an older cluster, or the log was reset. Backups that compare positions skip such a block.",
        next_step: "the block or the control file is from another time: compare with a backup",
        evidence: "src/backend/access/transam/README",
    }
    VISIBILITY_MAP {
        id: "pg-visibility-map",
        level: Structure,
        role: (Comparison, Nothing, Other),
        promise: "a block that the visibility map calls all-visible or frozen is so",
        meaning: "Index-only scans give rows that are not there, and VACUUM skips blocks that need it.",
        next_step: "compare the block with a backup first: a stale version of it has lost rows; if it is the newest, pg_truncate_visibility_map (extension pg_visibility) and VACUUM mend the map",
        evidence: "src/backend/access/heap/visibilitymap.c",
    }
    SEQUENCE {
        id: "pg-sequence",
        level: Structure,
        role: (Record, Object, Other),
        promise: "a sequence has one block, with its magic number and one frozen tuple",
        meaning: "nextval fails (bad magic number in sequence), and so do INSERTs that use it.",
        next_step: "find the highest value in use (SELECT max(column)); then drop and create the sequence, and set it with setval; or restore the file from a backup",
        evidence: "src/backend/commands/sequence.c",
    }
    FREE_SPACE_MAP {
        id: "pg-free-space",
        level: Structure,
        role: (Record, Nothing, Other),
        promise: "each node of a free space map is the highest of its children, and no slot is of a page that cannot be",
        meaning: "Inserts try pages without enough free space; PostgreSQL repairs a slot when it hits one. No row is lost. Typical causes: the block was overwritten or belongs to another file, or a crash before checksums were enabled left half a page.",
        next_step: "VACUUM the table; if it is found again, stop the server, remove the file that ends in _fsm, and VACUUM",
        evidence: "src/backend/storage/freespace/README, fsmpage.c, indexfsm.c",
    }
}
