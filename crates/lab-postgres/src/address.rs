//! The URL of an external server, read into a login. The password goes into keeping at once.

mod connection_string;
mod environment;
mod exercise;
mod passfile;
mod refusal;
mod service;
#[cfg(test)]
mod tests;
mod timeout;

use std::path::{Path, PathBuf};

use lab::engine::TargetError;

use super::wire::{Authorities, Endpoint, Login, Secret, Security, SslMode};
use crate::address::connection_string::{Parameters, parameters};
use environment::ONLY;
pub use exercise::exercise_address;
use refusal::refused;

/// Port when the URL names none.
const DEFAULT_PORT: u16 = 5432;

/// Database for control, and role, when the URL names none; every server has them.
const DEFAULT_NAME: &str = "postgres";

/// Certificates of authorities in a home directory, as libpq has them.
const HOME_AUTHORITIES: &str = ".postgresql/root.crt";

/// Parameters of libpq that change nothing here: names, pauses and choices among several servers.
const IGNORED: [&str; 14] = [
    "application_name",
    "client_encoding",
    "fallback_application_name",
    "keepalives",
    "keepalives_count",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_retries",
    "krbsrvname",
    "load_balance_hosts",
    "sslcompression",
    "sslsni",
    "target_session_attrs",
    "tcp_user_timeout",
];

/// Parameters of libpq that cannot be passed over in silence.
const REFUSED: [&str; 10] = [
    "require_auth",
    "requirepeer",
    "ssl_max_protocol_version",
    "ssl_min_protocol_version",
    "sslcert",
    "sslcertmode",
    "sslcrl",
    "sslcrldir",
    "sslkey",
    "sslpassword",
];

/// Reads `postgresql://user:password@host:port/database?sslmode=...`, or the `key=value` form. What is not there is
/// taken from the service (`service` or `PGSERVICE`), then from the variables of libpq (`PGHOST`, `PGPORT`, `PGUSER`,
/// `PGDATABASE`, `PGPASSWORD`, `PGSSLMODE` and others); a password then from the password file, a host from the sockets
/// of this machine.
///
/// # Errors
/// Text that is no such URL (never quoted, as it may hold a password), several hosts, parameters that cannot be
/// heeded, authorities that cannot be read, a service that is not defined.
pub(super) fn parse(url: &str, application_name: &str) -> Result<Login, TargetError> {
    login(url, application_name, &|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
}

/// What a URL said, before it is made sense of.
#[derive(Default)]
struct Said {
    host: Option<String>,
    address: Option<String>,
    port: Option<u16>,
    user: Option<String>,
    password: Option<String>,
    passfile: Option<String>,
    database: Option<String>,
    options: Option<String>,
    mode: Option<String>,
    authorities: Option<String>,
    connect_timeout: Option<String>,
}

fn login(
    url: &str,
    application_name: &str,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Login, TargetError> {
    let given = with_service(parameters(url).map_err(refused)?, environment)?;
    let mut all = environment::parameters(&given, environment)?;
    all.extend(given);
    let said = read(all)?;
    let port = said.port.unwrap_or(DEFAULT_PORT);
    let address = said.address.or_else(|| said.host.clone()).or_else(|| environment::socket_directory(port));
    let Some(address) = address else {
        return Err(refused(&format!(
            "it names no host, PGHOST is not set, and no server on this machine has a socket for port {port}"
        )));
    };
    if address.contains(',') {
        return Err(refused("it names several hosts, one is needed"));
    }
    let is_socket = address.starts_with('/');
    let mode = mode(said.mode, environment)?;
    let security = if is_socket {
        Security::none()
    } else {
        let authorities = said.authorities.or_else(|| environment("PGSSLROOTCERT"));
        let (mode, authorities) = trust(mode, authorities, environment("HOME"))?;
        let host = said.host.as_deref().unwrap_or(&address);
        Security::new(mode, &authorities, host)
            .map_err(|refusal| TargetError::refused(refusal.text, refusal.hint))?
    };
    let endpoint = if is_socket {
        Endpoint::Unix { directory: PathBuf::from(address), port }
    } else {
        Endpoint::Tcp { host: address, port }
    };
    let user = said.user.or_else(|| environment("USER")).unwrap_or_else(|| DEFAULT_NAME.to_owned());
    let database = said.database.unwrap_or_else(|| DEFAULT_NAME.to_owned());
    let password = said.password.or_else(|| environment("PGPASSWORD")).map(Secret::new).or_else(|| {
        let host = said.host.as_deref().filter(|_| !is_socket);
        let connection = passfile::Connection { host, endpoint: &endpoint, database: &database, user: &user };
        let path = passfile::path(said.passfile, environment)?;
        passfile::password(&path, &connection).unwrap_or_else(|reason| {
            tracing::warn!("{reason}");
            None
        })
    });
    let options = said.options;
    let application_name = application_name.to_owned();
    let connect_time_max = timeout::connecting(said.connect_timeout, environment)?;
    Ok(Login { endpoint, user, password, database, application_name, options, security, connect_time_max })
}

/// The service that a URL names, else `PGSERVICE`.
pub(super) fn service_of(url: &str) -> Option<String> {
    let named = parameters(url).ok()?.into_iter().rev().find(|(name, _)| name == "service");
    named.map(|(_, value)| value).or_else(|| std::env::var("PGSERVICE").ok()).filter(|name| !name.is_empty())
}

/// What the environment adds to a URL and its service to say which server and database is meant: `host=db`, ...
pub(super) fn places_of_environment(url: &str) -> Vec<String> {
    let environment = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let given = parameters(url).ok().and_then(|parameters| with_service(parameters, &environment).ok());
    // What cannot be read is refused when the server is connected to.
    given.and_then(|given| environment::places(&given, &environment).ok()).unwrap_or_default()
}

/// The parameters of the service, if one is named, before those of the URL, which override them.
fn with_service(
    parameters: Parameters,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Parameters, TargetError> {
    let (of_service, of_url): (Vec<_>, Vec<_>) =
        parameters.into_iter().partition(|(name, _)| name == "service" || name == "servicefile");
    let last = |wanted: &str| {
        let found = of_service.iter().rev().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.clone()).filter(|value| !value.is_empty())
    };
    let Some(service) = last("service").or_else(|| environment("PGSERVICE")) else { return Ok(of_url) };
    let mut all = service::parameters(&service, last("servicefile"), environment).map_err(|reason| {
        let hint = "define it as [NAME] in ~/.pg_service.conf, or name the file with PGSERVICEFILE";
        TargetError::refused(format!("cannot read the URL of the server: {reason}"), hint)
    })?;
    all.extend(of_url);
    Ok(all)
}

fn read(parameters: Parameters) -> Result<Said, TargetError> {
    let mut said = Said::default();
    for (name, value) in parameters {
        let value = Some(value).filter(|value| !value.is_empty());
        match name.as_str() {
            "host" => said.host = value,
            "hostaddr" => said.address = value,
            "port" => {
                said.port = match value.map(|value| value.parse()) {
                    None => None,
                    Some(Ok(port)) => Some(port),
                    Some(Err(_)) => return Err(refused("its port is no number up to 65535")),
                };
            }
            "user" => said.user = value,
            "password" => said.password = value,
            "passfile" => said.passfile = value,
            "dbname" => said.database = value,
            "options" => said.options = value,
            "sslmode" => said.mode = value,
            "sslrootcert" => said.authorities = value,
            "connect_timeout" => said.connect_timeout = value,
            name if IGNORED.contains(&name) => {}
            name => {
                let allowed = ONLY.iter().find(|(only, _)| *only == name).map(|(_, allowed)| *allowed);
                let known = allowed.is_some() || REFUSED.contains(&name);
                match (allowed, value) {
                    (Some(allowed), Some(value)) if allowed.contains(&value.as_str()) => {}
                    (Some(allowed), _) => {
                        return Err(refused(&format!("its {name} is not one of {}", allowed.join(", "))));
                    }
                    (None, _) if known => {
                        return Err(refused(&format!("its parameter {name} cannot be heeded here")));
                    }
                    // Not even the name is quoted: it may be a piece of the password.
                    _ => return Err(refused("it has a parameter that libpq does not have")),
                }
            }
        }
    }
    Ok(said)
}

/// `sslmode`, else `PGSSLMODE`. A value of the URL is not quoted, as it may be a piece of a password.
fn mode(
    said: Option<String>,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<SslMode>, TargetError> {
    let (value, is_of_url) = match said {
        Some(value) => (value, true),
        None => match environment("PGSSLMODE") {
            Some(value) => (value, false),
            None => return Ok(None),
        },
    };
    if let Ok(mode) = value.parse() {
        return Ok(Some(mode));
    }
    let what = if is_of_url {
        "cannot read the URL of the server: its sslmode".to_owned()
    } else {
        format!("PGSSLMODE=\"{value}\"")
    };
    let near = SslMode::NAMES.into_iter().find(|name| strsim::damerau_levenshtein(&value, name) <= 2);
    let hint = near.map_or_else(
        || {
            "sslmode=require encrypts, sslmode=verify-full verifies the certificate and the host name too"
                .to_owned()
        },
        |near| format!("write sslmode={near}"),
    );
    Err(TargetError::refused(format!("{what} is not one of {}", SslMode::NAMES.join(", ")), hint))
}

/// What `sslmode` and `sslrootcert` come to, in a home directory that may hold certificates.
// EVIDENCE: PostgreSQL documentation, "SSL Support" (libpq), and sslmode and sslrootcert under "Parameter Key Words"
fn trust(
    mode: Option<SslMode>,
    authorities: Option<String>,
    home: Option<String>,
) -> Result<(SslMode, Authorities), TargetError> {
    let wishes_system = authorities.as_deref() == Some("system");
    let mode = match mode {
        Some(mode) => mode,
        None if wishes_system => SslMode::VerifyFull,
        None => SslMode::default(),
    };
    if wishes_system && mode != SslMode::VerifyFull {
        return Err(refused("its sslrootcert=system goes with sslmode=verify-full alone"));
    }
    let at_home = || home.map(|home| Path::new(&home).join(HOME_AUTHORITIES)).filter(|path| path.exists());
    let authorities = match authorities {
        Some(_) if wishes_system => Authorities::System,
        Some(file) => Authorities::File(PathBuf::from(file)),
        None => match at_home() {
            Some(file) => Authorities::File(file),
            None if matches!(mode, SslMode::VerifyCa | SslMode::VerifyFull) => Authorities::System,
            None => Authorities::Nobody,
        },
    };
    Ok((mode, authorities))
}
