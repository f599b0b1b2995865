//! One run: prepare, connect, release the barrier, measure around it, look at what is left, judge.

use std::sync::Arc;
use std::time::Instant;

use results::model::{Environment, Event, Metric, Run, RunKey, RunState, Setting, Warning};
use results::observations::Observations;

use crate::cache::CachedPages;
use crate::client::{ClientPool, ClientPoolError, Dispatch, DynConnector};
use crate::engine::{Counters, Engine, LogRecords, PostRunState, Target, TargetError};
use crate::environment;
use crate::gates::{self, Evidence, Limits};
use crate::observe::clients::ClientsProbe;
use crate::observe::counted::add_counted;
use crate::observe::external::{ExternalCommand, ExternalSampler};
use crate::observe::figures;
use crate::observe::machine::MachineProbe;
use crate::observe::series::SeriesSampler;
use crate::observe::{Sampler, Window};
use crate::own;
use crate::reading;
use crate::work::{LoopSide, WarmUp, Work};

mod cautions;
mod outcome;
mod own_workload;
mod tick;
mod totals;
mod watch;

pub use cautions::FLUSHES_IGNORED;
use cautions::{missed_samples_warnings, open_loop_warning, sync_latency};
use outcome::{outcome_metrics, post_run_metrics};
pub use tick::{Course, Tick};
use totals::MachineTotals;
use watch::{Pulse, Watch};

/// Names under which engines tell how much they wrote, best first.
const WRITTEN_METRICS: [&str; 2] = ["log_bytes", "engine_written_bytes"];

/// Why a run could not even begin.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The target cannot provide what the run needs.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The clients could not be started.
    #[error(transparent)]
    ClientPool(#[from] ClientPoolError),
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

/// What becomes of the objects of a run after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftovers {
    /// They are removed.
    Remove,
    /// They stay until the next run is prepared, or for good after the last.
    Leave,
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
    execute_and(target, request, Leftovers::Remove, on_tick)
}

/// As [`execute`], and says what becomes of the run's objects.
///
/// # Errors
/// As [`execute`].
pub fn execute_and(
    target: &mut dyn Target,
    request: RunRequest<'_>,
    leftovers: Leftovers,
    on_tick: &mut dyn FnMut(Tick) -> Course,
) -> Result<Run, RunError> {
    let measured = prepare_and_measure(target, request, on_tick);
    // The next prepare removes them anyway.
    let cleaned = if leftovers == Leftovers::Remove { target.clean() } else { Ok(()) };
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
    let connector = connector(target, work, on_tick)?;
    let (environment, mut warnings) = environment::collect(target)?;
    let settings = target.describe().map_or_else(|| Ok(Vec::new()), |engine| engine.settings())?;
    let sync_latency = sync_latency(target, work, &mut warnings);
    let jobs = work.jobs.unwrap_or_else(|| target.jobs(work));
    let mut pool = ClientPool::assemble(&connector, work, jobs)?;
    let clients_seen = target.clients().map_or(Ok(None), |clients| clients.clients_seen())?;
    if work.warm_up != WarmUp::None {
        pool.warm_up(&mut Watch { target, work, on_tick, pulse: Pulse::default() }.look());
    }
    let clients_before = if pool.flush_stats() { client_counters(target)? } else { None };
    // As late as can be: connecting and preparing statements reads, too.
    let cache_look = target.cache().map_or(Ok(None), |cache| cache.set_cache(work))?;
    let before = target.counters()?;
    let mut running: Vec<_> =
        samplers(target, request, &pool).into_iter().map(|sampler| sampler.start()).collect();
    let machine_before = MachineTotals::read(target);
    let started_at = jiff::Timestamp::now().to_string();
    let began = pool.release();
    running.iter_mut().for_each(|sampler| sampler.released());
    pool.wait(&mut Watch { target, work, on_tick, pulse: Pulse::default() }.look());
    let window = Window { began, ended: Instant::now() };
    let machine_after = MachineTotals::read(target);
    let mut observations = Observations::default();
    let mut marks = events(work);
    running.iter_mut().for_each(|sampler| marks.extend(sampler.halt(window)));
    marks.sort_by_key(|mark| mark.at_ns);
    for sampler in running {
        observations.merge(sampler.stop(window));
    }
    let clients_after = if pool.flush_stats() { client_counters(target).unwrap_or_default() } else { None };
    let dispatch = pool.dismiss();
    let after = target.counters();
    let post_run_state = own_workload::post_run_state(target, work, on_tick);
    let transactions = dispatch.clients.iter().map(|client| client.transactions).sum();
    let log_records = match (&after, target.observe()) {
        (Ok(after), Some(engine)) => engine.log_records(work, &before, after, transactions),
        _ => LogRecords::default(),
    };
    let mut counted: Vec<Metric> = sync_latency.into_iter().collect();
    counted.extend(after.iter().flat_map(|after| engine_metrics(after, &before)));
    if let (Some(after), Some(before)) = (&clients_after, &clients_before) {
        counted.extend(engine_metrics(after, before));
    }
    counted.extend(machine_after.since(&machine_before));
    Ok(record(Measured {
        request,
        engine: target.engine(),
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
        post_run_state,
        log_records,
    }))
}

/// How the clients of the run connect; a workload of the user's own is loaded first, where it was not before.
fn connector(
    target: &mut dyn Target,
    work: &Work,
    on_tick: &mut dyn FnMut(Tick) -> Course,
) -> Result<Arc<dyn DynConnector>, TargetError> {
    let Some(own) = &work.own else { return Ok(target.connector()) };
    let engine = target.engine().id;
    match target.own_databases() {
        Some(databases) => own::provide(databases, engine, work, own, on_tick),
        None => Err(own_workload::refused(engine)),
    }
}

/// What is known when a run is over.
struct Measured<'a> {
    request: RunRequest<'a>,
    engine: &'static Engine,
    environment: Environment,
    settings: Vec<Setting>,
    warnings: Vec<Warning>,
    clients_seen: Option<u32>,
    cache_look: Option<CachedPages>,
    /// By engine and machine.
    counted: Vec<Metric>,
    started_at: String,
    observations: Observations,
    marks: Vec<Event>,
    dispatch: Dispatch,
    post_run_state: Result<PostRunState, String>,
    log_records: LogRecords,
}

/// Makes the record of a run and judges it.
fn record(measured: Measured<'_>) -> Run {
    let Measured {
        request, engine, mut warnings, mut observations, mut marks, dispatch, post_run_state, ..
    } = measured;
    let work = request.work;
    let elapsed_ns = dispatch.clients.iter().filter_map(|client| client.end_ns).max().unwrap_or(0);
    let mut metrics = measured.counted;
    metrics.extend(reading::device_rates(&metrics, elapsed_ns));
    metrics.extend(post_run_metrics(&post_run_state));
    metrics.extend(measured.log_records.metrics);
    warnings.extend(measured.log_records.warning);
    let answers = post_run_state.as_ref().map_or(&[][..], |post_run_state| &post_run_state.look_ups);
    let read = reading::record(work, measured.cache_look.as_ref(), answers, &metrics);
    metrics.extend(read.metrics);
    marks.extend(read.events);
    warnings.extend(read.warnings);
    warnings.extend(post_run_state.iter().flat_map(|post_run_state| post_run_state.warnings.clone()));
    metrics.extend(outcome_metrics(&dispatch));
    metrics.extend(own_workload::metrics(work, &dispatch));
    metrics.extend(figures::metrics(&observations, &marks, elapsed_ns));
    warnings.extend(open_loop_warning(work, &dispatch));
    warnings.extend(missed_samples_warnings(&observations, &request.limits));
    add_counted(&mut observations, engine.counted, &metrics);
    observations.series.extend(dispatch.seconds.series(elapsed_ns));
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
        post_run_state: &post_run_state,
        written: written.as_ref().map(|(bytes, name)| (*bytes, name.as_str())),
        is_embedded: work.workload.is_task() || engine.is_embedded,
        samplers: &observations.samplers,
        scripts: &dispatch.scripts,
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
        observations: Observations { transactions: dispatch.transactions, ..observations },
        scripts: dispatch.scripts,
        clients: dispatch.clients,
    }
}

/// Everything that looks at this run: at the machine, at the clients, at the engine, and the user's own.
fn samplers(target: &mut dyn Target, request: RunRequest<'_>, pool: &ClientPool) -> Vec<Box<dyn Sampler>> {
    let residence = target.residence();
    let machine = MachineProbe::new(
        &residence.map(|place| place.directories()).unwrap_or_default(),
        residence.and_then(|place| place.server_process_id()),
    );
    let mut samplers: Vec<Box<dyn Sampler>> = vec![Box::new(SeriesSampler::new(machine))];
    if request.work.loop_side == LoopSide::Client {
        let is_own = request.work.own.is_some();
        samplers.push(Box::new(SeriesSampler::new(ClientsProbe { progress: pool.progress(), is_own })));
    }
    samplers.extend(target.observe().into_iter().flat_map(|engine| engine.samplers(request.work)));
    for command in request.samplers {
        samplers.push(Box::new(ExternalSampler::new(command.clone())));
    }
    samplers
}

/// What the clients of this run were counted for alone, where the engine counts by session.
fn client_counters(target: &mut dyn Target) -> Result<Option<Counters>, TargetError> {
    target.clients().map_or(Ok(None), |clients| clients.client_counters())
}

/// What the engine counted between two readings.
fn engine_metrics(after: &Counters, before: &Counters) -> Vec<Metric> {
    let difference = |metric: &Metric| {
        let earlier = before.cumulative.iter().find(|other| other.name == metric.name)?;
        Some(Metric { value: metric.value - earlier.value, ..metric.clone() })
    };
    after.cumulative.iter().filter_map(difference).collect()
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
