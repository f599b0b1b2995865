//! Why a TLS handshake failed, in words: what was found, and one thing to do about it.

use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError, Error};

use super::super::trust::TlsRefusal;
use super::Client;

/// For a certificate that nobody vouches for.
const UNTRUSTED: &str = "name the authority that signed it with sslrootcert=FILE; sslmode=require without sslrootcert \
     encrypts without verifying the certificate";

/// For a certificate whose time is over or has not begun.
const INVALID_NOW: &str = "renew the server's certificate, or correct the clocks; sslmode=require without sslrootcert \
     encrypts without verifying the certificate";

/// For handshakes that end without a reason of the certificate's.
const BROKEN: &str = "check the server's log for the reason; check host and port, and proxies between; sslmode=disable connects without TLS";

impl Client {
    /// The server closed the connection during the handshake.
    pub(super) fn broken_off(&self) -> TlsRefusal {
        TlsRefusal::new("the server closed the connection during the TLS handshake", BROKEN)
    }

    /// Why no channel came about.
    pub(super) fn explain(&self, error: &Error) -> TlsRefusal {
        match error {
            Error::InvalidCertificate(reason) => self.certificate(reason),
            Error::AlertReceived(alert) => alerted(*alert),
            Error::InvalidMessage(_) | Error::InappropriateMessage { .. } => TlsRefusal::new(
                "the server agreed to TLS, then sent plain text or other data that is not TLS",
                BROKEN,
            ),
            Error::PeerIncompatible(reason) => TlsRefusal::new(
                format!("the server and fathom have no TLS version or cipher suite in common ({reason:?})"),
                "allow TLS 1.2 or 1.3 on the server: ssl_min_protocol_version, ssl_max_protocol_version, ssl_ciphers",
            ),
            other => TlsRefusal::new(format!("the TLS handshake failed: {other}"), BROKEN),
        }
    }

    fn certificate(&self, reason: &CertificateError) -> TlsRefusal {
        match reason {
            CertificateError::UnknownIssuer => TlsRefusal::new(
                format!("the server's certificate is signed by no authority in {}", self.authorities),
                UNTRUSTED,
            ),
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                self.name(reason)
            }
            CertificateError::ExpiredContext { time, not_after } => TlsRefusal::new(
                format!("the server's certificate expired at {} (now: {})", text(*not_after), text(*time)),
                INVALID_NOW,
            ),
            CertificateError::Expired => TlsRefusal::new("the server's certificate has expired", INVALID_NOW),
            CertificateError::NotValidYetContext { time, not_before } => TlsRefusal::new(
                format!(
                    "the server's certificate is not valid yet: it becomes valid at {} (now: {})",
                    text(*not_before),
                    text(*time)
                ),
                INVALID_NOW,
            ),
            CertificateError::NotValidYet => {
                TlsRefusal::new("the server's certificate is not valid yet", INVALID_NOW)
            }
            // The library of certificates has this reason and rustls no name for it.
            CertificateError::Other(other) if format!("{other:?}").contains("CaUsedAsEndEntity") => {
                TlsRefusal::new(
                    format!(
                        "the server's certificate is one of an authority (self-signed?) that is not in {}",
                        self.authorities
                    ),
                    "name that certificate itself with sslrootcert=FILE; sslmode=require without sslrootcert \
                     encrypts without verifying it",
                )
            }
            other => TlsRefusal::new(format!("the server's certificate is not accepted: {other}"), UNTRUSTED),
        }
    }

    fn name(&self, reason: &CertificateError) -> TlsRefusal {
        let names = match reason {
            CertificateError::NotValidForNameContext { presented, .. } if !presented.is_empty() => {
                presented.iter().map(|name| plain(name)).collect::<Vec<_>>().join(", ")
            }
            _ => "no name".to_owned(),
        };
        TlsRefusal::new(
            format!(
                "host name mismatch: the server's certificate is not issued for \"{}\" but for {names}",
                self.name.to_str()
            ),
            "use that host name in the URL (hostaddr=ADDRESS says where to connect), or sslmode=verify-ca, which does \
             not compare names",
        )
    }
}

/// `DnsName("localhost")` as `"localhost"`.
fn plain(name: &str) -> &str {
    name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or(name)
}

/// What the server said before it ended the handshake.
fn alerted(alert: AlertDescription) -> TlsRefusal {
    let text = format!("the server broke off the TLS handshake with alert {alert:?}");
    let hint = match alert {
        AlertDescription::CertificateRequired | AlertDescription::BadCertificate => {
            "fathom sends no client certificate: use a role whose pg_hba.conf rule has no clientcert"
        }
        AlertDescription::ProtocolVersion | AlertDescription::HandshakeFailure => {
            "allow TLS 1.2 or 1.3 on the server: ssl_min_protocol_version, ssl_max_protocol_version, ssl_ciphers"
        }
        _ => BROKEN,
    };
    TlsRefusal::new(text, hint)
}

/// As `2026-01-31T12:00:00Z`; the number of seconds where that is no date.
fn text(time: UnixTime) -> String {
    let seconds = time.as_secs();
    let date = i64::try_from(seconds).ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    date.map_or_else(|| format!("second {seconds}"), |date| date.to_string())
}
