//! A study from spec to results file, on embedded SQLite and without an engine.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lab::assignment::Assignment;
use lab::engine::noop::NoopTarget;
use lab::engine::{Layout, Target};
use lab::laboratory::{Laboratory, Notice, StudyOutcome, is_complete};
use lab::schedule::{Decision, RepeatUntil};
use lab::spec::{Experiment, Request};
use lab_sqlite::SqliteTarget;
use results::model::{GateOutcome, Looks, RunState, Scale};
use results::store::{Store, StudyId};

const SPEC: &str = r#"
name = "small"
title = "small"
question = "does it work?"
kind = "own"
repetitions = 3
[factors]
batch_size = [1, 7]
connections = [1, 3]
[parameters]
workload = "populate"
rows_total = 50
durability = "none"
# A busy machine is no fault of what is tested here.
[validity]
start_skew = "100%"
client_cpu = "100%"
samples_present = "0%"
"#;

fn assignment(engine: &str, overrides: &[(&str, &str)], repetitions: Option<u32>) -> Assignment {
    let mut request = Request::plain(Scale::Full, crate::engine(engine));
    request.overrides =
        overrides.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    request.repetitions = repetitions;
    let resolved = Experiment::parse("small.toml", SPEC).unwrap().resolve(&request).unwrap();
    Assignment::new(resolved, vec![engine.to_owned()], engine, 7)
}

struct Bench {
    directory: tempfile::TempDir,
    targets: Vec<Box<dyn Target>>,
    stop: Arc<AtomicBool>,
}

impl Bench {
    fn sqlite() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let target = SqliteTarget::new(&Layout::default(), &directory.path().join("work")).unwrap();
        Self { directory, targets: vec![Box::new(target)], stop: Arc::new(AtomicBool::new(false)) }
    }

    fn noop() -> Self {
        Self { targets: vec![Box::new(NoopTarget)], ..Self::sqlite() }
    }

    fn results(&self) -> &Path {
        self.directory.path()
    }

    fn conduct(
        &mut self,
        assignment: &Assignment,
        on_notice: &mut dyn FnMut(&Notice<'_>),
    ) -> (Store, StudyId, StudyOutcome) {
        let mut store = Store::open_or_create(self.directory.path()).unwrap();
        let (study, outcome) = Laboratory {
            store: &mut store,
            targets: &mut self.targets,
            ceilings: None,
            leftovers: lab::run::Leftovers::Remove,
            stop: Arc::clone(&self.stop),
        }
        .conduct(assignment, on_notice)
        .unwrap();
        (store, study, outcome)
    }
}

#[test]
fn every_cell_runs_once_per_block_and_counts() {
    let mut bench = Bench::sqlite();
    let (store, study, outcome) = bench.conduct(&assignment("sqlite", &[], None), &mut |_| {});
    assert_eq!(outcome, StudyOutcome { ran: 12, ..StudyOutcome::default() });
    let runs = store.runs(study).unwrap();
    assert_eq!(runs.len(), 12);
    for stored in &runs {
        let run = &stored.run;
        let failed: Vec<_> = run.gates.iter().filter(|gate| gate.outcome == GateOutcome::Failed).collect();
        assert!(failed.is_empty(), "{failed:?}");
        assert_eq!(run.rows(), 50);
        assert_eq!(run.metric("table_rows"), Some(50.0));
        assert_eq!(run.metric("table_pages"), Some(50.0));
        assert!(run.metric("engine_written_bytes").unwrap() >= 50.0 * 4100.0);
        assert!(run.first_client_end_ns() <= run.last_client_end_ns());
        assert!(run.environment.machine.get("kernel_release").is_some());
        assert!(run.settings.iter().any(|setting| setting.name == "journal_mode" && setting.value == "wal"));
        assert_eq!(store.run(stored.run_id).unwrap().run.service_time().count(), run.transactions());
    }
    let positions: Vec<u32> = runs.iter().map(|stored| stored.run.position).collect();
    assert_eq!(positions, (0..12).collect::<Vec<_>>());
    let made = std::fs::read_dir(bench.results().join("work")).unwrap().next().unwrap().unwrap().path();
    assert!(made.is_dir() && !made.join("run.db").exists(), "the last run's rows stay behind");
}

#[test]
fn the_same_assignment_reuses_finished_runs_and_more_repetitions_extend_it() {
    let mut bench = Bench::sqlite();
    bench.conduct(&assignment("sqlite", &[], None), &mut |_| {});
    let mut reused_seen = 0;
    let (store, study, outcome) = bench.conduct(&assignment("sqlite", &[], Some(4)), &mut |notice| {
        if let Notice::StudyBegins { reused, .. } = notice {
            reused_seen = *reused;
        }
    });
    assert_eq!(reused_seen, 12);
    assert_eq!(outcome.ran, 4);
    assert_eq!(store.runs(study).unwrap().len(), 16);
    assert_eq!(store.studies().unwrap().len(), 1);
}

#[test]
fn another_level_or_seed_is_another_study() {
    let plain = assignment("sqlite", &[], None);
    assert_ne!(plain.key(), assignment("sqlite", &[("batch_size", "1,8")], None).key());
    assert_ne!(plain.key(), assignment("noop", &[], None).key());
    assert_ne!(plain.key(), plain.clone().with_seed(8).key());
    assert_eq!(plain.key(), assignment("sqlite", &[], Some(9)).key());
}

#[test]
fn a_stop_in_the_middle_keeps_what_ended_and_the_next_call_goes_on() {
    let mut bench = Bench::sqlite();
    let stop = Arc::clone(&bench.stop);
    let mut ended = 0;
    let (store, study, outcome) = bench.conduct(&assignment("sqlite", &[], None), &mut |notice| {
        if let Notice::RunEnds { .. } = notice {
            ended += 1;
            stop.store(ended == 6, Ordering::Relaxed);
        }
    });
    assert!(outcome.stopped);
    assert_eq!(store.runs(study).unwrap().iter().filter(|run| run.counts()).count(), 6);
    drop(store);
    bench.stop.store(false, Ordering::Relaxed);
    let (store, study, outcome) = bench.conduct(&assignment("sqlite", &[], None), &mut |_| {});
    assert_eq!(outcome.ran, 6);
    assert_eq!(store.runs(study).unwrap().iter().filter(|run| run.counts()).count(), 12);
}

#[test]
fn a_run_that_somebody_distrusts_is_made_again_and_nothing_is_deleted() {
    let mut bench = Bench::sqlite();
    let (mut store, study, _) = bench.conduct(&assignment("sqlite", &[], None), &mut |_| {});
    let doubted = store.runs(study).unwrap()[3].run_id;
    store.mark_suspect(doubted, "the neighbour ran a backup", "2026-11-20T10:00:00Z").unwrap();
    drop(store);
    let (store, study, outcome) = bench.conduct(&assignment("sqlite", &[], None), &mut |_| {});
    assert_eq!(outcome.ran, 1);
    let runs = store.runs(study).unwrap();
    assert_eq!(runs.len(), 13);
    let old = runs.iter().find(|stored| stored.run_id == doubted).unwrap();
    assert_eq!(old.superseded_by, Some(runs[12].run_id));
    assert_eq!(runs[12].run.key.attempt, 1);
    assert!(!old.counts() && runs[12].counts());
}

#[test]
fn blocks_are_added_until_the_interval_is_narrow_or_the_cap_is_reached() {
    let mut bench = Bench::noop();
    let mut request = Request::plain(Scale::Full, crate::engine("noop"));
    request.repeat_until =
        Some(RepeatUntil { half_width_percent: Some(1e-9), decision: None, blocks_max: 5 });
    let resolved = Experiment::parse("small.toml", SPEC).unwrap().resolve(&request).unwrap();
    let assignment = Assignment::new(resolved, vec!["noop".to_owned()], "noop", 1);
    let mut added = Vec::new();
    let (store, study, outcome) = bench.conduct(&assignment, &mut |notice| {
        if let Notice::BlockAdded { block_index, .. } = notice {
            added.push(*block_index);
        }
    });
    assert_eq!(added, [3, 4]);
    assert_eq!(outcome.ran, 20);
    assert!(store.runs(study).unwrap().iter().all(|stored| stored.run.state == RunState::Valid));
}

/// Blocks of a study that waits for decisions, and the looks in its record.
fn blocks_until_decided(spec: &str, margin: Option<f64>, blocks_max: u32) -> (usize, Option<Looks>) {
    let mut bench = Bench::noop();
    let mut request = Request::plain(Scale::Full, crate::engine("noop"));
    request.repetitions = Some(6);
    let decision = Some(Decision { margin });
    request.repeat_until = Some(RepeatUntil { half_width_percent: None, decision, blocks_max });
    let resolved = Experiment::parse("small.toml", spec).unwrap().resolve(&request).unwrap();
    let assignment = Assignment::new(resolved, vec!["noop".to_owned()], "noop", 1);
    let mut undecided = Vec::new();
    let (store, study, _) = bench.conduct(&assignment, &mut |notice| {
        if let Notice::BlockAdded { undecided: Some(count), .. } = notice {
            undecided.push(*count);
        }
    });
    assert!(is_complete(&store, &assignment).unwrap());
    let runs = store.runs(study).unwrap();
    let blocks = runs.len() / assignment.cells().len();
    assert_eq!(undecided.len() + 6, blocks, "every further block has its reason");
    assert!(undecided.iter().all(|count| *count > 0), "{undecided:?}");
    (blocks, store.study(study).unwrap().design.looks)
}

#[test]
fn blocks_are_added_until_every_comparison_is_decided() {
    let alike = SPEC.replace("connections = [1, 3]", "").replace("repetitions = 3", "repetitions = 6");
    // The last arrival ends a run: 0.2 s or 0.04 s.
    let different = alike
        .replace("batch_size = [1, 7]", "rate = [100, 500]")
        .replace("rows_total = 50", "rows_total = 20");
    let (blocks, looks) = blocks_until_decided(&different, None, 12);
    assert!(blocks < 12, "{blocks}");
    assert_eq!(looks, Some(Looks { blocks_min: 6, blocks_max: 12, margin: None }));
    // Nothing but the cap ends a study without a difference, unless the margin is wide enough.
    let same = different.replace("[100, 500]", "[400, 401]");
    assert_eq!(blocks_until_decided(&same, Some(9.0), 9).0, 6);
}

#[test]
fn what_sqlite_cannot_do_is_refused_before_anything_runs() {
    let mut bench = Bench::sqlite();
    let mut store = Store::open_or_create(bench.directory.path()).unwrap();
    let refused = Laboratory {
        store: &mut store,
        targets: &mut bench.targets,
        ceilings: None,
        leftovers: lab::run::Leftovers::Remove,
        stop: Arc::clone(&bench.stop),
    }
    .conduct(&assignment("sqlite", &[("data_files", "1,2")], None), &mut |_| {});
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("data_files=2") && text.contains("one file"), "{text}");
    assert!(store.studies().unwrap().is_empty());
}

#[test]
fn random_keys_the_server_loop_and_indexes_leave_the_rows_asked_for() {
    let mut bench = Bench::sqlite();
    let overrides = [
        ("workload", "random-insert"),
        ("loop", "client,server"),
        ("key", "random,sequential"),
        ("secondary_indexes", "2"),
    ];
    let (store, study, outcome) = bench.conduct(&assignment("sqlite", &overrides, Some(1)), &mut |_| {});
    assert_eq!((outcome.ran, outcome.invalid), (16, 0));
    assert!(store.runs(study).unwrap().iter().all(|stored| stored.run.metric("table_rows") == Some(50.0)));
}
