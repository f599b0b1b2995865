//! TLS below the protocol: what a client needs before it talks (`Client`, with the `verifier` of certificates), and
//! the `channel` that one connection talks through.

mod channel;
mod refusal;
#[cfg(test)]
mod tests;
mod verifier;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, Error, RootCertStore};

use super::trust::{Authorities, TlsRefusal};
use verifier::{Roots, Verifier};

pub(super) use channel::Channel;

/// Everything that the connections to one host share; cheap to clone.
#[derive(Clone)]
pub(super) struct Client {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    /// Who may vouch for the server, in words.
    authorities: Arc<str>,
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Client").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Client {
    /// Gets ready to talk to `host`; reads the authorities.
    ///
    /// # Errors
    /// In words: authorities that cannot be read, a host that TLS cannot name.
    pub(super) fn new(host: &str, authorities: &Authorities, checks_name: bool) -> Result<Self, TlsRefusal> {
        let roots = match authorities {
            Authorities::Nobody => None,
            Authorities::File(path) => Some(roots_in(path)?),
            Authorities::System => Some(roots_of_system()?),
        };
        let Ok(name) = ServerName::try_from(host.to_owned()) else {
            return Err(TlsRefusal::new(
                format!("cannot use TLS with host \"{host}\": it is neither a name nor an address"),
                "correct the host in the URL, or connect without TLS: sslmode=disable",
            ));
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = Verifier::new(roots, checks_name, provider.signature_verification_algorithms);
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider has suites for the default versions")
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        let authorities = match authorities {
            Authorities::Nobody => "nobody".to_owned(),
            Authorities::File(path) => format!("file \"{}\"", path.display()),
            Authorities::System => "this machine's list of authorities".to_owned(),
        };
        Ok(Self { config: Arc::new(config), name, authorities: authorities.into() })
    }

    fn connect(&self) -> Result<ClientConnection, Error> {
        ClientConnection::new(Arc::clone(&self.config), self.name.clone())
    }
}

/// The certificates of a file.
fn roots_in(path: &Path) -> Result<Roots, TlsRefusal> {
    let error = |reason: String| {
        TlsRefusal::new(
            format!("cannot use the authorities in file \"{}\": {reason}", path.display()),
            "name a file of PEM certificates with sslrootcert=FILE, or sslrootcert=system",
        )
    };
    disk::regular::require(path).map_err(|reason| error(reason.to_string()))?;
    let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .map_err(|reason| error(pem_reason(reason)))?;
    let mut store = RootCertStore::empty();
    for certificate in &certificates {
        store.add(certificate.clone()).map_err(|reason| error(reason.to_string()))?;
    }
    if store.is_empty() {
        return Err(error("it has no certificate in PEM form".to_owned()));
    }
    Ok(Roots { store, named: certificates })
}

fn pem_reason(error: rustls::pki_types::pem::Error) -> String {
    match error {
        rustls::pki_types::pem::Error::Io(error) => error.to_string(),
        other => format!("it is not in PEM form ({other:?})"),
    }
}

/// The certificates that this machine trusts.
fn roots_of_system() -> Result<Roots, TlsRefusal> {
    let mut store = RootCertStore::empty();
    // Some of a machine's certificates may be of a kind that is not understood: the others do.
    let found = rustls_native_certs::load_native_certs();
    store.add_parsable_certificates(found.certs);
    if store.is_empty() {
        return Err(TlsRefusal::new(
            "this machine has no list of authorities (package ca-certificates)",
            "install it, or name a file of PEM certificates with sslrootcert=FILE",
        ));
    }
    Ok(Roots { store, named: Vec::new() })
}
