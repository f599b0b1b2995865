//! What the instrumented engine does, once a second.

use lab::observe::series::{Probe, SampledSeries, Samples, series};

use super::counters::{self, LogKind, SOURCE};
use super::vfs::{Meter, Totals};

/// Samples the meter.
#[derive(Debug)]
pub(super) struct VfsProbe {
    /// What the connections' VFS measures.
    pub(super) meter: &'static Meter,
    /// What the log is.
    pub(super) log: LogKind,
}

/// Series and the counter of which it is the rate.
const RATES: [(&str, &str, &str); 12] = [
    ("log_bytes_per_s", "log_bytes", "bytes/s"),
    ("log_flushes_per_s", "log_flushes", "1/s"),
    ("log_writes_per_s", "log_writes", "1/s"),
    ("log_growths_per_s", "log_growths", "1/s"),
    ("log_growth_bytes_per_s", "log_growth_bytes", "bytes/s"),
    ("journal_bytes_per_s", "journal_bytes", "bytes/s"),
    ("checkpoints_per_s", "checkpoints", "1/s"),
    ("checkpoint_pages_per_s", "checkpoint_pages", "1/s"),
    ("pages_allocated_per_s", "pages_allocated", "1/s"),
    ("data_written_bytes_per_s", "data_written_bytes", "bytes/s"),
    ("data_flushes_per_s", "data_flushes", "1/s"),
    ("busy_waits_per_s", "busy_waits", "1/s"),
];
/// Series of milliseconds per call, and the counters of time and of calls.
const TIMES: [(&str, &str, &str); 3] = [
    ("log_flush_ms", "log_flush_s", "log_flushes"),
    ("log_write_ms", "log_write_s", "log_writes"),
    ("data_write_ms", "data_write_s", "data_writes"),
];

impl Probe for VfsProbe {
    type Reading = Totals;

    fn name(&self) -> String {
        "sqlite_series".to_owned()
    }

    fn sample(&mut self) -> Result<Totals, String> {
        Ok(self.meter.read())
    }

    fn series(self, samples: &Samples<Totals>) -> SampledSeries {
        let counter = |totals: &Totals, name: &str| {
            let metrics = counters::metrics(totals, self.log);
            metrics.into_iter().find(|metric| metric.name == name).map(|metric| metric.value)
        };
        let rates = RATES.iter().filter_map(|(name, of, unit)| {
            samples.rate(series(*name, unit, SOURCE), |totals| counter(totals, of))
        });
        let times = TIMES.iter().filter_map(|(name, time, count)| {
            let time_ms = |totals: &Totals| counter(totals, time).map(|seconds| seconds * 1e3);
            samples.ratio(series(*name, "ms", SOURCE), time_ms, |totals| counter(totals, count))
        });
        SampledSeries { series: rates.chain(times).collect(), ..SampledSeries::default() }
    }
}
