//! Cautions about a run's numbers, and the flush that is tried before it.

use results::model::{Metric, Warning};
use results::observations::Observations;

use crate::client::Dispatch;
use crate::engine::Target;
use crate::gates::{self, Limits};
use crate::work::{Durability, Work};

/// Code of the warning that durable commits cost nothing on this device.
pub const FLUSHES_IGNORED: &str = "flushes_ignored";

/// Flushes tried before a run: enough for a median, few enough not to disturb.
const FLUSHES_TRIED: u32 = 5;
/// Size of each tried write: one log page of the engines under test.
const FLUSH_SIZE_BYTES: usize = 8192;

/// Time of one flush where the log lies, just before the run: the yardstick of every durable commit, and a sign of
/// drift between runs. Warns where the device does not wait for flushes.
pub(super) fn sync_latency(target: &dyn Target, work: &Work, warnings: &mut Vec<Warning>) -> Option<Metric> {
    if work.durability != Durability::Full {
        return None;
    }
    let directories = target.residence().map(|place| place.directories()).unwrap_or_default();
    let (_, directory) = directories.iter().find(|(role, _)| role == "log").or(directories.first())?;
    let latency = match disk::probe::sync_latency(directory, FLUSHES_TRIED, FLUSH_SIZE_BYTES) {
        Ok(latency) => latency,
        Err(error) => {
            tracing::debug!("{error}");
            return None;
        }
    };
    if latency.flushes_look_ignored() {
        warnings.push(Warning {
            code: FLUSHES_IGNORED.to_owned(),
            text: format!(
                "the device under \"{}\" does not wait for flushes: commits cost no disk time here",
                directory.display()
            ),
        });
    }
    let source = "median of 5 appends of 8 KiB with fdatasync in the log directory before the run";
    Some(Metric::new("sync_latency_s", latency.median_ns as f64 / 1e9, "s", source))
}

/// Says that an open loop could not keep its rate.
pub(super) fn open_loop_warning(work: &Work, dispatch: &Dispatch) -> Option<Warning> {
    let unserved: u64 = dispatch.clients.iter().map(|client| client.arrivals_unserved).sum();
    let rate = work.rate_per_s?;
    (unserved > 0).then(|| Warning {
        code: "rate_not_kept".to_owned(),
        text: format!(
            "{unserved} transactions of the requested {rate}/s were not started in time: response times are lower bounds"
        ),
    })
}

/// One caution per sampler that the machine was too busy for. Without figures, so that a study says it once; the record
/// of the run has them.
pub(super) fn missed_samples_warnings(observations: &Observations, limits: &Limits) -> Vec<Warning> {
    let lost = observations.samplers.iter().filter(|sampler| gates::has_missed_samples(sampler, limits));
    lost.map(|sampler| Warning {
        code: "looks_lost".to_owned(),
        text: format!(
            "{} took fewer than {:.0} % of its samples, because the machine was busy: it is less reliable",
            sampler.name,
            100.0 * limits.samples_present_fraction
        ),
    })
    .collect()
}
