//! A few settings of any server, asked over one connection that changes nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use lab::engine::TargetError;
use lab::inventory::{InventoryRow, ServerQuestion};

use super::control::literal;
use super::external::connecting::connect;
use super::wire::{Endpoint, Login, Rows, WireError};
use crate::{ENGINE, address};

/// Memory for the rows of one answer: a version, or ten settings.
pub(super) const ANSWER_BYTES_MAX: usize = 1 << 20;

/// Settings that a row shows; from [`DURABILITY_FIRST`] on they say what a commit waits for.
const NAMES: [&str; 10] = [
    "max_parallel_workers_per_gather",
    "max_parallel_workers",
    "max_worker_processes",
    "max_connections",
    "shared_buffers",
    "max_wal_size",
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "wal_sync_method",
];

/// Index of the first setting of durability.
const DURABILITY_FIRST: usize = 6;

/// The server at `url`; nothing is sent to it yet.
///
/// # Errors
/// A URL that is none.
pub(super) fn question(url: &str) -> Result<Arc<dyn ServerQuestion>, TargetError> {
    let login = address::parse(url, "fathom-inventory")?;
    Ok(Arc::new(Question { login }))
}

/// A server to ask.
#[derive(Clone, Debug)]
struct Question {
    login: Login,
}

/// What a server said about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Answer {
    /// `version()`.
    version: String,
    /// Those of the asked settings that it has, as it prints them.
    settings: BTreeMap<String, String>,
}

impl ServerQuestion for Question {
    fn place(&self) -> String {
        place(&self.login)
    }

    fn is_local(&self) -> bool {
        self.login.endpoint.is_local()
    }

    fn ask(&self) -> Result<InventoryRow, TargetError> {
        let answer = self.answer(&NAMES)?;
        let setting = |name: &str| answer.settings.get(name).cloned();
        let number = |name: &str| setting(name).and_then(|value| value.parse().ok());
        let durability: Vec<String> = NAMES[DURABILITY_FIRST..]
            .iter()
            .filter_map(|name| Some(format!("{name}={}", answer.settings.get(*name)?)))
            .collect();
        Ok(InventoryRow {
            server: self.place(),
            engine: ENGINE.id.into(),
            version: Some(answer.version.clone()),
            workers_per_query: number(NAMES[0]),
            workers_total: number(NAMES[1]),
            worker_processes: number(NAMES[2]),
            connections_max: number(NAMES[3]),
            buffer_pool: setting(NAMES[4]),
            log_size: setting(NAMES[5]),
            durability: (!durability.is_empty()).then(|| durability.join(" ")),
            ..InventoryRow::default()
        })
    }
}

impl Question {
    /// Asks for the version and for settings by name.
    fn answer(&self, names: &[&str]) -> Result<Answer, TargetError> {
        let mut control = connect(&self.login)?;
        control.limit_answers(ANSWER_BYTES_MAX);
        let context = "could not ask the server for its version";
        let version = control
            .value(context, "SELECT version()")?
            .ok_or_else(|| TargetError::engine(context, "its answer has no value"))?;
        let list: Vec<String> = names.iter().map(|name| literal(name)).collect();
        let sql = format!(
            "SELECT name, current_setting(name) FROM pg_settings WHERE name IN ({})",
            list.join(", ")
        );
        let rows = match control.query(&sql) {
            Ok(rows) => rows,
            // Servers that only speak the protocol may have no such list: then their settings are not known.
            Err(WireError::Server(_)) => Rows::new(),
            Err(error) => {
                return Err(TargetError::engine("could not ask the server for its settings", error));
            }
        };
        control.close();
        let settings = rows
            .into_iter()
            .filter_map(|row| {
                let mut values = row.into_iter();
                Some((values.next()??, values.next()??))
            })
            .collect();
        Ok(Answer { version, settings })
    }
}

pub(super) fn place(login: &Login) -> String {
    match &login.endpoint {
        Endpoint::Unix { directory, port } => format!("{}:{port}/{}", directory.display(), login.database),
        Endpoint::Tcp { host, port } => format!("{host}:{port}/{}", login.database),
    }
}
