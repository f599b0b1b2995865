//! One worker thread: connects its clients, runs them through the phases of a run, lets them go.

use std::io;
use std::pin::Pin;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use disk::counters::thread_cpu_ns;
use results::model::ClientRecord;
use stats::random::derive_seed;

use super::crew::{Dispatch, WorkerUsage};
use super::measure::{Client, Progress, Share, Until};
use super::turnstile::Turnstile;
use crate::engine::{Connector, Session};
use crate::work::{Amount, LoopSide, WarmUp, Work};

/// A connection that is not there after this long never comes.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(60);

/// What the control thread wants the clients to do now.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    Wait,
    WarmUp(Instant),
    Measure(Instant),
    /// Have the engine count all that was done.
    HandIn,
    Leave,
}

/// What a client tells the control thread.
#[derive(Debug)]
pub(super) enum Report {
    Connected,
    WarmedUp { failed: bool },
    Finished { failed: bool },
    HandedIn,
}

/// What a worker thread is given.
#[derive(Debug)]
pub struct WorkerContext {
    pub(super) work: Work,
    pub(super) progress: Arc<Progress>,
    pub(super) orders: Arc<Orders>,
    pub(super) reports: Sender<Report>,
}

/// One client of a worker.
struct Member<S> {
    record: ClientRecord,
    /// `None` when it could not connect or failed in the warm-up.
    session: Option<S>,
}

/// Runs the clients `mine` from their connection to their good-bye, as the orders say.
pub(crate) fn run_worker<C: Connector>(
    connector: &C,
    context: &WorkerContext,
    mine: &[u32],
) -> io::Result<Dispatch> {
    let turnstile = Turnstile::new()?;
    let mut members = connect_all(connector, mine)?;
    for (number, member) in members.iter_mut().enumerate() {
        let seat = turnstile.seat(number, mine.len());
        if let Some(Err(error)) = member.session.as_mut().map(|session| session.settle(seat)) {
            member.fail(error.to_string());
        }
        context.report(Report::Connected);
    }
    if context.work.warm_up != WarmUp::None {
        let began =
            context.orders.wait_for(|order| if let Order::WarmUp(at) = order { Some(at) } else { None });
        warm_up(context, &turnstile, &mut members, began)?;
    }
    let measure_order = |order| if let Order::Measure(at) = order { Some(at) } else { None };
    let began = wait_handing_in(context, &turnstile, &mut members, measure_order)?;
    let usage = measure(context, &turnstile, &mut members, began)?;
    let leave_order = |order| if let Order::Leave = order { Some(()) } else { None };
    wait_handing_in(context, &turnstile, &mut members, leave_order)?;
    for session in members.iter_mut().filter_map(|member| member.session.as_mut()) {
        session.farewell();
    }
    let mut clients = Vec::new();
    for member in members {
        if let Some(session) = member.session {
            session.await_end();
        }
        clients.push(member.record);
    }
    Ok(Dispatch { clients, workers: vec![usage] })
}

/// Connects all clients of a worker at the same time.
fn connect_all<C: Connector>(connector: &C, mine: &[u32]) -> io::Result<Vec<Member<C::Session>>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(async {
        let connecting: Vec<_> = mine
            .iter()
            .map(|&client_index| {
                let connector = connector.clone();
                tokio::spawn(async move {
                    match tokio::time::timeout(CONNECT_TIME_MAX, connector.connect(client_index)).await {
                        Ok(connected) => connected.map_err(|error| error.to_string()),
                        Err(_) => Err(format!(
                            "could not connect: no answer within {} s",
                            CONNECT_TIME_MAX.as_secs()
                        )),
                    }
                })
            })
            .collect();
        let mut members = Vec::new();
        for (&client_index, connecting) in mine.iter().zip(connecting) {
            let mut member = Member { record: ClientRecord::new(client_index), session: None };
            match connecting.await {
                Ok(Ok(session)) => member.session = Some(session),
                Ok(Err(error)) => member.fail(error),
                Err(error) => member.fail(format!("ended abnormally while connecting: {error}")),
            }
            members.push(member);
        }
        members
    }))
}

/// Works through the warm-up. Only its rows and its errors stay in the records.
fn warm_up<S: Session>(
    context: &WorkerContext,
    turnstile: &Turnstile,
    members: &mut [Member<S>],
    began: Option<Instant>,
) -> io::Result<()> {
    let mut scratch: Vec<ClientRecord> =
        members.iter().map(|member| ClientRecord::new(member.record.client_index)).collect();
    let share = |client_index| warm_up_share(&context.work, client_index);
    let sessions = members.iter_mut().map(|member| member.session.as_mut());
    work_all(context, turnstile, sessions.zip(scratch.iter_mut()), began, &share, &|failed| {
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

/// Works through the measured part; returns the CPU that this thread spent in it.
fn measure<S: Session>(
    context: &WorkerContext,
    turnstile: &Turnstile,
    members: &mut [Member<S>],
    began: Option<Instant>,
) -> io::Result<WorkerUsage> {
    let cpu_before_ns = thread_cpu_ns();
    let share = |client_index| measured_share(&context.work, client_index);
    let parts = members.iter_mut().map(|member| (member.session.as_mut(), &mut member.record));
    work_all(context, turnstile, parts, began, &share, &|failed| {
        context.report(Report::Finished { failed });
    })?;
    Ok(WorkerUsage { cpu_ns: thread_cpu_ns() - cpu_before_ns })
}

/// Waits for the order that `wanted` picks, and has all clients hand in when that is ordered before.
fn wait_handing_in<S: Session, T>(
    context: &WorkerContext,
    turnstile: &Turnstile,
    members: &mut [Member<S>],
    wanted: impl Fn(Order) -> Option<T>,
) -> io::Result<Option<T>> {
    let either = |order| match order {
        Order::HandIn => Some(None),
        other => wanted(other).map(Some),
    };
    match context.orders.wait_for(either) {
        None => return Ok(None),
        Some(Some(found)) => return Ok(Some(found)),
        Some(None) => {}
    }
    let tasks = members
        .iter_mut()
        .map(|member| {
            Box::pin(async move {
                if let Some(session) = member.session.as_mut() {
                    session.hand_in().await;
                }
                context.report(Report::HandedIn);
            }) as Pin<Box<dyn Future<Output = ()> + '_>>
        })
        .collect();
    turnstile.run(tasks)?;
    Ok(context.orders.wait_for(wanted))
}

/// Lets every client that has a session work through its share, and reports each as it ends.
fn work_all<'a, S: Session + 'a>(
    context: &'a WorkerContext,
    turnstile: &'a Turnstile,
    parts: impl ExactSizeIterator<Item = (Option<&'a mut S>, &'a mut ClientRecord)>,
    began: Option<Instant>,
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
                    let seat = turnstile.seat(number, clients);
                    Client { session, record, progress: &context.progress, barrier, seat }.work(share).await;
                }
                report(record.end_ns.is_none());
            }) as Pin<Box<dyn Future<Output = ()> + 'a>>
        })
        .collect();
    turnstile.run(tasks)
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

/// The order that stands, and a bell for those who wait for the next one.
#[derive(Debug)]
pub(super) struct Orders {
    order: Mutex<Order>,
    bell: Condvar,
}

impl Orders {
    /// An order that nobody has given yet: to wait.
    pub(super) fn new() -> Self {
        Self { order: Mutex::new(Order::Wait), bell: Condvar::new() }
    }

    pub(super) fn give(&self, order: Order) {
        *self.order.lock().unwrap_or_else(PoisonError::into_inner) = order;
        self.bell.notify_all();
    }

    /// Waits for the order that `wanted` picks; `None` when everybody is told to leave first.
    fn wait_for<T>(&self, wanted: impl Fn(Order) -> Option<T>) -> Option<T> {
        let mut order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(found) = wanted(*order) {
                return Some(found);
            }
            if matches!(*order, Order::Leave) {
                return None;
            }
            order = self.bell.wait(order).unwrap_or_else(PoisonError::into_inner);
        }
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
    }
}
