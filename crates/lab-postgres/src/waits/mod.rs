//! Waits of a PostgreSQL server, seen while a run goes on.
//!
//! Two ways lead to the same table. On this machine and with the rights, waits are read from the server's shared memory
//! a hundred times a second (`memory_probe`); else the server is asked ten times a second (`sql_probe`). Which one
//! was taken, and why not the first, stands in the record of the sampler. Beside it, once a second, `tasks` asks who
//! waits for what. `wait_counts` adds samples up, `events` knows the names, `server_memory` the place.
//!
//! Nothing here ends a run: a server that restarts or a role without rights is a sentence in the record.

pub(crate) mod events;
pub(super) mod live;
pub(crate) mod meanings;
mod memory_probe;
mod server_memory;
mod sessions;
mod sql_probe;
mod tasks;
mod wait_counts;
mod watch;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use lab::observe::live::Way;
use lab::observe::series::nanoseconds_since;
use lab::observe::{RunningSampler, Sampler, Window};
use results::model::Event;
use results::observations::{Observations, SamplerRecord, WaitProfile, WaitingTask};

use super::control::Control;
use super::session::PostgresConnector;
use super::wire::Login;
use events::Names;
use memory_probe::MemoryProbe;
use server_memory::ServerMemory;
use sessions::Known;
use sessions::Scope;
use sql_probe::SqlProbe;
use tasks::TaskProbe;
use wait_counts::Closed;
use watch::{Ended, Watched};

/// Name of these connections in the list of sessions.
const CONTROL_NAME: &str = "fathom-control-waits";

/// Memory for the rows of one answer: a session takes about 400 bytes of it.
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// Samplers as they are called in the record.
const MEMORY_NAME: &str = "postgres_waits_memory";
const SQL_NAME: &str = "postgres_waits_sql";
const TASKS_NAME: &str = "postgres_waiting_tasks";

/// Names that must have been heard from the server before the table is believed for all others: those of the
/// background processes that sleep in their main loops.
const AGREEMENTS_MIN: usize = 2;

/// Samples over SQL that are tried at the start until enough names were heard.
const NAME_SAMPLES_MAX: u32 = 5;

/// Waits and waiting tasks of one server, not begun.
#[derive(Debug)]
pub(super) struct WaitSampler {
    login: Login,
    scope: Scope,
    way: Way,
}

impl WaitSampler {
    /// Samples the sessions of `scope` on the server that the login leads to.
    pub(super) fn new(login: &Login, scope: Scope, way: Way) -> Self {
        Self { login: Login { application_name: CONTROL_NAME.to_owned(), ..login.clone() }, scope, way }
    }

    /// Finds the way; `Err` says why there is none.
    fn prepare(&self) -> Result<(WaitProbe, TaskProbe, Arc<Mutex<Known>>), String> {
        let connect = || match Control::connect(&self.login) {
            Ok(mut control) => {
                control.limit_answers(ANSWER_BYTES_MAX);
                Ok(control)
            }
            Err(error) => Err(format!("could not connect: {error}")),
        };
        let mut control = connect()?;
        let major = control
            .probe("SHOW server_version_num")
            .and_then(|text| text.parse::<u32>().ok())
            .map_or(0, |number| number / 10_000);
        let known = Arc::new(Mutex::new(Known::new(self.scope.clone(), Names::of_major(major))));
        let found = self.postmaster(&mut control, major).and_then(|postmaster| {
            let memory = ServerMemory::attach(postmaster)?;
            Ok((postmaster, memory, ServerMemory::attach(postmaster)?))
        });
        let (postmaster, memory, bracket) = match found {
            Ok(found) => found,
            Err(reason) => return self.prepare_sql(control, known, connect()?, reason),
        };
        let mut tasks = TaskProbe::new(control, Arc::clone(&known), Some(bracket));
        match believe_names(&mut tasks, &known).and_then(|()| MemoryProbe::new(memory, postmaster)) {
            Ok(sample) => Ok((WaitProbe::Memory(Box::new(sample)), tasks, known)),
            Err(reason) => {
                tasks.forget_memory();
                let sample = SqlProbe::new(connect()?, Arc::clone(&known));
                Ok((WaitProbe::Sql(Box::new(sample), reason), tasks, known))
            }
        }
    }

    fn prepare_sql(
        &self,
        control: Control,
        known: Arc<Mutex<Known>>,
        second: Control,
        reason: String,
    ) -> Result<(WaitProbe, TaskProbe, Arc<Mutex<Known>>), String> {
        let mut tasks = TaskProbe::new(control, Arc::clone(&known), None);
        tasks.learn()?;
        let sample = SqlProbe::new(second, Arc::clone(&known));
        Ok((WaitProbe::Sql(Box::new(sample), reason), tasks, known))
    }

    /// Process id of the postmaster, when it is on this machine.
    fn postmaster(&self, control: &mut Control, major: u32) -> Result<u32, String> {
        if self.way == Way::Sql {
            return Err("asked for".to_owned());
        }
        if !self.login.endpoint.is_local() {
            return Err("the server is on another machine".to_owned());
        }
        if !events::MAJORS.contains(&major) {
            return Err(format!("the waits of major version {major} have no table of names here"));
        }
        let backend: u32 = control
            .probe("SELECT pg_backend_pid()")
            .and_then(|text| text.parse().ok())
            .ok_or("the server does not report its process id")?;
        let stat = std::fs::read_to_string(format!("/proc/{backend}/stat"))
            .map_err(|error| format!("process {backend} of the server is not to be seen here: {error}"))?;
        // EVIDENCE: proc_pid_stat(5): the parent is the second field after the name.
        stat.rsplit_once(')')
            .and_then(|(_, fields)| fields.split_ascii_whitespace().nth(1)?.parse().ok())
            .ok_or_else(|| format!("process {backend} has no parent"))
    }
}

/// Makes the extension that tells the hot page, in a database of our own; without it (not installed, not allowed) the
/// page is not told.
pub(super) fn provide(control: &mut Control) {
    if let Err(error) = control.query("CREATE EXTENSION IF NOT EXISTS pg_buffercache") {
        tracing::debug!(%error, "no pg_buffercache: hot pages are not reported");
    }
}

/// The sampler of a run's clients, when there are any.
pub(super) fn samplers(login: &Login, clients: Option<&PostgresConnector>) -> Vec<Box<dyn Sampler>> {
    let Some(clients) = clients else { return Vec::new() };
    let scope = Scope::Run(clients.application_name().to_owned());
    vec![Box::new(WaitSampler::new(login, scope, Way::Best))]
}

/// Holds the table against what the server says of its sessions now; this proves too that the memory is that server's.
fn believe_names(tasks: &mut TaskProbe, known: &Mutex<Known>) -> Result<(), String> {
    tasks.learn()?;
    for _ in 0..NAME_SAMPLES_MAX {
        tasks.learn()?;
        let names = &known.lock().unwrap_or_else(PoisonError::into_inner).names;
        let disagreements = names.disagreements();
        if names.agreements() >= AGREEMENTS_MIN && disagreements.is_empty() {
            return Ok(());
        }
    }
    let names = &known.lock().unwrap_or_else(PoisonError::into_inner).names;
    Err(match names.disagreements().first() {
        Some(first) => format!("the server's names of waits differ from the table: {first}"),
        None => "the waits in the memory of that process are not those of the server".to_owned(),
    })
}

/// One of the two ways at work.
#[derive(Debug)]
enum WaitProbe {
    Memory(Box<MemoryProbe>),
    /// With the reason why not from memory.
    Sql(Box<SqlProbe>, String),
}

impl WaitProbe {
    fn period(&self) -> Duration {
        match self {
            Self::Memory(_) => memory_probe::PERIOD,
            Self::Sql(..) => sql_probe::PERIOD,
        }
    }

    fn sample(&mut self) -> Result<(), String> {
        match self {
            Self::Memory(sample) => sample.sample(),
            Self::Sql(sample, _) => sample.sample(),
        }
    }
}

impl Sampler for WaitSampler {
    /// Connects and finds the way, so that the first sample follows the barrier without delay.
    fn start(self: Box<Self>) -> Box<dyn RunningSampler> {
        match self.prepare() {
            Ok((probe, tasks, known)) => Box::new(Running {
                waits: Watched::spawn("waits", probe.period(), Duration::ZERO, probe, WaitProbe::sample),
                // Half a second later, so that also a short run has one.
                tasks: Watched::spawn("tasks", tasks::PERIOD, tasks::PERIOD / 2, tasks, TaskProbe::sample),
                known,
                seen: None,
            }),
            Err(reason) => Box::new(Blind(reason)),
        }
    }
}

/// A sampler that found no way.
struct Blind(String);

impl RunningSampler for Blind {
    fn stop(self: Box<Self>, _window: Window) -> Observations {
        let record = SamplerRecord {
            name: SQL_NAME.to_owned(),
            period_ns: sql_probe::PERIOD.as_nanos() as u64,
            samples_expected: 0,
            samples_taken: 0,
            cpu_s: 0.0,
            problem: Some(self.0),
        };
        Observations { samplers: vec![record], ..Observations::default() }
    }
}

/// Both at work.
struct Running {
    waits: Watched<WaitProbe>,
    tasks: Watched<TaskProbe>,
    known: Arc<Mutex<Known>>,
    seen: Option<Observations>,
}

impl RunningSampler for Running {
    fn halt(&mut self, window: Window) -> Vec<Event> {
        self.seen = Some(self.finish(window));
        Vec::new()
    }

    fn stop(mut self: Box<Self>, window: Window) -> Observations {
        match self.seen.take() {
            Some(seen) => seen,
            None => self.finish(window),
        }
    }
}

impl Running {
    fn finish(&self, window: Window) -> Observations {
        // Waits first: their last sample should lie as close to the end as can be.
        let (waits, wait_record) = self.finish_waits(window);
        let (tasks, task_record) = self.finish_tasks(window);
        Observations { waits, tasks, samplers: vec![wait_record, task_record], ..Observations::default() }
    }

    fn finish_waits(&self, window: Window) -> (Vec<WaitProfile>, SamplerRecord) {
        let Some(Ended { probe, cpu_ns, error }) = self.waits.end() else {
            return (Vec::new(), lost(SQL_NAME, sql_probe::PERIOD, window));
        };
        let (name, period) = (probe_name(&probe), probe.period());
        let mut record = record(name, period, window, cpu_ns);
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (closed, profiles, reason) = match probe {
            WaitProbe::Memory(sample) => {
                let (wait_counts, titles) = sample.finish();
                let closed = wait_counts.close(window);
                let profiles = profiles(&closed, &known, &titles, |event| known.names.name(event));
                (closed, profiles, None)
            }
            WaitProbe::Sql(sample, reason) => {
                let (wait_counts, names) = sample.finish();
                let closed = wait_counts.close(window);
                let name_of = |number: u32| names.get(number as usize - 1).cloned().unwrap_or_default();
                let profiles = profiles(&closed, &known, &HashMap::new(), name_of);
                (
                    closed,
                    profiles,
                    Some(format!(
                        "sampled over SQL at 10 Hz, resource and signal time not separated: {reason}"
                    )),
                )
            }
        };
        record.samples_taken = closed.samples;
        let hidden = (known.hidden > 0).then(|| {
            format!(
                "{} sessions of other roles do not show their waits; grant pg_monitor to see them",
                known.hidden
            )
        });
        let sentences: Vec<String> = [error, reason, hidden].into_iter().flatten().collect();
        record.problem = (!sentences.is_empty()).then(|| sentences.join("; "));
        (profiles, record)
    }

    fn finish_tasks(&self, window: Window) -> (Vec<WaitingTask>, SamplerRecord) {
        let Some(Ended { probe, cpu_ns, error }) = self.tasks.end() else {
            return (Vec::new(), lost(TASKS_NAME, tasks::PERIOD, window));
        };
        let inside = |at: &Instant| window.began <= *at && *at <= window.ended;
        let mut record = record(TASKS_NAME, tasks::PERIOD, window, cpu_ns);
        record.samples_taken = probe.samples.iter().filter(|at| inside(at)).count() as u64;
        record.problem = error;
        let tasks = probe.tasks.into_iter().filter(|(at, _)| inside(at));
        let on_clock = |(at, task)| WaitingTask { at_ns: nanoseconds_since(window.began, at), ..task };
        (tasks.map(on_clock).collect(), record)
    }
}

fn profiles(
    closed: &Closed,
    known: &Known,
    titles: &HashMap<u32, String>,
    name_of: impl Fn(u32) -> (String, String),
) -> Vec<WaitProfile> {
    closed.profiles(|process_id| known.group(process_id, titles), name_of, events::is_idle_class)
}

fn probe_name(probe: &WaitProbe) -> &'static str {
    match probe {
        WaitProbe::Memory(_) => MEMORY_NAME,
        WaitProbe::Sql(..) => SQL_NAME,
    }
}

fn record(name: &str, period: Duration, window: Window, cpu_ns: u64) -> SamplerRecord {
    let length = window.ended.saturating_duration_since(window.began);
    SamplerRecord {
        name: name.to_owned(),
        period_ns: period.as_nanos() as u64,
        samples_expected: (length.as_nanos() / period.as_nanos()) as u64,
        samples_taken: 0,
        cpu_s: cpu_ns as f64 / 1e9,
        problem: None,
    }
}

/// The record of samples that did not come back.
fn lost(name: &str, period: Duration, window: Window) -> SamplerRecord {
    let problem = Some("the last sample did not come back in time".to_owned());
    SamplerRecord { problem, ..record(name, period, window, 0) }
}
