//! Rules about blocks of all kinds, maps and sequences.

check::rules! {
    UNREADABLE {
        id: "pg-unreadable",
        level: Page,
        role: (Page, Object, Other),
        invariant: "each block can be read",
        meaning: "The device or file system returns an error; rows of the block cannot be read.",
        next_step: "check the kernel log (dmesg) and the device (smartctl -a), and copy the file before more is lost",
        evidence: "pread(2)",
    }
    READINGS_DIFFER {
        id: "pg-readings-differ",
        level: Page,
        role: (Database, Database, Other),
        invariant: "each reading of a block returns the same bytes while no process writes the file",
        meaning: "The device, its cable or controller, or the memory of this machine corrupts data. Do not trust what this machine reads; the file itself may be valid.",
        next_step: "do not write to the database from this machine; copy the files and check the copy on another machine; then test the memory (memtest86+), the cables and the device (smartctl -a, dmesg) of this one",
        evidence: "pread(2)",
    }
    PAGE_CHECKSUM {
        id: "pg-page-checksum",
        level: Page,
        role: (Page, Object, Other),
        invariant: "the checksum in the header matches the bytes and number of the block",
        meaning: "Bytes changed after the server wrote the block, or the block was written to a wrong place or only partly (torn write).",
        next_step: "restore the block from a backup; check the device and its cables",
        evidence: "src/include/storage/checksum_impl.h",
    }
    PAGE_BOUNDS {
        id: "pg-page-bounds",
        level: Page,
        role: (Page, Object, Other),
        invariant: "header <= lower <= upper <= special <= block size",
        meaning: "The block was overwritten; the server refuses to read it (invalid page).",
        next_step: "restore the block from a backup",
        evidence: "PostgreSQL docs 73.6",
    }
    PAGE_VERSION {
        id: "pg-page-version",
        level: Page,
        role: (Page, Object, Other),
        invariant: "the header has the block size and layout version of the cluster",
        meaning: "The block was overwritten or belongs to another cluster.",
        next_step: "restore the block from a backup",
        evidence: "PostgreSQL docs 73.6",
    }
    PAGE_FLAGS {
        id: "pg-page-flags",
        level: Page,
        role: (Page, Object, Other),
        invariant: "only defined flag bits are set in the block header",
        meaning: "The header was overwritten.",
        next_step: "restore the block from a backup",
        evidence: "src/include/storage/bufpage.h",
    }
    PAGE_SPECIAL {
        id: "pg-page-special",
        level: Page,
        role: (Page, Object, Other),
        invariant: "the special space of a block is that of its access method",
        meaning: "The block belongs to a file of another kind, or its header was overwritten.",
        next_step: "the block belongs to another file or is damaged: restore it from a backup",
        evidence: "src/include/storage/bufpage.h; src/include/access/nbtree.h",
    }
    PAGE_NEW_NOT_ZERO {
        id: "pg-page-new-not-zero",
        level: Page,
        role: (Page, Object, Other),
        invariant: "a new block (pd_upper = 0) is all zeros",
        meaning: "The header was zeroed while the rest of the block remained; the server treats the block as empty.",
        next_step: "restore the block from a backup",
        evidence: "src/include/storage/bufpage.h PageIsNew",
    }
    PAGE_LSN {
        id: "pg-page-lsn",
        level: Page,
        role: (Page, Object, Other),
        invariant: "the LSN of a block is not past the end of the WAL",
        meaning: "A block of a newer copy is in an older cluster, or the WAL was reset. Incremental backups skip such a block.",
        next_step: "the block or the control file is from another point in time: compare both with a backup",
        evidence: "src/backend/access/transam/README",
    }
    VISIBILITY_MAP {
        id: "pg-visibility-map",
        level: Structure,
        role: (Comparison, Nothing, Other),
        invariant: "a block that the visibility map marks all-visible or all-frozen is so",
        meaning: "Index-only scans return rows that do not exist, and VACUUM skips blocks that need it.",
        next_step: "compare the block with a backup first: a stale version has lost rows; if it is the newest, run pg_truncate_visibility_map (extension pg_visibility) and VACUUM",
        evidence: "src/backend/access/heap/visibilitymap.c",
    }
    SEQUENCE {
        id: "pg-sequence",
        level: Structure,
        role: (Record, Object, Other),
        invariant: "a sequence has one block, with its magic number and one frozen tuple",
        meaning: "nextval fails (bad magic number in sequence), and so do INSERTs that use it.",
        next_step: "find the highest value in use (SELECT max(column)); then drop and create the sequence, and set it with setval; or restore the file from a backup",
        evidence: "src/backend/commands/sequence.c",
    }
    FREE_SPACE_MAP {
        id: "pg-free-space",
        level: Structure,
        role: (Record, Nothing, Other),
        invariant: "each node of a free space map is the maximum of its children, and no slot is for an impossible block number",
        meaning: "Inserts try pages without enough free space; PostgreSQL repairs a slot when it hits one. No row is lost. Typical causes: the block was overwritten or belongs to another file, or a crash before checksums were enabled left half a page.",
        next_step: "run VACUUM on the table; if it is reported again, stop the server, remove the _fsm file, start it and run VACUUM",
        evidence: "src/backend/storage/freespace/README, fsmpage.c, indexfsm.c",
    }
}
