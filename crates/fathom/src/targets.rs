//! From `--target` to engines under test.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use lab::engine::noop::NoopTarget;
use lab::engine::postgres::{
    ExternalOptions, ExternalPostgres, ManagedOptions, ManagedPostgres, ServerBinaries, find_servers,
    managed_limitations, places_of_environment, require_servers, service_of,
};
use lab::engine::sqlite::{self, SqliteTarget};
use lab::engine::{Layout, Limitation, Target};
use lab::work::Work;

use crate::arguments::RunArguments;

/// What `--target` means, before anything is made.
pub(crate) enum TargetChoice {
    /// No engine.
    Noop,
    /// Embedded SQLite.
    Sqlite,
    /// Clusters of our own, one per server.
    Managed { servers: Vec<ServerBinaries>, port: Option<u16> },
    /// A server that somebody else runs.
    External { url: String },
}

impl fmt::Debug for TargetChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The URL may hold a password.
        f.write_str(self.engine())
    }
}

impl TargetChoice {
    /// Reads `--target` and the options that belong to it.
    pub(crate) fn parse(arguments: &RunArguments) -> anyhow::Result<Self> {
        let choice = match arguments.target.as_str() {
            "noop" => Self::Noop,
            "sqlite" => Self::Sqlite,
            "postgres" | "postgresql" => {
                Self::Managed { servers: servers(arguments)?, port: arguments.pg_port }
            }
            url if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
                Self::External { url: url.to_owned() }
            }
            // Not quoted when it looks like a URL: it may hold a password.
            other if other.contains("://") => {
                bail!("the URL of the target has an unknown scheme\nhint: use postgres://user@host/database")
            }
            // Not quoted either unless it is a plain word: a slip of the pen may put a password anywhere.
            other if !other.chars().all(|letter| letter.is_alphanumeric() || "-_.".contains(letter)) => {
                bail!(
                    "the target is neither an engine nor a URL\nhint: use sqlite, postgres, noop or a URL such as postgres://user@host/database"
                )
            }
            other => bail!(
                "target \"{other}\" is not known\nhint: use sqlite, postgres, noop or a URL such as postgres://user@host/database"
            ),
        };
        if !matches!(choice, Self::Managed { .. })
            && (!arguments.pg_bin.is_empty() || arguments.pg_port.is_some())
        {
            bail!("--pg-bin and --pg-port need --target postgres");
        }
        if !choice.is_local() && (!arguments.data.is_empty() || arguments.log.is_some()) {
            bail!(
                "--data and --log name directories for an engine that fathom runs itself\nhint: leave them out, or use --target sqlite or postgres"
            );
        }
        Ok(choice)
    }

    /// Kind of engine as specs name it.
    pub(crate) fn engine(&self) -> &'static str {
        match self {
            Self::Noop => "noop",
            Self::Sqlite => "sqlite",
            Self::Managed { .. } | Self::External { .. } => "postgres",
        }
    }

    /// Does the engine keep its files in directories that fathom made on this machine?
    pub(crate) fn is_local(&self) -> bool {
        matches!(self, Self::Sqlite | Self::Managed { .. })
    }

    /// Does somebody else run the server?
    pub(crate) fn is_foreign(&self) -> bool {
        matches!(self, Self::External { .. })
    }

    /// What the engine cannot do or does in its own way, as far as it is known without starting it.
    pub(crate) fn limitations(&self, layout: &Layout, work: &Work) -> Vec<Limitation> {
        match self {
            Self::Noop => NoopTarget.limitations(work),
            Self::Sqlite => sqlite::limitations(work),
            Self::Managed { .. } => managed_limitations(layout, work),
            // Known only to the server.
            Self::External { .. } => Vec::new(),
        }
    }

    /// Names of the servers, in order.
    pub(crate) fn servers(&self) -> Vec<String> {
        match self {
            Self::Managed { servers, .. } => {
                let is_twice =
                    |version: &str| servers.iter().filter(|server| server.version == version).count() > 1;
                servers
                    .iter()
                    .map(|server| match is_twice(&server.version) {
                        true => format!("{} in {}", server.version, server.bin_dir.display()),
                        false => server.version.clone(),
                    })
                    .collect()
            }
            _ => vec![self.engine().to_owned()],
        }
    }

    /// What makes two studies on this kind of target different, without any password.
    pub(crate) fn identity(&self) -> String {
        match self {
            Self::Managed { servers, .. } => servers
                .iter()
                .map(|server| format!("postgres {}", server.major))
                .collect::<Vec<_>>()
                .join(", "),
            Self::External { url } => identity_of(url, service_of(url), &places_of_environment(url)),
            _ => self.engine().to_owned(),
        }
    }

    /// Makes the engines. `base` is where managed ones live unless the layout says otherwise.
    pub(crate) fn start(&self, layout: &Layout, base: &Path) -> anyhow::Result<Vec<Box<dyn Target>>> {
        Ok(match self {
            Self::Noop => vec![Box::new(NoopTarget)],
            Self::Sqlite => vec![Box::new(SqliteTarget::new(layout, base)?)],
            Self::Managed { servers, port } => {
                let mut targets: Vec<Box<dyn Target>> = Vec::new();
                for server in servers {
                    targets.push(Box::new(ManagedPostgres::create(&ManagedOptions {
                        server: server.clone(),
                        base: base.to_owned(),
                        layout: layout.clone(),
                        port: *port,
                    })?));
                }
                targets
            }
            Self::External { url } => {
                let options = ExternalOptions { url: url.clone(), database: None };
                vec![Box::new(ExternalPostgres::connect(&options)?)]
            }
        })
    }
}

/// The named servers, or the newest installed one.
fn servers(arguments: &RunArguments) -> anyhow::Result<Vec<ServerBinaries>> {
    let mut servers = require_servers(&arguments.pg_bin)?;
    if arguments.pg_bin.is_empty() {
        servers.truncate(1);
    }
    if servers.len() > 1 && arguments.pg_port.is_some() {
        bail!("--pg-port sets one port, but there are {} servers\nhint: leave it out", servers.len());
    }
    Ok(servers)
}

/// The server without any password: two services are two servers, and so are two values of PGHOST.
fn identity_of(url: &str, service: Option<String>, places: &[String]) -> String {
    let url = without_password(url);
    let service = service.map(|service| format!("service={service}"));
    let parts: Vec<String> = service.into_iter().chain(places.iter().cloned()).collect();
    if parts.is_empty() { url } else { format!("{url}?{}", parts.join("&")) }
}

/// The URL without user information's password and without its query, which may hold one too.
fn without_password(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else { return String::new() };
    match rest.rsplit_once('@') {
        Some((user, host)) => {
            let user = user.split(':').next().unwrap_or_default();
            format!("{scheme}://{user}@{host}")
        }
        None => format!("{scheme}://{rest}"),
    }
}

/// Directory in which managed engines live when no data directory is given: beside the results. Makes nothing.
pub(crate) fn default_base(results: &Path) -> anyhow::Result<PathBuf> {
    std::path::absolute(results.join("work")).context("could not find the current directory")
}

/// Version of the newest installed PostgreSQL server, when there is one.
pub(crate) fn newest_postgres() -> Option<String> {
    find_servers(&[]).into_iter().next().map(|server| server.version)
}

#[cfg(test)]
mod tests {
    use super::{identity_of, without_password};

    #[test]
    fn the_identity_of_an_external_server_holds_no_password() {
        assert_eq!(
            without_password("postgres://me:s3:cr@t@host:5433/db?password=x"),
            "postgres://me@host:5433/db"
        );
        assert_eq!(without_password("postgres://host/db"), "postgres://host/db");
        let of =
            |service: Option<&str>| identity_of("postgres:///?password=x", service.map(str::to_owned), &[]);
        let places = ["host=db".to_owned(), "port=1".to_owned()];
        assert_eq!(identity_of("postgres://", None, &places), "postgres://?host=db&port=1");
        assert_eq!(
            (of(Some("sales")).as_str(), of(None).as_str()),
            ("postgres:///?service=sales", "postgres:///")
        );
    }
}
