//! The files of a running PostgreSQL server, found by its address: they must be on this machine.

use std::path::{Path, PathBuf};

use anyhow::bail;
use lab_postgres::ServerLocation;
use results::EngineId;

use super::list::{checker, is_url, url_scheme};

/// A server whose data directory lies on this machine.
pub(crate) struct LocalServer {
    /// The connection, which can be asked on.
    pub(crate) server: ServerLocation,
    /// Its data directory, proven to be that of this server where the server tells its system identifier.
    pub(crate) directory: PathBuf,
    /// Checks its files.
    pub(crate) engine: &'static check::Engine,
}

impl LocalServer {
    /// Asks a server for its data directory and opens it. `verb` is what is about to be done, for the messages.
    pub(crate) fn ask(url: &str, verb: &str) -> anyhow::Result<Self> {
        if !is_url(url) {
            let scheme = url.split("://").next().unwrap_or_default();
            bail!(
                "cannot {verb} a \"{scheme}\" URL: only {}:// is supported\nhint: give files and backups by path",
                url_scheme()
            );
        }
        let server = ServerLocation::ask(url)?;
        let Some(directory) = server.data_directory.clone() else {
            bail!(
                "could not read data_directory of {}: permission denied\nhint: grant pg_read_all_settings to the user, or give the directory itself",
                server.server
            );
        };
        let found = system_identifier(&directory, &server.server)?;
        if server.system_identifier.is_some() && found != server.system_identifier {
            bail!(
                "directory \"{}\" on this machine does not belong to {}: the system identifiers differ\nhint: run fathom on the machine of the server",
                directory.display(),
                server.server
            );
        }
        Ok(Self { server, directory, engine: checker(EngineId::Postgres)? })
    }

    /// How a report names what was read: the address without what is secret in it.
    pub(crate) fn name(&self) -> String {
        format!("{}://{}", url_scheme(), self.server.server)
    }
}

/// What the files of a data directory say that they are the files of.
#[cfg(feature = "checkers")]
fn system_identifier(directory: &Path, server: &str) -> anyhow::Result<Option<u64>> {
    use anyhow::Context;

    let cluster = check_postgres::Cluster::open(directory).with_context(|| {
        format!(
            "could not open the data directory \"{}\" of {server} on this machine\nhint: run fathom on the machine of the server, as a user who may read it, or name a base backup",
            directory.display(),
        )
    })?;
    Ok(cluster.control.map(|control| control.system_identifier))
}

/// Refuses, in a build without the feature `checkers`.
#[cfg(not(feature = "checkers"))]
fn system_identifier(_: &Path, _: &str) -> anyhow::Result<Option<u64>> {
    Err(super::list::without_checkers())
}
