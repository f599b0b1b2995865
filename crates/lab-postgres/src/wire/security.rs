//! How far a connection is protected from those who sit between: `sslmode` and `sslrootcert` as libpq means them.

use std::path::PathBuf;
use std::str::FromStr;

use super::Endpoint;
use super::tls::Client;

/// What a connection by TCP asks of TLS. On a Unix socket there never is any.
// EVIDENCE: PostgreSQL documentation, "SSL Support" (libpq), "Protection Provided in Different Modes"
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) enum SslMode {
    /// Never.
    Disable,
    /// Only when the server refuses to go without.
    Allow,
    /// When the server has it, or when it refuses to go without.
    #[default]
    Prefer,
    /// Always; whose certificate it is does not matter as long as no authorities are named.
    Require,
    /// Always, and the certificate must be signed by an authority that we trust.
    VerifyCa,
    /// As `VerifyCa`, and the certificate must be made out to the host.
    VerifyFull,
}

impl FromStr for SslMode {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Ok(match text {
            "disable" => Self::Disable,
            "allow" => Self::Allow,
            "prefer" => Self::Prefer,
            "require" => Self::Require,
            "verify-ca" => Self::VerifyCa,
            "verify-full" => Self::VerifyFull,
            _ => return Err(()),
        })
    }
}

impl SslMode {
    /// What `sslmode` may be, from the least to the most.
    pub(in super::super) const NAMES: [&str; 6] =
        ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"];

    /// Is a connection without TLS out of the question?
    pub(in super::super) fn insists(self) -> bool {
        matches!(self, Self::Require | Self::VerifyCa | Self::VerifyFull)
    }
}

/// Why there is no TLS with a server, and one thing to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct TlsRefusal {
    /// What was found.
    pub(in super::super) text: String,
    /// What to do.
    pub(in super::super) hint: &'static str,
}

impl TlsRefusal {
    /// Text and hint.
    pub(super) fn new(text: impl Into<String>, hint: &'static str) -> Self {
        Self { text: text.into(), hint }
    }

    /// The server answered that it has none.
    pub(super) fn no_tls() -> Self {
        Self::new(
            "the server has no TLS (its setting ssl is off), and sslmode requires it",
            "set ssl=on and a certificate on the server, or connect without TLS: sslmode=prefer or sslmode=disable",
        )
    }

    /// The server answered neither that it has TLS nor that it has none.
    pub(super) fn by_answer(first_byte: u8) -> Self {
        if first_byte == b'E' {
            // The text of an error at this point may be anybody's.
            return Self::new(
                "the server answered the TLS request with an error message",
                "look for the error in the server's log; sslmode=disable connects without TLS",
            );
        }
        let shown = first_byte.escape_ascii();
        Self::new(
            format!(
                "the server answered the TLS request with byte 0x{first_byte:02x} (\"{shown}\"), PostgreSQL answers S or N"
            ),
            "check host and port: another kind of server seems to listen there",
        )
    }
}

/// Whom we let vouch for a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Authorities {
    /// Nobody needs to.
    Nobody,
    /// Those in a file of certificates (PEM).
    File(PathBuf),
    /// Those that this machine trusts.
    System,
}

/// What a login asks of TLS, with everything read that it takes: shared by all connections of a run.
#[derive(Clone, Debug)]
pub(in super::super) struct Security {
    mode: SslMode,
    /// `None` when TLS is not wanted, or wanted only if possible and not possible.
    client: Option<Client>,
}

/// One way to try.
#[derive(Clone, Copy, Debug)]
pub(super) enum Attempt<'a> {
    /// Without TLS.
    Plain,
    /// With it. When the server has none: does the connection go on without?
    Tls { client: &'a Client, may_go_without: bool },
}

impl Security {
    /// Never any TLS: for our own servers, and for sockets.
    pub(in super::super) fn none() -> Self {
        Self { mode: SslMode::Disable, client: None }
    }

    /// Gets ready to talk to `host`; reads the authorities.
    ///
    /// # Errors
    /// In words: authorities that cannot be read, a host that TLS cannot name, a build without TLS. Where the mode
    /// does without TLS and no authorities are named, none of these is an error.
    pub(in super::super) fn new(
        mode: SslMode,
        authorities: &Authorities,
        host: &str,
    ) -> Result<Self, TlsRefusal> {
        if mode == SslMode::Disable {
            return Ok(Self::none());
        }
        assert!(
            *authorities != Authorities::Nobody || !matches!(mode, SslMode::VerifyCa | SslMode::VerifyFull),
            "a verifying mode has roots to trust"
        );
        let client = match Client::new(host, authorities, mode == SslMode::VerifyFull) {
            Ok(client) => Some(client),
            Err(_) if !mode.insists() && *authorities == Authorities::Nobody => None,
            Err(reason) => return Err(reason),
        };
        Ok(Self { mode, client })
    }

    /// What to try first and, when the server refuses that before it asked for anything, what to try then.
    pub(super) fn attempts(&self, endpoint: &Endpoint) -> (Attempt<'_>, Option<Attempt<'_>>) {
        let client = self.client.as_ref().filter(|_| matches!(endpoint, Endpoint::Tcp { .. }));
        let Some(client) = client else {
            return (Attempt::Plain, None);
        };
        match self.mode {
            SslMode::Disable => (Attempt::Plain, None),
            SslMode::Allow => (Attempt::Plain, Some(Attempt::Tls { client, may_go_without: false })),
            SslMode::Prefer => (Attempt::Tls { client, may_go_without: true }, Some(Attempt::Plain)),
            SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => {
                (Attempt::Tls { client, may_go_without: false }, None)
            }
        }
    }
}
