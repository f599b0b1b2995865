//! A VFS that times what SQLite asks of the operating system.
//!
//! SQLite reaches files, locks, shared memory and sleep through a table of functions. The one registered here hands
//! every call on to the default table, unchanged, and notes how long it took and what it moved. Waiting for a lock is
//! in it too: the engine's own busy handler sleeps through the same table.
//!
//! Not seen: reads and writes through memory maps, which are no calls (the database with `mmap_size`, the shared
//! memory beside the log always).

mod call_totals;
mod clock;
mod file;
mod meter;
mod table;
mod timing;

use std::ffi::CStr;
use std::sync::{Mutex, PoisonError};

pub(super) use call_totals::{Call, CallTotals, Checkpoint, Role, Totals};
#[cfg(test)]
pub(super) use call_totals::{FRAME_HEADER_BYTES, LOG_HEADER_BYTES};
pub(super) use clock::Ticks;
pub(super) use meter::{Meter, count_apart};
use table::TimedVfs;

/// Registered tables that nobody uses. SQLite keeps pointers to a table as long as a connection is open, so tables are
/// never freed: they are lent and come back. There are as many as were ever in use at once.
static IDLE: Mutex<Vec<&'static TimedVfs>> = Mutex::new(Vec::new());

/// A VFS of one's own, for the connections of one target.
#[derive(Debug)]
pub(super) struct Instrument {
    vfs: &'static TimedVfs,
}

impl Instrument {
    /// Takes one that is idle, or registers another.
    ///
    /// # Errors
    /// What SQLite said when it refused the registration.
    pub(super) fn take() -> Result<Self, String> {
        let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let vfs = match idle {
            Some(vfs) => vfs,
            None => TimedVfs::register()?,
        };
        Ok(Self { vfs })
    }

    /// Name under which connections ask for it.
    pub(super) fn name(&self) -> &'static CStr {
        self.vfs.name()
    }

    /// What it measured.
    pub(super) fn meter(&self) -> &'static Meter {
        self.vfs.meter()
    }

    /// Makes every sync take this much longer.
    #[cfg(test)]
    pub(super) fn delay_syncs(&self, delay: std::time::Duration) {
        self.vfs.delay_syncs(delay);
    }
}

impl Drop for Instrument {
    fn drop(&mut self) {
        IDLE.lock().unwrap_or_else(PoisonError::into_inner).push(self.vfs);
    }
}

#[cfg(test)]
mod tests;
