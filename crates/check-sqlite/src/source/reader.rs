//! Single pages out of a database file with its log laid over it.

use disk::input::File;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use disk::scan::Governor;
use rustix::fs::{Advice, fadvise};

/// Reads pages one by one, through the page cache. Shared by all workers.
#[derive(Debug)]
pub(crate) struct PageReader {
    pub(crate) file: File,
    pub(crate) page_size_bytes: usize,
    pub(crate) log: Option<LogPages>,
    pub(crate) read_count: AtomicU64,
    pub(crate) brake: Brake,
}

/// What holds reads back, and what ends them: the limits of the whole check.
#[derive(Debug, Clone)]
pub(crate) struct Brake {
    pub(crate) governor: Arc<Governor>,
    pub(crate) stop: Option<Arc<AtomicBool>>,
    /// When work that cannot be resumed ends; `None` without a limit, and where a later call resumes the check: what
    /// comes before its pages would take the same time in each call.
    deadline: Option<Instant>,
    /// Whether work was left undone.
    is_hit: Arc<AtomicBool>,
}

/// Why a read was given up: the check was stopped, or its time was over.
#[derive(Debug, thiserror::Error)]
#[error("stopped after {done} of {total} bytes")]
pub(crate) struct Stopped {
    done: u64,
    total: u64,
}

impl Brake {
    pub(crate) fn new(bytes_per_s_max: Option<u64>, stop: Option<Arc<AtomicBool>>) -> Self {
        let governor = Arc::new(Governor::new(bytes_per_s_max));
        Self { governor, stop, deadline: None, is_hit: Arc::default() }
    }

    /// Without any limit.
    pub(crate) fn none() -> Self {
        Self::new(None, None)
    }

    /// The same, with a moment at which everything ends.
    pub(crate) fn until(self, deadline: Option<Instant>) -> Self {
        Self { deadline, ..self }
    }

    /// Another limit of time for the same check, with a record of its own about what was left undone.
    pub(crate) fn renewed(&self, deadline: Option<Instant>) -> Self {
        let deadline = self.deadline.and(deadline);
        Self { deadline, is_hit: Arc::default(), ..self.clone() }
    }

    /// Whether the check is to end now. The caller leaves the rest of its work undone, which is remembered.
    ///
    /// Asked once for each page or row by every loop that may take longer than a second.
    pub(crate) fn is_over(&self) -> bool {
        let is_stopped = self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
        let is_over = is_stopped || self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if is_over {
            self.is_hit.store(true, Ordering::Relaxed);
        }
        is_over
    }

    /// Whether a loop left work undone.
    pub(crate) fn is_hit(&self) -> bool {
        self.is_hit.load(Ordering::Relaxed)
    }

    /// An error when the check is to end now.
    pub(crate) fn go_on(&self, done: u64, total: u64) -> io::Result<()> {
        if self.is_over() { Err(io::Error::other(Stopped { done, total })) } else { Ok(()) }
    }

    /// Waits until so many bytes may be read.
    pub(crate) fn wait(&self, bytes: usize) {
        if self.governor.is_limited() {
            self.governor.wait(bytes, self.stop.as_deref());
        }
    }
}

/// The pages that the log has in a newer version.
#[derive(Debug)]
pub(crate) struct LogPages {
    pub(crate) file: File,
    /// Offset in the log of the newest committed version, by page.
    pub(crate) offsets: BTreeMap<u32, u64>,
}

impl PageReader {
    /// Reads a page into a buffer, which gets exactly its size.
    pub(crate) fn read(&self, page: u32, into: &mut Vec<u8>) -> io::Result<()> {
        self.read_count.fetch_add(1, Ordering::Relaxed);
        self.brake.wait(self.page_size_bytes);
        into.resize(self.page_size_bytes, 0);
        match self.log_offset(page) {
            Some((log, offset)) => log.read_exact_at(into, offset),
            None => self.file.read_exact_at(into, self.offset(page)),
        }
    }

    /// Where a page lies in the database file.
    pub(crate) fn offset(&self, page: u32) -> u64 {
        u64::from(page.saturating_sub(1)) * self.page_size_bytes as u64
    }

    fn log_offset(&self, page: u32) -> Option<(&File, u64)> {
        let log = self.log.as_ref()?;
        Some((&log.file, *log.offsets.get(&page)?))
    }

    /// The pages from `first` to before `end` that the log has, ascending.
    pub(crate) fn pages_in_log(&self, first: u32, end: u32) -> impl Iterator<Item = u32> {
        let offsets = self.log.as_ref().map(|log| log.offsets.range(first..end.max(first)));
        offsets.into_iter().flatten().map(|(page, _)| *page)
    }

    /// Whole pages of the database file, from `first_page` on, with what the log has newer laid over them.
    pub(crate) fn laid_over<'b>(&self, first_page: u32, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        let end = first_page.saturating_add((bytes.len() / self.page_size_bytes.max(1)) as u32);
        let mut in_log = self.pages_in_log(first_page, end).peekable();
        if in_log.peek().is_none() {
            return Cow::Borrowed(bytes);
        }
        let mut laid_over = bytes.to_vec();
        let mut newest = Vec::new();
        for page in in_log {
            let start = (page - first_page) as usize * self.page_size_bytes;
            if self.read(page, &mut newest).is_ok()
                && let Some(place) = laid_over.get_mut(start..start + self.page_size_bytes)
            {
                place.copy_from_slice(&newest);
            }
        }
        Cow::Owned(laid_over)
    }

    /// Tells the kernel that these pages will be read, so that many reads are under way at once; not under a limit.
    pub(crate) fn prefetch(&self, pages: &[u32]) {
        if self.brake.governor.is_limited() {
            return;
        }
        let length = std::num::NonZeroU64::new(self.page_size_bytes as u64);
        for page in pages {
            // Advice only: without it the reads are slower, not wrong.
            let _ = fadvise(&self.file, self.offset(*page), length, Advice::WillNeed);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Write;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn single_pages_wait_for_the_limit_of_the_check() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[7; 4 * 512]).unwrap();
        // 20 pages in a second.
        let brake = Brake::new(Some(20 * 512), None);
        let reader =
            PageReader { file: file.into(), page_size_bytes: 512, log: None, read_count: 0.into(), brake };
        let (mut bytes, started) = (Vec::new(), Instant::now());
        (1..=4).for_each(|page| reader.read(page, &mut bytes).unwrap());
        // The first needs not wait, and one may be made up for. A busy machine takes longer, never shorter.
        assert!(started.elapsed() >= Duration::from_millis(100));
        assert_eq!(bytes, [7; 512]);
    }
}
