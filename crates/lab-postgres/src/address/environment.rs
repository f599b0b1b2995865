//! What the environment says of a connection, where neither the URL nor the service says it.

use lab::engine::TargetError;

use crate::address::connection_string::Parameters;

/// Parameters of libpq that are heeded as far as these values go.
pub(super) const ONLY: [(&str, &[&str]); 3] = [
    ("channel_binding", &["disable", "prefer"]),
    ("gssencmode", &["disable", "prefer"]),
    ("sslnegotiation", &["postgres"]),
];

/// Variables of libpq with the parameters that they stand for. Those of passwords, files and TLS are read where they are
/// needed.
// EVIDENCE: PostgreSQL documentation, "Environment Variables" (libpq)
const VARIABLES: [(&str, &str); 10] = [
    ("PGHOST", "host"),
    ("PGHOSTADDR", "hostaddr"),
    ("PGPORT", "port"),
    ("PGUSER", "user"),
    ("PGDATABASE", "dbname"),
    ("PGOPTIONS", "options"),
    ("PGCHANNELBINDING", "channel_binding"),
    ("PGGSSENCMODE", "gssencmode"),
    ("PGSSLNEGOTIATION", "sslnegotiation"),
    ("PGREQUIREAUTH", "require_auth"),
];

/// Parameters that tell one server, user or database from another.
const PLACES: [&str; 5] = ["host", "hostaddr", "port", "user", "dbname"];

/// Directories in which servers have their sockets: that of Debian and Red Hat, and that of PostgreSQL itself.
const SOCKET_DIRECTORIES: [&str; 2] = ["/var/run/postgresql", "/tmp"];

/// The parameters that variables give, without those that are given already.
///
/// # Errors
/// A port that is none, and demands that cannot be met: a connection would be less safe than asked for.
pub(super) fn parameters(
    given: &Parameters,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Parameters, TargetError> {
    let mut parameters = Parameters::new();
    for (variable, name) in VARIABLES {
        let is_given = given.iter().any(|(known, value)| known == name && !value.is_empty());
        let Some(value) = environment(variable).filter(|_| !is_given) else { continue };
        if name == "port" && value.parse::<u16>().is_err() {
            let text = format!("PGPORT=\"{value}\" is no number up to 65535");
            return Err(TargetError::refused(text, "unset PGPORT, or write the port into the URL"));
        }
        let allowed = ONLY.iter().find(|(only, _)| *only == name).map(|(_, allowed)| *allowed);
        if name == "require_auth" || allowed.is_some_and(|allowed| !allowed.contains(&value.as_str())) {
            let text = format!("{variable}=\"{value}\" cannot be met: fathom's connections do not have it");
            return Err(TargetError::refused(text, format!("unset {variable}")));
        }
        parameters.push((name.to_owned(), value));
    }
    Ok(parameters)
}

/// Those of [`parameters`] that decide which server and database is meant, as `NAME=VALUE`.
pub(super) fn places(
    given: &Parameters,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<String>, TargetError> {
    let all = parameters(given, environment)?;
    let places = all.into_iter().filter(|(name, _)| PLACES.contains(&name.as_str()));
    Ok(places.map(|(name, value)| format!("{name}={value}")).collect())
}

/// The directory of the socket of a server on this machine with this port, for an address without a host.
pub(super) fn socket_directory(port: u16) -> Option<String> {
    let has_socket =
        |directory: &&str| std::path::Path::new(directory).join(format!(".s.PGSQL.{port}")).exists();
    SOCKET_DIRECTORIES.into_iter().find(has_socket).map(str::to_owned)
}
