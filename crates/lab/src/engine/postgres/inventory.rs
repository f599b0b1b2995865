//! A few settings of any server, asked over one connection that changes nothing.

use std::collections::BTreeMap;

use super::super::TargetError;
use super::address;
use super::control::literal;
use super::external::connecting::connect;
use super::wire::{Endpoint, Login, Rows, WireError};

/// Memory for the rows of one answer: a version, or ten settings.
pub(super) const ANSWER_BYTES_MAX: usize = 1 << 20;

/// A server to ask.
#[derive(Clone, Debug)]
pub(crate) struct ServerQuestion {
    login: Login,
}

/// What a server said about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerAnswer {
    /// `version()`.
    pub(crate) version: String,
    /// Those of the asked settings that it has, as it prints them.
    pub(crate) settings: BTreeMap<String, String>,
}

impl ServerQuestion {
    /// The server at `url`; nothing is sent to it yet.
    ///
    /// # Errors
    /// A URL that is none.
    pub(crate) fn of(url: &str) -> Result<Self, TargetError> {
        address::parse(url, "fathom-inventory").map(|login| Self { login })
    }

    /// `host:port/database`, without user and password.
    pub(crate) fn place(&self) -> String {
        place(&self.login)
    }

    /// Is it on this machine, as far as its address tells?
    pub(crate) fn is_local(&self) -> bool {
        is_local(&self.login)
    }

    /// Asks for the version and for settings by name.
    ///
    /// # Errors
    /// A server that cannot be reached or does not answer.
    pub(crate) fn ask(&self, names: &[&str]) -> Result<ServerAnswer, TargetError> {
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
        Ok(ServerAnswer { version, settings })
    }
}

pub(super) fn place(login: &Login) -> String {
    match &login.endpoint {
        Endpoint::Unix { directory, port } => format!("{}:{port}/{}", directory.display(), login.database),
        Endpoint::Tcp { host, port } => format!("{host}:{port}/{}", login.database),
    }
}

pub(super) fn is_local(login: &Login) -> bool {
    match &login.endpoint {
        Endpoint::Unix { .. } => true,
        Endpoint::Tcp { host, .. } => host == "localhost" || host.starts_with("127.") || host == "::1",
    }
}
