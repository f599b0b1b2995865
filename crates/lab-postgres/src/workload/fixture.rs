//! Tables that runs read: made when they are first asked for, kept until the cluster or database is removed.

use std::path::{Path, PathBuf};

use lab::engine::look_up::{self, Answers, hash_of};
use lab::engine::{PostRunState, TargetError};
use lab::work::Work;
use results::model::Metric;

use crate::control::{Control, first_value, literal};
use crate::workload::guid::{self, FixtureTables};

/// Segments of a relation that are looked for: 1 GiB each by default.
const SEGMENTS_MAX: u32 = 1 << 16;

/// Sees to it that the tables which `work` reads are there, with the small table of the keys that it looks up; `made`
/// are those of earlier runs. Returns whether anything was written. A task reads all files of the cluster: for it,
/// other tables are removed first.
pub(crate) fn provide(
    control: &mut Control,
    made: &mut Vec<FixtureTables>,
    work: &Work,
) -> Result<bool, TargetError> {
    let Some(fixture) = FixtureTables::of(work) else { return Ok(false) };
    let mut statements = Vec::new();
    if work.workload.is_task() {
        for other in made.extract_if(.., |other| *other != fixture) {
            statements.extend(other.drop_all());
        }
        statements.push(format!("DROP TABLE IF EXISTS {}", guid::KEYS));
    }
    if !made.contains(&fixture) {
        // What a load that did not come to its end left behind.
        statements.extend(fixture.drop_all());
        statements.extend(fixture.create());
    }
    statements.extend(fixture.choose_keys(work));
    let statements = durably(statements);
    for statement in &statements {
        control.complete("could not make the tables that the run reads", statement)?;
    }
    if !made.contains(&fixture) {
        made.push(fixture);
    }
    Ok(!statements.is_empty())
}

/// Statements between those that make their commits durable; none where there is none.
pub(crate) fn durably(mut statements: Vec<String>) -> Vec<String> {
    if !statements.is_empty() {
        // A vacuum cannot call rows visible to all while the log of their commit is still on its way to the device.
        statements.insert(0, "SET synchronous_commit = on".to_owned());
        statements.push("RESET synchronous_commit".to_owned());
    }
    statements
}

/// Files of the relations that `work` reads, below the data directory.
pub(crate) fn files(control: &mut Control, data: &Path, work: &Work) -> Result<Vec<PathBuf>, TargetError> {
    let Some(fixture) = FixtureTables::of(work) else { return Ok(Vec::new()) };
    let mut files = Vec::new();
    for relation in fixture.relations() {
        let sql = format!("SELECT pg_relation_filepath({}::regclass)", literal(&relation));
        let context = "could not find the file of a table";
        let main =
            control.value(context, &sql)?.ok_or_else(|| TargetError::engine(context, relation.clone()))?;
        let segments = (1..SEGMENTS_MAX).map(|segment| format!("{main}.{segment}"));
        let exists = |name: &String| data.join(name).is_file();
        files.extend(
            std::iter::once(main.clone()).chain(segments).take_while(exists).map(|name| data.join(name)),
        );
        let forks = ["_vm", "_fsm"].map(|fork| format!("{main}{fork}"));
        files.extend(forks.into_iter().filter(exists).map(|name| data.join(name)));
    }
    Ok(files)
}

/// All regular files below the directory of the cluster's databases, in the order of their names.
pub(crate) fn all_files(data: &Path) -> Result<Vec<PathBuf>, TargetError> {
    let mut files = Vec::new();
    let mut waiting = vec![data.join("base")];
    while let Some(directory) = waiting.pop() {
        let io = |source| TargetError::Io { action: "list", path: directory.clone(), source };
        for entry in std::fs::read_dir(&directory).map_err(io)? {
            let entry = entry.map_err(io)?;
            match entry.file_type().map_err(io)? {
                kind if kind.is_dir() => waiting.push(entry.path()),
                kind if kind.is_file() => files.push(entry.path()),
                _ => {}
            }
        }
    }
    files.sort();
    Ok(files)
}

/// What look-ups found and cost, after their sessions ended. Asks the question once more, to see its answer.
pub(crate) fn post_run_state(
    control: &mut Control,
    work: &Work,
    answers: &Answers,
) -> Result<PostRunState, TargetError> {
    let Some(fixture) = FixtureTables::of(work).filter(|_| work.workload.looks_up()) else {
        return Ok(PostRunState::default());
    };
    let context = "could not read the results of the look-ups";
    for setting in guid::PLANNER {
        control.rows(context, setting)?;
    }
    let found = first_value(control.complete(context, &fixture.finding(work))?).unwrap_or_default();
    control.rows(context, "RESET ALL")?;
    let look_ups = answers.all();
    let mut metrics = look_up::metrics(&look_ups);
    metrics.push(Metric::new(
        "finding_hash",
        hash_of(found.trim_end()) as f64,
        "1",
        "first 48 bits of the SHA-256 of what was found",
    ));
    Ok(PostRunState { look_ups, metrics, ..PostRunState::default() })
}
