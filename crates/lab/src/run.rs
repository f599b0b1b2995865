//! One run: prepare, connect, release the barrier, measure around it, look at what is left, judge.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use disk::counters::{DiskCounters, MachineCpu, disk_counters, machine_cpu, process_cpu, process_cpu_ns};
use results::model::{Environment, Event, Metric, Run, RunKey, RunState, Setting, Warning};
use results::observations::Observations;

use crate::cache::CacheLook;
use crate::client::{Crew, CrewError, Dispatch, Progress};
use crate::environment;
use crate::gates::{self, Evidence, Limits};
use crate::observe::clients::ClientsProbe;
use crate::observe::counted::add_counted;
use crate::observe::external::{ExternalCommand, ExternalSampler};
use crate::observe::figures;
use crate::observe::machine::MachineProbe;
use crate::observe::series::SeriesSampler;
use crate::observe::{Sampler, Window};
use crate::reading;
use crate::target::{Aftermath, Counters, LogRecords, Target, TargetError};
use crate::work::{Durability, LoopSide, WarmUp, Work};

/// Names under which engines tell how much they wrote, best first.
const WRITTEN_METRICS: [&str; 2] = ["log_bytes", "engine_written_bytes"];

/// Code of the warning that durable commits cost nothing on this device.
pub const FLUSHES_IGNORED: &str = "flushes_ignored";

/// Why a run could not even begin.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The target cannot provide what the run needs.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The clients could not be started.
    #[error(transparent)]
    Crew(#[from] CrewError),
}

/// What a run is told beside its work.
#[derive(Clone, Copy, Debug)]
pub struct RunRequest<'a> {
    /// What to do.
    pub work: &'a Work,
    /// Which execution of which cell.
    pub key: RunKey,
    /// Position in the order of the study.
    pub position: u32,
    /// Limits of the gates.
    pub limits: Limits,
    /// Samplers of the user's own.
    pub samplers: &'a [ExternalCommand],
}

/// What the control thread sees while clients work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick {
    /// Rows acknowledged so far, warm-up included; with the loop on the server only those of finished clients.
    pub rows: u64,
    /// Changes whenever anything moves: rows or, with the loop on the server, the engine's counters.
    pub pulse: u64,
}

/// What `execute` does after a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// Goes on.
    Continue,
    /// Ends the run early.
    Stop,
}

/// Executes one run on `target` and returns its complete record, valid or not.
///
/// `on_tick` is called about ten times a second while clients work; when it returns `Course::Stop` the
/// run ends with its transactions under way and is invalid.
///
/// # Errors
/// Only when the run could not begin. An engine that dies in the middle makes an invalid run.
pub fn execute(
    target: &mut dyn Target,
    request: RunRequest<'_>,
    on_tick: &mut dyn FnMut(Tick) -> Course,
) -> Result<Run, RunError> {
    let measured = prepare_and_measure(target, request, on_tick);
    let cleaned = target.clean();
    let run = measured?;
    if let Err(error) = cleaned {
        // The next prepare starts from scratch; a dead engine cannot clean up after itself.
        tracing::debug!("could not clean up after the run: {error}");
    }
    Ok(run)
}

fn prepare_and_measure(
    target: &mut dyn Target,
    request: RunRequest<'_>,
    on_tick: &mut dyn FnMut(Tick) -> Course,
) -> Result<Run, RunError> {
    let work = request.work;
    target.prepare(work)?;
    let (environment, mut warnings) = environment::collect(target)?;
    let settings = target.settings()?;
    let sync_latency = sync_latency(target, work, &mut warnings);
    let jobs = work.jobs.unwrap_or_else(|| target.jobs(work));
    let mut crew = Crew::assemble(&target.connector(), work, jobs)?;
    let clients_seen = target.clients_seen()?;
    if work.warm_up != WarmUp::None {
        crew.warm_up(&mut Watch { target, work, on_tick, pulse: Pulse::default() }.look());
    }
    let clients_before = if crew.hand_in() { target.client_counters()? } else { None };
    // As late as can be: connecting and preparing statements reads, too.
    let cache_look = target.set_cache(work)?;
    let before = target.counters()?;
    let mut running: Vec<_> =
        samplers(target, request, &crew).into_iter().map(|sampler| sampler.start()).collect();
    let machine_before = MachineTotals::read(target);
    let started_at = jiff::Timestamp::now().to_string();
    let began = crew.release();
    running.iter_mut().for_each(|sampler| sampler.released());
    crew.wait(&mut Watch { target, work, on_tick, pulse: Pulse::default() }.look());
    let window = Window { began, ended: Instant::now() };
    let machine_after = MachineTotals::read(target);
    let mut observations = Observations::default();
    let mut marks = events(work);
    running.iter_mut().for_each(|sampler| marks.extend(sampler.halt(window)));
    marks.sort_by_key(|mark| mark.at_ns);
    for sampler in running {
        observations.merge(sampler.stop(window));
    }
    let clients_after = if crew.hand_in() { target.client_counters().unwrap_or_default() } else { None };
    let dispatch = crew.dismiss();
    let after = target.counters();
    let aftermath = target.aftermath(work).map_err(|error| error.to_string());
    let transactions = dispatch.clients.iter().map(|client| client.transactions).sum();
    let log_records = after.as_ref().map(|after| target.log_records(work, &before, after, transactions));
    let mut counted: Vec<Metric> = sync_latency.into_iter().collect();
    counted.extend(after.iter().flat_map(|after| engine_metrics(after, &before)));
    if let (Some(after), Some(before)) = (&clients_after, &clients_before) {
        counted.extend(engine_metrics(after, before));
    }
    counted.extend(machine_after.since(&machine_before));
    Ok(record(Measured {
        request,
        kind: target.kind(),
        environment,
        settings,
        warnings,
        clients_seen,
        cache_look,
        counted,
        started_at,
        observations,
        marks,
        dispatch,
        aftermath,
        log_records: log_records.unwrap_or_default(),
    }))
}

/// What is known when a run is over.
struct Measured<'a> {
    request: RunRequest<'a>,
    /// Kind of engine.
    kind: &'static str,
    environment: Environment,
    settings: Vec<Setting>,
    warnings: Vec<Warning>,
    clients_seen: Option<u32>,
    cache_look: Option<CacheLook>,
    /// By engine and machine.
    counted: Vec<Metric>,
    started_at: String,
    observations: Observations,
    marks: Vec<Event>,
    dispatch: Dispatch,
    aftermath: Result<Aftermath, String>,
    log_records: LogRecords,
}

/// Makes the record of a run and judges it.
fn record(measured: Measured<'_>) -> Run {
    let Measured { request, kind, mut warnings, mut observations, mut marks, dispatch, aftermath, .. } =
        measured;
    let work = request.work;
    let elapsed_ns = dispatch.clients.iter().filter_map(|client| client.end_ns).max().unwrap_or(0);
    let mut metrics = measured.counted;
    metrics.extend(reading::device_rates(&metrics, elapsed_ns));
    metrics.extend(aftermath_metrics(&aftermath));
    metrics.extend(measured.log_records.metrics);
    warnings.extend(measured.log_records.warning);
    let answers = aftermath.as_ref().map_or(&[][..], |aftermath| &aftermath.look_ups);
    let read = reading::record(work, measured.cache_look.as_ref(), answers, &metrics);
    metrics.extend(read.metrics);
    marks.extend(read.events);
    warnings.extend(read.warnings);
    warnings.extend(aftermath.iter().flat_map(|aftermath| aftermath.warnings.clone()));
    metrics.extend(outcome_metrics(&dispatch));
    metrics.extend(figures::metrics(&observations, &marks, elapsed_ns));
    warnings.extend(open_loop_warning(work, &dispatch));
    warnings.extend(lost_looks_warnings(&observations, &request.limits));
    if kind == "postgres" {
        add_counted(&mut observations, &metrics);
    }
    let written = WRITTEN_METRICS
        .iter()
        .find_map(|name| metrics.iter().find(|metric| metric.name == *name))
        .map(|metric| (metric.value as u64, metric.name.clone()));
    let evidence = Evidence {
        work,
        clients: &dispatch.clients,
        workers: &dispatch.workers,
        clients_seen: measured.clients_seen,
        elapsed_ns,
        aftermath: &aftermath,
        written: written.as_ref().map(|(bytes, name)| (*bytes, name.as_str())),
        is_embedded: work.workload.is_task() || kind == "sqlite" || kind == "noop",
        samplers: &observations.samplers,
    };
    let gates = gates::judge(&evidence, &request.limits);
    let state = if gates::all_passed(&gates) { RunState::Valid } else { RunState::Invalid };
    Run {
        key: request.key,
        position: request.position,
        started_at: measured.started_at,
        state,
        elapsed_ns,
        metrics,
        gates,
        warnings,
        events: marks,
        settings: sorted(measured.settings),
        environment: measured.environment,
        observations,
        clients: dispatch.clients,
    }
}

/// Everything that looks at this run: at the machine, at the clients, at the engine, and the user's own.
fn samplers(target: &mut dyn Target, request: RunRequest<'_>, crew: &Crew) -> Vec<Box<dyn Sampler>> {
    let machine = MachineProbe::new(&target.directories(), target.server_process_id());
    let mut samplers: Vec<Box<dyn Sampler>> = vec![Box::new(SeriesSampler::new(machine))];
    if request.work.loop_side == LoopSide::Client {
        samplers.push(Box::new(SeriesSampler::new(ClientsProbe { progress: crew.progress() })));
    }
    samplers.extend(target.samplers(request.work));
    for command in request.samplers {
        samplers.push(Box::new(ExternalSampler::new(command.clone())));
    }
    samplers
}

/// Counters of an engine are asked for signs of life this often while its own loop runs.
const PULSE_PERIOD: Duration = Duration::from_secs(2);

/// Loops inside an engine that should end are interrupted this often until they do.
const INTERRUPT_PERIOD: Duration = Duration::from_millis(500);

/// Looks at the run ten times a second on behalf of the caller.
struct Watch<'a> {
    target: &'a mut dyn Target,
    work: &'a Work,
    on_tick: &'a mut dyn FnMut(Tick) -> Course,
    pulse: Pulse,
}

/// Last sign of life of an engine that loops by itself.
struct Pulse {
    asked_at: Instant,
    beats: u64,
    last: Counters,
    interrupted_at: Option<Instant>,
}

impl Pulse {
    /// Is it time to interrupt the engine's loops, again if need be? An interrupt that comes before a loop has begun
    /// is lost.
    fn may_interrupt(&mut self) -> bool {
        if self.interrupted_at.is_some_and(|at| at.elapsed() < INTERRUPT_PERIOD) {
            return false;
        }
        self.interrupted_at = Some(Instant::now());
        true
    }
}

impl Default for Pulse {
    fn default() -> Self {
        Self { asked_at: Instant::now(), beats: 0, last: Counters::default(), interrupted_at: None }
    }
}

impl<'a> Watch<'a> {
    fn look(mut self) -> impl FnMut(&Progress) + 'a {
        move |progress| {
            if self.work.loop_side == LoopSide::Server {
                self.feel_pulse();
            }
            let rows = progress.rows();
            if (self.on_tick)(Tick { rows, pulse: rows + self.pulse.beats }) == Course::Stop {
                progress.stop();
            }
            let is_over = progress.is_stopped() && self.work.loop_side == LoopSide::Server;
            if is_over
                && self.pulse.may_interrupt()
                && let Err(error) = self.target.interrupt()
            {
                tracing::warn!("could not interrupt the loops in the engine: {error}");
            }
        }
    }

    fn feel_pulse(&mut self) {
        if self.pulse.asked_at.elapsed() < PULSE_PERIOD {
            return;
        }
        self.pulse.asked_at = Instant::now();
        if let Ok(counters) = self.target.counters()
            && counters != self.pulse.last
        {
            self.pulse.beats += 1;
            self.pulse.last = counters;
        }
    }
}

/// What the engine counted between two readings.
fn engine_metrics(after: &Counters, before: &Counters) -> Vec<Metric> {
    let difference = |metric: &Metric| {
        let earlier = before.cumulative.iter().find(|other| other.name == metric.name)?;
        Some(Metric { value: metric.value - earlier.value, ..metric.clone() })
    };
    after.cumulative.iter().filter_map(difference).collect()
}

/// What devices and processors have done, read just before the barrier, when all samplers have begun, and just after
/// the last client.
struct MachineTotals {
    devices: BTreeMap<String, DiskCounters>,
    cpu: CpuTotals,
}

impl MachineTotals {
    fn read(target: &dyn Target) -> Self {
        // The processors last: at the barrier nothing comes in between, at the end the devices are soon read.
        let devices = device_counters(&target.directories());
        Self { devices, cpu: CpuTotals::read(target) }
    }

    fn since(&self, before: &Self) -> Vec<Metric> {
        let mut metrics = Vec::new();
        for (device, counters) in &self.devices {
            let earlier = before.devices.get(device);
            if let Some(activity) = earlier.and_then(|earlier| counters.since(earlier, 1).ok()) {
                metrics.extend(device_metrics(device, &activity.difference));
            }
        }
        metrics.extend(self.cpu.since(&before.cpu));
        metrics
    }
}

fn device_metrics(device: &str, counters: &DiskCounters) -> Vec<Metric> {
    let source = format!("/proc/diskstats {device}");
    let seconds = |ms: u64| ms as f64 / 1e3;
    let mut metrics = vec![
        metric(&format!("device_write_bytes.{device}"), counters.write_bytes as f64, "bytes", &source),
        metric(&format!("device_read_bytes.{device}"), counters.read_bytes as f64, "bytes", &source),
        metric(&format!("device_writes.{device}"), counters.writes as f64, "1", &source),
        metric(&format!("device_write_s.{device}"), seconds(counters.write_ms), "s", &source),
        metric(&format!("device_reads.{device}"), counters.reads as f64, "1", &source),
        metric(&format!("device_read_s.{device}"), seconds(counters.read_ms), "s", &source),
        metric(&format!("device_busy_s.{device}"), seconds(counters.io_ms), "s", &source),
    ];
    if let Some(flushes) = counters.flushes {
        metrics.push(metric(&format!("device_flushes.{device}"), flushes.flushes as f64, "1", &source));
        metrics.push(metric(&format!("device_flush_s.{device}"), seconds(flushes.flush_ms), "s", &source));
    }
    metrics
}

/// CPU clocks of machine, fathom and server.
struct CpuTotals {
    machine: Option<MachineCpu>,
    own_ns: u64,
    server_ns: Option<u64>,
}

impl CpuTotals {
    fn read(target: &dyn Target) -> Self {
        Self {
            machine: machine_cpu().ok(),
            own_ns: process_cpu_ns(),
            server_ns: target.server_process_id().and_then(server_cpu_ns),
        }
    }

    fn since(&self, before: &Self) -> Vec<Metric> {
        let own_ns = self.own_ns - before.own_ns;
        let mut metrics = vec![metric("fathom_cpu_s", own_ns as f64 / 1e9, "s", "CLOCK_PROCESS_CPUTIME_ID")];
        let mut known_ns = own_ns;
        if let (Some(after), Some(earlier)) = (self.server_ns, before.server_ns) {
            let server_ns = after.saturating_sub(earlier);
            known_ns += server_ns;
            metrics.push(metric(
                "server_cpu_s",
                server_ns as f64 / 1e9,
                "s",
                "/proc/PID/stat of the server and its children",
            ));
        }
        if let (Some(after), Some(earlier)) = (&self.machine, &before.machine) {
            let other_ns = after.since(earlier).other_busy_ns(known_ns);
            metrics.push(metric(
                "other_cpu_s",
                other_ns as f64 / 1e9,
                "s",
                "/proc/stat less fathom and server",
            ));
        }
        metrics
    }
}

/// CPU of the server's main process and all its children, ended or not.
fn server_cpu_ns(process_id: u32) -> Option<u64> {
    let own = process_cpu(process_id).ok()?.total_with_children_ns();
    let children = std::fs::read_to_string(format!("/proc/{process_id}/task/{process_id}/children")).ok()?;
    let living: u64 = children
        .split_whitespace()
        .filter_map(|child| child.parse().ok())
        .filter_map(|child| process_cpu(child).ok())
        .map(|cpu| cpu.total_with_children_ns())
        .sum();
    Some(own + living)
}

fn device_counters(directories: &[(String, PathBuf)]) -> BTreeMap<String, DiskCounters> {
    environment::storage_by_role(directories)
        .into_iter()
        .filter_map(|(_, facts)| facts.block_devices.first().map(|device| device.name.clone()))
        .filter_map(|name| disk_counters(&name).ok().map(|counters| (name, counters)))
        .collect()
}

fn aftermath_metrics(aftermath: &Result<Aftermath, String>) -> Vec<Metric> {
    let Ok(aftermath) = aftermath else { return Vec::new() };
    let mut metrics = Vec::new();
    let mut add = |name: &str, value: Option<u64>, unit: &str| {
        if let Some(value) = value {
            metrics.push(metric(name, value as f64, unit, "counted by the engine after the run"));
        }
    };
    add("table_rows", aftermath.rows, "1");
    add("table_pages", aftermath.table_pages, "1");
    add("database_bytes", aftermath.total_bytes, "bytes");
    metrics.extend(aftermath.metrics.iter().cloned());
    metrics
}

fn outcome_metrics(dispatch: &Dispatch) -> Vec<Metric> {
    let retries: u64 = dispatch.clients.iter().map(|client| client.retries).sum();
    let cpu_ns: u64 = dispatch.workers.iter().map(|worker| worker.cpu_ns).sum();
    vec![
        metric("retries", retries as f64, "1", "counted by the clients"),
        metric("client_cpu_s", cpu_ns as f64 / 1e9, "s", "CLOCK_THREAD_CPUTIME_ID of the worker threads"),
    ]
}

/// Flushes tried before a run: enough for a median, few enough not to disturb.
const FLUSHES_TRIED: u32 = 5;
/// Size of each tried write: one log page of the engines under test.
const FLUSH_SIZE_BYTES: usize = 8192;

/// Time of one flush where the log lies, just before the run: the yardstick of every durable commit, and a sign of
/// drift between runs. Warns where the device does not wait for flushes.
fn sync_latency(target: &dyn Target, work: &Work, warnings: &mut Vec<Warning>) -> Option<Metric> {
    if work.durability != Durability::Full {
        return None;
    }
    let directories = target.directories();
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
                "the device behind \"{}\" does not wait for flushes: a commit costs no disk time here",
                directory.display()
            ),
        });
    }
    let source = "median of 5 appends of 8 KiB with fdatasync in the log directory before the run";
    Some(metric("sync_latency_s", latency.median_ns as f64 / 1e9, "s", source))
}

fn open_loop_warning(work: &Work, dispatch: &Dispatch) -> Option<Warning> {
    let unserved: u64 = dispatch.clients.iter().map(|client| client.arrivals_unserved).sum();
    let rate = work.rate_per_s?;
    (unserved > 0).then(|| Warning {
        code: "rate_not_kept".to_owned(),
        text: format!(
            "{unserved} transactions of the asked {rate}/s had not begun when the time was over: response times are lower bounds"
        ),
    })
}

/// One caution per sampler that the machine was too busy for. Without figures, so that a study says it once; the record
/// of the run has them.
fn lost_looks_warnings(observations: &Observations, limits: &Limits) -> Vec<Warning> {
    let lost = observations.samplers.iter().filter(|sampler| gates::has_lost_looks(sampler, limits));
    lost.map(|sampler| Warning {
        code: "looks_lost".to_owned(),
        text: format!(
            "{} had fewer than {:.0} % of its looks, because the machine was busy: what it says is less sure",
            sampler.name,
            100.0 * limits.samples_present_fraction
        ),
    })
    .collect()
}

fn events(work: &Work) -> Vec<Event> {
    if work.warm_up == WarmUp::None {
        return Vec::new();
    }
    vec![Event {
        at_ns: 0,
        kind: "warm_up_end".to_owned(),
        text: "all warm-up transactions were answered".to_owned(),
    }]
}

fn sorted(mut settings: Vec<Setting>) -> Vec<Setting> {
    settings.sort_by(|left, right| left.name.cmp(&right.name));
    settings
}

fn metric(name: &str, value: f64, unit: &str, source: &str) -> Metric {
    Metric { name: name.to_owned(), value, unit: unit.to_owned(), source: source.to_owned() }
}
