//! What the samplers cost: clients work without a pause while one of them is switched on and off, in an order that a seed
//! shuffles. Prints one line per pair, the medians of neighbouring pairs, and a row of a Markdown table.
//!
//! usage: bench_waits [memory|sql|series|nothing] [CONNECTIONS] [PAIRS] [SECONDS_PER_TURN]
//!
//! `memory` and `sql` look at waits in these two ways, waiting tasks included; `series` is the look a second at the
//! counters of server and machine; `nothing` switches nothing on: the noise of the bench itself. As in a run, a sampler
//! is ready before its turn begins and is asked for what it saw after its end.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use disk::counters::{process_cpu, thread_cpu_ns};
use lab::observe::live::Way;
use lab::observe::machine::MachineProbe;
use lab::observe::series::SeriesSampler;
use lab::observe::{RunningSampler, Sampler, Window};
use lab_postgres::cluster::{Cluster, ClusterOptions};
use lab_postgres::{LiveInterval, LivePostgres};
use lab_postgres::{find_servers, series_of};
use results::observations::SamplerRecord;
use stats::random::Random;

/// What is switched on and off.
#[derive(Clone, Copy, Debug)]
enum What {
    Waits(Way),
    Series,
    Nothing,
}

impl What {
    fn words(self) -> &'static str {
        match self {
            Self::Waits(Way::Sql) => "waits over SQL, 10 a second",
            Self::Waits(_) => "waits from memory, 100 a second",
            Self::Series => "counters, one look a second",
            Self::Nothing => "nothing",
        }
    }
}

struct Turn {
    is_on: bool,
    transactions: u64,
    /// Of server, clients and sampler together.
    cpu_us_per_transaction: f64,
    elapsed_s: f64,
    sampler_cpu_percent: f64,
    samples_percent: f64,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number =
        |index: usize, default: u32| arguments.get(index).map_or(default, |text| text.parse().unwrap());
    let what = match arguments.first().map(String::as_str) {
        Some("sql") => What::Waits(Way::Sql),
        Some("series") => What::Series,
        Some("nothing") => What::Nothing,
        _ => What::Waits(Way::Best),
    };
    let (connections, pairs, seconds) = (number(1, 64), number(2, 20), number(3, 2));
    let server = find_servers(&[]).into_iter().next().expect("a server is installed");
    let scratch = std::env::temp_dir().join(format!("bench-waits-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).unwrap();
    let options = ClusterOptions { server, base: scratch.clone(), elsewhere: Vec::new(), port: None };
    let mut cluster = Cluster::create(&options).unwrap();
    let settings = [("fsync", "off"), ("max_connections", "300"), ("max_wal_size", "4GB")];
    let settings: Vec<(String, String)> =
        settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    cluster.start(&settings).unwrap();
    let url = format!(
        "host={} port={} user=fathom dbname=postgres",
        cluster.socket_directory().display(),
        cluster.port()
    );
    println!("{} {what:?} {connections} connections", cluster.server().version);
    let turns = measure(&url, cluster.process_id().unwrap(), what, connections, pairs, seconds);
    report(&turns, what, connections);
    cluster.remove().unwrap();
    std::fs::remove_dir_all(&scratch).unwrap();
}

fn measure(url: &str, postmaster: u32, what: What, connections: u32, pairs: u32, seconds: u32) -> Vec<Turn> {
    let done = Arc::new(AtomicU64::new(0));
    let stop = Arc::new(AtomicBool::new(false));
    let (clients_url, clients_done, clients_stop) = (url.to_owned(), Arc::clone(&done), Arc::clone(&stop));
    let clients = std::thread::spawn(move || work(&clients_url, connections, &clients_done, &clients_stop));
    let mut live = match what {
        What::Waits(way) => Some(LivePostgres::attach(url, way).unwrap()),
        What::Series | What::Nothing => None,
    };
    let mut random = Random::new(11);
    let mut turns = Vec::new();
    while done.load(Ordering::Relaxed) < u64::from(connections) * 100 {
        std::thread::yield_now();
    }
    for _ in 0..pairs {
        let first = random.below(2) == 0;
        for is_on in [first, !first] {
            let interval = Duration::from_secs(seconds.into());
            let looking = is_on.then(|| Looking::begin(what, live.as_mut(), url, postmaster));
            let before = (done.load(Ordering::Relaxed), cpu_ns(postmaster), Instant::now());
            std::thread::sleep(interval);
            let elapsed_s = before.2.elapsed().as_secs_f64();
            let transactions = done.load(Ordering::Relaxed) - before.0;
            let cpu_us_per_transaction = (cpu_ns(postmaster) - before.1) as f64 / 1e3 / transactions as f64;
            let samplers = looking.map(Looking::end).unwrap_or_default();
            let cpu_s: f64 = samplers.iter().map(|record| record.cpu_s).sum();
            let sampler_cpu_percent = 100.0 * cpu_s / interval.as_secs_f64();
            let samples_percent = samplers
                .first()
                .map_or(0.0, |record| 100.0 * record.samples_taken as f64 / record.samples_expected as f64);
            turns.push(Turn {
                is_on,
                transactions,
                cpu_us_per_transaction,
                elapsed_s,
                sampler_cpu_percent,
                samples_percent,
            });
        }
    }
    stop.store(true, Ordering::Relaxed);
    clients.join().unwrap();
    turns
}

/// A sampler at work.
enum Looking<'a> {
    Waits(LiveInterval<'a>),
    Series(Vec<Box<dyn RunningSampler>>, Instant),
    Nothing,
}

impl<'a> Looking<'a> {
    fn begin(what: What, live: Option<&'a mut LivePostgres>, url: &str, postmaster: u32) -> Self {
        if let Some(live) = live {
            return Self::Waits(live.begin().unwrap());
        }
        if matches!(what, What::Nothing) {
            return Self::Nothing;
        }
        let machine = MachineProbe::new(&[], Some(postmaster));
        let samplers: [Box<dyn Sampler>; 2] =
            [series_of(url).unwrap(), Box::new(SeriesSampler::new(machine))];
        Self::Series(samplers.into_iter().map(|sampler| sampler.start()).collect(), Instant::now())
    }

    fn end(self) -> Vec<SamplerRecord> {
        match self {
            Self::Waits(interval) => interval.end().observations.samplers,
            Self::Series(running, began) => {
                let window = Window { began, ended: Instant::now() };
                running.into_iter().flat_map(|sampler| sampler.stop(window).samplers).collect()
            }
            Self::Nothing => Vec::new(),
        }
    }
}

/// Single-row inserts, each its own transaction, as fast as they go.
fn work(url: &str, connections: u32, done: &AtomicU64, stop: &AtomicBool) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (control, driver) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(driver);
        control.batch_execute("CREATE UNLOGGED TABLE rows_in (id bigserial, payload text)").await.unwrap();
        let mut clients = Vec::new();
        for _ in 0..connections {
            let (client, driver) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
            tokio::spawn(driver);
            let insert = client.prepare("INSERT INTO rows_in (payload) VALUES ('some text')").await.unwrap();
            clients.push(async move {
                while !stop.load(Ordering::Relaxed) {
                    client.execute(&insert, &[]).await.unwrap();
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        // All on this thread: the clients' own cost is the same in every turn.
        let mut set: Vec<_> = clients.into_iter().map(Box::pin).collect();
        std::future::poll_fn(|context| {
            set.retain_mut(|client| client.as_mut().poll(context).is_pending());
            if set.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })
        .await;
    });
    let _own = thread_cpu_ns();
}

/// Of this process, the postmaster and its children.
fn cpu_ns(postmaster: u32) -> u64 {
    let children = std::fs::read_to_string(format!("/proc/{postmaster}/task/{postmaster}/children")).unwrap();
    let ids = children.split_whitespace().filter_map(|id| id.parse().ok());
    let total = |id| process_cpu(id).map_or(0, |cpu| cpu.total_with_children_ns());
    ids.chain([postmaster]).map(total).sum::<u64>() + disk::counters::process_cpu_ns()
}

fn report(turns: &[Turn], what: What, connections: u32) {
    let mut cost = Vec::new();
    let mut rate = Vec::new();
    for pair in turns.chunks_exact(2) {
        let (on, off) = if pair[0].is_on { (&pair[0], &pair[1]) } else { (&pair[1], &pair[0]) };
        let per_s = |turn: &Turn| turn.transactions as f64 / turn.elapsed_s;
        cost.push(on.cpu_us_per_transaction / off.cpu_us_per_transaction);
        rate.push(per_s(on) / per_s(off));
        println!(
            "on {:8.0}/s {:6.1} us, off {:8.0}/s {:6.1} us, sampler {:4.2} % of a core, {:5.1} % of samples",
            per_s(on),
            on.cpu_us_per_transaction,
            per_s(off),
            off.cpu_us_per_transaction,
            on.sampler_cpu_percent,
            on.samples_percent
        );
    }
    let on = || turns.iter().filter(|turn| turn.is_on);
    let samples: Vec<f64> = on().map(|turn| turn.samples_percent).collect();
    let share: Vec<f64> = on().map(|turn| turn.sampler_cpu_percent).collect();
    println!("cpu per transaction, on/off: {}", spread(&mut cost));
    println!("transactions per second, on/off: {}", spread(&mut rate));
    println!("sampler, % of a core: {}", spread(&mut share.clone()));
    println!("samples present, %: {}", spread(&mut samples.clone()));
    let [cost, rate, share, samples] = [cost, rate, share, samples].map(|mut values| quartiles(&mut values));
    println!(
        "| {} | {connections} | {:.3} [{:.3}, {:.3}] | {:.3} [{:.3}, {:.3}] | {:.2} % | {:.0} % |",
        what.words(),
        cost[1],
        cost[0],
        cost[2],
        rate[1],
        rate[0],
        rate[2],
        share[1],
        samples[1]
    );
}

fn quartiles(values: &mut [f64]) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [0.25, 0.5, 0.75].map(|share| values[((values.len() - 1) as f64 * share).round() as usize])
}

fn spread(values: &mut [f64]) -> String {
    let [low, median, high] = quartiles(values);
    format!("median {median:.3}, quartiles {low:.3} to {high:.3}, n {}", values.len())
}
