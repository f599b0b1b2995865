//! The table of real runs held against their counters.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use lab::engine::Layout;
use lab::gates::Limits;
use lab::run::{Course, RunRequest, execute};
use lab::work::{Amount, Durability, Work};
use results::model::{Run, RunKey, RunState};

use super::*;
use crate::SqliteTarget;

fn run(change: impl FnOnce(&mut Work)) -> Run {
    let place = tempfile::tempdir().unwrap();
    let mut target = SqliteTarget::new(&Layout::default(), place.path()).unwrap();
    let mut work = Work { connections: 3, amount: Amount::Rows(300), ..Work::example() };
    change(&mut work);
    let key = RunKey { block_index: 0, cell_index: 0, attempt: 0 };
    let request = RunRequest { work: &work, key, position: 0, limits: Limits::default(), samplers: &[] };
    let run = execute(&mut target, request, &mut |_| Course::Continue).unwrap();
    assert_eq!(run.state, RunState::Valid, "{:?}", run.gates);
    run
}

fn clients(run: &Run) -> &WaitProfile {
    run.observations.waits.iter().find(|profile| profile.group == "clients").unwrap()
}

fn count(run: &Run, name: &str) -> u64 {
    clients(run).rows.iter().find(|row| row.name == name).and_then(|row| row.count).unwrap_or(0)
}

#[test]
fn the_table_agrees_with_the_counters_and_with_the_commits() {
    let run = run(|_| {});
    assert_eq!(count(&run, "WalSync") + count(&run, "WalCheckpointSync"), 30 + 1);
    assert_eq!(run.metric("log_flushes"), Some(31.0));
    assert_eq!(run.metric("log_writes"), Some(count(&run, "WalWrite") as f64));
    assert_eq!(run.metric("busy_waits"), Some(count(&run, "BusyWait") as f64));
    let frames = run.metric("log_frames").unwrap();
    let starts = run.metric("log_starts").unwrap();
    assert_eq!(run.metric("log_bytes"), Some(frames * (8192.0 + 24.0) + starts * 32.0));
    let flush_s: f64 =
        clients(&run).rows.iter().filter(|row| row.name == "WalSync").map(|row| row.wait_s).sum();
    assert!((flush_s - run.metric("log_flush_s").unwrap()).abs() < 1e-6);
}

#[test]
fn rows_are_exact_and_idle_time_is_the_rest_of_the_sessions() {
    let run = run(|work| work.connections = 2);
    let profile = clients(&run);
    assert_eq!(profile.session_count, 2);
    assert!(profile.on_cpu_s.is_some_and(|seconds| seconds > 0.0 && seconds <= profile.session_s));
    assert!(profile.run_delay_s.is_some());
    let waits_s: f64 = profile.rows.iter().map(|row| row.wait_s).sum();
    assert!(waits_s <= profile.session_s * 1.001, "{waits_s} of {}", profile.session_s);
    for row in &profile.rows {
        assert_eq!((row.how, row.resource_s, row.signal_s), (How::Exact, Some(row.wait_s), None));
        assert_eq!(row.is_idle, row.class == IDLE_CLASS);
        assert_eq!(row.count.is_none(), row.is_idle);
    }
    let vfs = run.observations.samplers.iter().find(|sampler| sampler.name == SAMPLER).unwrap();
    assert!(vfs.cpu_s > 0.0 && vfs.problem.is_none());
}

#[test]
fn the_counters_of_the_published_graph_are_sampled_with_the_same_clock() {
    let run = run(|work| {
        work.amount = Amount::Rows(2000);
        work.settings.insert("wal_autocheckpoint".to_owned(), "100".to_owned());
    });
    let series = |name: &str| {
        let found = run.observations.series.iter().find(|series| series.name == name);
        found.unwrap_or_else(|| panic!("no series {name}"))
    };
    for name in ["pages_allocated_per_s", "checkpoint_pages_per_s", "log_bytes_per_s"] {
        assert!(series(name).values.iter().flatten().any(|value| *value > 0.0), "{name}");
        assert_eq!(series(name).at_ns, series("pages_allocated_per_s").at_ns, "{name}");
    }
    // One row a page, and some pages above them.
    let (allocated, pages) = (run.metric("pages_allocated").unwrap(), run.metric("table_pages").unwrap());
    assert!(allocated >= 0.95 * pages && allocated <= 1.2 * pages, "{allocated} {pages}");
}

#[test]
fn the_runs_own_checkpoints_are_answered_between_writers_and_are_no_waits_of_clients() {
    let run = run(|work| {
        work.amount = Amount::Time(Duration::from_millis(900));
        work.manual_checkpoint_every = Some(Duration::from_millis(150));
        work.settings.insert("wal_autocheckpoint".to_owned(), "0".to_owned());
    });
    let moved = run.metric("checkpoint_pages").unwrap();
    let answered = run.metric("manual_checkpoints").unwrap();
    if moved == 0.0 {
        let reason = "no checkpoint moved a page before the run was over";
        return skips::skip(skips::Capability::Quiet, reason);
    }
    assert!(answered >= run.metric("manual_checkpoints_refused").unwrap(), "{:?}", run.events);
    let own = run.observations.waits.iter().find(|profile| profile.group == CHECKPOINTER).unwrap();
    let count_own = |name: &str| own.rows.iter().find(|row| row.name == name).and_then(|row| row.count);
    assert_eq!(count_own("DataFileWrite"), Some(moved as u64), "{:?}", own.rows);
    assert_eq!(
        (count(&run, "DataFileWrite"), count(&run, "WalTruncate"), count_own("BusyWait")),
        (0, 0, None)
    );
    let profile = clients(&run);
    let waits_s: f64 = profile.rows.iter().map(|row| row.wait_s).sum();
    assert!(waits_s <= profile.session_s * 1.001, "{waits_s} of {}", profile.session_s);
}

#[test]
fn without_the_timed_vfs_there_is_no_table_and_the_run_counts_all_the_same() {
    let run = run(|work| drop(work.settings.insert("vfs".to_owned(), "plain".to_owned())));
    assert!(run.observations.waits.is_empty());
    assert_eq!((run.metric("log_bytes"), run.metric("log_flushes")), (None, None));
    assert!(run.metric("engine_written_bytes").is_some());
    assert!(
        run.settings
            .iter()
            .any(|setting| (setting.name.as_str(), setting.value.as_str()) == ("vfs", "plain"))
    );
}

#[test]
fn a_reader_that_blocks_checkpoints_makes_the_log_grow() {
    let grown = |blocks: &str| {
        let run = run(|work| {
            work.durability = Durability::None;
            work.amount = Amount::Rows(2000);
            work.connections = 1;
            work.settings.insert("wal_autocheckpoint".to_owned(), "100".to_owned());
            work.settings.insert("reader_blocks_checkpoint".to_owned(), blocks.to_owned());
        });
        (run.metric("log_size_bytes").unwrap(), run.metric("checkpoint_pages").unwrap(), run)
    };
    let (free_bytes, pages, run) = grown("false");
    assert!(pages > 1000.0);
    let ends: Vec<_> = run.events.iter().filter(|event| event.kind == CHECKPOINT_END).collect();
    assert_eq!(run.metric("checkpoints"), Some(ends.len() as f64));
    assert!(ends.iter().all(|end| end.at_ns > 0 && end.at_ns <= run.elapsed_ns as i64 + 1_000_000_000));
    let (blocked_bytes, pages, run) = grown("true");
    assert_eq!((pages, run.metric("checkpoints")), (0.0, Some(0.0)));
    assert!(blocked_bytes > 4.0 * free_bytes, "{blocked_bytes} against {free_bytes}");
    assert_eq!(run.metric("log_growth_bytes"), Some(blocked_bytes));
}

#[test]
fn a_rollback_journal_is_told_apart_from_a_log() {
    for journal_mode in ["delete", "truncate", "persist"] {
        let run = run(|work| {
            work.connections = 1;
            work.settings.insert("journal_mode".to_owned(), journal_mode.to_owned());
        });
        assert_eq!(run.metric("log_bytes"), None, "{journal_mode}");
        assert!(run.metric("journal_bytes").unwrap() > 0.0, "{journal_mode}");
        assert!(run.metric("log_flushes").unwrap() >= 30.0, "{journal_mode}");
        assert_eq!(count(&run, "JournalDelete") > 0, journal_mode == "delete");
        assert_eq!(count(&run, "JournalTruncate") > 0, journal_mode == "truncate");
    }
}

#[test]
fn exclusive_locking_lets_the_only_client_in() {
    let run = run(|work| {
        work.connections = 1;
        work.settings.insert("locking_mode".to_owned(), "exclusive".to_owned());
    });
    assert_eq!(run.rows(), 300);
}

#[test]
fn a_setting_that_is_not_known_or_cannot_be_is_refused_before_anything_runs() {
    for (name, value, said) in [
        ("vfs", "timid", "cannot set sqlite.vfs to timid"),
        ("jornal_mode", "wal", "cannot set sqlite.jornal_mode"),
    ] {
        let mut work = Work::example();
        work.settings.insert(name.to_owned(), value.to_owned());
        let found = crate::limitations(&work);
        assert!(found.iter().any(|one| one.refuses && one.text.contains(said)), "{found:?}");
    }
    let mut work = Work::example();
    work.settings.insert("reader_blocks_checkpoint".to_owned(), "true".to_owned());
    work.settings.insert("journal_mode".to_owned(), "delete".to_owned());
    assert!(crate::limitations(&work).iter().any(|one| one.refuses));
}

#[test]
fn flushes_of_a_known_length_stand_in_the_table() {
    const DELAY: Duration = Duration::from_millis(5);
    let place = tempfile::tempdir().unwrap();
    let mut target = SqliteTarget::new(&Layout::default(), place.path()).unwrap();
    target.delay_syncs(DELAY);
    let work = Work { connections: 1, amount: Amount::Rows(200), ..Work::example() };
    let key = RunKey { block_index: 0, cell_index: 0, attempt: 0 };
    let request = RunRequest { work: &work, key, position: 0, limits: Limits::default(), samplers: &[] };
    let run = execute(&mut target, request, &mut |_| Course::Continue).unwrap();
    target.delay_syncs(Duration::ZERO);
    let row = clients(&run).rows.iter().find(|row| row.name == "WalSync").unwrap();
    let added_s = row.count.unwrap() as f64 * DELAY.as_secs_f64();
    assert!(row.wait_s >= added_s && row.wait_s <= run.elapsed_ns as f64 / 1e9, "{row:?}");
}
