//! How far a connection is protected from those who sit between, and who vouches for a server: `sslmode` and
//! `sslrootcert` as libpq means them.

use std::path::PathBuf;
use std::str::FromStr;

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
                "check the server's log for the error; sslmode=disable connects without TLS",
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
