//! What the calls on a file are noted in.

use super::meter::Meter;

/// The account of one registered table, shared by its files.
#[derive(Debug)]
pub(super) struct Timing {
    pub(super) meter: Meter,
    #[cfg(test)]
    sync_delay_ns: std::sync::atomic::AtomicU64,
}

impl Timing {
    /// An empty account.
    pub(super) fn new() -> Self {
        Self {
            meter: Meter::new(),
            #[cfg(test)]
            sync_delay_ns: std::sync::atomic::AtomicU64::new(0),
        }
    }

    #[cfg(test)]
    pub(super) fn delay_syncs(&self, delay: std::time::Duration) {
        self.sync_delay_ns.store(delay.as_nanos() as u64, std::sync::atomic::Ordering::Relaxed);
    }

    /// The pause that a test asked for.
    pub(super) fn pause_before_sync(&self) {
        #[cfg(test)]
        {
            let delay_ns = self.sync_delay_ns.load(std::sync::atomic::Ordering::Relaxed);
            if delay_ns > 0 {
                std::thread::sleep(std::time::Duration::from_nanos(delay_ns));
            }
        }
    }
}
