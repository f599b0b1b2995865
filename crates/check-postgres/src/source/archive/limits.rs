//! Limits of reading the tar files of a backup.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use check::options::Options;

/// What opening a backup may take.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// Memory for the list of members, bytes.
    pub(crate) memory_bytes_max: u64,
    /// Ends the decompression early when set.
    pub(crate) stop: Option<Arc<AtomicBool>>,
}

impl Limits {
    pub(crate) fn of(options: &Options) -> Self {
        Self { memory_bytes_max: options.memory_bytes_max, stop: options.stop.clone() }
    }

    pub(crate) fn stop_if_asked(&self) -> io::Result<()> {
        let is_asked = self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
        let stopped =
            || io::Error::new(io::ErrorKind::Interrupted, "it was stopped before its files were listed");
        if is_asked { Err(stopped()) } else { Ok(()) }
    }
}

impl Default for Limits {
    /// Room for a million files.
    fn default() -> Self {
        Self { memory_bytes_max: 2 << 30, stop: None }
    }
}
