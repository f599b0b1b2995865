//! What a login asks of TLS, and the ways to connect that follow from it.

use super::endpoint::Endpoint;
use super::tls::Client;
use super::trust::{Authorities, SslMode, TlsRefusal};

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
