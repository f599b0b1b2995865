//! One worker thread: connects its clients, runs them through the phases of a run, closes their connections.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use disk::counters::thread_cpu_ns;
use results::model::ClientRecord;
use results::scripts::ScriptRecord;
use results::scripts::transactions::LoggedTransaction;
use stats::random::derive_seed;

use super::event_loop::EventLoop;
use super::measure::{Client, Share, Until};
use super::phase::{Phase, PhaseSignal};
use super::progress::Progress;
use super::seconds::LatencySeconds;
use crate::engine::{Connector, Session};
use crate::work::{Amount, LoopSide, WarmUp, Work};

/// A connection that is not there after this long never comes.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(60);

/// What a client tells the control thread.
#[derive(Debug)]
pub(super) enum Report {
    Connected,
    WarmedUp { failed: bool },
    Finished { failed: bool },
    StatsFlushed,
}

/// CPU of one worker thread between barrier and its last client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerUsage {
    /// CPU time in nanoseconds spent by the thread in the measured part.
    pub cpu_ns: u64,
}

/// What the clients did, when all of them have ended.
#[derive(Debug)]
pub struct Dispatch {
    /// One record per client, by index.
    pub clients: Vec<ClientRecord>,
    /// One per worker thread.
    pub workers: Vec<WorkerUsage>,
    /// Latencies of all clients over time; empty with the loop on the server.
    pub seconds: LatencySeconds,
    /// What each script did, of a workload of the user's own.
    pub scripts: Vec<ScriptRecord>,
    /// Each transaction, in the order of their ends, where they are logged.
    pub transactions: Vec<LoggedTransaction>,
}

/// What a worker thread is given.
#[derive(Debug)]
pub struct WorkerContext {
    pub(super) work: Work,
    pub(super) progress: Arc<Progress>,
    pub(super) phase: Arc<PhaseSignal>,
    pub(super) reports: Sender<Report>,
}

/// One client of a worker.
struct Member<S> {
    record: ClientRecord,
    /// `None` when it could not connect or failed in the warm-up.
    session: Option<S>,
}

/// Runs the clients `mine` from their connection to its end, phase by phase.
pub(super) fn run_worker<C: Connector>(
    connector: &C,
    context: &WorkerContext,
    mine: &[u32],
) -> io::Result<Dispatch> {
    let event_loop = EventLoop::new()?.with_progress(Arc::clone(&context.progress));
    let mut members = connect_all(connector, &event_loop, mine)?;
    for _ in &members {
        context.report(Report::Connected);
    }
    if context.work.warm_up != WarmUp::None {
        let began =
            context.phase.wait_for(|phase| if let Phase::WarmUp(at) = phase { Some(at) } else { None });
        warm_up(context, &event_loop, &mut members, began)?;
    }
    let measure_phase = |phase| if let Phase::Measure(at) = phase { Some(at) } else { None };
    let began = wait_flushing(context, &event_loop, &mut members, measure_phase)?;
    // What was counted until here belongs to the warm-up.
    event_loop.take_tally();
    let (usage, seconds) = measure(context, &event_loop, &mut members, began)?;
    let tally = event_loop.take_tally().zip(began);
    let (scripts, transactions) = tally.map(|(tally, began)| tally.into_parts(began)).unwrap_or_default();
    let close_phase = |phase| if let Phase::Close = phase { Some(()) } else { None };
    wait_flushing(context, &event_loop, &mut members, close_phase)?;
    for session in members.iter_mut().filter_map(|member| member.session.as_mut()) {
        session.close();
    }
    let mut clients = Vec::new();
    for member in members {
        if let Some(session) = member.session {
            session.await_end();
        }
        clients.push(member.record);
    }
    Ok(Dispatch { clients, workers: vec![usage], seconds, scripts, transactions })
}

/// Connects all clients of a worker at the same time.
fn connect_all<C: Connector>(
    connector: &C,
    event_loop: &EventLoop,
    mine: &[u32],
) -> io::Result<Vec<Member<C::Session>>> {
    let mut members: Vec<Member<C::Session>> = mine
        .iter()
        .map(|&client_index| Member { record: ClientRecord::new(client_index), session: None })
        .collect();
    let deadline = Instant::now() + CONNECT_TIME_MAX;
    let tasks = members
        .iter_mut()
        .enumerate()
        .map(|(number, member)| {
            let registration = event_loop.registration(number, mine.len());
            let connecting = connector.connect(member.record.client_index, registration);
            Box::pin(async move {
                match registration.within(Some(deadline), connecting).await {
                    Some(Ok(session)) => member.session = Some(session),
                    Some(Err(error)) => member.fail(error.to_string()),
                    None => member.fail(format!(
                        "could not connect: no answer within {} s",
                        CONNECT_TIME_MAX.as_secs()
                    )),
                }
            }) as Pin<Box<dyn Future<Output = ()> + '_>>
        })
        .collect();
    event_loop.run(tasks)?;
    Ok(members)
}

/// Works through the warm-up. Only its rows and its errors stay in the records.
fn warm_up<S: Session>(
    context: &WorkerContext,
    event_loop: &EventLoop,
    members: &mut [Member<S>],
    began: Option<Instant>,
) -> io::Result<()> {
    let mut scratch: Vec<ClientRecord> =
        members.iter().map(|member| ClientRecord::new(member.record.client_index)).collect();
    let share = |client_index| warm_up_share(&context.work, client_index);
    let sessions = members.iter_mut().map(|member| member.session.as_mut());
    let seconds = RefCell::default();
    let parts = sessions.zip(scratch.iter_mut());
    work_all(context, event_loop, parts, (began, &seconds), &share, &|failed| {
        context.report(Report::WarmedUp { failed });
    })?;
    for (member, scratch) in members.iter_mut().zip(scratch) {
        member.record.warm_up_rows = scratch.rows;
        if let Some(error) = scratch.error {
            member.fail(error);
        } else if scratch.end_ns.is_none() {
            member.session = None;
        }
    }
    Ok(())
}

/// Works through the measured part; returns the CPU that this thread spent in it, and its latencies over time.
fn measure<S: Session>(
    context: &WorkerContext,
    event_loop: &EventLoop,
    members: &mut [Member<S>],
    began: Option<Instant>,
) -> io::Result<(WorkerUsage, LatencySeconds)> {
    let seconds = RefCell::default();
    let cpu_before_ns = thread_cpu_ns();
    let share = |client_index| measured_share(&context.work, client_index);
    let parts = members.iter_mut().map(|member| (member.session.as_mut(), &mut member.record));
    work_all(context, event_loop, parts, (began, &seconds), &share, &|failed| {
        context.report(Report::Finished { failed });
    })?;
    Ok((WorkerUsage { cpu_ns: thread_cpu_ns() - cpu_before_ns }, seconds.into_inner()))
}

/// Waits for the phase that `wanted` picks, and has all clients flush their statistics when that phase comes before.
fn wait_flushing<S: Session, T>(
    context: &WorkerContext,
    event_loop: &EventLoop,
    members: &mut [Member<S>],
    wanted: impl Fn(Phase) -> Option<T>,
) -> io::Result<Option<T>> {
    let either = |phase| match phase {
        Phase::FlushStats => Some(None),
        other => wanted(other).map(Some),
    };
    match context.phase.wait_for(either) {
        None => return Ok(None),
        Some(Some(found)) => return Ok(Some(found)),
        Some(None) => {}
    }
    let tasks = members
        .iter_mut()
        .map(|member| {
            Box::pin(async move {
                if let Some(session) = member.session.as_mut() {
                    session.flush_stats().await;
                }
                context.report(Report::StatsFlushed);
            }) as Pin<Box<dyn Future<Output = ()> + '_>>
        })
        .collect();
    event_loop.run(tasks)?;
    Ok(context.phase.wait_for(wanted))
}

/// Lets every client that has a session work through its share, and reports each as it ends. `began` is the barrier, beside
/// it what the thread counts over time.
fn work_all<'a, S: Session + 'a>(
    context: &'a WorkerContext,
    event_loop: &'a EventLoop,
    parts: impl ExactSizeIterator<Item = (Option<&'a mut S>, &'a mut ClientRecord)>,
    (began, seconds): (Option<Instant>, &'a RefCell<LatencySeconds>),
    share: &'a dyn Fn(u32) -> Share,
    report: &'a dyn Fn(bool),
) -> io::Result<()> {
    let clients = parts.len();
    let tasks = parts
        .enumerate()
        .map(|(number, (session, record))| {
            Box::pin(async move {
                if let (Some(session), Some(barrier)) = (session, began) {
                    let share = share(record.client_index);
                    let registration = event_loop.registration(number, clients);
                    Client {
                        session,
                        record,
                        progress: &context.progress,
                        seconds,
                        barrier,
                        registration,
                        failed_rows: 0,
                    }
                    .work(share)
                    .await;
                }
                report(record.end_ns.is_none());
            }) as Pin<Box<dyn Future<Output = ()> + 'a>>
        })
        .collect();
    event_loop.run(tasks)
}

impl WorkerContext {
    fn report(&self, report: Report) {
        // The control thread may have given up; then nobody needs the report.
        let _ = self.reports.send(report);
    }
}

impl<S> Member<S> {
    fn fail(&mut self, error: String) {
        self.record.errors += 1;
        self.record.error.get_or_insert(error);
        self.session = None;
    }
}

fn measured_share(work: &Work, client_index: u32) -> Share {
    let until = match work.amount {
        Amount::Rows(rows) => Until::Rows(work.share_of(rows, client_index)),
        Amount::Time(time) => Until::Time(time.as_nanos() as u64),
    };
    share(work, client_index, until)
}

fn warm_up_share(work: &Work, client_index: u32) -> Share {
    let until = match work.warm_up {
        WarmUp::None => Until::Rows(0),
        WarmUp::Rows(rows) => Until::Rows(work.share_of(rows, client_index)),
        WarmUp::Time(time) => Until::Time(time.as_nanos() as u64),
    };
    let warm = share(work, client_index, until);
    Share { arrival_seed: derive_seed(warm.arrival_seed, &[1]), ..warm }
}

fn share(work: &Work, client_index: u32, until: Until) -> Share {
    Share {
        until,
        batch_size: work.batch_size,
        rate_per_s: work.rate_per_s.map(|rate| rate / f64::from(work.connections)),
        arrival_seed: derive_seed(work.seed, &[u64::from(client_index)]),
        on_server: work.loop_side == LoopSide::Server,
        latency_limit_ns: work
            .own
            .as_ref()
            .and_then(|own| own.latency_limit)
            .map(|limit| limit.as_nanos() as u64),
    }
}
