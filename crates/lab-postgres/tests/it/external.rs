//! External PostgreSQL: servers started by the tests, reached by TCP with a password, as somebody else's would be.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use lab::engine::{Describe, Target, TargetError};
use lab::gates::Limits;
use lab::observe::live::Way;
use lab::run::{Course, RunRequest, execute};
use lab::work::{
    Amount, CacheState, Durability, KeyOrder, LoopSide, Placement, SubjectParameters, Work, Workload,
};
use lab_postgres::LivePostgres;
use lab_postgres::cluster::{Cluster, ClusterOptions};
use lab_postgres::{ExternalOptions, ExternalPostgres, ServerBinaries, ServerLocation};
use results::model::RunKey;

use crate::support::{newest, run, runtime, scratch, servers, work};

/// Rows of the fixture that look-ups read.
const FIXTURE_ROWS: u64 = 2000;

const PASSWORD: &str = "geheim-wort";

/// A server that listens on loopback, with a role that may create databases and one that may not.
pub(crate) struct Somebody {
    cluster: Cluster,
}

impl Somebody {
    /// Without `is_durable` the server never flushes: making a database takes hundreds of flushes.
    pub(crate) fn new(server: &ServerBinaries, base: &Path, is_durable: bool) -> Self {
        let options = ClusterOptions {
            server: server.clone(),
            base: base.to_path_buf(),
            elsewhere: Vec::new(),
            port: None,
        };
        let mut cluster = Cluster::create(&options).unwrap();
        // One role for each way to send a password; the rest of the file asks for SCRAM.
        let rules = cluster.data().join("pg_hba.conf");
        let asked = std::fs::read_to_string(&rules).unwrap();
        let older = "host all older 127.0.0.1/32 md5\nhost all plain 127.0.0.1/32 password\n";
        std::fs::write(&rules, format!("{older}{asked}")).unwrap();
        let fsync = if is_durable { "on" } else { "off" };
        cluster
            .start(&[("listen_addresses".into(), "127.0.0.1".into()), ("fsync".into(), fsync.into())])
            .unwrap();
        let somebody = Self { cluster };
        somebody.sql(&format!(
            "CREATE ROLE maker LOGIN CREATEDB PASSWORD '{PASSWORD}'; CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'; \
             SET password_encryption = 'md5'; CREATE ROLE older LOGIN CREATEDB PASSWORD '{PASSWORD}'; \
             CREATE ROLE plain LOGIN CREATEDB PASSWORD '{PASSWORD}'"
        ));
        somebody
    }

    pub(crate) fn url(&self, user: &str) -> String {
        format!("postgresql://{user}:{PASSWORD}@127.0.0.1:{}/postgres", self.cluster.port())
    }

    /// Runs statements as superuser and returns the values of all rows, NULL as the empty text.
    pub(crate) fn sql(&self, statements: &str) -> Vec<String> {
        let mut values = Vec::new();
        runtime().block_on(async {
            let mut config = tokio_postgres::Config::new();
            config.host_path(self.cluster.socket_directory()).port(self.cluster.port());
            config.user("fathom").dbname("postgres");
            let (client, connection) = config.connect(tokio_postgres::NoTls).await.unwrap();
            let driver = tokio::spawn(connection);
            for message in client.simple_query(statements).await.unwrap() {
                if let tokio_postgres::SimpleQueryMessage::Row(row) = message {
                    values
                        .extend((0..row.len()).map(|column| row.get(column).unwrap_or_default().to_owned()));
                }
            }
            drop(client);
            let _ = driver.await;
        });
        values
    }

    pub(crate) fn databases(&self) -> Vec<String> {
        self.sql("SELECT datname FROM pg_database WHERE datname NOT LIKE 'template%' ORDER BY 1")
    }
}

fn connect(url: &str, database: Option<&str>) -> Result<ExternalPostgres, TargetError> {
    ExternalPostgres::connect(&ExternalOptions { url: url.to_owned(), database: database.map(str::to_owned) })
}

/// An error's text, after it was looked through for the password.
fn refusal(url: &str, database: Option<&str>) -> String {
    let error = connect(url, database).unwrap_err();
    let text = error.to_string();
    assert!(!text.contains(PASSWORD) && !format!("{error:?}").contains(PASSWORD), "{text}");
    text
}

#[test]
fn runs_on_a_server_by_url_leave_nothing_there() {
    for (index, server) in servers().into_iter().enumerate() {
        let scratch = scratch();
        let somebody = Somebody::new(&server, scratch.path(), false);
        // How a password is sent does not depend on the version.
        let users = if index == 0 { &["maker", "older", "plain"][..] } else { &["maker"] };
        for user in users {
            let mut target = connect(&somebody.url(user), None).unwrap();
            assert_eq!(somebody.databases().len(), 2, "{}", server.version);
            let matrix = [
                (Workload::Populate, LoopSide::Client, KeyOrder::Sequential, 1),
                (Workload::RandomInsert, LoopSide::Server, KeyOrder::Random, 3),
            ];
            for (workload, loop_side, key, data_files) in matrix {
                let durability = Durability::None;
                let work = Work { workload, loop_side, key, data_files, durability, ..work() };
                let outcome = run(&mut target, &work);
                assert_eq!(outcome.post_run_state.rows, Some(50), "{} {work:?}", server.version);
                assert!(outcome.difference("log_bytes").unwrap() > 0.0, "{}", server.version);
                target.clean().unwrap();
            }
            assert!(!format!("{target:?}").contains(PASSWORD));
            assert!(!target.facts().unwrap().to_string().contains(PASSWORD));
            assert!(!format!("{:?}", target.settings().unwrap()).contains(PASSWORD));
            target.stop(false).unwrap();
            assert_eq!(somebody.databases(), ["postgres"], "{}", server.version);
        }
    }
}

#[test]
fn look_ups_by_url_say_warm_or_lukewarm_and_never_cold() {
    let Some(server) = newest().pop() else { return };
    let scratch = scratch();
    let somebody = Somebody::new(&server, scratch.path(), false);
    let mut target = connect(&somebody.url("maker"), None).unwrap();
    for workload in [Workload::GuidLookupScan, Workload::GuidLookupJoin] {
        for cache in [CacheState::AsIs, CacheState::Warm, CacheState::Cold] {
            let subject = SubjectParameters {
                table_rows: FIXTURE_ROWS,
                objects: 1,
                every: 100,
                cache,
                ..SubjectParameters::default()
            };
            let amount = Amount::Rows(1);
            let work = Work { workload, amount, subject, durability: Durability::None, ..work() };
            let key = RunKey { block_index: 0, cell_index: 0, attempt: 0 };
            let limits = Limits::default();
            let request = RunRequest { work: &work, key, position: 0, limits, samplers: &[] };
            let outcome = execute(&mut target, request, &mut |_| Course::Continue);
            if cache == CacheState::Cold {
                let text = outcome.unwrap_err().to_string();
                assert!(text.contains("nothing is cold"), "{text}");
                continue;
            }
            let outcome = outcome.unwrap();
            let state = outcome.event("cache_state").unwrap();
            assert!(state == "warm" || (state == "lukewarm" && cache == CacheState::AsIs), "{state}");
            assert!(outcome.event("plan").is_some_and(|plan| plan.contains("fathom_guid")));
            assert!(outcome.metric("look_up_rows").is_some_and(|rows| rows >= 1.0));
            assert!(outcome.metric("logical_reads").is_some_and(|pages| pages > 2.0));
        }
    }
    target.stop(false).unwrap();
    assert_eq!(somebody.databases(), ["postgres"]);
}

#[test]
fn logins_and_databases_that_do_not_fit_are_refused_in_words() {
    for server in newest() {
        let scratch = scratch();
        let somebody = Somebody::new(&server, scratch.path(), false);
        let wrong = somebody.url("maker").replace(PASSWORD, "falsch");
        let text = connect(&wrong, None).unwrap_err().to_string();
        assert!(text.contains("password authentication failed") && text.contains("28P01"), "{text}");
        assert!(!text.contains("falsch"), "{text}");

        let text = refusal(&somebody.url("reader"), None);
        assert!(
            text.contains("user \"reader\" may not create a database") && text.contains("CREATEDB"),
            "{text}"
        );

        somebody.sql("CREATE DATABASE precious");
        let text = refusal(&somebody.url("maker"), Some("precious"));
        assert!(text.contains("\"precious\": it exists and was not made by fathom"), "{text}");

        let text = refusal(&(somebody.url("maker") + "?sslmode=require"), None);
        assert!(text.contains("no TLS"), "{text}");

        let text = refusal(&format!("postgresql://maker:{PASSWORD}@127.0.0.1:1/postgres"), None);
        assert!(text.contains("\"127.0.0.1:1\""), "{text}");
        assert_eq!(somebody.databases(), ["postgres", "precious"]);
    }
}

#[test]
fn password_files_and_services_let_runs_waits_and_checks_in() {
    for server in newest() {
        let scratch = scratch();
        let somebody = Somebody::new(&server, scratch.path(), false);
        let port = somebody.cluster.port();
        let written = |name: &str, text: String| {
            let path = scratch.path().join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
            path.display().to_string()
        };
        let passwords =
            written("passwords", format!("other:*:*:*:falsch\n127.0.0.1:{port}:*:maker:{PASSWORD}\n"));
        let services = written(
            "services",
            format!(
                "[sales]\nhost=127.0.0.1\nport={port}\nuser=maker\ndbname=postgres\npassfile={passwords}\n"
            ),
        );
        let by_file = format!("postgresql://maker@127.0.0.1:{port}/postgres?passfile={passwords}");
        let by_service = format!("postgresql:///?service=sales&servicefile={services}");
        for url in [&by_file, &by_service] {
            connect(url, None).unwrap().stop(false).unwrap();
            LivePostgres::attach(url, Way::Sql).unwrap();
            assert!(ServerLocation::ask(url).unwrap().is_local);
        }
        let bare = format!("postgresql://maker@127.0.0.1:{port}/postgres?passfile=/no/such/file");
        let asked = ServerLocation::ask(&bare).map(|place| place.server).unwrap_err().to_string();
        for text in [refusal(&bare, None), asked] {
            assert!(text.contains("asks for the password of user \"maker\""), "{text}");
            for way in ["PGPASSWORD", "~/.pgpass", "PGPASSFILE", "PGSERVICE"] {
                assert!(text.contains(way), "{way}: {text}");
            }
        }
    }
}

#[test]
fn a_crashed_run_s_database_is_dropped_and_one_in_use_is_not() {
    for server in newest() {
        let scratch = scratch();
        let somebody = Somebody::new(&server, scratch.path(), false);
        let living = connect(&somebody.url("maker"), Some("fathom_living")).unwrap();
        // What a crash leaves: the mark, and nobody connected.
        somebody.sql("CREATE DATABASE fathom_left OWNER maker");
        somebody
            .sql("COMMENT ON DATABASE fathom_left IS 'made by fathom 0.0.1; dropped when the study ends'");
        somebody.sql("CREATE DATABASE fathom_named_alike OWNER maker");
        let text = refusal(&somebody.url("maker"), Some("fathom_living"));
        assert!(text.contains("another fathom works in it"), "{text}");
        let mut next = connect(&somebody.url("maker"), Some("fathom_next")).unwrap();
        assert_eq!(somebody.databases(), ["fathom_living", "fathom_named_alike", "fathom_next", "postgres"]);
        // One that was kept is not taken for a leftover.
        next.stop(true).unwrap();
        drop(living);
        connect(&somebody.url("maker"), None).unwrap().stop(false).unwrap();
        assert_eq!(somebody.databases(), ["fathom_named_alike", "fathom_next", "postgres"]);
    }
}

#[test]
fn what_the_server_s_owner_decides_is_refused_before_anything_runs() {
    for server in newest() {
        let scratch = scratch();
        let somebody = Somebody::new(&server, scratch.path(), true);
        let mut target = connect(&somebody.url("maker"), None).unwrap();
        let mut with_setting = |name: &str, value: &str| {
            let mut work = Work { durability: Durability::Full, ..work() };
            work.settings.insert(name.to_owned(), value.to_owned());
            target.prepare(&work).map_err(|error| error.to_string())
        };
        with_setting("work_mem", "5MB").unwrap();
        assert!(with_setting("work_mem", "lots").unwrap_err().contains("SET \"work_mem\" = 'lots'"));
        assert!(with_setting("wal_buffers", "8MB").unwrap_err().contains("postmaster"));
        assert!(
            with_setting("no_such_setting", "1").unwrap_err().contains("has no setting \"no_such_setting\"")
        );
        for work in [
            Work { durability: Durability::None, ..work() },
            Work { placement: Placement::LogApart, durability: Durability::Full, ..work() },
            Work { connections: 1000, durability: Durability::Full, ..work() },
        ] {
            assert!(target.prepare(&work).is_err(), "{work:?}");
        }
        let work = Work { durability: Durability::Full, amount: Amount::Rows(5), ..work() };
        assert_eq!(run(&mut target, &work).post_run_state.rows, Some(5));
        target.stop(false).unwrap();
    }
}
