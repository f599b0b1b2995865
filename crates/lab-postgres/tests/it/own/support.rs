//! What the tests of own workloads share.

use std::sync::Arc;

use lab::client::{ClientPool, Dispatch};
use lab::engine::{OwnDatabases, Target, TargetError};
use lab::own::{OwnWorkload, Part, Plan, Protocol, SqlText, WeightedScript};
use lab::work::{Amount, Work, Workload};
use lab_postgres::{ManagedPostgres, ServerBinaries};
use results::EngineId;
use results::scripts::{FailureKind, ScriptRecord};

use crate::support::{managed, work};
use lab::engine::Layout;

pub(super) const PROTOCOLS: [Protocol; 3] = [Protocol::Simple, Protocol::Extended, Protocol::Prepared];

pub(super) fn text(file: &str, text: &str) -> SqlText {
    SqlText { file: file.to_owned(), text: text.to_owned() }
}

/// A workload of these scripts with equal weights.
pub(super) fn own(schema: &str, scripts: &[&str]) -> OwnWorkload {
    let weighted = |(index, sql): (usize, &&str)| WeightedScript {
        sql: text(&format!("script-{index}.sql"), sql),
        weight: 1,
    };
    OwnWorkload {
        schema: Some(text("schema.sql", schema)),
        scripts: scripts.iter().enumerate().map(weighted).collect(),
        scale: 1,
        max_tries: 1,
        ..OwnWorkload::default()
    }
}

/// A run of `transactions` scripts over all connections.
pub(super) fn own_work(own: &OwnWorkload, connections: u32, transactions: u64) -> Work {
    Work {
        workload: Workload::Own,
        connections,
        amount: Amount::Rows(transactions),
        batch_size: 1,
        own: Some(Arc::new(own.clone())),
        ..work()
    }
}

pub(super) fn plan(own: &OwnWorkload, part: Part, work: &Work) -> Arc<Plan> {
    Arc::new(Plan::new(own, part, EngineId::Postgres, work).unwrap().unwrap())
}

/// Lets the clients of `work` execute a part of the workload.
pub(super) fn execute(target: &mut dyn Target, own: &OwnWorkload, part: Part, work: &Work) -> Dispatch {
    let connector = target.own_databases().unwrap().connector(plan(own, part, work));
    let mut pool = ClientPool::assemble(&connector, work, 1).unwrap();
    pool.release();
    pool.wait(&mut |_| {});
    pool.dismiss()
}

/// A target with the schema of a workload in the database of the run.
pub(super) fn provide(target: &mut dyn Target, own: &OwnWorkload, work: &Work) {
    target.prepare(work).unwrap();
    target.own_databases().unwrap().make_empty().unwrap();
    let schema = Work { connections: 1, amount: Amount::Rows(1), ..work.clone() };
    assert_succeeded(&execute(target, own, Part::Schema, &schema));
}

/// A managed target with that schema.
pub(super) fn provided(
    server: &ServerBinaries,
    base: &std::path::Path,
    own: &OwnWorkload,
    work: &Work,
) -> ManagedPostgres {
    let mut target = managed(server, base, Layout::default());
    provide(&mut target, own, work);
    target
}

pub(super) fn assert_succeeded(done: &Dispatch) {
    assert_eq!(errors(done), Vec::<String>::new());
}

/// What ended clients.
pub(super) fn errors(done: &Dispatch) -> Vec<String> {
    let ended = done.clients.iter().filter(|client| client.end_ns.is_none());
    ended.filter_map(|client| client.error.clone()).collect()
}

/// Failed statements of a script by kind.
pub(super) fn failed_statements(script: &ScriptRecord) -> Vec<(FailureKind, u64)> {
    let failures = script.statements.iter().flat_map(|statement| &statement.failures);
    failures.map(|failure| (failure.kind, failure.count)).collect()
}

pub(super) fn first_failure(done: &Dispatch) -> String {
    let statements = done.scripts.iter().flat_map(|script| &script.statements);
    statements.filter_map(|statement| statement.first_failure.clone()).next().unwrap_or_default()
}

/// Executes one script once with one client; returns what ended it.
pub(super) fn once(target: &mut dyn Target, own: &OwnWorkload) -> Result<Dispatch, String> {
    let work = own_work(own, 1, 1);
    let done = execute(target, own, Part::Scripts, &work);
    match errors(&done).first() {
        None => Ok(done),
        Some(error) => Err(error.clone()),
    }
}

/// The same workload with other scripts.
pub(super) fn with_scripts(base: &OwnWorkload, protocol: Protocol, scripts: &[&str]) -> OwnWorkload {
    OwnWorkload { protocol, ..own(base.schema.as_ref().map_or("", |schema| schema.text.as_str()), scripts) }
}

/// Has the server parse all statements of the scripts.
pub(super) fn parse(target: &mut dyn Target, own: &OwnWorkload) -> Result<(), TargetError> {
    let plan = plan(own, Part::Scripts, &own_work(own, 1, 1));
    target.own_databases().unwrap().parse_all(&plan)
}

/// Values of a query in the database of the run, as a superuser sees them; NULL is the empty text.
pub(super) fn values(target: &ManagedPostgres, sql: &str) -> Vec<String> {
    let mut values = Vec::new();
    crate::support::runtime().block_on(async {
        let mut config = tokio_postgres::Config::new();
        config.host_path(target.cluster().socket_directory()).port(target.cluster().port());
        config.user("fathom").dbname("fathom_own");
        let (client, connection) = config.connect(tokio_postgres::NoTls).await.unwrap();
        let driver = tokio::spawn(connection);
        for message in client.simple_query(sql).await.unwrap() {
            if let tokio_postgres::SimpleQueryMessage::Row(row) = message {
                values.extend((0..row.len()).map(|column| row.get(column).unwrap_or_default().to_owned()));
            }
        }
        drop(client);
        let _ = driver.await;
    });
    values
}

/// The engine's interface as a trait object, for calls that are the same on both targets.
pub(super) fn databases(target: &mut dyn Target) -> &mut dyn OwnDatabases {
    target.own_databases().unwrap()
}
