//! Managed PostgreSQL against real servers of every major that is installed: workloads, placement, counters.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::support::{
    connect, connect_all, managed, newest, oldest_and_newest, ours_in, run, runtime, scratch, servers, work,
};
use lab::client::EventLoop;
use lab::engine::{ClientControl, Describe, Layout, Residence, ServerShare, Session, SessionError, Target};
use lab::work::{Amount, Durability, KeyOrder, LoopSide, Placement, Work, Workload};
use lab_postgres::ManagedPostgres;
use rustix::process::{Pid, Signal, kill_process};

#[test]
fn every_major_does_what_each_workload_promises() {
    for server in servers() {
        let scratch = scratch();
        // One cluster for all: making it takes longer than the runs.
        let mut target = managed(&server, scratch.path(), Layout::default());
        populate_has_one_row_per_page_and_its_last_batch_is_cut(&mut target, &server.version);
        random_insert_has_its_rows_and_indexes(&mut target, &server.version);
        durable_single_rows_are_as_many_log_flushes_as_transactions(&mut target, &server.version);
        target.stop(false).unwrap();
        assert_eq!(ours_in(scratch.path()), Vec::<PathBuf>::new());
    }
}

fn populate_has_one_row_per_page_and_its_last_batch_is_cut(target: &mut ManagedPostgres, version: &str) {
    let matrix = [
        (LoopSide::Client, KeyOrder::Sequential),
        (LoopSide::Client, KeyOrder::Random),
        (LoopSide::Server, KeyOrder::Sequential),
    ];
    for (loop_side, key) in matrix {
        // 47 rows over two clients are 24 and 23: batches of 10, 10, 4 and 10, 10, 3.
        let work = Work { loop_side, key, amount: Amount::Rows(47), ..work() };
        let outcome = run(target, &work);
        let context = format!("{version} {loop_side:?} {key:?}");
        assert_eq!(outcome.post_run_state.rows, Some(47), "{context}");
        assert_eq!(outcome.post_run_state.table_pages, Some(47), "{context}");
        assert_eq!(outcome.post_run_state.rows_per_page, Some(1), "{context}");
        assert_eq!(outcome.transactions, 6, "{context}");
        let log_bytes = outcome.difference("log_bytes").unwrap();
        assert!(log_bytes >= outcome.post_run_state.payload_bytes.unwrap() as f64, "{context}: {log_bytes}");
        target.clean().unwrap();
    }
}

fn random_insert_has_its_rows_and_indexes(target: &mut ManagedPostgres, version: &str) {
    let matrix = [
        (LoopSide::Client, KeyOrder::Random, 0),
        (LoopSide::Client, KeyOrder::Sequential, 2),
        (LoopSide::Server, KeyOrder::Random, 2),
    ];
    for (loop_side, key, secondary_indexes) in matrix {
        let work = Work { workload: Workload::RandomInsert, loop_side, key, secondary_indexes, ..work() };
        let outcome = run(target, &work);
        assert_eq!(outcome.post_run_state.rows, Some(50), "{version} {work:?}");
        assert_eq!(outcome.post_run_state.rows_per_page, None);
        // Each index has a page that describes it and one with entries.
        let index_bytes = f64::from((1 + secondary_indexes) * 2 * 8192);
        assert_eq!(outcome.post_run_state.metrics[0].value, index_bytes, "{version}");
    }
}

fn durable_single_rows_are_as_many_log_flushes_as_transactions(target: &mut ManagedPostgres, version: &str) {
    let work = Work {
        durability: Durability::Full,
        batch_size: 1,
        connections: 1,
        amount: Amount::Rows(100),
        ..work()
    };
    let outcome = run(target, &work);
    let flushes = outcome.difference("log_flushes").unwrap();
    assert!((100.0..130.0).contains(&flushes), "{version}: {flushes} flushes");
    assert!(outcome.difference("log_flush_s").unwrap() > 0.0, "{version}");
    let transactions = outcome.difference("transaction_ids").unwrap();
    assert!((100.0..110.0).contains(&transactions), "{version}: {transactions}");
    let commits = outcome.difference("transactions").unwrap();
    assert!(commits >= 100.0, "{version}: {commits} commits");
}

#[test]
fn select_one_needs_no_table_and_the_same_seed_gives_the_same_keys() {
    for server in newest() {
        let scratch = scratch();
        let mut target = managed(&server, scratch.path(), Layout::default());
        let outcome = run(&mut target, &Work { workload: Workload::SelectOne, ..work() });
        assert_eq!(outcome.post_run_state.rows, None);
        assert_eq!(outcome.difference("transaction_ids"), Some(0.0));
        // The same keys twice violate the primary key: the second client repeats the first one's.
        let work = Work { workload: Workload::RandomInsert, key: KeyOrder::Random, connections: 1, ..work() };
        target.prepare(&work).unwrap();
        let event_loop = EventLoop::new().unwrap();
        runtime().block_on(async {
            let mut first = connect(&target.postgres_connector(), 0);
            let mut same = connect(&target.postgres_connector(), 0);
            first.transaction(3, event_loop.registration(0, 1)).await.unwrap();
            let error = same.transaction(3, event_loop.registration(0, 1)).await.unwrap_err().to_string();
            assert!(error.contains("duplicate key") && error.contains("23505"), "{error}");
            // After the error the session is outside any transaction and goes on.
            same.transaction(0, event_loop.registration(0, 1)).await.unwrap();
        });
        target.stop(false).unwrap();
    }
}

#[test]
fn partitions_are_spread_over_the_data_directories() {
    for server in oldest_and_newest() {
        let (first, second) = (scratch(), scratch());
        let layout =
            Layout { data: vec![first.path().to_path_buf(), second.path().to_path_buf()], log: None };
        let mut target = managed(&server, Path::new("/"), layout);
        for _ in 0..2 {
            let outcome = run(&mut target, &Work { data_files: 4, ..work() });
            assert_eq!(outcome.post_run_state.rows, Some(50), "{}", server.version);
            assert_eq!(outcome.post_run_state.table_pages, Some(50), "{}", server.version);
            // Two tables and their two indexes, each with something in it.
            assert_eq!(relations_below(second.path()), 4, "{}", server.version);
            assert_eq!(target.directories().len(), 2, "{}", server.version);
        }
        run(&mut target, &work());
        assert_eq!(target.directories().len(), 1, "{}: one file is in one directory", server.version);
        target.stop(false).unwrap();
        assert_eq!(ours_in(first.path()), Vec::<PathBuf>::new());
        assert_eq!(ours_in(second.path()), Vec::<PathBuf>::new());
    }
}

#[test]
fn log_and_data_change_places_between_runs() {
    for server in oldest_and_newest() {
        let (data, log) = (scratch(), scratch());
        let layout = Layout { data: vec![data.path().to_path_buf()], log: Some(log.path().to_path_buf()) };
        let mut target = managed(&server, data.path(), layout);
        let log_link = target.cluster().data().join("pg_wal");
        for placement in [Placement::LogApart, Placement::DataApart, Placement::LogApart, Placement::Together]
        {
            let outcome = run(&mut target, &Work { placement, ..work() });
            assert_eq!(outcome.post_run_state.table_pages, Some(50), "{} {placement:?}", server.version);
            let log_is_apart = placement == Placement::LogApart;
            assert_eq!(log_link.is_symlink(), log_is_apart, "{} {placement:?}", server.version);
            if log_is_apart {
                assert!(log_link.canonicalize().unwrap().starts_with(log.path()));
            }
            let has_data = relations_below(log.path()) > 0;
            assert_eq!(has_data, placement == Placement::DataApart, "{} {placement:?}", server.version);
            let roles: Vec<String> = target.directories().into_iter().map(|(role, _)| role).collect();
            assert_eq!(roles.contains(&"log".to_owned()), placement != Placement::Together);
        }
        target.stop(false).unwrap();
        assert_eq!(ours_in(log.path()), Vec::<PathBuf>::new());
    }
}

#[test]
fn a_killed_backend_ends_its_client_with_the_server_s_words_and_no_other() {
    for server in newest() {
        let scratch = scratch();
        let mut target = managed(&server, scratch.path(), Layout::default());
        target.prepare(&work()).unwrap();
        let runtime = runtime();
        let event_loop = EventLoop::new().unwrap();
        let mut sessions = connect_all(&target.postgres_connector(), 2);
        let backend = Pid::from_raw(sessions[0].backend_process_id().unwrap()).unwrap();
        kill_process(backend, Signal::TERM).unwrap();
        runtime.block_on(async {
            let outcome = loop {
                // The signal may arrive after a few more transactions.
                match sessions[0].transaction(1, event_loop.registration(0, 1)).await {
                    Ok(()) => {}
                    Err(error) => break error,
                }
            };
            let SessionError::Fatal(text) = outcome else { panic!("{outcome:?}") };
            assert_eq!(
                text,
                "server closed the connection: terminating connection due to administrator command (57P01)"
            );
            let again =
                sessions[0].transaction(1, event_loop.registration(0, 1)).await.unwrap_err().to_string();
            assert!(again.contains("server closed the connection"), "{again}");
            sessions[1].transaction(2, event_loop.registration(0, 1)).await.unwrap();
        });
        target.clean().unwrap();
        target.stop(false).unwrap();
    }
}

#[test]
fn a_server_killed_in_mid_run_is_an_error_and_the_next_prepare_starts_it_again() {
    for server in newest() {
        let scratch = scratch();
        let mut target = managed(&server, scratch.path(), Layout::default());
        target.prepare(&work()).unwrap();
        let runtime = runtime();
        let event_loop = EventLoop::new().unwrap();
        let mut sessions = connect_all(&target.postgres_connector(), 1);
        let postmaster = Pid::from_raw(target.server_process_id().unwrap() as i32).unwrap();
        kill_process(postmaster, Signal::QUIT).unwrap();
        let error = runtime.block_on(async {
            loop {
                if let Err(error) = sessions[0].transaction(1, event_loop.registration(0, 1)).await {
                    break error.to_string();
                }
            }
        });
        assert!(error.contains("server closed the connection"), "{error}");
        assert!(target.counters().is_err());
        target.clean().unwrap();
        assert_eq!(run(&mut target, &work()).post_run_state.rows, Some(50));
        target.stop(false).unwrap();
    }
}

#[test]
fn a_setting_that_the_server_refuses_is_named_and_the_next_run_works() {
    for server in oldest_and_newest() {
        let scratch = scratch();
        let mut target = managed(&server, scratch.path(), Layout::default());
        for (name, value) in [("no_such_setting", "1"), ("wal_buffers", "lots")] {
            let mut work = work();
            work.settings.insert(name.to_owned(), value.to_owned());
            let error = target.prepare(&work).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("the server refuses setting \"{name}\" = \"{value}\"")),
                "{}: {error}",
                server.version
            );
        }
        let mut work = work();
        work.settings.insert("work_mem".to_owned(), "5MB".to_owned());
        assert_eq!(run(&mut target, &work).post_run_state.rows, Some(50));
        let settings = target.settings().unwrap();
        let found = |name: &str| settings.iter().find(|setting| setting.name == name).unwrap();
        assert_eq!(found("work_mem").value, "5MB");
        let source = |name: &str| found(name).source.as_str();
        assert_eq!((found("fsync").value.as_str(), source("fsync")), ("off", "parameter durability"));
        assert_eq!((source("work_mem"), source("track_io_timing")), ("experiment", "fathom"));
        // initdb writes these into the configuration file with the values that they have anyway.
        for name in
            ["max_connections", "max_wal_size", "min_wal_size", "DateStyle", "dynamic_shared_memory_type"]
        {
            assert!(settings.iter().all(|setting| setting.name != name), "{}: {name}", server.version);
        }
        let facts = target.facts().unwrap();
        assert_eq!(facts["version_num"].as_u64().unwrap() / 10_000, u64::from(server.major));
        assert!(facts["binary"]["path"].as_str().unwrap().ends_with("/postgres"), "{facts}");
        target.stop(false).unwrap();
    }
}

#[test]
fn loops_in_the_server_end_by_the_clock_or_when_they_are_interrupted() {
    for server in newest() {
        let scratch = scratch();
        let mut target = managed(&server, scratch.path(), Layout::default());
        let work = Work { loop_side: LoopSide::Server, connections: 1, ..work() };
        target.prepare(&work).unwrap();
        let connector = target.postgres_connector();
        let share = |time| ServerShare { rows: None, time: Some(time), batch_size: 3 };
        let short = runtime().block_on(async {
            let mut session = connect(&connector, 0);
            session.server_loop(share(Duration::from_millis(50))).await.unwrap()
        });
        assert_eq!(short.rows, 3 * short.transactions);
        assert_eq!(target.post_run_state(&work).unwrap().rows, Some(short.rows));

        let (connected, is_connected) = std::sync::mpsc::channel();
        let client = std::thread::spawn(move || {
            runtime().block_on(async {
                let mut session = connect(&connector, 0);
                connected.send(()).unwrap();
                session.server_loop(share(Duration::from_secs(3600))).await
            })
        });
        is_connected.recv().unwrap();
        // One that comes before the loop began is lost.
        while !client.is_finished() {
            target.interrupt().unwrap();
        }
        let error = client.join().unwrap().unwrap_err().to_string();
        assert!(error.contains("57014"), "{error}");
        target.stop(false).unwrap();
    }
}

/// Files of relations (tables and indexes, not their maps) below the parts that fathom made in a directory.
fn relations_below(directory: &Path) -> usize {
    let mut count = 0;
    let mut directories: Vec<PathBuf> =
        ours_in(directory).iter().map(|part| part.join("tablespace")).collect();
    while let Some(next) = directories.pop() {
        for entry in std::fs::read_dir(next).into_iter().flatten() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                directories.push(entry.path());
            } else if entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit())
                && entry.metadata().unwrap().len() > 0
            {
                count += 1;
            }
        }
    }
    count
}
