//! What the counting runs of one configuration say together: sums over the runs, shares of sums.

use results::model::{Level, Run};
use results::observations::{How, Limit};
use results::store::StudyResults;

use crate::catalogue::Catalogue;
use crate::quantity::elapsed_s;

use super::log_place::LogPlace;
use super::offered::OfferedRate;

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
    /// The limit of those who queue behind this session, which writes or flushes for them.
    pub(super) device_work: Option<Limit>,
    /// Does it read data files?
    pub(super) is_read: bool,
    /// Seconds until the resource was there; all of the wait where it is not split.
    pub(super) resource_s: f64,
    /// Seconds ready without a processor after that; 0 where it is not split.
    pub(super) signal_s: f64,
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
    /// Name of the experiment.
    pub(super) experiment: String,
    pub(super) run_count: usize,
    pub(super) elapsed_s: f64,
    /// Time of the clients' sessions; 0 when no wait was recorded.
    pub(super) session_s: f64,
    pub(super) on_cpu_s: Option<f64>,
    pub(super) run_delay_s: Option<f64>,
    /// Time in which sessions waited for their client.
    pub(super) client_idle_s: f64,
    pub(super) is_sampled: bool,
    /// Is a part of the waits not split into resource and signal? Then time on and in front of a processor lies partly
    /// inside the waits.
    pub(super) is_unsplit: bool,
    /// Most time first; idle classes left out.
    pub(super) waits: Vec<Waited>,
    /// Metric names with their sums and the number of runs that have them.
    metrics: Vec<(String, f64, usize)>,
    /// Processors of the machine.
    pub(super) processor_count: Option<usize>,
    pub(super) connections: usize,
    /// Threads that a task was given beside its connection: workers of a check, streams of a backup; else 1.
    pub(super) workers: usize,
    /// What an open loop offered; `None` in a closed one.
    pub(super) offered_rate: Option<OfferedRate>,
    /// Where the log lay.
    pub(super) log_place: LogPlace,
}

impl Evidence {
    /// Adds up what the runs of one configuration say.
    pub(super) fn of(results: &StudyResults, catalogue: &Catalogue, cell_index: u32, runs: &[&Run]) -> Self {
        let engine = &results.study.engine;
        let mut evidence = Self {
            experiment: results.study.experiment.clone(),
            run_count: runs.len(),
            workers: workers(results, cell_index),
            offered_rate: OfferedRate::of(results, cell_index, runs),
            ..Self::default()
        };
        for run in runs {
            evidence.elapsed_s += elapsed_s(run);
            evidence.connections = evidence.connections.max(run.clients.len());
            evidence.add_waits(catalogue, engine, run);
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
        let mut places = runs.iter().map(|run| LogPlace::of(run));
        let first = places.next().unwrap_or_default();
        evidence.log_place = if places.all(|place| place == first) { first } else { LogPlace::Unknown };
        evidence.waits.sort_by(|left, right| {
            right.resource_s.total_cmp(&left.resource_s).then_with(|| left.name.cmp(&right.name))
        });
        evidence
    }

    fn add_waits(&mut self, catalogue: &Catalogue, engine: &str, run: &Run) {
        for profile in run.observations.waits.iter().filter(|profile| profile.group == CLIENTS) {
            // A client that has done its share early waits for nothing any more, though its session may stay open.
            let lifetimes_s = lifetimes_s(run).unwrap_or(profile.session_s).min(profile.session_s);
            let mut idle_s = -(profile.session_s - lifetimes_s);
            self.session_s += lifetimes_s;
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
                    idle_s += if row.class == CLIENT_CLASS { waited_s } else { 0.0 };
                    continue;
                }
                self.is_sampled |= matches!(row.how, How::Sampled { .. });
                let name = format!("{}:{}", row.class, row.name);
                let resource_s = row.resource_s.unwrap_or(row.wait_s);
                let signal_s = row.signal_s.unwrap_or(0.0);
                self.is_unsplit |= row.signal_s.is_none();
                if let Some(wait) = self.waits.iter_mut().find(|wait| wait.name == name) {
                    wait.resource_s += resource_s;
                    wait.signal_s += signal_s;
                    continue;
                }
                let known = catalogue.meaning(engine, &row.class, &row.name);
                self.waits.push(Waited {
                    name,
                    limit: known.map_or(Limit::Other, |known| known.limit),
                    meaning: known
                        .map_or("waits for an event that is not in the catalog", |known| known.meaning),
                    device_work: known.and_then(|known| known.device_work),
                    is_read: known.is_some_and(|known| known.is_read),
                    resource_s,
                    signal_s,
                });
            }
            self.client_idle_s += idle_s.max(0.0);
        }
    }

    /// The longest wait in which a session itself writes or flushes what those queue for who have this limit.
    pub(super) fn device_work(&self, limit: Limit) -> Option<&Waited> {
        self.waits.iter().find(|wait| wait.device_work == Some(limit))
    }

    /// Session time without waiting for the client; at least what is accounted for.
    fn active_s(&self) -> f64 {
        let waits_s = self.waits_s();
        let accounted_s = if self.is_unsplit { waits_s } else { waits_s + self.processor_s() };
        (self.session_s - self.client_idle_s).max(accounted_s)
    }

    fn waits_s(&self) -> f64 {
        self.waits.iter().map(|wait| wait.resource_s).sum()
    }

    /// Time on a processor and in front of one.
    fn processor_s(&self) -> f64 {
        self.on_cpu_s.unwrap_or(0.0) + self.run_delay_s.unwrap_or(0.0)
    }

    /// Time on a processor and in front of one, outside waits: where waits are not split, a part of it is theirs, and no
    /// more than what they leave can be its own.
    fn cpu_s(&self) -> f64 {
        let processor_s = self.processor_s();
        if self.is_unsplit { processor_s.min(self.active_s() - self.waits_s()).max(0.0) } else { processor_s }
    }

    /// Time ready without a processor that may lie inside the waits, in percent of the active time; `None` where waits
    /// are split or nobody counted it.
    pub(super) fn delay_inside_waits(&self) -> Option<(f64, f64)> {
        let delay_s = self.run_delay_s.filter(|_| self.is_unsplit)?;
        Some((delay_s, self.percent_of_active(delay_s)?))
    }

    /// Seconds as a percentage of the sessions' active time; `None` without sessions.
    pub(super) fn percent_of_active(&self, seconds: f64) -> Option<f64> {
        let active_s = self.active_s();
        (self.session_s > 0.0 && active_s > 0.0).then(|| 100.0 * seconds / active_s)
    }

    /// Share of the session time in which sessions waited for their client; `None` without sessions.
    pub(super) fn client_idle_share(&self) -> Option<f64> {
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

    /// Sum of a metric over the runs that have it, and how many those are.
    pub(super) fn total(&self, name: &str) -> Option<(f64, usize)> {
        let (_, sum, count) = self.metrics.iter().find(|(metric, _, _)| metric == name)?;
        Some((*sum, *count))
    }

    /// Mean time of the clients' sessions in a run; 0 when no wait was recorded.
    pub(super) fn session_mean_s(&self) -> f64 {
        self.session_s / self.run_count.max(1) as f64
    }

    /// Mean elapsed seconds of a run.
    pub(super) fn elapsed_mean_s(&self) -> f64 {
        self.elapsed_s / self.run_count.max(1) as f64
    }

    /// Share of the machine's processors that was busy, from 0 to 1: clock ticks of 10 ms at either end may say more than
    /// there is.
    pub(super) fn processors_busy(&self) -> Option<f64> {
        let busy_s = self.mean("fathom_cpu_s")?
            + self.mean("server_cpu_s").unwrap_or(0.0)
            + self.mean("other_cpu_s")?;
        let room_s = self.elapsed_mean_s() * self.processor_count? as f64;
        (room_s > 0.0).then(|| (busy_s / room_s).min(1.0))
    }

    /// CPUs that the run's own processes kept busy: fathom's and the server's.
    pub(super) fn own_cpus(&self) -> Option<f64> {
        let elapsed_s = self.elapsed_mean_s();
        let own_s = self.mean("fathom_cpu_s")? + self.mean("server_cpu_s").unwrap_or(0.0);
        (elapsed_s > 0.0).then(|| own_s / elapsed_s)
    }

    /// CPU time of the run's own processes as a share of what its threads could use, which is no more than the machine
    /// has.
    pub(super) fn own_cpu_share(&self) -> Option<f64> {
        let threads = self.connections.max(1) * self.workers.max(1);
        let usable = self.processor_count.map_or(threads, |count| threads.min(count));
        Some(self.own_cpus()? / usable as f64)
    }

    /// Bytes that the run itself read and wrote as a share of what a device did; `None` where the one or the other is
    /// not counted.
    pub(super) fn own_share_of_bytes(&self, device: &str) -> Option<f64> {
        let of_device = |name: &str| self.mean(&format!("{name}.{device}"));
        let device_bytes = of_device("device_read_bytes")? + of_device("device_write_bytes").unwrap_or(0.0);
        let raw_bytes =
            self.mean("raw_mib_per_s").map(|rate| rate * f64::from(1 << 20) * self.elapsed_mean_s());
        let counted = ["task_read_bytes", "data_written_bytes", "log_bytes"].map(|name| self.mean(name));
        let own: Vec<f64> = counted.into_iter().chain([raw_bytes]).flatten().collect();
        (device_bytes > 0.0 && !own.is_empty()).then(|| own.iter().sum::<f64>() / device_bytes)
    }

    /// Processors kept busy by what is neither server nor fathom, at most all of them.
    pub(super) fn processors_of_others(&self) -> Option<f64> {
        let others = self.mean("other_cpu_s")? / self.elapsed_mean_s();
        Some(others.min(self.processor_count.map_or(others, |count| count as f64)))
    }

    /// Do others keep more processors busy than this run left free or used itself?
    pub(super) fn is_crowded(&self) -> bool {
        let half = self.processor_count.map(|count| count as f64 / 2.0);
        self.processors_of_others().zip(half).is_some_and(|(others, half)| others >= half)
    }

    /// The device that was busy for the longest, with its share of the elapsed time.
    pub(super) fn busiest_device(&self) -> Option<(String, f64)> {
        let elapsed_s = self.elapsed_mean_s();
        let busy = self.metrics.iter().filter_map(|(name, sum, count)| {
            let device = name.strip_prefix("device_busy_s.")?;
            Some((device.to_owned(), sum / *count as f64 / elapsed_s))
        });
        let busy =
            busy.filter(|(_, share)| share.is_finite()).map(|(device, share)| (device, share.min(1.0)));
        busy.max_by(|left, right| left.1.total_cmp(&right.1))
    }
}

/// Parameters that give a task more threads than its one connection.
const THREADS: [&str; 2] = ["workers", "streams"];

fn workers(results: &StudyResults, cell_index: u32) -> usize {
    let cell = results.cells.iter().find(|cell| cell.index == cell_index);
    let levels = cell.into_iter().flat_map(|cell| &cell.levels).chain(&results.study.fixed);
    let counts =
        levels.filter(|(name, _)| THREADS.contains(&name.as_str())).filter_map(|(_, level)| match level {
            Level::Integer(count) => usize::try_from(*count).ok(),
            _ => None,
        });
    counts.max().unwrap_or(1)
}

/// From first statement to last answer, over all clients; `None` unless all have both.
fn lifetimes_s(run: &Run) -> Option<f64> {
    let lifetime = |client: &results::model::ClientRecord| {
        Some(client.end_ns?.saturating_sub(client.start_ns?) as f64 / 1e9)
    };
    let sum = run.clients.iter().map(lifetime).sum::<Option<f64>>()?;
    (sum > 0.0).then_some(sum)
}
