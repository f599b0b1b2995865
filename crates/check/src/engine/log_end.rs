//! Where the log of a running server ends: asked of the server, because it moves on.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Asks a running server for the position at which it writes its log.
#[derive(Clone)]
pub struct LogEnd {
    ask: Arc<dyn Fn() -> Option<u64> + Send + Sync>,
    known: Arc<AtomicU64>,
}

impl LogEnd {
    /// `ask` gives the position now, or `None` when the server does not answer; it may be called from any worker.
    pub fn new(ask: impl Fn() -> Option<u64> + Send + Sync + 'static) -> LogEnd {
        LogEnd { ask: Arc::new(ask), known: Arc::new(AtomicU64::new(0)) }
    }

    /// A position at or before which the log ends for sure: one known before if it reaches to `lsn`, else a new answer.
    pub fn at_least(&self, lsn: u64) -> Option<u64> {
        let known = self.known.load(Ordering::Relaxed);
        if known >= lsn {
            return Some(known);
        }
        let now = (self.ask)()?;
        self.known.fetch_max(now, Ordering::Relaxed);
        Some(now)
    }
}

impl fmt::Debug for LogEnd {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("LogEnd").field(&self.known).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_is_asked_only_beyond_what_is_known() {
        let asked = Arc::new(AtomicU64::new(0));
        let log_end = LogEnd::new({
            let asked = Arc::clone(&asked);
            move || Some(100 * (asked.fetch_add(1, Ordering::Relaxed) + 1))
        });
        let answers: Vec<_> = [50, 100, 60, 150, 200].into_iter().map(|lsn| log_end.at_least(lsn)).collect();
        assert_eq!(answers, [Some(100), Some(100), Some(100), Some(200), Some(200)]);
        assert_eq!(asked.load(Ordering::Relaxed), 2);
    }
}
