//! Series and marks of a run on real servers of every major that is installed.

use std::time::Duration;

use crate::support::{managed, scratch, servers, work};
use crate::waits_support::unless_overloaded;
use lab::engine::{Layout, Target};
use lab::gates::Limits;
use lab::run::{Course, RunRequest, execute};
use lab::work::{Amount, Durability, Work};
use lab_postgres::{ManagedPostgres, ServerBinaries};
use results::model::{Event, Run, RunKey};
use results::observations::{SamplerRecord, Series};
use skips::{Capability, skip};

fn measured(target: &mut ManagedPostgres, work: &Work) -> Run {
    let key = RunKey { block_index: 0, cell_index: 0, attempt: 0 };
    let request = RunRequest { work, key, position: 0, limits: Limits::default(), samplers: &[] };
    execute(target, request, &mut |_| Course::Continue).unwrap()
}

fn series<'a>(run: &'a Run, name: &str) -> &'a Series {
    let series = &run.observations.series;
    series.iter().find(|series| series.name == name).unwrap_or_else(|| {
        let names: Vec<&str> = series.iter().map(|series| series.name.as_str()).collect();
        panic!("no series {name} among {names:?}")
    })
}

/// A rate added up over its intervals, from the first look on.
fn total(series: &Series, first_ns: i64) -> f64 {
    let mut from_ns = first_ns;
    series.at_ns.iter().zip(&series.values).fold(0.0, |sum, (&at_ns, value)| {
        let seconds = (at_ns - from_ns) as f64 / 1e9;
        from_ns = at_ns;
        sum + value.unwrap() * seconds
    })
}

fn sampler<'a>(run: &'a Run, name: &str) -> &'a SamplerRecord {
    run.observations.samplers.iter().find(|sampler| sampler.name == name).unwrap()
}

fn marks<'a>(run: &'a Run, kind: &str) -> Vec<&'a Event> {
    run.events.iter().filter(|event| event.kind == kind).collect()
}

#[test]
fn every_major_tells_its_series_and_marks_manual_checkpoints_within_one_sample() {
    for server in servers() {
        unless_overloaded(|| series_and_manual_checkpoints_of_one_major(&server));
    }
}

fn series_and_manual_checkpoints_of_one_major(server: &ServerBinaries) {
    let scratch = scratch();
    let mut target = managed(server, scratch.path(), Layout::default());
    let work = Work {
        durability: Durability::Full,
        batch_size: 1,
        amount: Amount::Time(Duration::from_millis(3600)),
        manual_checkpoint_every: Some(Duration::from_millis(1500)),
        ..work()
    };
    let run = measured(&mut target, &work);
    the_series_agree_with_the_totals(&run, server.major);
    manual_checkpoints_are_seen(&run, server.major);
    target.stop(false).unwrap();
}

fn the_series_agree_with_the_totals(run: &Run, major: u32) {
    let counters = sampler(run, "postgres_counters");
    assert_eq!(counters.problem, None, "{major}");
    assert!(counters.samples_taken * 100 >= counters.samples_expected * 95, "{major}: {counters:?}");
    assert_eq!(sampler(run, "machine").samples_taken, sampler(run, "machine").samples_expected, "{major}");
    // The log position is exact; the first look comes within moments of the barrier.
    let first_ns = series(run, "log_segments").at_ns[0];
    assert!((0..500_000_000).contains(&first_ns), "{major}: the first look is at {first_ns} ns");
    let log_bytes = run.metric("log_bytes").unwrap();
    let seen_bytes = total(series(run, "log_bytes_per_s"), first_ns);
    assert!((seen_bytes / log_bytes - 1.0).abs() < 0.15, "{major}: {seen_bytes} of {log_bytes}");
    let mut names = vec![
        "log_flushes_per_s",
        "log_flush_ms",
        "log_writes_per_s",
        "log_full_pages_per_s",
        "log_buffers_full_per_s",
        "pages_allocated_per_s",
        "checkpoint_pages_per_s",
        "background_pages_per_s",
        "backend_pages_per_s",
        "write_transactions_per_s",
        "transactions_per_s",
        "log_size_bytes",
        "data_size_bytes",
        "data_growth_bytes_per_s",
        "checkpoint_active",
        "server_cpus",
        "fathom_cpus",
        "other_cpus",
        "server_run_delay",
    ];
    if major >= 16 {
        names.push("pages_extended_per_s");
    }
    for name in names {
        let series = series(run, name);
        assert_eq!(series.at_ns.len(), series.values.len(), "{major} {name}");
        assert!(series.at_ns.is_sorted(), "{major} {name}");
    }
    assert!(series(run, "data_size_bytes").values.iter().all(|value| value.unwrap() > 1e6), "{major}");
}

fn manual_checkpoints_are_seen(run: &Run, major: u32) {
    let issued = marks(run, "manual_checkpoint");
    assert!(issued.len() >= 2, "{major}: {:?}", run.events);
    assert_eq!(run.metric("manual_checkpoints"), Some(issued.len() as f64), "{major}");
    let starts = marks(run, "checkpoint_start");
    let ends = marks(run, "checkpoint_end");
    // Two checkpoints between two looks are one mark, and one that ends after the last look has no end.
    assert!(!ends.is_empty() && starts.len() <= issued.len(), "{major}: {:?}", run.events);
    // On a busy machine a look comes late; a mark is then as exact as the looks around it.
    let looks = &series(run, "log_segments").at_ns;
    let gap_ns = looks.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap().max(1_000_000_000);
    for start in &starts {
        let belongs = |issued: &&&Event| {
            let took = issued.text.strip_prefix("took ").and_then(|text| text.split(' ').next());
            let took_ns = (took.unwrap().parse::<f64>().unwrap() * 1e9) as i64;
            (issued.at_ns - gap_ns..=issued.at_ns + took_ns + gap_ns).contains(&start.at_ns)
        };
        assert!(issued.iter().any(|issued| belongs(&issued)), "{major}: {:?}", run.events);
    }
    assert!(run.events.is_sorted_by_key(|event| event.at_ns), "{major}");
}

#[test]
fn pages_allocated_is_the_growth_of_the_tables_and_indexes_and_no_reads() {
    for server in servers() {
        let scratch = scratch();
        let mut target = managed(&server, scratch.path(), Layout::default());
        let work = Work { durability: Durability::Full, amount: Amount::Rows(600), ..work() };
        let run = measured(&mut target, &work);
        let bytes = run.metric("database_bytes").unwrap();
        // The empty primary key and the empty index of the TOAST table had a metapage each; the table had no page.
        let grown = bytes / 8192.0 - 2.0;
        assert_eq!(run.metric("pages_allocated"), Some(grown), "{}", server.version);
        assert!(grown >= 600.0 + 3.0, "{}: {grown}", server.version);
        // The series adds up to the same, from its first look on.
        let allocated = series(&run, "pages_allocated_per_s");
        let first_ns = series(&run, "log_segments").at_ns[0];
        let seen = total(allocated, first_ns);
        assert!(seen <= grown + 0.5, "{}: {seen} of {grown}", server.version);
        assert!(allocated.source.contains("pg_total_relation_size"), "{}", allocated.source);
        // Reading what is there already allocates nothing.
        let idle = Work { workload: lab::work::Workload::SelectOne, amount: Amount::Rows(500), ..work };
        assert_eq!(measured(&mut target, &idle).metric("pages_allocated"), Some(0.0), "{}", server.version);
        target.stop(false).unwrap();
    }
}

#[test]
fn times_that_the_server_does_not_take_are_absent_and_never_zero() {
    for server in servers() {
        let scratch = scratch();
        let mut target = managed(&server, scratch.path(), Layout::default());
        let mut work = Work { durability: Durability::Full, amount: Amount::Rows(100), ..work() };
        let times = |run: &Run| -> Vec<String> {
            let begins = ["log_", "data_", "client_log_", "client_data_"];
            let names = run.metrics.iter().map(|metric| metric.name.clone());
            let of_server = names.filter(|name| begins.iter().any(|begin| name.starts_with(begin)));
            let of_series = run.observations.series.iter().map(|series| series.name.clone());
            of_server
                .filter(|name| name.ends_with("_s"))
                .chain(of_series.filter(|name| name.starts_with("log_") && name.ends_with("_ms")))
                .collect()
        };
        let taken = measured(&mut target, &work);
        assert!(taken.metric("log_flush_s").is_some_and(|seconds| seconds > 0.0), "{}", server.version);
        assert_eq!(taken.metric("client_log_flush_s").is_some(), server.major >= 18);
        for name in ["track_io_timing", "track_wal_io_timing"] {
            work.settings.insert(name.to_owned(), "off".to_owned());
        }
        let untaken = measured(&mut target, &work);
        assert_eq!(times(&untaken), Vec::<String>::new(), "{}", server.version);
        assert!(untaken.metric("log_flushes").is_some_and(|flushes| flushes > 0.0), "{}", server.version);
        target.stop(false).unwrap();
    }
}

#[test]
fn a_server_that_is_gone_in_the_middle_is_named_and_ends_no_sampler() {
    for server in crate::support::newest() {
        let scratch = scratch();
        let mut target = managed(&server, scratch.path(), Layout::default());
        let work = Work { amount: Amount::Time(Duration::from_millis(2500)), ..work() };
        let mut killed = false;
        target.prepare(&work).unwrap();
        let key = RunKey { block_index: 0, cell_index: 0, attempt: 0 };
        let request = RunRequest { work: &work, key, position: 0, limits: Limits::default(), samplers: &[] };
        let began = std::time::Instant::now();
        let data = target.cluster().data();
        let run = execute(&mut target, request, &mut |tick| {
            if !killed && tick.rows > 0 && began.elapsed() > Duration::from_millis(500) {
                let pid_file = std::fs::read_to_string(data.join("postmaster.pid")).unwrap();
                let pid: i32 = pid_file.lines().next().unwrap().parse().unwrap();
                let pid = rustix::process::Pid::from_raw(pid).unwrap();
                rustix::process::kill_process(pid, rustix::process::Signal::QUIT).unwrap();
                killed = true;
            }
            Course::Continue
        })
        .unwrap();
        let counters = sampler(&run, "postgres_counters");
        assert!(counters.problem.is_some() && counters.samples_taken >= 1, "{counters:?}");
        assert!(sampler(&run, "machine").samples_taken >= 2);
        target.stop(false).unwrap();
    }
}

#[test]
fn what_a_transaction_puts_into_the_log_is_read_from_the_log_where_the_server_can() {
    for server in servers() {
        let scratch = scratch();
        let mut target = managed(&server, scratch.path(), Layout::default());
        let of = |target: &mut ManagedPostgres, connections, rows| {
            let work = Work {
                connections,
                batch_size: rows,
                amount: Amount::Rows(40),
                durability: Durability::Full,
                ..work()
            };
            measured(target, &work)
        };
        let one = of(&mut target, 1, 1);
        let Some(records) = one.metric("transaction_log_records") else {
            let warning = one.warnings.iter().find(|warning| warning.code == "log_records_unread").unwrap();
            skip(Capability::PostgresContrib, format!("PostgreSQL {}: {}", server.version, warning.text));
            target.stop(false).unwrap();
            continue;
        };
        // The row, its entry in the index, the commit; a page split and a sequence once in a while.
        assert!((3.0..5.0).contains(&records), "{records}");
        let ten = of(&mut target, 1, 10);
        let (bytes, bytes_of_ten) =
            (one.metric("transaction_log_bytes").unwrap(), ten.metric("transaction_log_bytes").unwrap());
        assert!(bytes > 4100.0 && bytes_of_ten > 41_000.0 && bytes_of_ten < 10.0 * bytes, "{bytes_of_ten}");
        for run in [&one, &ten] {
            let value = |name: &str| run.metric(name).unwrap();
            let transactions = value("log_records.Transaction/COMMIT");
            // All that the flushes wrote was new, or padding; the log ends at or behind the last commit.
            let new = transactions
                * (value("transaction_log_pages") * 8192.0 - value("transaction_log_padding_bytes"));
            assert!(new <= value("log_bytes") && new > 0.5 * value("log_bytes"), "{new}");
            assert!(value("transaction_log_padding_bytes") < 2.0 * 8192.0);
        }
        assert_eq!(of(&mut target, 2, 1).metric("transaction_log_records"), None);
        target.stop(false).unwrap();
        return;
    }
}
