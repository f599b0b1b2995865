//! The URL of an external server, read into a login. The password goes into keeping at once.

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use super::super::TargetError;
use super::wire::{Endpoint, Login, Secret};

/// Port when the URL names none.
const DEFAULT_PORT: u16 = 5432;

/// Database for control when the URL names none; every server has it.
const DEFAULT_DATABASE: &str = "postgres";

/// Reads `postgresql://user:password@host:port/database`, or the `key=value` form. Without a password there,
/// `PGPASSWORD` is taken.
///
/// # Errors
/// Text that is no such URL (never quoted, as it may hold a password), several hosts, or a demand for TLS.
pub(super) fn parse(url: &str, application_name: &str) -> Result<Login, TargetError> {
    let hint = "write postgresql://user@host:port/database, the password in PGPASSWORD";
    let config: Config = url.parse().map_err(|error: tokio_postgres::Error| {
        // The reason names an option, never its value.
        let reason = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
        TargetError::refused(format!("cannot read the URL of the server: {reason}"), hint)
    })?;
    let [host] = config.get_hosts() else {
        return Err(TargetError::refused(
            format!("the URL of the server names {} hosts, one is needed", config.get_hosts().len()),
            hint,
        ));
    };
    if config.get_ssl_mode() == SslMode::Require {
        return Err(TargetError::refused(
            "the URL of the server asks for TLS (sslmode=require), and this build of fathom has none",
            "reach the server through a tunnel or its socket, with sslmode=disable",
        ));
    }
    let port = config.get_ports().first().copied().unwrap_or(DEFAULT_PORT);
    let password = match config.get_password() {
        Some(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        None => std::env::var("PGPASSWORD").ok(),
    };
    let user = config.get_user().map(str::to_owned).or_else(|| std::env::var("USER").ok());
    Ok(Login {
        endpoint: match host {
            Host::Tcp(host) => Endpoint::Tcp { host: host.clone(), port },
            Host::Unix(directory) => Endpoint::Unix { directory: directory.clone(), port },
        },
        user: user.unwrap_or_else(|| DEFAULT_DATABASE.to_owned()),
        password: password.map(Secret::new),
        database: config.get_dbname().unwrap_or(DEFAULT_DATABASE).to_owned(),
        application_name: application_name.to_owned(),
        options: config.get_options().map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_url_and_the_key_value_form_say_the_same() {
        for text in [
            "postgresql://karl:geheim@db.example:6000/orders",
            "host=db.example port=6000 user=karl password=geheim dbname=orders",
        ] {
            let login = parse(text, "fathom").unwrap();
            assert_eq!(login.endpoint, Endpoint::Tcp { host: "db.example".to_owned(), port: 6000 });
            assert_eq!((login.user.as_str(), login.database.as_str()), ("karl", "orders"));
            assert!(login.password.is_some());
        }
    }

    #[test]
    fn a_socket_directory_is_a_host_too() {
        let login = parse("postgresql:///?host=/run/postgresql&user=karl", "fathom").unwrap();
        assert_eq!(login.endpoint, Endpoint::Unix { directory: "/run/postgresql".into(), port: 5432 });
        assert_eq!(login.database, "postgres");
    }

    #[test]
    fn no_error_about_a_url_shows_its_password() {
        for text in [
            "postgresql://karl:geheim@db:port/orders",
            "postgresql://karl:geheim@db/orders?sslmode=geheim",
            "postgresql://karl:geheim@db/orders?sslmode=require",
            "postgresql://karl:geheim@a,b/orders",
            "postgresql://karl:geheim@",
            "host=db password='geheim",
            "karl:geheim@db",
            "mysql://karl:geheim@db/x",
        ] {
            let error = parse(text, "fathom").unwrap_err();
            assert!(!error.to_string().contains("geheim"), "{error}");
            assert!(!format!("{error:?}").contains("geheim"), "{error:?}");
        }
    }
}
