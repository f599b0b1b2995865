//! From an empty database to the state in which every run of a cell begins: schema and load once, then copies.

use std::sync::Arc;

use results::EngineId;
use sha2::{Digest, Sha256};

use super::load::load;
use super::plan::{Part, Plan, PlanError};
use super::statements::ResultSet;
use super::workload::{Load, OwnWorkload, SqlText};
use crate::client::{ClientPool, DynConnector, Progress};
use crate::engine::{OwnDatabases, TargetError};
use crate::run::{Course, Tick};
use crate::work::{Amount, LoopSide, WarmUp, Work};

/// Letters of the name of a kept database.
const NAME_CHARS: usize = 24;
/// Seed of the random values of schema and load: rows are the same in every run and every study.
const LOAD_SEED: u64 = 1;

/// Brings the database of the run into the state in which the run begins; returns how its clients connect.
///
/// The state is made once for each content of schema, load, variables and settings, and kept as long as the target lives.
///
/// # Errors
/// What the engine refuses, with file and line; a load that was stopped.
pub fn provide(
    databases: &mut dyn OwnDatabases,
    engine: EngineId,
    work: &Work,
    own: &OwnWorkload,
    on_tick: &mut dyn FnMut(Tick) -> Course,
) -> Result<Arc<dyn DynConnector>, TargetError> {
    let name = content_name(own, engine, work);
    if !databases.is_kept(&name)? {
        databases.make_empty()?;
        execute(databases, engine, work, own, Part::Schema, on_tick)?;
        execute(databases, engine, work, own, Part::Load, on_tick)?;
        bulk_load(databases, own, on_tick)?;
        databases.keep(&name)?;
    }
    databases.restore(&name)?;
    let plan = plan(own, Part::Scripts, engine, work)?.ok_or_else(|| {
        TargetError::refused(
            "the workload has no scripts",
            "add scripts = [ { file = \"...\" } ] to [workload]",
        )
    })?;
    databases.parse_all(&plan)?;
    Ok(databases.connector(Arc::new(plan)))
}

/// Tests a workload in an empty database, without rows and without executing a script: the engine has to accept the schema
/// and every statement.
///
/// # Errors
/// What the engine refuses, with file and line.
pub fn rehearse(
    databases: &mut dyn OwnDatabases,
    engine: EngineId,
    work: &Work,
    own: &OwnWorkload,
) -> Result<(), TargetError> {
    databases.make_empty()?;
    execute(databases, engine, work, own, Part::Schema, &mut |_| Course::Continue)?;
    let parts = [Part::Load, Part::Scripts, Part::After];
    // What a load makes is not there without it: the scripts are tested when it was executed.
    let parts = if load_makes_objects(own) { &parts[..1] } else { &parts[..] };
    for part in parts {
        if let Some(plan) = plan(own, *part, engine, work)? {
            databases.parse_all(&plan)?;
        }
    }
    Ok(())
}

/// Has the load a statement that may make objects, and not only rows?
fn load_makes_objects(own: &OwnWorkload) -> bool {
    let Some(Load::Script { sql, .. }) = &own.load else { return false };
    let makes = |word: &str| {
        ["create", "alter", "do", "call", "import"].iter().any(|maker| word.eq_ignore_ascii_case(maker))
    };
    sql.text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').any(makes)
}

/// Name of the state in which a run begins: the same for the same schema, load, variables of these, and settings.
pub fn content_name(own: &OwnWorkload, engine: EngineId, work: &Work) -> String {
    // A factor of the scripts alone needs no load of its own.
    let is_used = |name: &str| {
        let variable = format!(":{name}");
        let in_text = |sql: &SqlText| sql.text.contains(&variable);
        own.schema.as_ref().is_some_and(in_text)
            || match &own.load {
                Some(Load::Script { sql, .. }) => in_text(sql),
                Some(Load::Columns { columns, .. }) => {
                    columns.iter().any(|(_, generator)| generator.contains(&variable))
                }
                Some(Load::Copy { .. }) | None => false,
            }
    };
    let definitions: Vec<_> = own.definitions.iter().filter(|(name, _)| is_used(name)).collect();
    let content = serde_json::json!({
        "engine": engine.name(),
        "schema": own.schema,
        "load": own.load,
        "definitions": definitions,
        "scale": own.scale,
        // Some of them decide how rows are stored.
        "settings": work.settings,
        "durability": work.durability,
    });
    let hash = Sha256::digest(content.to_string());
    hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>().chars().take(NAME_CHARS).collect()
}

fn plan(own: &OwnWorkload, part: Part, engine: EngineId, work: &Work) -> Result<Option<Plan>, TargetError> {
    Plan::new(own, part, engine, work)
        .map_err(|error: PlanError| TargetError::Refused { text: error.to_string(), hint: None })
}

/// Executes what comes after a run; returns the rows of its statements.
///
/// # Errors
/// What the engine refuses, with file and line, or that it was interrupted.
pub fn execute_after(
    databases: &mut dyn OwnDatabases,
    engine: EngineId,
    work: &Work,
    own: &OwnWorkload,
    on_tick: &mut dyn FnMut(Tick) -> Course,
) -> Result<Vec<ResultSet>, TargetError> {
    let plan = execute(databases, engine, work, own, Part::After, on_tick)?;
    Ok(plan.map(|plan| plan.take_rows()).unwrap_or_default())
}

/// Executes the scripts of a phase before or after the runs, and returns them; nothing where there are none.
fn execute(
    databases: &mut dyn OwnDatabases,
    engine: EngineId,
    work: &Work,
    own: &OwnWorkload,
    part: Part,
    on_tick: &mut dyn FnMut(Tick) -> Course,
) -> Result<Option<Arc<Plan>>, TargetError> {
    let (connections, executions, batch, rows) = match &own.load {
        Some(Load::Script { rows, batch, connections, .. }) if part == Part::Load => {
            let executions = rows.div_ceil((*batch).max(1)).max(1);
            (u64::from(*connections).clamp(1, executions) as u32, executions, *batch, *rows)
        }
        _ => (1, 1, 1, 1),
    };
    let phase = Work {
        connections,
        amount: Amount::Rows(executions),
        warm_up: WarmUp::None,
        batch_size: 1,
        rate_per_s: None,
        loop_side: LoopSide::Client,
        jobs: None,
        own: None,
        seed: LOAD_SEED,
        ..work.clone()
    };
    let Some(plan) = plan(own, part, engine, &phase)? else { return Ok(None) };
    let what = match part {
        Part::Schema => "the schema",
        Part::After => "what comes after the run",
        _ => "the load",
    };
    let plan = Arc::new(plan);
    let connector = databases.connector(Arc::clone(&plan));
    // A schema has no rows to wait for; what comes after a run is no load.
    let loading = match part {
        Part::After => None,
        Part::Load => Some(rows),
        _ => Some(0),
    };
    let report = move |progress: &Progress| {
        let done = progress.rows().saturating_mul(batch.max(1)).min(rows);
        Tick { rows: done, loading, pulse: done }
    };
    clients(databases, &connector, &phase, what, &report, on_tick)?;
    Ok(Some(plan))
}

/// Runs clients to their end, outside of any measurement.
fn clients(
    databases: &mut dyn OwnDatabases,
    connector: &Arc<dyn DynConnector>,
    phase: &Work,
    what: &str,
    report: &dyn Fn(&Progress) -> Tick,
    on_tick: &mut dyn FnMut(Tick) -> Course,
) -> Result<(), TargetError> {
    let refused = |text: String| TargetError::Refused { text: format!("{what} failed: {text}"), hint: None };
    let mut pool = ClientPool::assemble(connector, phase, phase.connections)
        .map_err(|error| refused(error.to_string()))?;
    pool.release();
    let mut stopped = false;
    pool.wait(&mut |progress| {
        if on_tick(report(progress)) == Course::Stop {
            stopped = true;
            progress.stop();
            // Again at each tick: one that comes between two statements may be lost.
            if let Err(error) = databases.interrupt() {
                tracing::warn!("could not interrupt {what}: {error}");
            }
        }
    });
    let done = pool.dismiss();
    match done.clients.into_iter().find_map(|client| client.error) {
        _ if stopped => Err(refused("it was interrupted".to_owned())),
        Some(error) => Err(refused(error)),
        None => Ok(()),
    }
}

/// Loads in bulk on threads of its own, and tells how far it is.
fn bulk_load(
    databases: &mut dyn OwnDatabases,
    own: &OwnWorkload,
    on_tick: &mut dyn FnMut(Tick) -> Course,
) -> Result<(), TargetError> {
    let total = match &own.load {
        None | Some(Load::Script { .. }) => return Ok(()),
        Some(Load::Columns { rows, .. }) => *rows,
        Some(Load::Copy { .. }) => 0,
    };
    let loaded = load(databases, own, &mut |rows| {
        on_tick(Tick { rows, loading: Some(total), pulse: rows }) == Course::Continue
    })?;
    if let Some(rows) = loaded.filter(|rows| total > 0 && *rows != total) {
        return Err(TargetError::engine(
            "could not load",
            format!("the engine counted {rows} of {total} rows"),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_of_the_scripts_alone_shares_the_load_of_its_levels() {
        let sql = |text: &str| Some(SqlText { file: "x.sql".to_owned(), text: text.to_owned() });
        let name = |schema: &str, n: &str| {
            let definitions = vec![("n".to_owned(), n.to_owned())];
            let own = OwnWorkload { schema: sql(schema), definitions, ..OwnWorkload::default() };
            content_name(&own, crate::engine::noop::ENGINE.id, &Work::example())
        };
        assert_eq!(name("CREATE TABLE t (i int);", "1"), name("CREATE TABLE t (i int);", "2"));
        assert_ne!(
            name("CREATE TABLE t (i int DEFAULT :n);", "1"),
            name("CREATE TABLE t (i int DEFAULT :n);", "2")
        );
        assert_ne!(name("CREATE TABLE t (i int);", "1"), name("CREATE TABLE u (i int);", "1"));
    }
}
