//! All clients of one run: connected, released together, watched, and closed.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use results::model::ClientRecord;
use rustix::process::{Resource, getrlimit, setrlimit};

use super::connector::DynConnector;
use super::phase::{Phase, PhaseSignal};
use super::progress::Progress;
use super::seconds::LatencySeconds;
use super::worker::{Dispatch, Report, WorkerContext};
use crate::work::Work;

/// How often the control thread looks up while it waits for clients.
const TICK: Duration = Duration::from_millis(100);
/// Stack of a worker thread: its tasks live on the heap.
const WORKER_STACK_BYTES: usize = 512 * 1024;
/// Descriptors beside the clients' own: results, logs, runtimes, device counters.
const DESCRIPTORS_RESERVED: u64 = 128;
/// Descriptors that one client may need: connection, timer, database, -wal and -shm.
const DESCRIPTORS_PER_CLIENT: u64 = 5;

/// Why the clients could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ClientPoolError {
    /// A thread could not be started.
    #[error("could not start worker thread {worker_index}: {source}")]
    Thread {
        /// Counted from 0.
        worker_index: u32,
        /// The reason.
        source: io::Error,
    },
    /// The process may not open enough files for all clients.
    #[error(
        "cannot open {needed} files for {clients} clients: the limit of open files is {limit}\nhint: raise it with `ulimit -n {needed}`"
    )]
    Descriptors {
        /// Clients asked for.
        clients: u32,
        /// Descriptors needed.
        needed: u64,
        /// Hard limit.
        limit: u64,
    },
}

/// The clients of one run.
#[derive(Debug)]
pub struct ClientPool {
    phase: Arc<PhaseSignal>,
    reports: Receiver<Report>,
    workers: Vec<JoinHandle<io::Result<Dispatch>>>,
    progress: Arc<Progress>,
    clients: u32,
    /// Does the engine count by session?
    counts_by_session: bool,
    failed: bool,
}

impl ClientPool {
    /// Starts `jobs` worker threads, opens all connections and waits until each is open or has failed.
    pub fn assemble(
        connector: &Arc<dyn DynConnector>,
        work: &Work,
        jobs: u32,
    ) -> Result<Self, ClientPoolError> {
        let clients = work.connections;
        allow_descriptors(clients)?;
        let progress = Arc::new(Progress::new(clients));
        let phase = Arc::new(PhaseSignal::new());
        let (report_sender, reports) = mpsc::channel();
        let jobs = jobs.clamp(1, clients);
        let mut workers = Vec::new();
        for worker_index in 0..jobs {
            let connector = Arc::clone(connector);
            let context = WorkerContext {
                work: work.clone(),
                progress: Arc::clone(&progress),
                phase: Arc::clone(&phase),
                reports: report_sender.clone(),
            };
            let mine: Vec<u32> = (worker_index..clients).step_by(jobs as usize).collect();
            let worker = std::thread::Builder::new()
                .name(format!("client-{worker_index}"))
                .stack_size(WORKER_STACK_BYTES)
                .spawn(move || connector.run_worker(&context, &mine))
                .map_err(|source| ClientPoolError::Thread { worker_index, source })?;
            workers.push(worker);
        }
        let mut pool = Self {
            phase,
            reports,
            workers,
            progress,
            clients,
            counts_by_session: connector.counts_by_session(),
            failed: false,
        };
        pool.await_reports(&mut |_| {});
        Ok(pool)
    }

    /// What the clients have done so far, readable at any time.
    pub fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    /// Runs the warm-up of all clients and returns when the last transaction of it is answered.
    pub fn warm_up(&mut self, on_tick: &mut dyn FnMut(&Progress)) {
        self.phase.set(Phase::WarmUp(Instant::now()));
        self.await_reports(on_tick);
    }

    /// Releases the barrier; returns the moment that counts as time zero.
    pub fn release(&mut self) -> Instant {
        let barrier = Instant::now();
        self.phase.set(Phase::Measure(barrier));
        barrier
    }

    /// Waits until every client finished or failed. One client's failure stops the others after the
    /// transaction that they are in: the run cannot count any more.
    pub fn wait(&mut self, on_tick: &mut dyn FnMut(&Progress)) {
        self.await_reports(on_tick);
    }

    /// Has the engine count all that every client's session did, where it counts by session; before and after the
    /// measured part, at most once each. Not after a failure, when the engine may not answer. Returns whether it was done.
    pub fn flush_stats(&mut self) -> bool {
        let is_due = self.counts_by_session && !self.failed;
        if is_due {
            self.phase.set(Phase::FlushStats);
            self.await_reports(&mut |_| {});
        }
        is_due
    }

    /// Closes all connections and collects the records. Clients of an engine that was given up are left behind: they end
    /// when the engine closes their connections, or with the process.
    pub fn dismiss(self) -> Dispatch {
        self.phase.set(Phase::Close);
        if let Some(reason) = self.progress.given_up() {
            let record = |index| ClientRecord {
                errors: 1,
                error: Some(reason.to_owned()),
                ..ClientRecord::new(index)
            };
            let clients = (0..self.clients).map(record).collect();
            return Dispatch {
                clients,
                workers: Vec::new(),
                seconds: LatencySeconds::default(),
                scripts: Vec::new(),
                transactions: Vec::new(),
            };
        }
        let mut all = Dispatch {
            clients: Vec::new(),
            workers: Vec::new(),
            seconds: LatencySeconds::default(),
            scripts: Vec::new(),
            transactions: Vec::new(),
        };
        for worker in self.workers {
            match worker.join() {
                Ok(Ok(part)) => {
                    all.clients.extend(part.clients);
                    all.workers.extend(part.workers);
                    all.seconds.merge(part.seconds);
                    all.transactions.extend(part.transactions);
                    if all.scripts.is_empty() {
                        all.scripts = part.scripts;
                    } else {
                        all.scripts.iter_mut().zip(&part.scripts).for_each(|(sum, one)| sum.merge(one));
                    }
                }
                Ok(Err(error)) => tracing::error!("could not run a client thread: {error}"),
                Err(_) => {
                    tracing::error!("a client thread panicked; its clients are missing from the record")
                }
            }
        }
        all.clients.sort_by_key(|client| client.client_index);
        all.transactions.sort_by_key(|one| one.end_ns);
        all
    }

    fn await_reports(&mut self, on_tick: &mut dyn FnMut(&Progress)) {
        let mut outstanding = self.clients;
        while outstanding > 0 {
            match self.reports.recv_timeout(TICK) {
                Ok(report) => {
                    outstanding -= 1;
                    let (Report::Finished { failed } | Report::WarmedUp { failed }) = report else {
                        continue;
                    };
                    if failed && !self.failed {
                        self.failed = true;
                        self.progress.stop();
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    on_tick(&self.progress);
                    if self.progress.given_up().is_some() {
                        self.failed = true;
                        return;
                    }
                }
                // Every worker is gone: the records (or their absence) tell why.
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }
}

/// Raises the soft limit of open files as far as this run needs.
fn allow_descriptors(clients: u32) -> Result<(), ClientPoolError> {
    let needed = u64::from(clients) * DESCRIPTORS_PER_CLIENT + DESCRIPTORS_RESERVED;
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    if let Some(maximum) = limit.maximum.filter(|&maximum| maximum < needed) {
        return Err(ClientPoolError::Descriptors { clients, needed, limit: maximum });
    }
    limit.current = Some(needed);
    setrlimit(Resource::Nofile, limit).map_err(|_| ClientPoolError::Descriptors {
        clients,
        needed,
        limit: limit.maximum.unwrap_or(u64::MAX),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::client::Registration;
    use crate::engine::noop::{NoopConnector, NoopSession};
    use crate::engine::{Connector, SessionError};
    use crate::work::{Amount, WarmUp};
    use results::histogram::LatencyHistogram;

    fn run(work: &Work, jobs: u32) -> Dispatch {
        let connector: Arc<dyn DynConnector> = Arc::new(NoopConnector);
        let mut pool = ClientPool::assemble(&connector, work, jobs).unwrap();
        if work.warm_up != WarmUp::None {
            pool.warm_up(&mut |_| {});
        }
        pool.release();
        pool.wait(&mut |_| {});
        pool.dismiss()
    }

    #[test]
    fn every_client_does_its_share_and_the_last_batch_is_cut() {
        let work = Work { connections: 7, amount: Amount::Rows(1_003), batch_size: 10, ..Work::example() };
        let done = run(&work, 3);
        assert_eq!(done.clients.len(), 7);
        assert_eq!(done.workers.len(), 3);
        assert_eq!(done.clients.iter().map(|client| client.rows).sum::<u64>(), 1_003);
        for (index, client) in done.clients.iter().enumerate() {
            assert_eq!(client.client_index as usize, index);
            assert_eq!(client.transactions, client.rows.div_ceil(10));
            assert_eq!(client.service_time.count(), client.transactions);
            assert!(client.start_ns.unwrap() <= client.end_ns.unwrap());
        }
    }

    #[test]
    fn warm_up_rows_are_kept_apart_from_measured_rows() {
        let work = Work { warm_up: WarmUp::Rows(40), amount: Amount::Rows(100), ..Work::example() };
        let done = run(&work, 1);
        assert_eq!(done.clients.iter().map(|client| client.warm_up_rows).sum::<u64>(), 40);
        assert_eq!(done.clients.iter().map(|client| client.rows).sum::<u64>(), 100);
        assert_eq!(done.clients.iter().map(|client| client.service_time.count()).sum::<u64>(), 10);
    }

    #[test]
    fn an_open_loop_measures_from_the_intended_start() {
        let work =
            Work { rate_per_s: Some(2_000.0), amount: Amount::Rows(200), batch_size: 1, ..Work::example() };
        let done = run(&work, 2);
        for client in &done.clients {
            let response = client.response_time.as_ref().unwrap();
            assert_eq!(response.count(), client.transactions);
            assert!(response.max_ns() >= client.service_time.max_ns());
        }
        // Over time as well, of all threads.
        let largest = done.clients.iter().filter_map(|client| client.response_time.as_ref());
        let largest = largest.map(LatencyHistogram::max_ns).max().unwrap();
        let elapsed_ns = done.clients.iter().filter_map(|client| client.end_ns).max().unwrap();
        let series = done.seconds.series(elapsed_ns);
        let over_time = series[2].values.iter().flatten().fold(0.0, |max: f64, value| max.max(*value));
        assert_eq!(series[2].name, "latency_max_ms");
        assert!((over_time * 1e6 / largest as f64 - 1.0).abs() < 1e-3, "{over_time} ms of {largest} ns");
    }

    #[test]
    fn a_run_bounded_by_time_ends_by_itself() {
        let work = Work { amount: Amount::Time(Duration::from_millis(30)), ..Work::example() };
        let done = run(&work, 2);
        assert!(done.clients.iter().all(|client| client.rows > 0 && client.end_ns.unwrap() >= 30_000_000));
    }

    #[test]
    fn clients_of_an_engine_that_was_given_up_are_not_waited_for() {
        let work = Work { amount: Amount::Time(Duration::from_secs(3600)), ..Work::example() };
        let connector: Arc<dyn DynConnector> = Arc::new(NoopConnector);
        let mut pool = ClientPool::assemble(&connector, &work, 2).unwrap();
        pool.release();
        pool.wait(&mut |progress| progress.give_up("no answer".to_owned()));
        let done = pool.dismiss();
        assert!(done.clients.iter().all(|client| client.error.as_deref() == Some("no answer")));
        assert_eq!(done.clients.len(), work.connections as usize);
    }

    /// Connects no client.
    #[derive(Clone, Debug)]
    struct Refusing;

    impl Connector for Refusing {
        type Session = NoopSession;

        async fn connect(&self, _: u32, _: Registration<'_>) -> Result<NoopSession, SessionError> {
            Err(SessionError::Fatal("could not open".to_owned()))
        }
    }

    #[test]
    fn a_client_that_cannot_connect_is_named_and_the_others_stop() {
        let connector: Arc<dyn DynConnector> = Arc::new(Refusing);
        let mut pool = ClientPool::assemble(&connector, &Work::example(), 2).unwrap();
        pool.release();
        pool.wait(&mut |_| {});
        let done = pool.dismiss();
        assert!(done.clients.iter().all(|client| client.errors == 1 && client.end_ns.is_none()));
        assert!(done.clients[0].error.as_ref().unwrap().contains("could not open"));
    }
}
