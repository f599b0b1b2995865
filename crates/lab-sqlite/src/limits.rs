//! What SQLite cannot do, or does in its own way.

use lab::cache;
use lab::engine::Limitation;
use lab::work::{BackupMethod, LoopSide, Placement, Work};

use crate::workload::schema;

/// What SQLite cannot do or does in its own way; needs no database.
pub fn limitations(work: &Work) -> Vec<Limitation> {
    let mut found: Vec<Limitation> = cache::limitation(work).into_iter().collect();
    let mut add = |subject: &str, refuses: bool, text: &str| {
        found.push(Limitation { subject: subject.to_owned(), text: text.to_owned(), refuses });
    };
    if work.data_files > 1 {
        add("data_files", true, "SQLite keeps a database in one file: data_files must be 1");
    }
    if work.subject.server_cores.is_some() {
        add("server_cores", true, "SQLite runs inside fathom: there is no server to bind to CPUs");
    }
    if work.subject.arrays.is_some_and(|arrays| arrays > 1) {
        add("arrays", true, "SQLite keeps a database in one file: arrays must be 1");
    }
    if work.subject.memory_limit_mib.is_some() {
        add(
            "memory_limit_mib",
            true,
            "SQLite runs inside fathom: there is no server whose memory could be limited",
        );
    }
    if work.subject.backup == BackupMethod::PgBasebackup {
        add("backup_method", true, "pg_basebackup is a tool of PostgreSQL\nhint: use backup_method reader");
    }
    if work.placement != Placement::Together {
        add("placement", true, "SQLite keeps its log beside the database: placement must be together");
    }
    let is_exclusive = schema::pragma_value(work, "locking_mode") == "exclusive";
    if is_exclusive && work.connections > 1 {
        add("connections", true, "locking_mode exclusive keeps others out: connections must be 1");
    } else if work.connections > 1 && (work.workload.adds_rows() || work.own.is_some()) {
        add("connections", false, "SQLite has one writer at a time: further connections wait for it");
    }
    if work.loop_side == LoopSide::Server {
        add("loop", false, "SQLite has no server: the loop runs in fathom's process either way");
    }
    let log_is_shared = !is_exclusive && schema::pragma_value(work, "journal_mode") == "wal";
    if schema::reader_blocks_checkpoint(work) && !log_is_shared {
        let text = "without a shared write-ahead log a reader blocks writers, not checkpoints: \
                    reader_blocks_checkpoint needs journal_mode wal and locking_mode normal";
        add("reader_blocks_checkpoint", true, text);
    }
    if schema::is_timed(work) {
        let text = "waits on SQLite are exact, but without signal time and waiting tasks: the engine does not report them";
        add("waits", false, text);
    }
    if let Some((text, _)) = schema::conflict(work) {
        add("settings", true, &text);
    }
    found
}
