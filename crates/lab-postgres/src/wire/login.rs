//! Who connects, to what, and how long that may take.

use std::fmt;
use std::time::Duration;

use super::endpoint::Endpoint;
use super::security::Security;

/// Time for the whole start-up where neither the URL nor `PGCONNECT_TIMEOUT` says otherwise: a server that accepts and
/// then says nothing must not hold the run.
pub(in super::super) const CONNECT_TIME_DEFAULT: Duration = Duration::from_secs(10);

/// A password: no `Debug` or `Display` shows it.
#[derive(Clone)]
pub(in super::super) struct Secret(String);

impl Secret {
    /// Takes a password into keeping.
    pub(in super::super) fn new(password: String) -> Self {
        Self(password)
    }

    /// The password itself.
    pub(in super::super) fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}

/// Whom to connect as, to what.
#[derive(Clone, Debug)]
pub(in super::super) struct Login {
    /// Where the server listens.
    pub(in super::super) endpoint: Endpoint,
    /// Role.
    pub(in super::super) user: String,
    /// Its password, when there is one.
    pub(in super::super) password: Option<Secret>,
    /// Database.
    pub(in super::super) database: String,
    /// Name under which the session appears in the server's list of sessions.
    pub(in super::super) application_name: String,
    /// Command-line options for the backend, as some hosted servers need them.
    pub(in super::super) options: Option<String>,
    /// What it asks of TLS.
    pub(in super::super) security: Security,
    /// Time for the whole start-up (`connect_timeout`); `None` is without end.
    pub(in super::super) connect_time_max: Option<Duration>,
}
