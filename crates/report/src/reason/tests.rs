//! What is said of runs that were made up so that one thing is their limit.
#![allow(clippy::unwrap_used)]

use results::model::RunState;
use results::observations::Observations;

use super::made_up::{MadeUp, catalogue, study};
use super::*;

/// What docs/lab/waits.md promises: each of the four miniatures ends with the sentence that names its limit.
#[test]
fn four_kinds_of_load_end_with_four_sentences() {
    let sqlite = |waits, on_cpu_s| MadeUp {
        engine: "sqlite",
        connections: 4,
        on_cpu_s,
        run_delay_s: 0.1,
        waits,
        metrics: vec![("fathom_cpu_s", 20.0), ("other_cpu_s", 0.1)],
    };
    let postgres = |waits, on_cpu_s| MadeUp { engine: "postgres", ..sqlite(waits, on_cpu_s) };
    let loads = [
        ("WalSync", "WalSync", "the limit is the log, "),
        ("BusyWait", "Lock:transactionid", "the limit is a lock, "),
        ("DataFileRead", "DataFileRead", "the limit is the data device, "),
        ("", "", "the limit is the CPUs, "),
    ];
    for (of_sqlite, of_postgres, sentence) in loads {
        let (class, name) = of_postgres.split_once(':').unwrap_or(("IO", of_postgres));
        let (waits, waits_of_server, on_cpu_s) = if sentence.contains("CPUs") {
            (Vec::new(), Vec::new(), 39.0)
        } else {
            (vec![("vfs", of_sqlite, false, 36.0, 0.0)], vec![(class, name, false, 36.0, 0.5)], 1.0)
        };
        for made_up in [sqlite(waits, on_cpu_s), postgres(waits_of_server, on_cpu_s)] {
            let reason = made_up.reason();
            assert!(reason.sentences[0].starts_with(sentence), "{}: {:?}", made_up.engine, reason.sentences);
            has_its_figures(&reason);
        }
    }
}

/// Every sentence has a figure in it, but for those that name the remedy or the lack of counters.
fn has_its_figures(reason: &CellReason) {
    for sentence in &reason.sentences {
        let has_figure = sentence.chars().any(|character| character.is_ascii_digit());
        assert!(
            has_figure || sentence.contains("`fathom run ") || sentence.starts_with("Repeat it "),
            "no figure in: {sentence}"
        );
    }
}

#[test]
fn commits_that_wait_for_the_log_are_limited_by_it() {
    let made_up = MadeUp::postgres(vec![
        ("LWLock", "WALWrite", false, 26.0, 1.0),
        ("IO", "WalSync", false, 8.0, 0.5),
        ("Client", "ClientRead", true, 2.0, 0.0),
    ])
    .with(&[("log_flushes", 2000.0), ("log_flush_s", 8.0), ("device_busy_s.vda", 8.5)]);
    let reason = made_up.reason();
    assert_eq!(reason.limit, Some(Limit::Log));
    assert_eq!(reason.dominant_wait.as_deref(), Some("LWLock:WALWrite"));
    let text = reason.paragraph();
    assert_eq!(
        text,
        "all: the limit is the log, with 85.5 % of the sessions' active time (estimated from samples): \
         LWLock:WALWrite 65.8 %, IO:WalSync 19.7 %. In LWLock:WALWrite (65.8 %) the session waits for another \
         session that writes or flushes the WAL (group commit). Agrees: 2000 log \
         flushes of 4.000 ms took 8.000 s of 10.000 s elapsed (80.0 %); device vda was busy for 85.0 % of the time; \
         2 CPUs were busy for 20.0 % of the time. `fathom run populate-batch` would test a remedy: more rows per \
         transaction: fewer flush waits."
    );
    has_its_figures(&reason);
}

#[test]
fn a_counter_that_does_not_fit_is_said_to_disagree() {
    let made_up = MadeUp::postgres(vec![("IO", "WalSync", false, 30.0, 0.0)]).with(&[
        ("log_flushes", 100.0),
        ("log_flush_s", 0.5),
        ("other_cpu_s", 17.0),
    ]);
    let text = made_up.reason().paragraph();
    assert!(
        text.contains("Disagrees: 100 log flushes of 5.000 ms took 0.500 s of 10.000 s elapsed (5.0 %); 2 CPUs were busy for 100.0 % of the time, 1.70 of them with other processes."),
        "{text}"
    );
}

#[test]
fn sessions_that_wait_for_rows_are_limited_by_a_lock_and_its_holders_are_looked_at() {
    let waits = vec![("Lock", "transactionid", false, 24.0, 0.0), ("IO", "WalSync", false, 8.0, 0.0)];
    let reason =
        MadeUp::postgres(waits.clone()).with(&[("log_flushes", 1000.0), ("log_flush_s", 8.0)]).reason();
    assert_eq!(reason.limit, Some(Limit::Lock));
    let text = reason.paragraph();
    assert!(
        text.contains("Cause: the log. 1000 flushes took 8.000 s of 10.000 s elapsed (80.0 %)"),
        "{text}"
    );
    has_its_figures(&reason);
    let text =
        MadeUp::postgres(waits).with(&[("log_flushes", 10.0), ("log_flush_s", 0.1)]).reason().paragraph();
    assert!(
        text.contains("The log is not the cause: 10 flushes took 0.100 s of 10.000 s elapsed (1.0 %)."),
        "{text}"
    );
}

#[test]
fn sqlite_connections_that_queue_for_the_writer_are_limited_by_its_lock() {
    let made_up = MadeUp {
        engine: "sqlite",
        connections: 4,
        on_cpu_s: 1.0,
        run_delay_s: 0.1,
        waits: vec![("vfs", "BusyWait", false, 28.0, 0.0), ("vfs", "WalSync", false, 9.0, 0.0)],
        metrics: vec![
            ("busy_waits", 5000.0),
            ("busy_wait_s", 28.0),
            ("log_flushes", 3000.0),
            ("log_flush_s", 9.0),
        ],
    };
    let reason = made_up.reason();
    assert_eq!(reason.limit, Some(Limit::Lock));
    let text = reason.paragraph();
    assert!(!text.contains("estimated from samples"), "{text}");
    assert!(text.contains("sleeps before a retry: another connection holds the only write lock"), "{text}");
    assert!(
        text.contains("Cause: the log. 3000 flushes took 9.000 s of 10.000 s elapsed (90.0 %)"),
        "{text}"
    );
    assert!(
        text.contains(
            "5000 sleeps before another try took 28.000 s of 40.000 s that connections were at work (70.0 %)"
        ),
        "{text}"
    );
    has_its_figures(&reason);
}

#[test]
fn a_page_that_all_want_and_a_file_that_must_grow_are_told_apart() {
    let page = MadeUp::postgres(vec![("LWLock", "BufferContent", false, 30.0, 0.0)]).reason();
    let space = MadeUp::postgres(vec![("Lock", "extend", false, 30.0, 0.0)]).reason();
    assert_eq!((page.limit, space.limit), (Some(Limit::Page), Some(Limit::Space)));
    assert!(space.paragraph().contains("`fathom run allocation-contention`"));
    let slow = vec![("Lock", "extend", false, 25.0, 0.0), ("IO", "DataFileExtend", false, 9.0, 0.0)];
    let text = MadeUp::postgres(slow).reason().paragraph();
    assert!(
        text.contains("Cause: the data device. IO:DataFileExtend took 9.000 s of 10.000 s elapsed (90.0 %)"),
        "{text}"
    );
}

#[test]
fn reads_and_writes_of_data_files_are_limited_by_their_device() {
    let reason = MadeUp::postgres(vec![("IO", "DataFileRead", false, 32.0, 0.5)])
        .with(&[
            ("device_busy_s.vda", 9.9),
            ("device_busy_s.vdb", 1.0),
            ("device_reads.vda", 4000.0),
            ("device_read_s.vda", 32.0),
            ("checkpoints", 2.0),
            ("checkpoint_pages", 512.0),
        ])
        .reason();
    assert_eq!(reason.limit, Some(Limit::DataDevice));
    let text = reason.paragraph();
    assert!(
        text.contains("Agrees: device vda was busy for 99.0 % of the time; it did 4000 reads of 8.000 ms;"),
        "{text}"
    );
    assert!(
        text.ends_with(
            "`fathom run guid-lookup-scan` would test a remedy: rows in key order, so that fewer \
             pages are read. Meanwhile 2 checkpoints wrote 512 pages."
        ),
        "{text}"
    );
    has_its_figures(&reason);
    let written = MadeUp::postgres(vec![("IO", "DataFileWrite", false, 32.0, 0.5)]).reason();
    assert!(written.paragraph().contains("`fathom run separate-data-log`"));
}

#[test]
fn checkpoints_of_several_runs_are_added_and_never_halved() {
    let with =
        |count| MadeUp::postgres(Vec::new()).with(&[("checkpoints", count), ("checkpoint_pages", 1.0)]).run();
    let reason = cells(&study("postgres", vec![with(1.0), with(0.0)]), &catalogue()).remove(0);
    assert_eq!(reason.sentences.last().unwrap(), "Meanwhile 1 checkpoint in 2 runs wrote 2 pages.");
}

#[test]
fn a_flush_whose_session_waits_for_a_processor_is_said_to_be_the_processors_time() {
    let starved = vec![("LWLock", "WALWrite", false, 30.0, 1.0), ("IO", "WalSync", false, 8.0, 7.5)];
    let text = MadeUp::postgres(starved).reason().paragraph();
    assert!(
        text.contains(
            "Cause: CPU. Of 8.000 s in IO:WalSync sessions were runnable without a CPU for 7.500 s (93.8 %)."
        ),
        "{text}"
    );
}

#[test]
fn clock_ticks_make_no_processor_busier_than_all_of_the_time_and_who_keeps_them_busy_is_said() {
    let mut made_up = MadeUp::postgres(Vec::new()).with(&[("other_cpu_s", 17.2)]);
    (made_up.on_cpu_s, made_up.run_delay_s) = (2.0, 36.0);
    let text = made_up.reason().paragraph();
    assert!(
        text.contains("2 CPUs were busy for 100.0 % of the time, 1.72 of them with other processes"),
        "{text}"
    );
    assert!(text.contains("Repeat it on a quiet machine") && !text.contains("fathom run"), "{text}");
}

#[test]
fn a_remedy_that_the_study_tests_itself_is_not_sent_for() {
    let mut results = MadeUp::postgres(vec![("Lock", "tuple", false, 30.0, 0.0)]).results();
    results.study.experiment = "connections-x-waits".to_owned();
    let text = cells(&results, &catalogue())[0].paragraph();
    assert!(
        text.contains("Other configurations of this experiment test a remedy: fewer connections"),
        "{text}"
    );
}

#[test]
fn time_on_a_processor_inside_exact_waits_is_not_counted_twice() {
    let made_up = MadeUp {
        engine: "sqlite",
        connections: 1,
        on_cpu_s: 2.0,
        run_delay_s: 6.0,
        waits: vec![("vfs", "WalSync", false, 9.0, 0.0)],
        metrics: vec![("log_flushes", 900.0), ("log_flush_s", 9.0)],
    };
    let reason = made_up.reason();
    assert_eq!(reason.dominant_percent, Some(90.0));
    let text = reason.paragraph();
    assert!(
        text.contains("Disagrees: sessions were runnable without a CPU for 6.000 s (60.0 % of their active time), partly inside these waits."),
        "{text}"
    );
}

#[test]
fn a_session_that_outlives_its_client_does_not_make_it_wait_for_its_client() {
    let waits = vec![("IO", "WalSync", false, 19.0, 0.0), ("Client", "ClientRead", true, 20.5, 0.0)];
    let mut run = MadeUp::postgres(waits).run();
    for client in &mut run.clients {
        (client.start_ns, client.end_ns) = (Some(0), Some(5_000_000_000));
    }
    assert_eq!(cells(&study("postgres", vec![run]), &catalogue()).remove(0).limit, Some(Limit::Log));
}

#[test]
fn shares_above_all_of_the_time_are_said_as_times() {
    let made_up = MadeUp::postgres(vec![("IO", "WalSync", false, 36.0, 0.0)])
        .with(&[("log_flushes", 1.0), ("log_flush_s", 15.0)]);
    let text = made_up.reason().paragraph();
    assert!(
        text.contains("1 log flush of 15000.000 ms took 15.000 s of 10.000 s elapsed (1.50 times the elapsed time: several at once)"),
        "{text}"
    );
}

#[test]
fn sessions_on_and_in_front_of_processors_are_limited_by_them() {
    let mut made_up = MadeUp::postgres(vec![("LWLock", "WALInsert", false, 3.0, 2.0)])
        .with(&[("server_cpu_s", 16.0), ("fathom_cpu_s", 2.0)]);
    (made_up.on_cpu_s, made_up.run_delay_s) = (16.0, 18.0);
    let reason = made_up.reason();
    assert_eq!(reason.limit, Some(Limit::Cpu));
    let text = reason.paragraph();
    assert!(
        text.contains(
            "85.0 % of the sessions' active time (estimated from samples): on a CPU 40.0 %, runnable and waiting for one 45.0 %."
        ),
        "{text}"
    );
    assert!(
        text.contains("Agrees: 2 CPUs were busy for 95.0 % of the time, 0.10 of them with other processes."),
        "{text}"
    );
    has_its_figures(&reason);
}

#[test]
fn sessions_without_work_are_limited_by_their_clients() {
    let reason = MadeUp::postgres(vec![("Client", "ClientRead", true, 30.0, 0.0)])
        .with(&[("client_cpu_s", 9.0)])
        .reason();
    assert_eq!(reason.limit, Some(Limit::Client));
    let text = reason.paragraph();
    assert!(text.contains("sessions wait for their client for 75.0 % of their time"), "{text}");
    assert!(text.contains("the clients' threads used 0.90 CPUs"), "{text}");
    let full =
        MadeUp::postgres(vec![("Client", "ClientRead", true, 30.0, 0.0)]).with(&[("other_cpu_s", 16.0)]);
    let reason = full.reason();
    assert_eq!(reason.limit, Some(Limit::Cpu), "no processor is free for the clients");
    assert!(reason.sentences[0].ends_with("and no CPU is idle."), "{:?}", reason.sentences);
}

#[test]
fn clients_that_are_done_early_do_not_make_time_that_nothing_accounts_for() {
    let mut run = MadeUp::postgres(vec![("IO", "WalSync", false, 16.0, 0.0)]).run();
    for client in &mut run.clients {
        (client.start_ns, client.end_ns) = (Some(0), Some(5_000_000_000));
    }
    let reason = cells(&study("postgres", vec![run]), &catalogue()).remove(0);
    assert_eq!((reason.limit, reason.dominant_percent), (Some(Limit::Log), Some(80.0)));
}

#[test]
fn what_has_no_half_is_not_explained_and_its_parts_are_named() {
    let reason = MadeUp::postgres(vec![
        ("IO", "WalSync", false, 12.0, 0.0),
        ("IO", "DataFileRead", false, 11.0, 0.0),
        ("Lock", "extend", false, 5.01, 0.0),
    ])
    .reason();
    assert_eq!(reason.limit, None);
    assert_eq!(
        reason.sentences[0],
        "not explained: no limit accounts for half of the sessions' active time (the log 30.0 %, the data device \
         27.5 %, the allocation of new pages 12.5 %, unaccounted for 26.2 %). The top wait is \
         IO:WalSync with 30.0 %."
    );
    has_its_figures(&reason);
}

#[test]
fn a_wait_that_the_catalogue_does_not_know_is_no_reason() {
    let reason = MadeUp::postgres(vec![("Strange", "Thing", false, 36.0, 0.0)]).reason();
    assert_eq!(reason.limit, None);
    assert!(reason.sentences[0].starts_with("not explained"), "{:?}", reason.sentences);
}

#[test]
fn without_waits_the_counters_alone_may_do_and_say_so() {
    let without_waits = |metrics: &[(&'static str, f64)]| {
        let mut run = MadeUp::postgres(Vec::new()).with(metrics).run();
        run.observations.waits.clear();
        run.observations.samplers.push(results::observations::SamplerRecord {
            name: "machine".to_owned(),
            period_ns: 1_000_000_000,
            samples_expected: 2,
            samples_taken: 2,
            cpu_s: 0.0,
            problem: None,
        });
        cells(&study("postgres", vec![run]), &catalogue()).remove(0)
    };
    let log = without_waits(&[("log_flushes", 1000.0), ("log_flush_s", 7.0)]);
    assert_eq!(log.limit, Some(Limit::Log));
    assert!(log.sentences[0].ends_with("by counters only: no wait was recorded."), "{:?}", log.sentences);
    assert_eq!(without_waits(&[("server_cpu_s", 18.0)]).limit, Some(Limit::Cpu));
    let nothing = without_waits(&[]);
    assert_eq!(nothing.limit, None);
    assert_eq!(
        nothing.sentences,
        ["not explained: no wait was recorded. The run's own processes used 0.30 CPUs."]
    );
}

#[test]
fn a_study_in_which_nothing_looked_has_no_reasons() {
    let mut run = MadeUp::postgres(Vec::new()).run();
    run.observations = Observations::default();
    assert_eq!(sentences(&study("noop", vec![run]), &catalogue()), Vec::<String>::new());
}

#[test]
fn runs_that_do_not_count_are_not_asked() {
    let good = MadeUp::postgres(vec![("IO", "WalSync", false, 32.0, 0.0)]).run();
    let mut odd = MadeUp::postgres(vec![("Lock", "extend", false, 36.0, 0.0)]).run();
    odd.state = RunState::Invalid;
    assert_eq!(cells(&study("postgres", vec![good, odd]), &catalogue())[0].limit, Some(Limit::Log));
}
