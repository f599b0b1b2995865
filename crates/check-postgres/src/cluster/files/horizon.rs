//! The oldest transaction that may have been active at the redo position of the last checkpoint, where the checkpoint does
//! not record it (`wal_level = minimal`).
//!
//! A transaction that was active then has ended since, and its commit or abort record is in the WAL behind the redo
//! position; or it has not, and pg_xact has no end for it. So the oldest one that the WAL ends bounds the first kind, and
//! the second is recognised in pg_xact. The WAL is read to its end after pg_xact was read: a commit reaches the WAL
//! before pg_xact has it.
// EVIDENCE: src/backend/access/transam/xact.c RecordTransactionCommit, RecordTransactionAbort: a record for each
// transaction that has an id; README "Asynchronous Commit": clog pages are written after the WAL of their commits

use formats::postgres::Xid;
use formats::postgres::heap::FIRST_NORMAL_XID;
use formats::postgres::transaction::precedes;

use crate::cluster::Cluster;
use crate::cluster::state::Standing;
use crate::cluster::truncations::Truncations;

impl Cluster {
    /// Asks the WAL for what the checkpoint does not record, where that is needed. I/O: the WAL since the redo position.
    pub(crate) fn with_horizon_of_wal(mut self) -> Cluster {
        let control = self.control.filter(|_| self.control_damage.is_empty());
        let is_wanted = matches!(self.standing, Standing::Running | Standing::Crashed);
        if let Some(control) =
            control.filter(|control| is_wanted && control.oldest_active_xid < FIRST_NORMAL_XID)
            && self.snapshot().is_none()
        {
            self.wal_horizon = horizon_of_wal(&Truncations::new(&self, &control), control.next_xid as Xid);
        }
        self
    }

    /// Why rows, index entries and transactions cannot be compared as of a checkpoint.
    pub(crate) fn reason_without_view(&self) -> String {
        let Some(control) = self.control.filter(|_| self.control_damage.is_empty()) else {
            return "global/pg_control is missing or damaged, so the last checkpoint is unknown".to_owned();
        };
        match self.standing {
            Standing::Crashed | Standing::Backup { .. } if !self.checksums => {
                "without data checksums torn blocks cannot be recognised, and the cluster was not shut down cleanly".to_owned()
            }
            Standing::Backup { start_lsn, .. } if control.redo_lsn != start_lsn => {
                "pg_control in the backup is of a different checkpoint than the start of the backup".to_owned()
            }
            _ => {
                let level = if control.wal_level == 0 { " (wal_level=minimal)" } else { "" };
                format!(
                    "the checkpoint does not record the oldest active transaction{level}, and the WAL since then cannot be read completely"
                )
            }
        }
    }
}

/// The oldest transaction that ended since the redo position, or the first that began since; `None` if the WAL is not
/// whole.
pub(crate) fn horizon_of_wal(log: &Truncations, next_xid: Xid) -> Option<Xid> {
    let (ended, is_unclear) = log.ask(|changes| (changes.ended_xid, changes.is_end_unclear))?;
    let horizon = ended.filter(|ended| precedes(*ended, next_xid)).unwrap_or(next_xid);
    (!is_unclear && horizon >= FIRST_NORMAL_XID).then_some(horizon)
}
