//! External PostgreSQL over TLS: servers started by the tests, with certificates made by the tests.
#![cfg(feature = "tls")]

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use crate::support::{newest, oldest_and_newest, run, scratch, work};
use lab::engine::{Describe, Target, TargetError};
use lab::work::{LoopSide, Work};
use lab_postgres::cluster::{Cluster, ClusterOptions};
use lab_postgres::{ExternalOptions, ExternalPostgres, ServerBinaries};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

const PASSWORD: &str = "geheim-wort";

/// Lets `maker` in with TLS alone and `plain` without alone.
const RULES: &str = "local all all trust\n\
    hostssl all maker 127.0.0.1/32 scram-sha-256\n\
    hostnossl all plain 127.0.0.1/32 scram-sha-256\n";

/// What the server shows: a certificate and its key.
struct Shown {
    certificate: String,
    key: String,
}

fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A certificate for `localhost`, signed by the authority.
fn signed_by(authority: &CertifiedIssuer<'static, KeyPair>) -> Shown {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    Shown { certificate: params.signed_by(&key, authority).unwrap().pem(), key: key.serialize_pem() }
}

/// One that is its own authority, as PostgreSQL's manual has it made.
fn signed_by_itself() -> Shown {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    Shown { certificate: params.self_signed(&key).unwrap().pem(), key: key.serialize_pem() }
}

/// A server on loopback that shows a certificate, or has no TLS.
struct Somebody {
    cluster: Cluster,
}

impl Somebody {
    fn new(server: &ServerBinaries, base: &Path, shown: Option<&Shown>) -> Self {
        let options = ClusterOptions {
            server: server.clone(),
            base: base.to_path_buf(),
            elsewhere: Vec::new(),
            port: None,
        };
        let mut cluster = Cluster::create(&options).unwrap();
        std::fs::write(cluster.data().join("pg_hba.conf"), RULES).unwrap();
        let owner = std::fs::metadata(cluster.data()).unwrap();
        for (name, text) in shown
            .map(|shown| [("server.crt", &shown.certificate), ("server.key", &shown.key)])
            .into_iter()
            .flatten()
        {
            let path = cluster.data().join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
            chown(&path, Some(owner.uid()), Some(owner.gid())).unwrap();
        }
        let settings = [
            ("listen_addresses", "127.0.0.1"),
            ("fsync", "off"),
            ("ssl", if shown.is_some() { "on" } else { "off" }),
        ];
        cluster.start(&settings.map(|(name, value)| (name.to_owned(), value.to_owned()))).unwrap();
        let somebody = Self { cluster };
        for role in ["maker", "plain"] {
            somebody.sql(&format!("CREATE ROLE {role} LOGIN CREATEDB PASSWORD '{PASSWORD}'"));
        }
        somebody
    }

    fn sql(&self, statement: &str) {
        crate::support::runtime().block_on(async {
            let mut config = tokio_postgres::Config::new();
            config.host_path(self.cluster.socket_directory()).port(self.cluster.port());
            config.user("fathom").dbname("postgres");
            let (client, connection) = config.connect(tokio_postgres::NoTls).await.unwrap();
            let driver = tokio::spawn(connection);
            client.simple_query(statement).await.unwrap();
            drop(client);
            let _ = driver.await;
        });
    }

    fn connect(&self, user: &str, host: &str, options: &str) -> Result<ExternalPostgres, TargetError> {
        let port = self.cluster.port();
        let url =
            format!("postgresql://{user}:{PASSWORD}@{host}:{port}/postgres?hostaddr=127.0.0.1&{options}");
        ExternalPostgres::connect(&ExternalOptions { url, database: None })
    }

    /// The TLS of a connection, empty without any.
    fn tls(&self, user: &str, host: &str, options: &str) -> String {
        let mut target = self.connect(user, host, options).unwrap();
        let facts = target.facts().unwrap();
        assert!(!facts.to_string().contains(PASSWORD) && !format!("{target:?}").contains(PASSWORD));
        let warned = target.warnings().iter().any(|warning| warning.code == "tls");
        assert_eq!(warned, facts["tls"].is_string());
        target.stop(false).unwrap();
        facts["tls"].as_str().unwrap_or_default().to_owned()
    }

    /// An error's text, after it was looked through for the password.
    fn refusal(&self, user: &str, host: &str, options: &str) -> String {
        let error = self.connect(user, host, options).unwrap_err();
        let text = error.to_string();
        assert!(!text.contains(PASSWORD) && !format!("{error:?}").contains(PASSWORD), "{text}");
        text
    }
}

fn written(directory: &Path, name: &str, text: &str) -> PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn each_mode_goes_as_far_as_libpq_says() {
    for server in newest() {
        let scratch = scratch();
        let (ours, others) = (authority("ours"), authority("others"));
        let somebody = Somebody::new(&server, scratch.path(), Some(&signed_by(&ours)));
        let ours = written(scratch.path(), "ours.crt", &ours.pem());
        let others = written(scratch.path(), "others.crt", &others.pem());
        let by = |mode: &str, file: &Path| format!("sslmode={mode}&sslrootcert={}", file.display());

        for mode in ["sslmode=allow", "", "sslmode=prefer", "sslmode=require"] {
            let tls = somebody.tls("maker", "127.0.0.1", mode);
            assert!(tls.starts_with("TLSv1_3 "), "{mode}: {tls}");
        }
        for mode in ["allow", "prefer", "disable"] {
            assert_eq!(somebody.tls("plain", "127.0.0.1", &format!("sslmode={mode}")), "", "{mode}");
        }
        let text = somebody.refusal("maker", "127.0.0.1", "sslmode=disable");
        assert!(text.contains("no pg_hba.conf entry"), "{text}");
        let text = somebody.refusal("plain", "127.0.0.1", "sslmode=require");
        assert!(text.contains("no pg_hba.conf entry"), "{text}");

        assert!(!somebody.tls("maker", "127.0.0.1", &by("verify-ca", &ours)).is_empty());
        assert!(!somebody.tls("maker", "localhost", &by("verify-full", &ours)).is_empty());
        let text = somebody.refusal("maker", "127.0.0.1", &by("verify-full", &ours));
        assert!(text.contains("host name mismatch"), "{text}");
        assert!(text.contains("not issued for \"127.0.0.1\" but for \"localhost\""), "{text}");
        assert!(text.contains("hint: use that host name in the URL") && text.contains("verify-ca"), "{text}");
        // `require` verifies as soon as there is something to verify with.
        for mode in ["require", "verify-ca", "verify-full"] {
            let text = somebody.refusal("maker", "localhost", &by(mode, &others));
            assert!(text.contains("certificate is signed by no authority in file"), "{text}");
            assert!(text.contains("others.crt") && text.contains("sslrootcert"), "{text}");
        }
        let text = somebody.refusal("maker", "localhost", "sslmode=verify-full");
        assert!(text.contains("authorit"), "{text}");
        let text = somebody.refusal("maker", "localhost", &by("verify-ca", &scratch.path().join("none")));
        assert!(text.contains("No such file"), "{text}");
    }
}

#[test]
fn a_certificate_that_its_server_signed_can_be_named() {
    for server in newest() {
        let scratch = scratch();
        let (shown, other) = (signed_by_itself(), signed_by_itself());
        let somebody = Somebody::new(&server, scratch.path(), Some(&shown));
        let shown = written(scratch.path(), "shown.crt", &shown.certificate);
        let other = written(scratch.path(), "other.crt", &other.certificate);
        let by = |file: &Path| format!("sslmode=verify-full&sslrootcert={}", file.display());
        assert!(!somebody.tls("maker", "localhost", &by(&shown)).is_empty());
        assert!(somebody.refusal("maker", "127.0.0.1", &by(&shown)).contains("host name mismatch"));
        let text = somebody.refusal("maker", "localhost", &by(&other));
        assert!(text.contains("self-signed?") && text.contains("other.crt"), "{text}");
        assert!(text.contains("hint: name that certificate itself with sslrootcert=FILE"), "{text}");
    }
}

#[test]
fn a_certificate_out_of_its_time_is_refused_with_the_time() {
    for server in newest() {
        let ours = authority("ours");
        for (years, expected) in [
            ((2001, 2002), "certificate expired at 2002-01-01T00:00:00Z (now: 20"),
            ((2900, 2901), "not valid yet: it becomes valid at 2900-01-01T00:00:00Z (now: 20"),
        ] {
            let scratch = scratch();
            let key = KeyPair::generate().unwrap();
            let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
            params.not_before = rcgen::date_time_ymd(years.0, 1, 1);
            params.not_after = rcgen::date_time_ymd(years.1, 1, 1);
            let certificate = params.signed_by(&key, &ours).unwrap().pem();
            let shown = Shown { certificate, key: key.serialize_pem() };
            let somebody = Somebody::new(&server, scratch.path(), Some(&shown));
            let file = written(scratch.path(), "ours.crt", &ours.pem());
            let options = format!("sslmode=verify-full&sslrootcert={}", file.display());
            let text = somebody.refusal("maker", "localhost", &options);
            assert!(text.contains(expected), "{text}");
            assert!(text.contains("hint: renew the server's certificate"), "{text}");
            assert!(!somebody.tls("maker", "localhost", "sslmode=require").is_empty());
        }
    }
}

#[test]
fn a_server_without_tls_is_used_unless_tls_was_insisted_on() {
    for server in newest() {
        let scratch = scratch();
        let somebody = Somebody::new(&server, scratch.path(), None);
        assert_eq!(somebody.tls("plain", "127.0.0.1", "sslmode=prefer"), "");
        let text = somebody.refusal("plain", "127.0.0.1", "sslmode=require");
        assert!(text.contains("the server has no TLS"), "{text}");
        assert!(text.contains("hint: set ssl=on") && text.contains("sslmode=prefer"), "{text}");
    }
}

#[test]
fn runs_over_tls_are_as_complete_as_without() {
    for server in oldest_and_newest() {
        let scratch = scratch();
        let ours = authority("ours");
        let somebody = Somebody::new(&server, scratch.path(), Some(&signed_by(&ours)));
        let ours = written(scratch.path(), "ours.crt", &ours.pem());
        let options = format!("sslmode=verify-full&sslrootcert={}", ours.display());
        let mut target = somebody.connect("maker", "localhost", &options).unwrap();
        for changed in [
            // Several on one thread, woken by their sockets.
            Work { connections: 4, jobs: Some(1), ..work() },
            // Alone on its thread, blocking; and each alone on one of several.
            Work { connections: 1, jobs: Some(1), ..work() },
            Work { connections: 2, jobs: Some(2), ..work() },
            // The timer wakes it, too.
            Work { connections: 3, jobs: Some(1), rate_per_s: Some(500.0), batch_size: 1, ..work() },
            Work { connections: 2, loop_side: LoopSide::Server, ..work() },
        ] {
            let outcome = run(&mut target, &changed);
            assert_eq!(outcome.post_run_state.rows, Some(50), "{} {changed:?}", server.version);
            // An answer of many records.
            assert!(!target.settings().unwrap().is_empty());
            target.clean().unwrap();
        }
        target.stop(false).unwrap();
    }
}
