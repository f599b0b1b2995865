//! A server with sessions that wait as they are told, and what a busy machine excuses.
#![allow(unreachable_pub)]

use std::io::Write;
use std::time::{Duration, Instant};

use lab::observe::live::Way;
use lab_postgres::cluster::{Cluster, ClusterOptions};
use lab_postgres::{LivePostgres, ServerBinaries};
use skips::{Capability, skip};
use tokio_postgres::SimpleQueryMessage;

use crate::support::scratch;

/// A running server of the test's own.
pub struct Server {
    pub cluster: Cluster,
    _scratch: tempfile::TempDir,
}

impl Server {
    pub fn start(server: &ServerBinaries, settings: &[(&str, &str)]) -> Self {
        let scratch = scratch();
        let options = ClusterOptions {
            server: server.clone(),
            base: scratch.path().to_path_buf(),
            elsewhere: Vec::new(),
            port: None,
        };
        let mut cluster = Cluster::create(&options).unwrap();
        let mut all = vec![("fsync".to_owned(), "off".to_owned())];
        all.extend(settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        cluster.start(&all).unwrap();
        Self { cluster, _scratch: scratch }
    }

    pub fn url(&self) -> String {
        let directory = self.cluster.socket_directory().display();
        format!("host={directory} port={} user=fathom dbname=postgres", self.cluster.port())
    }

    pub fn session(&self) -> Sql {
        Sql::connect(&self.url())
    }

    pub fn live(&self, way: Way) -> LivePostgres {
        LivePostgres::attach(&self.url(), way).unwrap()
    }
}

/// A blocking session.
pub struct Sql {
    pub runtime: tokio::runtime::Runtime,
    pub client: tokio_postgres::Client,
}

impl Sql {
    pub fn connect(url: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let client = runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
            tokio::spawn(connection);
            client
        });
        Self { runtime, client }
    }

    /// The first value of each row.
    pub fn try_values(&self, sql: &str) -> Result<Vec<String>, tokio_postgres::Error> {
        let messages = self.runtime.block_on(self.client.simple_query(sql))?;
        let value = |message| match message {
            SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or_default().to_owned()),
            _ => None,
        };
        Ok(messages.into_iter().filter_map(value).collect())
    }

    pub fn values(&self, sql: &str) -> Vec<String> {
        self.try_values(sql).unwrap()
    }

    pub fn number(&self, sql: &str) -> f64 {
        self.values(sql)[0].parse().unwrap()
    }
}

/// Runnable tasks per CPU, on average over a minute, beyond which the kernel gives a sampler no regular turns.
pub const LOAD_PER_CPU_MAX: f64 = 3.0;

/// Time of a flush beyond which a run of seconds is a run of a few commits.
const FLUSH_MAX: Duration = Duration::from_millis(100);

/// Runs a test whose values need a machine that lets a sampler run, again if need be: other tests run beside it. When it
/// fails each time on a machine that is busy, it is skipped instead.
pub fn unless_overloaded(test: impl Fn() + std::panic::RefUnwindSafe) {
    let mut noise = None;
    for attempt in 1..=MEASUREMENTS_MAX {
        let Err(fault) = std::panic::catch_unwind(&test) else { return };
        noise = noise.or_else(self::noise);
        if attempt == MEASUREMENTS_MAX {
            match &noise {
                Some(noise) => skip(Capability::Quiet, noise),
                None => std::panic::resume_unwind(fault),
            }
        }
    }
}

/// What keeps this machine from measuring, if anything does.
fn noise() -> Option<String> {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: f64 = load.split(' ').next().and_then(|minute| minute.parse().ok()).unwrap_or(0.0);
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as f64;
    if load > LOAD_PER_CPU_MAX * cpus {
        return Some(format!("the load of the machine is {load} on {cpus} CPUs"));
    }
    let flush = (0..10).map(|_| flush_time()).max().unwrap_or_default();
    (flush > FLUSH_MAX).then(|| format!("a flush of 4 KiB takes {flush:?}"))
}

fn flush_time() -> Duration {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&[1; 4096]).unwrap();
    let began = Instant::now();
    file.sync_all().unwrap();
    began.elapsed()
}

/// Measurements of one thing before its values are taken for wrong: other tests run beside this one.
pub const MEASUREMENTS_MAX: usize = 4;

/// Makes a measurement of (found, true) and asserts that they agree within 10 %, again if need be.
pub fn assert_within_ten_percent(mut measure: impl FnMut() -> (f64, f64)) {
    let is_close = |(found, truth): (f64, f64)| (found - truth).abs() <= 0.1 * truth;
    let mut seen = Vec::new();
    for _ in 0..MEASUREMENTS_MAX {
        seen.push(measure());
        if seen.last().copied().is_some_and(is_close) {
            return;
        }
    }
    panic!("found and true were {seen:?}");
}
