//! Where a server listens.

use std::fmt;
use std::path::PathBuf;

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Endpoint {
    /// The socket `.s.PGSQL.<port>` in a directory.
    Unix {
        /// The directory.
        directory: PathBuf,
        /// Number in the socket's name.
        port: u16,
    },
    /// A host by name or address.
    Tcp {
        /// Name or address.
        host: String,
        /// TCP port.
        port: u16,
    },
}

impl Endpoint {
    /// Is it on this machine, by its name alone?
    pub(in super::super) fn is_local(&self) -> bool {
        match self {
            Self::Unix { .. } => true,
            Self::Tcp { host, .. } => host == "localhost" || host.starts_with("127.") || host == "::1",
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix { directory, port } => {
                write!(formatter, "socket \"{}/.s.PGSQL.{port}\"", directory.display())
            }
            Self::Tcp { host, port } => write!(formatter, "\"{host}:{port}\""),
        }
    }
}
