//! Rules about files, backups and the catalog.

// EVIDENCE: messages: Microsoft Learn, "Database engine events and errors", 2000 to 2999 and 8000 to 8999, the messages' texts
check::rules! {
    FILE_HEADER {
        id: "mssql-file-header",
        level: Page,
        role: (Database, Database, Other),
        invariant: "the first page of a file is its file header, with a valid record",
        meaning: "The server does not attach the file.",
        next_step: "restore the file from a backup",
        evidence: "Microsoft Learn, Page and extent architecture guide",
    }
    FILE_SIZE {
        id: "mssql-file-size",
        level: Read,
        role: (File, Database, Other),
        invariant: "a data file has a whole number of pages, and at least the length that its header, its PFS and GAM pages and the catalog state",
        meaning: "The file was truncated: a full disk, an interrupted copy or download. The server does not attach it, or marks the database suspect. The pages past its end are lost in this copy.",
        next_step: "compare the length with the original and copy the file again, or restore the database from a backup",
        evidence: "observed: sizes in the file header (never greater than the file), in PFS, GAM and sys.sysprufiles (equal to the file) of six files",
    }
    BACKUP_STREAM {
        id: "mssql-backup-stream",
        level: Read,
        role: (File, Database, Other),
        invariant: "the blocks and streams of a backup file are complete up to the end of each backup set, with valid checksums",
        meaning: "The backup file was truncated or overwritten: an interrupted backup, copy or download. RESTORE ends with message 3241 or 3203.",
        next_step: "compare the length with the original and copy the file again, or take another backup",
        evidence: "Microsoft Tape Format Specification 1.00a, 5.1 common block header, 6.1 data stream header",
    }
    BACKUP_EXTENT {
        id: "mssql-backup-extent",
        level: Page,
        role: (File, Database, Other),
        invariant: "a full backup has each extent that the GAM pages in it call allocated",
        meaning: "The pages of the missing extents cannot be restored from this backup. The file was changed, or parts of it were removed.",
        next_step: "take another backup of the same database",
        evidence: "Microsoft Learn, Full Database Backups; observed: two full backups of one stripe have all extents that their GAM pages call allocated",
    }
    BOOT_PAGE {
        id: "mssql-boot-page",
        level: Page,
        role: (Database, Database, Other),
        invariant: "page 9 of the first file describes the database",
        meaning: "The database cannot be opened, and DBCC cannot repair it.",
        next_step: "restore the database from a backup",
        evidence: "observed: page 9 of the first file, versions 655 to 706; field names of DBCC DBINFO",
    }
    UNREADABLE {
        id: "mssql-unreadable",
        level: Page,
        role: (Page, Object, Other),
        invariant: "each page can be read",
        meaning: "The device or file system returns an error.",
        next_step: "check the kernel log (dmesg) and the device (smartctl -a), and copy the file before more is lost",
        evidence: "pread(2)",
        messages: "8966",
    }
    READINGS_DIFFER {
        id: "mssql-readings-differ",
        level: Page,
        role: (Database, Database, Other),
        invariant: "each reading of a page returns the same bytes while no process writes the file",
        meaning: "The device, its cable or controller, or the memory of this machine corrupts data. Do not trust what this machine reads; the file itself may be valid.",
        next_step: "do not write to the database from this machine; copy the files and check the copy on another machine; then test the memory (memtest86+), the cables and the device (smartctl -a, dmesg) of this one",
        evidence: "pread(2)",
    }
    CATALOG {
        id: "mssql-catalog",
        level: Structure,
        role: (Database, Database, Other),
        invariant: "the system base tables can be read",
        meaning: "The server does not open the database, or DBCC ends with message 8921 or 7984 to 7988.",
        next_step: "restore the database from a backup",
        evidence: "sqlskills.com, CHECKDB From Every Angle: primitive checks of critical system tables",
    }
}
