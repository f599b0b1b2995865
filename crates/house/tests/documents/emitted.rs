//! The names that runs really store, and those that the source of the laboratory is able to store.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lab::assignment::Assignment;
use lab::engine::noop::NoopTarget;
use lab::engine::{Layout, Target};
use lab::laboratory::Laboratory;
use lab::spec::{Experiment, Request};
use lab_sqlite::SqliteTarget;
use results::model::{Run, Scale};
use results::store::Store;

/// Warm-up and a rate: every event and metric of a run can occur.
const SPEC: &str = r#"
name = "names"
title = "names"
question = "which names does a run store?"
kind = "own"
repetitions = 1
[parameters]
workload = "populate"
rows_total = 20
warm_up_rows = 4
connections = 2
batch_size = 5
durability = "none"
rate = 1000.0
"#;

/// Runs without an engine and on embedded SQLite.
pub(crate) fn runs() -> Vec<Run> {
    let place = tempfile::tempdir().unwrap();
    let sqlite = SqliteTarget::new(&Layout::default(), &place.path().join("work")).unwrap();
    let mut runs = conduct(Box::new(NoopTarget), &place.path().join("noop"));
    runs.extend(conduct(Box::new(sqlite), &place.path().join("sqlite")));
    runs
}

fn conduct(target: Box<dyn Target>, results: &Path) -> Vec<Run> {
    let engine = target.engine();
    let request = Request::plain(Scale::Full, engine);
    let resolved = Experiment::parse("names.toml", SPEC).unwrap().resolve(&request).unwrap();
    let assignment = Assignment::new(resolved, vec![engine.to_string()], engine.id.name(), 1);
    let mut store = Store::open_or_create(results).unwrap();
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
    let [target] = &mut targets;
    target.stop(false).unwrap();
    // One by one: only then with their series.
    let ids = store.runs(study).unwrap().into_iter().map(|stored| stored.run_id);
    ids.map(|run_id| store.run(run_id).unwrap().run).collect()
}

/// The first string argument behind each of these openings, in the Rust files below `directory`, tests left out.
pub(crate) fn literals_behind(directory: &str, openings: &[&str]) -> BTreeSet<String> {
    let mut code = String::new();
    gather(&crate::root().join(directory), &mut code);
    openings.iter().flat_map(|opening| behind(&code, opening).collect::<Vec<_>>()).collect()
}

/// Adds the text of all Rust files below a directory, without their test modules.
pub(crate) fn gather(directory: &Path, code: &mut String) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            gather(&path, code);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            code.push_str(text.split("#[cfg(test)]\nmod tests").next().unwrap_or(""));
        }
    }
}

fn behind<'a>(code: &'a str, opening: &'a str) -> impl Iterator<Item = String> + 'a {
    code.split(opening).skip(1).filter_map(move |rest| {
        let rest = rest.trim_start();
        let literal = match rest.strip_prefix('"') {
            Some(literal) => literal.split('"').next()?,
            None => constant(code, rest)?,
        };
        // `device_write_bytes.{device}`: the part before the dot is the name.
        let name = literal.split(".{").next()?;
        let is_of_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let is_name = name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(is_of_name);
        is_name.then(|| name.to_owned())
    })
}

/// The text of the constant whose name begins `rest`.
fn constant<'a>(code: &'a str, rest: &str) -> Option<&'a str> {
    let end = rest.find(|c: char| !(c.is_ascii_uppercase() || c == '_'))?;
    let declaration = format!("const {}: &str = \"", &rest[..end]);
    (end > 0).then(|| code.split(&declaration).nth(1)?.split('"').next())?
}

#[test]
fn names_are_read_from_calls_as_they_are_written() {
    let code = "metric(\n    \"a_b\",\n 1) metric(&format!(\"c.{device}\")) metric(name, \"not\") metric(\"No\") \
                metric(HELD.to_owned()) metric(GONE) const HELD: &str = \"held\";";
    assert_eq!(behind(code, "metric(").collect::<Vec<_>>(), ["a_b", "held"]);
    assert_eq!(behind(code, "metric(&format!(").collect::<Vec<_>>(), ["c"]);
}
