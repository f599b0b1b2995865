//! Whether a server's certificate will do: as libpq decides it, not as a browser does.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// Whose signature counts.
#[derive(Debug)]
pub(super) struct Roots {
    pub(super) store: RootCertStore,
    /// Certificates that the user named one by one: a server that shows one of these needs no signature. That is
    /// how a certificate is used that its server signed itself.
    pub(super) named: Vec<CertificateDer<'static>>,
}

/// Decides over certificates.
#[derive(Debug)]
pub(super) struct Verifier {
    /// `None` accepts every certificate.
    roots: Option<Roots>,
    checks_name: bool,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    pub(super) fn new(
        roots: Option<Roots>,
        checks_name: bool,
        algorithms: WebPkiSupportedAlgorithms,
    ) -> Self {
        assert!(
            roots.is_some() || !checks_name,
            "a name counts only in a certificate of a trusted authority"
        );
        Self { roots, checks_name, algorithms }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(roots) = &self.roots else {
            return Ok(ServerCertVerified::assertion());
        };
        let certificate = ParsedCertificate::try_from(end_entity)?;
        if !roots.named.contains(end_entity) {
            verify_server_cert_signed_by_trust_anchor(
                &certificate,
                &roots.store,
                intermediates,
                now,
                self.algorithms.all,
            )?;
        }
        if self.checks_name {
            verify_server_name(&certificate, server_name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match self.roots {
            Some(_) => verify_tls12_signature(message, certificate, signature, &self.algorithms),
            // The signature proves that the server has the key of its certificate. Where any certificate will do
            // that proves nothing, and old certificates (X.509 version 1) could not be read for it.
            None => Ok(HandshakeSignatureValid::assertion()),
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match self.roots {
            Some(_) => verify_tls13_signature(message, certificate, signature, &self.algorithms),
            // As above.
            None => Ok(HandshakeSignatureValid::assertion()),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
