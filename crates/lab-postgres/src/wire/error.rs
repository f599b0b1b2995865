//! Why an exchange with the server did not succeed.

use std::fmt;

use super::answer::ServerError;
use super::trust::TlsRefusal;

/// SQLSTATE of a login with a wrong password, or with none where one is needed.
// EVIDENCE: PostgreSQL documentation, "PostgreSQL Error Codes", invalid_password
pub(in super::super) const INVALID_PASSWORD: &str = "28P01";

/// Why an exchange with the server did not succeed.
#[derive(Debug)]
pub(in super::super) enum WireError {
    /// The server refused the statement; the connection is still usable.
    Server(Box<ServerError>),
    /// The connection is gone; with the last thing that the server said, if anything.
    Closed(Option<Box<ServerError>>),
    /// The server did not keep to the protocol; the connection is of no use.
    Protocol(String),
    /// The server asks for the password of this user, and none was given.
    NoPassword(String),
    /// There is no TLS with the server, or none that will do.
    Tls(TlsRefusal),
    /// A limit of time passed; says which.
    TimedOut(String),
    /// The operating system reported an error.
    Io(std::io::Error),
}

impl WireError {
    /// SQLSTATE of the server's error, when it gave one.
    pub(in super::super) fn code(&self) -> Option<&str> {
        match self {
            Self::Server(error) => Some(&error.code),
            Self::Closed(error) => error.as_ref().map(|error| error.code.as_str()),
            Self::NoPassword(_) => Some(INVALID_PASSWORD),
            Self::Protocol(_) | Self::Tls(_) | Self::TimedOut(_) | Self::Io(_) => None,
        }
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(error) => write!(formatter, "{error}"),
            Self::Closed(None) => write!(formatter, "server closed the connection"),
            Self::Closed(Some(error)) => write!(formatter, "server closed the connection: {error}"),
            Self::TimedOut(what) => write!(formatter, "{what}"),
            Self::Protocol(reason) => write!(formatter, "server did not keep to the protocol: {reason}"),
            Self::NoPassword(user) => {
                write!(formatter, "server asks for the password of user \"{user}\" and none was given")
            }
            Self::Tls(refusal) => write!(formatter, "{}", refusal.text),
            Self::Io(error) => write!(formatter, "{error}"),
        }
    }
}
