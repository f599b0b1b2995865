//! The state in which a cluster was left, and what may be concluded in it.

use formats::postgres::Xid;

/// What the state of the cluster allows to be concluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Shut down in order: all files agree with each other.
    Stopped,
    /// A server runs on it: blocks change while they are read.
    Running,
    /// Left by a crash, or a standby: the log must be replayed before the files agree.
    Crashed,
    /// A base backup: the log must be replayed; blocks changed during the backup carry positions in this range.
    Backup {
        /// Where the backup started.
        start_lsn: u64,
        /// Where it ended, if the manifest tells.
        end_lsn: Option<u64>,
    },
}

/// A moment whose state can be told from files that do not stand still: the last checkpoint that was completed.
///
/// Every change before it had reached the files when it ended, so a block whose position is older stands as it stood
/// then; and transactions older than the oldest that was active had ended. What blocks of that kind say about each
/// other, and rows of that kind, must fit.
// EVIDENCE: src/backend/access/transam/xlog.c CreateCheckPoint: oldestActiveXid is asked for before the redo position
// is fixed, and the control file is written after all buffers are
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Snapshot {
    /// Blocks with an older position are as they were.
    pub(crate) redo_lsn: u64,
    /// Older transactions had ended.
    pub(crate) horizon_xid: Xid,
}
