//! What a check says about its locks before it begins.

use std::time::Duration;

use crate::source::anchor::{Anchor, WAL_VERSION_BYTE};
use check::options::Options;
use check::progress::Progress;

/// Locks that are held longer than this are told of.
pub(crate) const LONG_HOLD: Duration = Duration::from_secs(1);
/// A device that reads so fast keeps nobody waiting for long.
const QUICK_BYTES_PER_S: u64 = 300_000_000;

/// Says before a long check who has to wait for it.
pub(crate) fn tell_of_locks(anchor: &Anchor, options: &Options, progress: &mut dyn Progress) {
    let rate = options.rate_bytes_per_s_max.unwrap_or(QUICK_BYTES_PER_S).clamp(1, QUICK_BYTES_PER_S);
    if !anchor.is_held() || anchor.file_bytes / rate < LONG_HOLD.as_secs() {
        return;
    }
    progress.notice(if anchor.header.read_version == WAL_VERSION_BYTE {
        "holds read locks until the check ends: checkpoints of other processes wait and the WAL grows; reads and writes do not wait"
    } else {
        "holds a shared lock until the check ends, as any reader of SQLite: commits of other processes wait, at most for their busy timeout; where that is not acceptable, check a backup (.backup or VACUUM INTO)"
    });
}
