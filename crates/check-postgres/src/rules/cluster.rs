//! Rules about the cluster: control files, WAL, transactions, directories.

check::rules! {
    CONTROL_FILE {
        id: "pg-control-file",
        level: Page,
        role: (Database, Database, Other),
        invariant: "the control file has a valid checksum and valid values",
        meaning: "The server refuses to start, or starts recovery from a wrong LSN.",
        next_step: "restore global/pg_control from a backup before starting the server",
        evidence: "src/include/catalog/pg_control.h",
    }
    RELATION_MAP {
        id: "pg-relation-map",
        level: Page,
        role: (Database, Database, Other),
        invariant: "a relation map (pg_filenode.map) has a valid magic number and checksum",
        meaning: "The server cannot find its catalogs; every connection fails.",
        next_step: "restore pg_filenode.map from a backup of the same cluster",
        evidence: "src/backend/utils/cache/relmapper.c",
    }
    VERSION_FILE {
        id: "pg-version-file",
        level: Page,
        role: (Database, Nothing, Other),
        invariant: "PG_VERSION of the cluster and of each database has the major version",
        meaning: "The server does not start (is not a valid data directory, database files are incompatible with server), or refuses connections to the database.",
        next_step: "if everything else exists, write the major version into the file; other files of the directory may be lost as well",
        evidence: "src/backend/utils/init/miscinit.c ValidatePgVersion",
    }
    DIRECTORY {
        id: "pg-directory-missing",
        level: Page,
        role: (Database, Database, Other),
        invariant: "each directory that the server needs exists, even if it is empty",
        meaning: "The server does not start, or its first checkpoint fails. Copies of files alone omit empty directories.",
        next_step: "if the directory may be empty (pg_notify, pg_twophase, pg_replslot, pg_commit_ts, pg_subtrans, pg_logical/snapshots, pg_logical/mappings), create it with mkdir -m 700, owned by the server's user; restore pg_wal, pg_xact and pg_multixact from a backup",
        evidence: "PostgreSQL docs 73.1",
    }
    CHECKPOINT_RECORD {
        id: "pg-checkpoint-record",
        level: Page,
        role: (Database, Database, Other),
        invariant: "the checkpoint record is in the WAL at the LSN in pg_control (in a backup: backup_label), with a valid CRC and redo point",
        meaning: "The server does not start: could not locate a valid checkpoint record.",
        next_step: "restore the WAL segment from the archive or a backup; do not run pg_resetwal: it discards the transactions in the WAL",
        evidence: "src/backend/access/transam/xlogrecovery.c ReadCheckpointRecord",
    }
    RECOVERY_WAL {
        id: "pg-recovery-wal",
        level: Page,
        role: (Database, Database, Other),
        invariant: "after a crash and in a backup, all WAL that recovery needs exists: from the redo point to the checkpoint record, or to the end of the backup",
        meaning: "Recovery ends too early: blocks written in between are inconsistent, or the server does not start (WAL ends before end of online backup).",
        next_step: "restore the missing segments from the WAL archive (restore_command with recovery.signal), or take another backup",
        evidence: "src/backend/access/transam/xlogrecovery.c; PostgreSQL docs 26.3",
    }
    BACKUP_LABEL {
        id: "pg-backup-label",
        level: Page,
        role: (Database, Database, Other),
        invariant: "a base backup has a backup_label with the LSNs from which recovery starts",
        meaning: "Without it the server starts from the checkpoint in pg_control, which is later than the start of the backup: changes in between are not replayed, and tables and indexes are silently corrupt.",
        next_step: "restore backup_label from the same backup before starting the server; if the server was started without it, discard this cluster and restore again",
        evidence: "PostgreSQL docs 26.3.4; src/backend/access/transam/xlogrecovery.c read_backup_label",
    }
    DATABASE_DIRECTORY {
        id: "pg-database-directory",
        level: Page,
        role: (Database, Object, Other),
        invariant: "each database of pg_database has its directory: base/<oid>, or pg_tblspc/<tablespace>/PG_<major>_<catalog version>/<oid>",
        meaning: "All files of the database are missing; connections fail. Typical causes: a deleted directory, an incomplete copy, a tablespace that is not mounted.",
        next_step: "restore the directory from a backup of the same cluster and replay its WAL; do not run DROP DATABASE before",
        evidence: "PostgreSQL docs 73.1",
    }
    TABLESPACE {
        id: "pg-tablespace",
        level: Page,
        role: (Database, Object, Other),
        invariant: "each tablespace of pg_tablespace has a link in pg_tblspc to a directory PG_<major>_<catalog version>",
        meaning: "No relation of the tablespace can be read: the link was removed, or its target is not mounted.",
        next_step: "mount the target, or recreate the link: ln -s TARGET pg_tblspc/OID; if the target exists, no restore is needed",
        evidence: "PostgreSQL docs 73.1",
    }
    TRANSACTION_LOG {
        id: "pg-transaction-log-missing",
        level: Page,
        role: (Database, Database, Other),
        invariant: "pg_xact and pg_multixact have all files from the oldest transaction that tables may refer to up to the last one",
        meaning: "The server does not start, or reading rows fails (could not access status of transaction).",
        next_step: "restore this file from a backup of the same cluster and replay its WAL, or from a standby; do not create a zero-filled file instead, all its transactions would count as aborted",
        evidence: "src/backend/access/transam/slru.c, clog.c, multixact.c",
    }
    NEXT_XID {
        id: "pg-next-xid",
        level: Structure,
        role: (Database, Database, Other),
        invariant: "rows refer only to transaction ids below nextXid of pg_control",
        meaning: "The control file is older than the data: an old copy of global/pg_control, or pg_resetwal with too low a transaction id. The rows themselves are valid. A started server assigns their transaction ids again, and rows get a wrong visibility.",
        next_step: "do not start the server; keep a copy of the files, and restore the matching global/pg_control and WAL; never run pg_resetwal on the only copy",
        evidence: "src/include/catalog/pg_control.h CheckPoint.nextXid",
    }
    TRANSACTION_END {
        id: "pg-transaction-end",
        level: Structure,
        role: (Database, Database, Other),
        invariant: "pg_xact and pg_multixact have an entry for each transaction and multixact that a row refers to",
        meaning: "Part of the file was lost: its blocks were zeroed by a file system, a device or a repair tool. Reading the rows fails (could not access status of transaction), or their transactions count as aborted. The rows themselves are valid; they are not compared with index entries.",
        next_step: "do not start the server, and run no VACUUM: it would remove rows of transactions that look aborted; keep a copy of the files; restore this file from a backup of the same cluster and replay its WAL, or from a standby",
        evidence: "src/backend/access/transam/transam.c, multixact.c",
    }
}
