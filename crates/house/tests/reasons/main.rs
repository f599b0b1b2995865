//! Real miniatures that are limited by the log, by a lock, by the processors and by the data device, from the run to
//! the sentence.
//!
//! What a machine is limited by cannot be ordered: each test verifies first that the run was of the kind that it is
//! meant to be, by values that the sentence is not made of where there are such, and is skipped when it was not. The
//! decision itself is tested on made-up runs in `report::reason`; that the engine's names of what these runs wait for lead
//! to the limit that is meant is tested here on every machine.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lab::assignment::Assignment;
use lab::engine::{Layout, Target};
use lab::laboratory::Laboratory;
use lab::spec::{Experiment, Request};
use lab_postgres::{ManagedOptions, ManagedPostgres, ServerBinaries, find_servers};
use lab_sqlite::SqliteTarget;
use report::catalogue::Catalogue;
use report::reason::{CellReason, cells};
use results::EngineId;
use results::model::{Run, Scale};
use results::observations::Limit;
use results::store::{Store, StudyResults};
use skips::{Capability, skip};

/// The waits of the engines that are run here.
fn catalogue() -> Catalogue {
    let engines = [&lab_sqlite::ENGINE, &lab_postgres::ENGINE];
    Catalogue::new(engines.into_iter().filter_map(|engine| engine.waits))
}

/// One configuration, run once.
fn conduct(target: Box<dyn Target>, parameters: &str, place: &Path) -> StudyResults {
    let spec = format!(
        "name = \"miniature\"\ntitle = \"miniature\"\nquestion = \"what is the limit?\"\nkind = \"own\"\n\
         repetitions = 1\n[parameters]\n{parameters}\n"
    );
    let engine = target.engine();
    let request = Request::plain(Scale::Full, engine);
    let resolved = Experiment::parse("miniature.toml", &spec).unwrap().resolve(&request).unwrap();
    let assignment = Assignment::new(resolved, vec![engine.to_string()], engine.id.name(), 1);
    let mut store = Store::open_or_create(&place.join("results")).unwrap();
    let mut targets = [target];
    let (study, _) = Laboratory {
        store: &mut store,
        targets: &mut targets,
        ceilings: None,
        leftovers: lab::run::Leftovers::Remove,
        stop: Arc::new(AtomicBool::new(false)),
    }
    .conduct(&assignment, &mut |_| {})
    .unwrap();
    targets[0].stop(false).unwrap();
    store.study_results(study).unwrap()
}

fn sqlite(parameters: &str) -> StudyResults {
    let place = tempfile::tempdir().unwrap();
    let target = SqliteTarget::new(&Layout::default(), &place.path().join("work")).unwrap();
    conduct(Box::new(target), parameters, place.path())
}

fn postgres(server: &ServerBinaries, parameters: &str) -> StudyResults {
    use std::os::unix::fs::PermissionsExt;
    let place = tempfile::Builder::new().prefix("fathom-test-").tempdir_in("/tmp").unwrap();
    std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let options = ManagedOptions {
        server: server.clone(),
        base: place.path().to_path_buf(),
        layout: Layout::default(),
        port: None,
    };
    let target = ManagedPostgres::create(&options).unwrap();
    conduct(Box::new(target), parameters, place.path())
}

/// The reason of the only configuration, and a run that counts; `None`, and a skip that is counted, when the machine was
/// too busy for one.
fn reason_and_run(results: &StudyResults) -> Option<(CellReason, &Run)> {
    let Some(stored) = results.runs.iter().find(|stored| stored.counts()) else {
        let gates = results.runs.iter().flat_map(|stored| &stored.run.gates);
        let failed: Vec<String> = gates
            .filter(|gate| gate.outcome == results::model::GateOutcome::Failed)
            .map(|gate| format!("{}: {}", gate.gate, gate.found))
            .collect();
        skip(Capability::Quiet, format!("no run counts: {}", failed.join("; ")));
        return None;
    };
    let mut reasons = cells(results, &catalogue());
    assert_eq!(reasons.len(), 1);
    let reason = reasons.remove(0);
    for sentence in &reason.sentences {
        let has_figure = sentence.chars().any(|character| character.is_ascii_digit());
        let is_advice = sentence.contains("`fathom run ") || sentence.starts_with("Repeat it ");
        assert!(has_figure || is_advice, "no figure in: {sentence}");
    }
    Some((reason, &stored.run))
}

/// Seconds of the clients' waits whose `class:name` is meant, over the time of their sessions.
fn share_of(run: &Run, is_meant: impl Fn(&str) -> bool) -> f64 {
    let profile = run.observations.waits.iter().find(|profile| profile.group == "clients").unwrap();
    let meant = profile.rows.iter().filter(|row| is_meant(&format!("{}:{}", row.class, row.name)));
    meant.map(|row| row.wait_s).sum::<f64>() / profile.session_s
}

/// Did others leave the processors to the run? Else what it was made for drowns in waiting for one.
fn is_quiet(run: &Run) -> bool {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as f64;
    let others = run.metric("other_cpu_s").unwrap_or(0.0) / (run.elapsed_ns as f64 / 1e9 * processors);
    let profile = run.observations.waits.iter().find(|profile| profile.group == "clients");
    let delayed = profile.map_or(0.0, |profile| profile.run_delay_s.unwrap_or(0.0) / profile.session_s);
    others < 0.3 && delayed < 0.3
}

/// The name by which the engine reports what a run is meant to wait for leads to the limit that is meant.
fn assert_leads_to(run: &Run, engine: EngineId, wait: &str, limit: Limit) {
    let catalogue = catalogue();
    let of_engine = catalogue.entries().filter(|(of, _)| *of == engine);
    let entry =
        of_engine.map(|(_, entry)| entry).find(|entry| format!("{}:{}", entry.class, entry.name) == wait);
    assert_eq!(entry.map(|entry| entry.limit), Some(limit), "{wait}");
    assert!(share_of(run, |name| name == wait) > 0.0, "the run did not wait for {wait}");
}

fn require(reason: &CellReason, run: &Run, limit: Limit, is_of_its_kind: bool) {
    if reason.limit == Some(limit) {
        return;
    }
    assert!(!is_of_its_kind || !is_quiet(run), "{}", reason.paragraph());
    skip(Capability::Quiet, format!("the run is of another kind: {}", reason.paragraph()));
}

#[test]
fn commits_that_wait_for_their_flush_end_with_the_log() {
    let results = sqlite(
        "workload = \"populate\"\nrows_total = 80\nconnections = 1\nbatch_size = 1\ndurability = \"full\"",
    );
    let Some((reason, run)) = reason_and_run(&results) else { return };
    assert_leads_to(run, EngineId::Sqlite, "vfs:WalSync", Limit::Log);
    let flushing = run.metric("log_flush_s").unwrap() / (run.elapsed_ns as f64 / 1e9);
    require(&reason, run, Limit::Log, flushing >= 0.8);
}

#[test]
fn connections_that_queue_for_the_only_writer_end_with_a_lock() {
    let results = sqlite(
        "workload = \"populate\"\nduration = \"1500ms\"\nconnections = 8\nbatch_size = 10\ndurability = \"full\"",
    );
    let Some((reason, run)) = reason_and_run(&results) else { return };
    let sleeping = run.metric("busy_wait_s").unwrap() / (8.0 * run.elapsed_ns as f64 / 1e9);
    require(&reason, run, Limit::Lock, sleeping >= 0.6);
}

#[test]
fn a_loop_in_the_server_without_flushes_ends_with_the_processors() {
    let Some(server) = find_servers(&[]).into_iter().next() else {
        return skip(Capability::Postgres, "no PostgreSQL server binaries");
    };
    let results = postgres(
        &server,
        "workload = \"random-insert\"\nduration = \"1500ms\"\nconnections = 1\nbatch_size = 1000\nloop = \"server\"\n\
         durability = \"none\"",
    );
    let Some((reason, run)) = reason_and_run(&results) else { return };
    let waiting = share_of(run, |name| !name.starts_with("Client:"));
    let idle = share_of(run, |name| name.starts_with("Client:"));
    require(&reason, run, Limit::Cpu, waiting <= 0.25 && idle <= 0.25);
}

#[test]
fn pages_that_go_straight_to_the_device_end_with_it() {
    // Only from 16 on can the server be told to leave out the page cache, without which no small table is slow.
    let Some(server) = find_servers(&[]).into_iter().find(|server| server.major >= 16) else {
        return skip(Capability::PostgresMajors, "no PostgreSQL server of 16 or later");
    };
    let results = postgres(
        &server,
        "workload = \"random-insert\"\nduration = \"2500ms\"\nconnections = 1\nbatch_size = 100\ndurability = \"none\"\n\
         buffer_pool_mib = 1\n\"postgres.debug_io_direct\" = \"data\"",
    );
    let Some((reason, run)) = reason_and_run(&results) else { return };
    let at_device = share_of(run, |name| name.starts_with("IO:DataFile"));
    require(&reason, run, Limit::DataDevice, at_device >= 0.6);
}

#[test]
fn every_remedy_is_a_shipped_experiment_and_every_wait_has_a_name_that_the_server_knows() {
    for (_, entry) in catalogue().entries() {
        if let Some((experiment, _)) = entry.limit.remedy() {
            assert!(lab::spec::find(experiment).is_ok(), "{experiment}");
        }
    }
    for experiment in report::catalogue::READERS {
        assert!(lab::spec::find(experiment).is_ok(), "{experiment}");
    }
    for line in catalogue().document().lines().filter(|line| line.contains("`fathom run ")) {
        let experiment =
            line.split("`fathom run ").nth(1).and_then(|rest| rest.split([' ', '`']).next()).unwrap();
        assert!(lab::spec::find(experiment).is_ok(), "{experiment}");
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../lab-postgres/src/waits/events.tsv");
    let events = std::fs::read_to_string(path).unwrap();
    let known: Vec<(&str, &str)> = events
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let mut fields = line.split('\t');
            Some((fields.next()?, fields.next()?))
        })
        .collect();
    let catalogue = catalogue();
    let of_server = catalogue.entries().filter(|(engine, _)| *engine == EngineId::Postgres);
    for (_, entry) in of_server {
        assert!(known.contains(&(entry.class, entry.name)), "{}:{}", entry.class, entry.name);
    }
}
