//! The URL of an external server, read into a login. The password goes into keeping at once.

use std::path::{Path, PathBuf};

use super::super::TargetError;
use super::connection_string::parameters;
use super::wire::{Authorities, Endpoint, Login, Secret, Security, SslMode};

/// Port when the URL names none.
const DEFAULT_PORT: u16 = 5432;

/// Database for control, and role, when the URL names none; every server has them.
const DEFAULT_NAME: &str = "postgres";

/// Certificates of authorities in a home directory, as libpq has them.
const HOME_AUTHORITIES: &str = ".postgresql/root.crt";

/// One thing to do about a URL that cannot be read.
const HINT: &str = "write postgresql://user@host:port/database, the password in PGPASSWORD";

/// Parameters of libpq that change nothing here: names, pauses and choices among several servers.
const IGNORED: [&str; 15] = [
    "application_name",
    "client_encoding",
    "connect_timeout",
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

/// Parameters of libpq that are heeded as far as these values go.
const ONLY: [(&str, &[&str]); 3] = [
    ("channel_binding", &["disable", "prefer"]),
    ("gssencmode", &["disable", "prefer"]),
    ("sslnegotiation", &["postgres"]),
];

/// Parameters of libpq that cannot be passed over in silence.
const REFUSED: [&str; 12] = [
    "passfile",
    "require_auth",
    "requirepeer",
    "service",
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
/// taken from `PGPASSWORD`, `PGSSLMODE` and `PGSSLROOTCERT`.
///
/// # Errors
/// Text that is no such URL (never quoted, as it may hold a password), several hosts, parameters that cannot be
/// heeded, authorities that cannot be read.
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
    database: Option<String>,
    options: Option<String>,
    mode: Option<String>,
    authorities: Option<String>,
}

fn login(
    url: &str,
    application_name: &str,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Login, TargetError> {
    let said = read(url)?;
    let address = said.address.or_else(|| said.host.clone());
    let Some(address) = address.filter(|address| !address.contains(',')) else {
        let found = if said.host.is_some() { "several hosts" } else { "no host" };
        return Err(refused(&format!("it names {found}, one is needed")));
    };
    let port = said.port.unwrap_or(DEFAULT_PORT);
    let is_socket = address.starts_with('/');
    let security = if is_socket {
        Security::none()
    } else {
        let mode = said.mode.or_else(|| environment("PGSSLMODE"));
        let authorities = said.authorities.or_else(|| environment("PGSSLROOTCERT"));
        let (mode, authorities) = trust(mode, authorities, environment("HOME"))?;
        let host = said.host.as_deref().unwrap_or(&address);
        Security::new(mode, &authorities, host).map_err(|reason| {
            TargetError::refused(
                reason,
                "name a file of certificates with sslrootcert=FILE, or ask for less with sslmode (docs/postgres.md)",
            )
        })?
    };
    Ok(Login {
        endpoint: if is_socket {
            Endpoint::Unix { directory: PathBuf::from(address), port }
        } else {
            Endpoint::Tcp { host: address, port }
        },
        user: said.user.or_else(|| environment("USER")).unwrap_or_else(|| DEFAULT_NAME.to_owned()),
        password: said.password.or_else(|| environment("PGPASSWORD")).map(Secret::new),
        database: said.database.unwrap_or_else(|| DEFAULT_NAME.to_owned()),
        application_name: application_name.to_owned(),
        options: said.options,
        security,
    })
}

fn read(url: &str) -> Result<Said, TargetError> {
    let mut said = Said::default();
    for (name, value) in parameters(url).map_err(refused)? {
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
            "dbname" => said.database = value,
            "options" => said.options = value,
            "sslmode" => said.mode = value,
            "sslrootcert" => said.authorities = value,
            name if IGNORED.contains(&name) => {}
            name => {
                let allowed = ONLY.iter().find(|(only, _)| *only == name).map(|(_, allowed)| *allowed);
                let known = allowed.is_some() || REFUSED.contains(&name);
                match (allowed, value) {
                    (Some(allowed), Some(value)) if allowed.contains(&value.as_str()) => {}
                    (Some(allowed), _) => {
                        return Err(refused(&format!("its {name} is none of {}", allowed.join(", "))));
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

/// What `sslmode` and `sslrootcert` come to, in a home directory that may hold certificates.
// EVIDENCE: PostgreSQL documentation, "SSL Support" (libpq), and sslmode and sslrootcert under "Parameter Key Words"
fn trust(
    mode: Option<String>,
    authorities: Option<String>,
    home: Option<String>,
) -> Result<(SslMode, Authorities), TargetError> {
    let wishes_system = authorities.as_deref() == Some("system");
    let mode = match mode.map(|mode| mode.parse()) {
        Some(Ok(mode)) => mode,
        Some(Err(())) => {
            let modes = "disable, allow, prefer, require, verify-ca, verify-full";
            return Err(refused(&format!("its sslmode is none of {modes}")));
        }
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

fn refused(reason: &str) -> TargetError {
    TargetError::refused(format!("cannot read the URL of the server: {reason}"), HINT)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn parse(text: &str) -> Result<Login, TargetError> {
        login(text, "fathom", &|_| None)
    }

    fn trusted(mode: &str, authorities: &str, home: &Path) -> Result<(SslMode, Authorities), TargetError> {
        let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        trust(given(mode), given(authorities), given(&home.display().to_string()))
    }

    #[test]
    fn a_url_and_the_key_value_form_say_the_same() {
        for text in [
            "postgresql://karl:geheim@db.example:6000/orders",
            "host=db.example port=6000 user=karl password=geheim dbname=orders",
        ] {
            let login = parse(text).unwrap();
            assert_eq!(login.endpoint, Endpoint::Tcp { host: "db.example".to_owned(), port: 6000 });
            assert_eq!((login.user.as_str(), login.database.as_str()), ("karl", "orders"));
            assert!(login.password.is_some());
        }
    }

    #[test]
    fn a_socket_directory_is_a_host_too_and_knows_no_tls() {
        let login =
            parse("postgresql:///?host=/run/postgresql&user=karl&sslmode=verify-full&sslrootcert=/none")
                .unwrap();
        assert_eq!(login.endpoint, Endpoint::Unix { directory: "/run/postgresql".into(), port: 5432 });
        assert_eq!(login.database, "postgres");
    }

    #[test]
    fn an_address_is_where_to_go_and_the_host_who_is_met_there() {
        let login = parse("host=db.example hostaddr=10.0.0.7 connect_timeout=3").unwrap();
        assert_eq!(login.endpoint, Endpoint::Tcp { host: "10.0.0.7".to_owned(), port: 5432 });
        let login = parse("postgresql://[::1]:6000/").unwrap();
        assert_eq!(login.endpoint, Endpoint::Tcp { host: "::1".to_owned(), port: 6000 });
    }

    #[test]
    fn what_the_url_leaves_out_comes_from_the_environment() {
        let environment = |name: &str| match name {
            "PGPASSWORD" => Some("geheim".to_owned()),
            "PGSSLMODE" => Some("require".to_owned()),
            "PGSSLROOTCERT" => Some("/no/such/file".to_owned()),
            _ => None,
        };
        let error = login("host=db", "fathom", &environment).unwrap_err().to_string();
        if cfg!(feature = "tls") {
            assert!(error.contains("\"/no/such/file\""), "{error}");
        } else {
            assert!(error.contains("has no TLS"), "{error}");
        }
        assert!(login("host=db sslmode=disable", "fathom", &environment).unwrap().password.is_some());
    }

    #[test]
    fn the_modes_trust_whom_libpq_lets_them_trust() {
        let home = tempfile::tempdir().unwrap();
        let trusted = |mode: &str, authorities: &str| trusted(mode, authorities, home.path()).unwrap();
        assert_eq!(trusted("", ""), (SslMode::Prefer, Authorities::Nobody));
        assert_eq!(trusted("require", ""), (SslMode::Require, Authorities::Nobody));
        assert_eq!(trusted("verify-ca", ""), (SslMode::VerifyCa, Authorities::System));
        assert_eq!(trusted("verify-full", "/x"), (SslMode::VerifyFull, Authorities::File("/x".into())));
        assert_eq!(trusted("", "system"), (SslMode::VerifyFull, Authorities::System));
        let file = home.path().join(HOME_AUTHORITIES);
        std::fs::create_dir(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "").unwrap();
        assert_eq!(trusted("require", ""), (SslMode::Require, Authorities::File(file)));
    }

    #[test]
    fn parameters_that_cannot_be_heeded_are_refused_by_name() {
        for (option, word) in [
            ("sslmode=sometimes", "sslmode"),
            ("sslmode=require&sslrootcert=system", "verify-full"),
            ("sslcert=x", "sslcert"),
            ("channel_binding=require", "channel_binding"),
            ("gssencmode=require", "gssencmode"),
            ("sslnegotiation=direct", "sslnegotiation"),
            ("port=99999", "port"),
        ] {
            let error = parse(&format!("postgresql://db/x?{option}")).unwrap_err().to_string();
            assert!(error.contains(word), "{option}: {error}");
        }
        parse("postgresql://db/x?channel_binding=prefer&application_name=x&sslmode=disable").unwrap();
    }

    #[test]
    fn no_error_about_a_url_shows_its_password() {
        for text in [
            "postgresql://karl:geheim@db:port/orders",
            "postgresql://karl:geheim@db/orders?sslmode=geheim",
            "postgresql://karl:geheim@db/orders?sslmode=verify-full&sslrootcert=/no/such/file",
            "postgresql://karl:geheim@a,b/orders",
            "postgresql://karl:geheim@",
            "postgresql://karl:pass%geheim@db",
            "postgresql://karl:pa@ss?geheim=x@db",
            "host=db password='geheim",
            "host=db password=x geheim=y",
            "karl:geheim@db",
            "mysql://karl:geheim@db/x",
        ] {
            let error = parse(text).unwrap_err();
            assert!(!error.to_string().contains("geheim"), "{error}");
            assert!(!format!("{error:?}").contains("geheim"), "{error:?}");
        }
    }
}
