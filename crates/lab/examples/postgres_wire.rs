//! Prices the client side of PostgreSQL: CPU per transaction of fathom's wire client, on a server of its own.
//!
//! usage: postgres_wire SECONDS [CONNECTIONS...]      (default: 5 s at 1, 16 and 64 connections)
//!
//! Prints one line per workload and number of connections. The socket of the server is printed first, so that
//! `pgbench -h SOCKET -p PORT -U fathom -M prepared` can be run beside it while it waits for a line on stdin.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::Path;
use std::time::{Duration, Instant};

use lab::target::postgres::{ManagedOptions, ManagedPostgres, require_servers};
use lab::target::{Layout, Target};
use lab::work::{Amount, Durability, KeyOrder, LoopSide, Placement, WarmUp, Work, Workload};

type AnyError = Box<dyn std::error::Error>;

fn main() -> Result<(), AnyError> {
    let numbers: Vec<u32> = std::env::args().skip(1).map(|text| text.parse()).collect::<Result<_, _>>()?;
    let seconds = numbers.first().copied().unwrap_or(5);
    let connections = numbers.get(1..).filter(|rest| !rest.is_empty()).unwrap_or(&[1, 16, 64]).to_vec();
    let server = require_servers(&[])?.remove(0);
    let options = ManagedOptions { server, base: "/tmp".into(), layout: Layout::default(), port: None };
    let mut target = ManagedPostgres::create(&options)?;
    for workload in [Workload::SelectOne, Workload::RandomInsert] {
        for &count in &connections {
            let work = work(workload, count);
            let began = Instant::now();
            target.prepare(&work)?;
            eprintln!("prepared in {:.0} ms", began.elapsed().as_secs_f64() * 1e3);
            measure(&target, &work, Duration::from_secs(u64::from(seconds)))?;
        }
    }
    let cluster = target.cluster();
    let path = cluster.socket_directory();
    println!("socket {} port {} (a line on stdin ends this)", Path::new(path).display(), cluster.port());
    std::io::stdin().lock().lines().next();
    target.stop(false)?;
    Ok(())
}

fn work(workload: Workload, connections: u32) -> Work {
    Work {
        workload,
        loop_side: LoopSide::Client,
        amount: Amount::Rows(1),
        warm_up: WarmUp::None,
        connections,
        jobs: Some(1),
        batch_size: 1,
        key: KeyOrder::Random,
        secondary_indexes: 0,
        data_files: 1,
        durability: Durability::None,
        rate_per_s: None,
        placement: Placement::Together,
        buffer_pool_mib: None,
        log_size_mib: None,
        manual_checkpoint_every: None,
        settings: BTreeMap::new(),
        label: String::new(),
        seed: 1,
    }
}

fn measure(target: &ManagedPostgres, work: &Work, time: Duration) -> Result<(), AnyError> {
    let connector = target.connector();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (transactions, cpu_ns, elapsed) = runtime.block_on(async {
        let mut sessions = Vec::new();
        for client_index in 0..work.connections {
            sessions.push(connector.connect(client_index).await?);
        }
        let cpu_before = disk::counters::thread_cpu_ns();
        let began = Instant::now();
        let loops: Vec<_> = sessions
            .into_iter()
            .map(|mut session| {
                tokio::spawn(async move {
                    let mut transactions = 0_u64;
                    while began.elapsed() < time {
                        session.transaction(1).await?;
                        transactions += 1;
                    }
                    Ok::<_, lab::target::SessionError>((transactions, session))
                })
            })
            .collect();
        let mut sum = 0;
        let mut finished = Vec::new();
        for one in loops {
            let (transactions, session) = one.await??;
            sum += transactions;
            finished.push(session);
        }
        let outcome = (sum, disk::counters::thread_cpu_ns() - cpu_before, began.elapsed());
        for session in finished {
            session.close().await;
        }
        Ok::<_, AnyError>(outcome)
    })?;
    println!(
        "{:?} connections {}: {:.2} us CPU per transaction, {:.0} per s",
        work.workload,
        work.connections,
        cpu_ns as f64 / 1e3 / transactions as f64,
        transactions as f64 / elapsed.as_secs_f64()
    );
    Ok(())
}
