//! A few settings of any server, asked over one connection that changes nothing.

use std::collections::BTreeMap;

use super::super::TargetError;
use super::address;
use super::control::literal;
use super::external::connecting::connect;
use super::wire::{Endpoint, Login};

/// What a server said about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerAnswer {
    /// `host:port/database`, without user and password.
    pub(crate) server: String,
    /// `version()`.
    pub(crate) version: String,
    /// Is it on this machine, as far as its address tells?
    pub(crate) is_local: bool,
    /// Those of the asked settings that it has, as it prints them.
    pub(crate) settings: BTreeMap<String, String>,
}

/// Asks the server at `url` for its version and for settings by name.
///
/// # Errors
/// A URL that is none, a server that cannot be reached or does not answer; with its place, as far as it is known.
pub(crate) fn ask_server(url: &str, names: &[&str]) -> Result<ServerAnswer, (Option<String>, TargetError)> {
    let login = address::parse(url, "fathom-inventory").map_err(|error| (None, error))?;
    let server = place(&login);
    let failed = |error: TargetError| (Some(server.clone()), error);
    let mut control = connect(&login).map_err(failed)?;
    let version = control
        .value("could not ask the server for its version", "SELECT version()")
        .map_err(failed)?
        .unwrap_or_default();
    let list: Vec<String> = names.iter().map(|name| literal(name)).collect();
    let sql =
        format!("SELECT name, current_setting(name) FROM pg_settings WHERE name IN ({})", list.join(", "));
    // Servers that only speak the protocol may have no such list: then their settings are not known.
    let rows = control.query(&sql).unwrap_or_default();
    control.close();
    let settings = rows
        .into_iter()
        .filter_map(|row| {
            let mut values = row.into_iter();
            Some((values.next()??, values.next()??))
        })
        .collect();
    Ok(ServerAnswer { version, is_local: is_local(&login), settings, server })
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
