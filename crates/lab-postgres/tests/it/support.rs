//! What the tests against real servers share. The servers are started by the tests and stopped by their own ids.
#![allow(unreachable_pub)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lab::client::{ClientPool, EventLoop};
use lab::engine::{ClientControl, Connector, Counters, Layout, Target};
use lab::work::{Amount, Durability, KeyOrder, LoopSide, Placement, WarmUp, Work, Workload};
use lab_postgres::{
    ManagedOptions, ManagedPostgres, PostgresConnector, PostgresSession, ServerBinaries, find_servers,
};
use skips::{Capability, skip};

/// The newest server of every major on this machine; empty, and a skip that is counted, when there is none.
pub fn servers() -> Vec<ServerBinaries> {
    let mut servers = find_servers(&[]);
    servers.dedup_by_key(|server| server.major);
    if servers.is_empty() {
        let remedy = "install postgresql, or run scripts/fetch-postgres.sh";
        skip(Capability::Postgres, format!("no PostgreSQL server binaries ({remedy})"));
    }
    servers
}

/// The newest server alone: for what does not depend on the version.
pub fn newest() -> Vec<ServerBinaries> {
    servers().into_iter().take(1).collect()
}

/// The two ends of what is installed: for what hardly depends on the version. Making a cluster takes a second of CPU.
pub fn oldest_and_newest() -> Vec<ServerBinaries> {
    let mut servers = servers();
    if servers.len() > 2 {
        servers.drain(1..servers.len() - 1);
    }
    servers
}

/// A directory that the server's user can reach, also when the tests run as root.
pub fn scratch() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::Builder::new().prefix("fathom-test-").tempdir_in("/tmp").unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    dir
}

pub fn work() -> Work {
    Work {
        workload: Workload::Populate,
        loop_side: LoopSide::Client,
        amount: Amount::Rows(50),
        warm_up: WarmUp::None,
        connections: 2,
        jobs: None,
        batch_size: 10,
        key: KeyOrder::Sequential,
        secondary_indexes: 0,
        data_files: 1,
        durability: Durability::None,
        rate_per_s: None,
        placement: Placement::Together,
        buffer_pool_mib: None,
        log_size_mib: None,
        manual_checkpoint_every: None,
        settings: BTreeMap::new(),
        subject: lab::work::SubjectParameters::default(),
        own: None,
        label: String::new(),
        seed: 7,
    }
}

pub fn managed(server: &ServerBinaries, base: &Path, layout: Layout) -> ManagedPostgres {
    let options = ManagedOptions { server: server.clone(), base: base.to_path_buf(), layout, port: None };
    ManagedPostgres::create(&options).unwrap()
}

pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Sessions each of which blocks, as the only client of a worker does.
pub fn connect_all(connector: &PostgresConnector, connections: u32) -> Vec<PostgresSession> {
    (0..connections).map(|client_index| connect(connector, client_index)).collect()
}

pub fn connect(connector: &PostgresConnector, client_index: u32) -> PostgresSession {
    let event_loop = EventLoop::new().unwrap();
    let mut session = None;
    let task = async { session = Some(connector.connect(client_index, event_loop.registration(0, 1)).await) };
    event_loop.run(vec![Box::pin(task)]).unwrap();
    session.unwrap().unwrap()
}

/// What a run of `work` (bounded by rows) left behind, with the counters before and after.
pub struct Outcome {
    pub before: Counters,
    pub after: Counters,
    pub post_run_state: lab::engine::PostRunState,
    pub transactions: u64,
}

impl Outcome {
    /// Difference of a counter; `None` when the server does not have it.
    pub fn difference(&self, name: &str) -> Option<f64> {
        Some(value(&self.after, name)? - value(&self.before, name)?)
    }
}

fn value(counters: &Counters, name: &str) -> Option<f64> {
    counters.cumulative.iter().find(|metric| metric.name == name).map(|metric| metric.value)
}

/// Prepares, connects, runs and closes as the laboratory does, without cleaning.
pub fn run(target: &mut (impl Target + ClientControl), work: &Work) -> Outcome {
    target.prepare(work).unwrap();
    let jobs = work.jobs.unwrap_or_else(|| target.jobs(work));
    let mut pool = ClientPool::assemble(&target.connector(), work, jobs).unwrap();
    if let Some(seen) = target.clients_seen().unwrap() {
        assert_eq!(seen, work.connections);
    }
    let before = target.counters().unwrap();
    pool.release();
    pool.wait(&mut |_| {});
    let done = pool.dismiss();
    let errors: Vec<_> = done.clients.iter().filter_map(|client| client.error.clone()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let transactions = done.clients.iter().map(|client| client.transactions).sum();
    let after = target.counters().unwrap();
    let post_run_state = target.post_run_state(work).unwrap();
    Outcome { before, after, post_run_state, transactions }
}

/// Entries of a directory whose name begins as ours do.
pub fn ours_in(directory: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("fathom-p"))
        .collect();
    found.sort();
    found
}
