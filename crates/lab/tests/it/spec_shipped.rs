//! The experiments that come with fathom: all listed, readable and resolvable.

use std::path::{Path, PathBuf};

use lab::engine::Layout;
use lab::spec::{Experiment, Request, find, shipped};
use results::model::Scale;

fn two_places() -> Layout {
    Layout { data: vec![PathBuf::from("/data")], log: Some(PathBuf::from("/log")) }
}

fn request(scale: Scale, engine: &str) -> Request {
    Request { layout: two_places(), ..Request::plain(scale, crate::engine(engine)) }
}

#[test]
fn every_file_of_experiments_is_listed_and_bears_its_name() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let mut files: Vec<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    let mut listed: Vec<String> = shipped().iter().map(|shipped| format!("{}.toml", shipped.name)).collect();
    listed.sort();
    assert_eq!(files, listed);
    for shipped in shipped() {
        assert_eq!(Experiment::parse(shipped.name, shipped.text).unwrap().name, shipped.name);
    }
}

/// Examples of own workloads for one engine; their comments say so.
const OF_ONE_ENGINE: [(&str, &str); 3] =
    [("page-size", "sqlite"), ("wal-vs-delete-journal", "sqlite"), ("compression", "postgres")];

/// Engines that have what the experiment needs. SQL of one's own is for engines that execute it.
fn engines(name: &str, text: &str) -> Vec<&'static str> {
    match OF_ONE_ENGINE.iter().find(|(one, _)| *one == name) {
        Some((_, engine)) => vec![engine],
        None if text.contains("[[workload.scripts]]") => vec!["sqlite", "postgres"],
        None => vec!["noop", "sqlite", "postgres"],
    }
}

#[test]
fn an_example_of_one_engine_says_so_and_is_refused_on_the_other() {
    for (name, engine) in OF_ONE_ENGINE {
        let experiment = Experiment::parse(name, find(name).unwrap().text).unwrap();
        assert!(experiment.comment.contains("Limitation: "), "{name}");
        let other = if engine == "sqlite" { "postgres" } else { "sqlite" };
        let error = experiment.resolve(&request(Scale::Miniature, other)).unwrap_err().to_string();
        assert!(error.contains(&format!("command for engine {other}")), "{name}: {error}");
    }
}

#[test]
fn every_experiment_resolves_at_both_scales_on_every_engine() {
    for shipped in shipped() {
        let experiment = Experiment::parse(shipped.name, shipped.text).unwrap();
        assert_eq!(experiment.scales(), [Scale::Full, Scale::Miniature]);
        for scale in experiment.scales() {
            for engine in engines(shipped.name, shipped.text) {
                let resolved = experiment.resolve(&request(scale, engine));
                let resolved =
                    resolved.unwrap_or_else(|error| panic!("{} on {engine}: {error}", shipped.name));
                assert!(!resolved.cells().is_empty());
                assert!(
                    resolved.expectations.iter().all(|claim| claim.scope.is_none_or(|scope| scope == scale))
                );
            }
        }
    }
}

#[test]
fn the_canonical_text_gives_the_same_study_again() {
    for shipped in shipped() {
        let experiment = Experiment::parse(shipped.name, shipped.text).unwrap();
        let engine = engines(shipped.name, shipped.text).pop().unwrap();
        for scale in experiment.scales() {
            let first = experiment.resolve(&request(scale, engine)).unwrap();
            let again = Experiment::parse("canonical", &first.spec_toml).unwrap();
            let again = again.resolve(&Request::plain(scale, crate::engine(engine))).unwrap();
            assert_eq!(again, first, "{}", shipped.name);
        }
    }
}

#[test]
fn every_experiment_opens_with_its_question_and_values() {
    for shipped in shipped() {
        let experiment = Experiment::parse(shipped.name, shipped.text).unwrap();
        assert!(experiment.comment.starts_with("Question: "), "{}", shipped.name);
        assert!(experiment.comment.contains("\nValues"), "{}", shipped.name);
        assert!(!experiment.title.is_empty() && experiment.question.ends_with('?'), "{}", shipped.name);
    }
}

#[test]
fn a_miniature_has_the_runs_for_a_verdict() {
    for shipped in shipped() {
        let experiment = Experiment::parse(shipped.name, shipped.text).unwrap();
        let engine = engines(shipped.name, shipped.text).pop().unwrap();
        let miniature = experiment.resolve(&request(Scale::Miniature, engine)).unwrap();
        assert!(miniature.repetitions >= 5, "{}: an exact permutation test needs 5 against 5", shipped.name);
    }
}

#[test]
fn the_full_scale_has_the_published_number_of_cells_and_repetitions_that_can_decide() {
    for (name, cells, repetitions) in [
        ("populate-batch", 5, 6),
        ("populate-connections", 5, 6),
        ("populate-batch-x-connections", 10, 6),
        ("connections-after-unmasking", 5, 6),
        ("random-insert", 5, 6),
        ("multi-file", 8, 7),
        ("separate-data-log", 3, 6),
        ("nonclustered-indexes", 4, 6),
        ("contention-timeline", 2, 6),
        ("log-anatomy", 3, 6),
        ("log-growth", 3, 6),
        ("log-sizing", 5, 6),
        ("manual-checkpoint", 5, 6),
        ("allocation-contention", 3, 6),
        ("connections-x-waits", 5, 6),
        ("repeat-ten", 1, 10),
        ("a-a", 2, 6),
        ("random-key", 2, 6),
        ("guid-populate", 3, 6),
        ("guid-lookup-scan", 3, 6),
        ("guid-lookup-join", 3, 10),
        ("fragmentation-report", 3, 6),
        ("backup-restore-parallelism", 12, 7),
        ("files-x-arrays", 15, 8),
        ("bigger-machines", 32, 8),
        ("check-dop", 18, 6),
        ("check-vs-raw-read", 48, 8),
        ("io-baseline", 12, 8),
        ("maxdop-survey", 1, 1),
        ("key-choice", 6, 6),
        ("fillfactor-hot-updates", 8, 6),
        ("index-count", 5, 6),
        ("jsonb-gin", 3, 6),
        ("partitions", 3, 6),
        ("queue-table", 4, 6),
        ("synchronous-commit", 6, 6),
        ("page-size", 4, 6),
        ("wal-vs-delete-journal", 2, 6),
        ("checkpoint-spread", 2, 6),
        ("compression", 6, 6),
    ] {
        let shipped = find(name).unwrap();
        let experiment = Experiment::parse(name, shipped.text).unwrap();
        let engine = engines(name, shipped.text).pop().unwrap();
        let full = experiment.resolve(&request(Scale::Full, engine)).unwrap();
        assert_eq!((full.cells().len(), full.repetitions), (cells, repetitions), "{name}");
    }
}

#[test]
fn an_experiment_is_found_by_its_name_and_by_its_published_name() {
    assert_eq!(find("random-insert").unwrap(), find("ssd-random-insert").unwrap());
    let error = find("populate-bach").unwrap_err().to_string();
    assert!(error.contains("no experiment is called `populate-bach`"), "{error}");
    assert!(error.contains("did you mean `populate-batch`?"), "{error}");
    assert!(find("tpc-c").unwrap_err().to_string().contains("repeat-ten"));
}
