//! What a study would do and could show, known before it runs: comparisons, smallest p, smallest difference, time and
//! space. A dry run, `show` and the start of a run print it; a design that cannot decide is refused from it.

mod design;
mod earlier;
mod estimate;
pub(crate) mod own_workload;

use lab::assignment::Assignment;
use lab::estimate::Estimate;
use results::store::Store;

pub(crate) use design::DesignPreview;
use estimate::estimate_with_history;
pub(crate) use estimate::{nearest_existing, space_directories, sync_latency_ns, time_text};

/// A study that takes longer is confirmed on a terminal.
const SECONDS_ASKED: f64 = 3600.0;
/// So is one that needs more space: 10 GiB.
const BYTES_ASKED: u64 = 10 << 30;

/// What is known of a study before it runs.
pub(crate) struct Preview {
    /// What it can show.
    pub(crate) design: DesignPreview,
    /// What it takes.
    pub(crate) estimate: Estimate,
}

impl Preview {
    /// Puts it together from the assignment, the time of a flush on the log's device, and earlier runs in the results file.
    pub(crate) fn of(
        assignment: &Assignment,
        store: Option<&Store>,
        sync_latency_ns: Option<u64>,
    ) -> anyhow::Result<Self> {
        let estimate = estimate_with_history(assignment, sync_latency_ns, store);
        Ok(Self { design: DesignPreview::of(assignment, store)?, estimate })
    }

    /// Lines for people, without the space by directory.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = self.design.lines();
        lines.push(format!("{}; space: {}", estimate::time_line(&self.estimate), self.space_text()));
        lines
    }

    /// The time that is to be expected, as one line.
    pub(crate) fn time_line(&self) -> String {
        estimate::time_line(&self.estimate)
    }

    /// Time and space in words, where they are more than a user may expect; `None` otherwise, and where neither is known.
    pub(crate) fn excess(&self) -> Option<String> {
        // The model may be wrong by a factor either way: the middle of its range counts.
        let is_long = self.estimate.seconds.is_some_and(|(low, high)| (low * high).sqrt() > SECONDS_ASKED);
        let is_large = self.estimate.space.total > BYTES_ASKED;
        let time = self
            .estimate
            .seconds
            .map(|(low, high)| format!("{} to {}", estimate::time_text(low), estimate::time_text(high)));
        let time = time.unwrap_or_else(|| "a time that is not known".to_owned());
        (is_long || is_large).then(|| format!("an estimated {time} and {} of disk space", self.space_text()))
    }

    /// How many rows a run by time inserts is known only after one.
    fn space_text(&self) -> String {
        format!("{} {}", self.estimate.space.most(), disk::space::format_bytes(self.estimate.space.total))
    }
}
