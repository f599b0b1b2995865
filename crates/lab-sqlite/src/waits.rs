//! The wait table of the embedded engine: every call to its files, timed, and what its threads did besides.
//!
//! A call's time is the time until it came back. SQLite cannot tell how much of it was spent on a processor or in
//! front of one, so all of it stands as resource time and there is no signal time; the run-queue delay of the clients'
//! threads stands beside the table, exact and as a total. Waiting tasks do not exist: nobody but the client itself
//! knows that it sleeps before it tries a lock again.
//!
//! The time of a client's transactions is known too, so what is neither in the table nor on a processor is what nobody
//! accounts for. Calls use the processor themselves: their times and that of the processor overlap by as much.

pub(crate) mod meanings;

use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::time::Instant;

use lab::observe::series::nanoseconds_since;
use lab::observe::{RunningSampler, Sampler, Window};
use results::model::Event;
use results::observations::{How, Observations, SamplerRecord, WaitProfile, WaitRow};

use super::session::Client;
use super::vfs::{Call, Checkpoint, Meter, Role, Totals};

/// Class of all calls.
const CLASS: &str = "vfs";
/// Class of the time in which a connection has nothing to do.
const IDLE_CLASS: &str = "Client";
/// Name of that time.
const IDLE: &str = "ClientIdle";
/// Group of the connection that does the run's own checkpoints, as PostgreSQL's has it.
const CHECKPOINTER: &str = "checkpointer";
/// Name of the sampler in the record of the run.
const SAMPLER: &str = "sqlite_vfs";
/// Calls tried to price one: 0.1 ms.
const CALLS_TRIED: u32 = 2_000;

/// A checkpoint that copies pages takes its lock.
const CHECKPOINT_START: &str = "checkpoint_start";
/// It gives the lock back.
const CHECKPOINT_END: &str = "checkpoint_end";

/// Takes a reading of the meter before and after the measured part.
#[derive(Debug)]
pub(super) struct VfsSampler {
    /// What the connections' VFS measures.
    pub(super) meter: &'static Meter,
    /// Who works through it.
    pub(super) clients: Vec<Client>,
}

impl Sampler for VfsSampler {
    fn start(self: Box<Self>) -> Box<dyn RunningSampler> {
        let cost_ns = call_cost_ns();
        // What was before is not of this run.
        drop(self.meter.take_checkpoints());
        let (totals, apart) = (self.meter.read(), self.meter.read_apart());
        let (usage, busy_ns) = (Usage::read(&self.clients), self.busy_ns());
        Box::new(Running { sampler: *self, totals, apart, usage, busy_ns, cost_ns })
    }
}

impl VfsSampler {
    /// Time that the clients have spent in transactions, in nanoseconds.
    fn busy_ns(&self) -> u64 {
        let ticks = self.clients.iter().map(|client| client.busy_ticks.load(Ordering::Relaxed)).sum();
        self.meter.nanoseconds(ticks)
    }
}

struct Running {
    sampler: VfsSampler,
    totals: Totals,
    apart: Totals,
    usage: Option<Usage>,
    busy_ns: u64,
    cost_ns: f64,
}

impl RunningSampler for Running {
    fn halt(&mut self, window: Window) -> Vec<Event> {
        self.sampler.meter.take_checkpoints().iter().flat_map(|one| marks(one, window.began)).collect()
    }

    fn stop(self: Box<Self>, window: Window) -> Observations {
        let usage = Usage::read(&self.sampler.clients).zip(self.usage);
        let busy_s = self.sampler.busy_ns().saturating_sub(self.busy_ns) as f64 / 1e9;
        let totals = self.sampler.meter.read().since(&self.totals);
        let window_s = window.ended.duration_since(window.began).as_secs_f64();
        let seconds = |of: fn(&Usage) -> u64| {
            usage.as_ref().map(|(after, before)| of(after).saturating_sub(of(before)) as f64 / 1e9)
        };
        let session_count = self.sampler.clients.len() as u32;
        let session_s = f64::from(session_count) * window_s;
        let apart = self.sampler.meter.read_apart().since(&self.apart);
        let mut rows = rows(&totals.since(&apart));
        rows.push(idle((session_s - busy_s).max(0.0)));
        let clients = WaitProfile {
            group: "clients".to_owned(),
            session_count,
            session_s,
            on_cpu_s: seconds(|usage| usage.on_cpu_ns),
            run_delay_s: seconds(|usage| usage.run_delay_ns),
            rows,
        };
        let problem = usage.is_none().then(|| {
            "could not read /proc/self/task/TID/schedstat of the clients' threads: CPU time is unknown"
                .to_owned()
        });
        let record = SamplerRecord {
            name: SAMPLER.to_owned(),
            // Not a period: one reading before and one after, of figures that miss nothing in between.
            period_ns: window.ended.duration_since(window.began).as_nanos() as u64,
            samples_expected: 2,
            samples_taken: 2,
            cpu_s: totals.call_count() as f64 * self.cost_ns / 1e9,
            problem,
        };
        let waits = std::iter::once(clients).chain(checkpointer(&apart, window_s)).collect();
        Observations { waits, samplers: vec![record], ..Observations::default() }
    }
}

/// The connection of the run's own checkpoints, which is no client; `None` when it did nothing.
fn checkpointer(apart: &Totals, window_s: f64) -> Option<WaitProfile> {
    (apart.call_count() > 0).then(|| WaitProfile {
        group: CHECKPOINTER.to_owned(),
        session_count: 1,
        session_s: window_s,
        on_cpu_s: None,
        run_delay_s: None,
        rows: rows(apart),
    })
}

/// Begin and end of a checkpoint on the run's clock.
fn marks(checkpoint: &Checkpoint, zero: Instant) -> [Event; 2] {
    let pages = checkpoint.pages;
    let took_ms = checkpoint.ended.duration_since(checkpoint.began).as_secs_f64() * 1e3;
    [
        Event {
            at_ns: nanoseconds_since(zero, checkpoint.began),
            kind: CHECKPOINT_START.to_owned(),
            text: "took the checkpoint lock".to_owned(),
        },
        Event {
            at_ns: nanoseconds_since(zero, checkpoint.ended),
            kind: CHECKPOINT_END.to_owned(),
            text: format!("{pages} pages in {took_ms:.1} ms"),
        },
    ]
}

/// Between two transactions, and after the last.
fn idle(wait_s: f64) -> WaitRow {
    WaitRow {
        class: IDLE_CLASS.to_owned(),
        name: IDLE.to_owned(),
        is_idle: true,
        wait_s,
        resource_s: Some(wait_s),
        signal_s: None,
        count: None,
        how: How::Exact,
    }
}

/// One row per role and kind of call that happened.
pub(super) fn rows(totals: &Totals) -> Vec<WaitRow> {
    let mut rows: Vec<WaitRow> = Vec::new();
    for role in Role::ALL {
        for call in Call::ALL {
            let call_totals = totals.of(role, call);
            if call_totals.count == 0 {
                continue;
            }
            let name = name(role, call);
            if let Some(row) = rows.iter_mut().find(|row| row.name == name) {
                row.wait_s += call_totals.seconds();
                row.resource_s = Some(row.wait_s);
                row.count = row.count.map(|count| count + call_totals.count);
                continue;
            }
            rows.push(WaitRow {
                class: CLASS.to_owned(),
                name,
                is_idle: false,
                wait_s: call_totals.seconds(),
                resource_s: Some(call_totals.seconds()),
                signal_s: None,
                count: Some(call_totals.count),
                how: How::Exact,
            });
        }
    }
    rows
}

/// Name of a wait. Locks are taken on the database only, and sleeps belong to no file.
fn name(role: Role, call: Call) -> String {
    let file = match role {
        Role::Database => "DataFile",
        Role::Log => "Wal",
        Role::Journal => "Journal",
        Role::Temporary => "TempFile",
    };
    let what = match call {
        Call::Read => "Read",
        Call::Write => "Write",
        Call::Sync => "Sync",
        Call::CheckpointSync if role == Role::Log => "CheckpointSync",
        // The database file is flushed by checkpoints alone where there is a log.
        Call::CheckpointSync => "Sync",
        Call::Truncate => "Truncate",
        Call::Open => "Open",
        Call::Delete => "Delete",
        Call::Lock => return "FileLock".to_owned(),
        Call::Unlock => return "FileUnlock".to_owned(),
        Call::SharedLock => return "ShmLock".to_owned(),
        Call::SharedUnlock => return "ShmUnlock".to_owned(),
        Call::SharedMap => return "ShmMap".to_owned(),
        Call::Sleep => return "BusyWait".to_owned(),
    };
    format!("{file}{what}")
}

/// Running totals of the scheduler over some threads, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    on_cpu_ns: u64,
    run_delay_ns: u64,
}

impl Usage {
    /// `None` unless every thread is there and the kernel tells.
    fn read(clients: &[Client]) -> Option<Self> {
        let mut threads: Vec<_> = clients.iter().map(|client| client.thread.as_raw_nonzero()).collect();
        threads.sort_unstable();
        threads.dedup();
        let mut sum = Self::default();
        for thread in &threads {
            let path = format!("/proc/self/task/{thread}/schedstat");
            let text = std::fs::read_to_string(path).ok()?;
            let mut fields = text.split_ascii_whitespace().map(str::parse::<u64>);
            sum.on_cpu_ns += fields.next()?.ok()?;
            sum.run_delay_ns += fields.next()?.ok()?;
        }
        (!threads.is_empty()).then_some(sum)
    }
}

/// What timing one call costs on this machine, in nanoseconds; tried once.
fn call_cost_ns() -> f64 {
    static COST_NS: OnceLock<f64> = OnceLock::new();
    *COST_NS.get_or_init(|| {
        let meter = Meter::new();
        let began = Instant::now();
        for _ in 0..CALLS_TRIED {
            meter.add(Role::Database, Call::Read, std::hint::black_box(meter.now()), 1);
        }
        began.elapsed().as_nanos() as f64 / f64::from(CALLS_TRIED)
    })
}

#[cfg(test)]
mod tests;
