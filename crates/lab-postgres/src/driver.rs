//! What choosing PostgreSQL comes to: clusters of our own, or a server that a URL names.

use std::fmt;
use std::path::Path;

use lab::engine::{
    Driver, Engine, Installation, Layout, Limitation, Provider, Target, TargetError, TargetOptions,
};
use lab::inventory::Survey;
use lab::work::Work;

use crate::waits::live::LivePostgres;
use crate::workload::sql;
use crate::{
    ENGINE, ExternalOptions, ExternalPostgres, ManagedOptions, ManagedPostgres, ServerBinaries, address,
    find_servers, inventory, managed_limitations, require_servers,
};

/// How PostgreSQL is reached.
pub static DRIVER: Driver = Driver {
    engine: &ENGINE,
    provide,
    installation,
    survey: Some(Survey::Servers(inventory::question)),
    attach: Some(|url, way| Ok(Box::new(LivePostgres::attach(url, way)?))),
    sql: sql::parts,
};

fn installation() -> Installation {
    match find_servers(&[]).into_iter().next() {
        Some(server) => Installation::Installed { version: server.version },
        None => Installation::Missing { install: "apt-get install postgresql" },
    }
}

fn provide(options: &TargetOptions) -> Result<Box<dyn Provider>, TargetError> {
    Ok(match &options.url {
        Some(url) => Box::new(External { url: url.clone() }),
        None => Box::new(Managed { servers: servers(options)?, port: options.port }),
    })
}

/// The named servers, or the newest installed one.
fn servers(options: &TargetOptions) -> Result<Vec<ServerBinaries>, TargetError> {
    let mut servers = require_servers(&options.server_binaries)?;
    if options.server_binaries.is_empty() {
        servers.truncate(1);
    }
    if servers.len() > 1 && options.port.is_some() {
        return Err(TargetError::refused(
            format!("--pg-port sets one port, but there are {} servers", servers.len()),
            "leave it out",
        ));
    }
    Ok(servers)
}

/// Clusters of our own, one for each server.
#[derive(Debug)]
struct Managed {
    servers: Vec<ServerBinaries>,
    port: Option<u16>,
}

impl Provider for Managed {
    fn engine(&self) -> &'static Engine {
        &ENGINE
    }

    fn limitations(&self, layout: &Layout, work: &Work) -> Vec<Limitation> {
        managed_limitations(layout, work)
    }

    fn servers(&self) -> Vec<String> {
        let is_twice =
            |version: &str| self.servers.iter().filter(|server| server.version == version).count() > 1;
        self.servers
            .iter()
            .map(|server| match is_twice(&server.version) {
                true => format!("{} in {}", server.version, server.bin_dir.display()),
                false => server.version.clone(),
            })
            .collect()
    }

    fn identity(&self) -> String {
        let names = self.servers.iter().map(|server| format!("{} {}", ENGINE.id, server.major));
        names.collect::<Vec<_>>().join(", ")
    }

    fn start(&self, layout: &Layout, base: &Path) -> Result<Vec<Box<dyn Target>>, TargetError> {
        let mut targets: Vec<Box<dyn Target>> = Vec::new();
        for server in &self.servers {
            targets.push(Box::new(ManagedPostgres::create(&ManagedOptions {
                server: server.clone(),
                base: base.to_owned(),
                layout: layout.clone(),
                port: self.port,
            })?));
        }
        Ok(targets)
    }
}

/// A database on a server that somebody else runs.
struct External {
    url: String,
}

impl fmt::Debug for External {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The URL may hold a password.
        formatter.debug_struct("External").finish_non_exhaustive()
    }
}

impl Provider for External {
    fn engine(&self) -> &'static Engine {
        &ENGINE
    }

    fn is_foreign(&self) -> bool {
        true
    }

    /// Known only to the server.
    fn limitations(&self, _layout: &Layout, _work: &Work) -> Vec<Limitation> {
        Vec::new()
    }

    fn identity(&self) -> String {
        identity_of(&self.url, address::service_of(&self.url), &address::places_of_environment(&self.url))
    }

    fn start(&self, _layout: &Layout, _base: &Path) -> Result<Vec<Box<dyn Target>>, TargetError> {
        let options = ExternalOptions { url: self.url.clone(), database: None };
        Ok(vec![Box::new(ExternalPostgres::connect(&options)?)])
    }
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

#[cfg(test)]
mod tests {
    use super::*;

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
