//! What the counting runs of one configuration say together: sums over the runs, shares of sums.

use results::model::Run;
use results::observations::How;

use crate::catalogue::{self, Limit};
use crate::quantity::elapsed_s;

/// Group of sessions that do the work.
const CLIENTS: &str = "clients";

/// Class of waits in which a session waits for its client.
const CLIENT_CLASS: &str = "Client";

/// One wait type of the clients' sessions.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Waited {
    /// `class:name`.
    pub(super) name: String,
    /// What it stands for.
    pub(super) limit: Limit,
    /// What the session is doing, as a clause after "the session".
    pub(super) meaning: &'static str,
    /// Seconds until the resource was there; all of the wait where it is not split.
    pub(super) resource_s: f64,
}

/// Part of the active time that stands for one limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Part {
    pub(super) limit: Limit,
    /// From 0 to 1.
    pub(super) share: f64,
}

/// Figures of the runs of one configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Evidence {
    pub(super) run_count: usize,
    pub(super) elapsed_s: f64,
    /// Time of the clients' sessions; 0 when no wait was recorded.
    pub(super) session_s: f64,
    pub(super) on_cpu_s: Option<f64>,
    pub(super) run_delay_s: Option<f64>,
    /// Time in which sessions waited for their client.
    pub(super) client_idle_s: f64,
    pub(super) is_sampled: bool,
    /// Most time first; idle classes left out.
    pub(super) waits: Vec<Waited>,
    /// Metric names with their sums and the number of runs that have them.
    metrics: Vec<(String, f64, usize)>,
    /// Processors of the machine.
    pub(super) processor_count: Option<usize>,
    pub(super) connections: usize,
}

impl Evidence {
    /// Adds up what the runs say.
    pub(super) fn of(engine: &str, runs: &[&Run]) -> Self {
        let mut evidence = Self { run_count: runs.len(), ..Self::default() };
        for run in runs {
            evidence.elapsed_s += elapsed_s(run);
            evidence.connections = evidence.connections.max(run.clients.len());
            evidence.add_waits(engine, run);
            for metric in &run.metrics {
                match evidence.metrics.iter_mut().find(|(name, _, _)| *name == metric.name) {
                    Some((_, sum, count)) => {
                        *sum += metric.value;
                        *count += 1;
                    }
                    None => evidence.metrics.push((metric.name.clone(), metric.value, 1)),
                }
            }
            let online =
                run.environment.machine.pointer("/processors/online").and_then(|list| list.as_array());
            evidence.processor_count =
                evidence.processor_count.or(online.map(Vec::len).filter(|count| *count > 0));
        }
        evidence.waits.sort_by(|left, right| {
            right.resource_s.total_cmp(&left.resource_s).then_with(|| left.name.cmp(&right.name))
        });
        evidence
    }

    fn add_waits(&mut self, engine: &str, run: &Run) {
        for profile in run.observations.waits.iter().filter(|profile| profile.group == CLIENTS) {
            // A client that has done its share early waits for nothing any more.
            self.session_s += lifetimes_s(run).unwrap_or(profile.session_s).min(profile.session_s);
            let add = |sum: &mut Option<f64>, seconds: Option<f64>| {
                if let Some(seconds) = seconds {
                    *sum = Some(sum.unwrap_or(0.0) + seconds);
                }
            };
            add(&mut self.on_cpu_s, profile.on_cpu_s);
            add(&mut self.run_delay_s, profile.run_delay_s);
            for row in &profile.rows {
                if row.is_idle {
                    // Ready to run after the client's message is no longer waiting for the client.
                    let waited_s = row.resource_s.unwrap_or(row.wait_s);
                    self.client_idle_s += if row.class == CLIENT_CLASS { waited_s } else { 0.0 };
                    continue;
                }
                self.is_sampled |= matches!(row.how, How::Sampled { .. });
                let name = format!("{}:{}", row.class, row.name);
                let resource_s = row.resource_s.unwrap_or(row.wait_s);
                if let Some(wait) = self.waits.iter_mut().find(|wait| wait.name == name) {
                    wait.resource_s += resource_s;
                    continue;
                }
                let (limit, meaning) = match catalogue::meaning(engine, &row.class, &row.name) {
                    Some(known) => (known.limit, known.meaning),
                    None => (Limit::Other, "waits for something that the catalogue does not know"),
                };
                self.waits.push(Waited { name, limit, meaning, resource_s });
            }
        }
    }

    /// Seconds of a wait type over the elapsed time: above 1 several sessions had it at once. 0 when nobody had it.
    pub(super) fn times_elapsed(&self, name: &str) -> f64 {
        let wait = self.waits.iter().find(|wait| wait.name == name);
        wait.map_or(0.0, |wait| wait.resource_s / self.elapsed_s)
    }

    /// Session time without waiting for the client; at least what is accounted for.
    fn active_s(&self) -> f64 {
        let accounted_s = self.waits.iter().map(|wait| wait.resource_s).sum::<f64>() + self.cpu_s();
        (self.session_s - self.client_idle_s).max(accounted_s)
    }

    /// Time on a processor and in front of one.
    fn cpu_s(&self) -> f64 {
        self.on_cpu_s.unwrap_or(0.0) + self.run_delay_s.unwrap_or(0.0)
    }

    /// Seconds as a percentage of the sessions' active time; `None` without sessions.
    pub(super) fn percent_of_active(&self, seconds: f64) -> Option<f64> {
        let active_s = self.active_s();
        (self.session_s > 0.0 && active_s > 0.0).then(|| 100.0 * seconds / active_s)
    }

    /// Share of the session time in which sessions waited for their client; `None` without sessions.
    pub(super) fn client_idle_share(&self) -> Option<f64> {
        // A session that stays open after its client was done goes on waiting for it.
        (self.session_s > 0.0).then(|| (self.client_idle_s / self.session_s).min(1.0))
    }

    /// The active time by what it stands for, largest first; what nothing accounts for is not among them.
    pub(super) fn parts(&self) -> Vec<Part> {
        let active_s = self.active_s();
        if active_s <= 0.0 || self.session_s <= 0.0 {
            return Vec::new();
        }
        let mut parts = vec![Part { limit: Limit::Cpu, share: self.cpu_s() / active_s }];
        for wait in &self.waits {
            let share = wait.resource_s / active_s;
            match parts.iter_mut().find(|part| part.limit == wait.limit) {
                Some(part) => part.share += share,
                None => parts.push(Part { limit: wait.limit, share }),
            }
        }
        parts.sort_by(|left, right| right.share.total_cmp(&left.share).then(left.limit.cmp(&right.limit)));
        parts
    }

    /// Mean of a metric over the runs that have it.
    pub(super) fn mean(&self, name: &str) -> Option<f64> {
        let (_, sum, count) = self.metrics.iter().find(|(metric, _, _)| metric == name)?;
        Some(sum / *count as f64)
    }

    /// Mean elapsed seconds of a run.
    pub(super) fn elapsed_mean_s(&self) -> f64 {
        self.elapsed_s / self.run_count.max(1) as f64
    }

    /// Share of the machine's processors that was busy, from 0 to 1.
    pub(super) fn processors_busy(&self) -> Option<f64> {
        let busy_s = self.mean("fathom_cpu_s")?
            + self.mean("server_cpu_s").unwrap_or(0.0)
            + self.mean("other_cpu_s")?;
        let room_s = self.elapsed_mean_s() * self.processor_count? as f64;
        (room_s > 0.0).then(|| busy_s / room_s)
    }

    /// Processors kept busy by what is neither server nor fathom.
    pub(super) fn processors_of_others(&self) -> Option<f64> {
        Some(self.mean("other_cpu_s")? / self.elapsed_mean_s())
    }

    /// The device that was busy for the longest, with its share of the elapsed time.
    pub(super) fn busiest_device(&self) -> Option<(String, f64)> {
        let elapsed_s = self.elapsed_mean_s();
        let busy = self.metrics.iter().filter_map(|(name, sum, count)| {
            let device = name.strip_prefix("device_busy_s.")?;
            Some((device.to_owned(), sum / *count as f64 / elapsed_s))
        });
        busy.filter(|(_, share)| share.is_finite()).max_by(|left, right| left.1.total_cmp(&right.1))
    }
}

/// From first statement to last answer, over all clients; `None` unless all have both.
fn lifetimes_s(run: &Run) -> Option<f64> {
    let lifetime = |client: &results::model::ClientRecord| {
        Some(client.end_ns?.saturating_sub(client.start_ns?) as f64 / 1e9)
    };
    let sum = run.clients.iter().map(lifetime).sum::<Option<f64>>()?;
    (sum > 0.0).then_some(sum)
}
