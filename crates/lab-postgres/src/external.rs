//! A server that is not ours, reached by URL. fathom works only inside a database that it creates there and marks
//! with a comment, and drops it when it is done.

use std::fmt;
use std::sync::Arc;

use lab::engine::look_up::Answers;
use lab::engine::managed_directory::unique_id;
use lab::engine::{
    CacheControl, ClientControl, Counters, Describe, DynConnector, Engine, Limitation, Observe, PostRunState,
    Residence, Target, TargetError,
};
use lab::work::{Durability, Work};

use super::capabilities::{Capabilities, Family};
use super::control::{Control, identifier, literal};
use super::session::{Connecting, PostgresConnector};
use super::settings::{common_limitations, require_possible};
use super::wire::{Addresses, Endpoint, Login};
use crate::external::limits::{ServerState, refusals};
use crate::external::own_database::{
    KEPT_MARK, MARK, create_database, drop_leftovers, make_way, set_comment,
};
use crate::workload::guid::{self, FixtureTables};
use crate::workload::look_up::LookUp;
use crate::workload::{fixture, schema};
use crate::{ENGINE, address, counters, waits};

mod abilities;
pub(super) mod connecting;
mod limits;
pub(crate) mod own_database;
mod session_settings;

use connecting::connect;
use session_settings::{setting_name, time_as_clients_do};

/// Name of the control connections in the list of sessions.
const CONTROL_NAME: &str = "fathom-control";

/// Which server, and how the database is to be called.
#[derive(Clone)]
pub struct ExternalOptions {
    /// `postgresql://user:password@host:port/database`; the database is only used to create ours.
    pub url: String,
    /// Name of the database to make; `None` makes one up.
    pub database: Option<String>,
}

impl fmt::Debug for ExternalOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The URL may hold a password.
        formatter.debug_struct("ExternalOptions").field("database", &self.database).finish_non_exhaustive()
    }
}

/// A database of our own on somebody else's server.
///
/// All calls must come from outside an asynchronous runtime.
#[derive(Debug)]
pub struct ExternalPostgres {
    /// Into the database that the URL names.
    maintenance_login: Login,
    /// Into our own.
    login: Login,
    /// `None` after `stop`.
    control: Option<Control>,
    capabilities: Capabilities,
    server: ServerState,
    /// Version and suite of TLS, where there is any.
    encryption: Option<String>,
    connector: Option<PostgresConnector>,
    /// Tables that look-ups read, made in our database and kept with it.
    fixtures: Vec<FixtureTables>,
    answers: Answers,
}

impl ExternalPostgres {
    /// How the clients of this run connect.
    ///
    /// # Panics
    /// Outside `prepare` and `clean`.
    pub fn postgres_connector(&self) -> PostgresConnector {
        self.connector.clone().expect("a connector is asked for between prepare and clean")
    }

    /// Connects, drops what crashed runs left, creates and marks the database.
    ///
    /// # Errors
    /// A URL that is none, a server that cannot be reached or refuses the login, a role without the right to create
    /// databases, a database of that name that is not marked as ours or is in use. None of them shows the password.
    pub fn connect(options: &ExternalOptions) -> Result<Self, TargetError> {
        let maintenance_login = address::parse(&options.url, CONTROL_NAME)?;
        let mut maintenance = connect(&maintenance_login)?;
        let capabilities = Capabilities::probe(&mut maintenance)?;
        if capabilities.session_list {
            drop_leftovers(&mut maintenance);
        }
        let name =
            options.database.clone().unwrap_or_else(|| format!("fathom_{}", unique_id().replace('-', "_")));
        make_way(&mut maintenance, &name)?;
        create_database(&mut maintenance, &maintenance_login, &name)?;
        let login = Login { database: name.clone(), ..maintenance_login.clone() };
        // Connected before it is marked: a marked database without a connection is taken for a leftover.
        let mut control = connect(&login)?;
        let mark = format!("{MARK} {}; dropped when the study ends", env!("CARGO_PKG_VERSION"));
        set_comment(&mut control, &name, &mark)?;
        maintenance.close();
        if control.probe("SELECT gen_random_uuid()").is_none() {
            // Before version 13 the function is in an extension; without either, creating a table says so.
            let _ = control.query("CREATE EXTENSION pgcrypto");
        }
        let server = ServerState::ask(&mut control);
        let encryption = control.encryption();
        let control = Some(control);
        Ok(Self {
            maintenance_login,
            login,
            control,
            capabilities,
            server,
            encryption,
            connector: None,
            fixtures: Vec::new(),
            answers: Answers::default(),
        })
    }

    /// Name of our database.
    pub fn database(&self) -> &str {
        &self.login.database
    }

    /// The control connection, made again when the server went away between two runs.
    fn running(&mut self) -> Result<&mut Control, TargetError> {
        if self.control.as_ref().is_some_and(|control| !control.is_usable()) {
            self.control = Some(connect(&self.login)?);
        }
        self.control
            .as_mut()
            .ok_or_else(|| TargetError::engine("could not ask the server", "the target was stopped"))
    }

    /// Makes the tables that look-ups read, once for each shape of them.
    fn provide_fixtures(&mut self, work: &Work) -> Result<(), TargetError> {
        let mut fixtures = std::mem::take(&mut self.fixtures);
        let provided = self.running().and_then(|control| fixture::provide(control, &mut fixtures, work));
        self.fixtures = fixtures;
        provided.map(drop)
    }

    fn look_up(&self, work: &Work) -> Option<LookUp> {
        let fixture = FixtureTables::of(work).filter(|_| work.workload.looks_up())?;
        Some(LookUp {
            statement: LookUp::explained(&fixture.question(work)),
            page_bytes: self.capabilities.page_size_bytes.unwrap_or(8192),
            is_local: false,
            answers: self.answers.clone(),
        })
    }

    /// What each client sets for itself.
    fn session_statements(&self, work: &Work) -> Vec<String> {
        let mut statements = Vec::new();
        if self.capabilities.family != Family::Cockroach {
            let value = if work.durability == Durability::Full { "on" } else { "off" };
            statements.push(format!("SET synchronous_commit = {value}"));
        }
        statements.extend(
            work.settings
                .iter()
                .map(|(name, value)| format!("SET {} = {}", setting_name(name), literal(value))),
        );
        statements
    }
}

impl Target for ExternalPostgres {
    fn engine(&self) -> &'static Engine {
        &ENGINE
    }

    fn limitations(&self, work: &Work) -> Vec<Limitation> {
        let mut limitations = common_limitations(work);
        limitations.extend(self.capabilities.limitations());
        limitations.extend(refusals(work, &self.capabilities, &self.server));
        if work.data_files > 1 {
            limitations.push(Limitation {
                subject: "data_files".to_owned(),
                text: format!(
                    "{} hash partitions in the database's own tablespace: partitions, not files, the index is divided too",
                    work.data_files
                ),
                refuses: false,
            });
        }
        limitations
    }

    fn prepare(&mut self, work: &Work) -> Result<(), TargetError> {
        require_possible(&self.limitations(work))?;
        self.connector = None;
        self.answers = Answers::default();
        let mut first_statements = self.session_statements(work);
        if work.workload.looks_up() {
            first_statements.extend(guid::PLANNER.map(str::to_owned));
            self.provide_fixtures(work)?;
        }
        let look_up = self.look_up(work);
        let mut statements = schema::drop_all(self.capabilities.procedures);
        statements.extend(schema::create(work, &[None], &self.capabilities));
        let control = self.running()?;
        time_as_clients_do(control, work);
        for statement in &first_statements {
            // Tried where it leaves no trace.
            let outcome = control.query(&format!("BEGIN; {statement}"));
            control.rows("could not take back a setting", "ROLLBACK")?;
            outcome.map_err(|error| {
                TargetError::refused(
                    format!("the server refuses \"{statement}\": {error}"),
                    "see the server's manual for its settings and their values",
                )
            })?;
        }
        for statement in &statements {
            control.complete("could not make the objects of the run", statement)?;
        }
        waits::provide(control);
        // Not everybody may (superusers, pg_checkpoint from 15 on): `warnings` says so.
        let _ = control.work("CHECKPOINT");
        let mut login = self.login.clone();
        login.application_name = format!("fathom-client-{}", unique_id());
        self.connector = Some(PostgresConnector::new(Connecting {
            login,
            first_statements,
            row: schema::row_statement(work),
            workload: work.workload,
            seed: work.seed,
            look_up,
            counts_by_session: self.capabilities.backend_counters,
            addresses: Addresses::default(),
        }));
        Ok(())
    }

    fn connector(&self) -> Arc<dyn DynConnector> {
        Arc::new(self.postgres_connector())
    }

    fn jobs(&self, work: &Work) -> u32 {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as u32;
        let is_local = match &self.login.endpoint {
            Endpoint::Unix { .. } => true,
            Endpoint::Tcp { host, .. } => host == "localhost" || host.starts_with("127.") || host == "::1",
        };
        let available = if is_local { processors / 2 } else { processors };
        available.clamp(1, work.connections.max(1))
    }

    fn counters(&mut self) -> Result<Counters, TargetError> {
        let capabilities = self.capabilities.clone();
        counters::read(self.running()?, &capabilities)
    }

    fn post_run_state(&mut self, work: &Work) -> Result<PostRunState, TargetError> {
        let (capabilities, answers) = (self.capabilities.clone(), self.answers.clone());
        if work.workload.looks_up() {
            return fixture::post_run_state(self.running()?, work, &answers);
        }
        counters::post_run_state(self.running()?, &capabilities, work)
    }

    fn clean(&mut self) -> Result<(), TargetError> {
        self.connector = None;
        let statements = schema::drop_all(self.capabilities.procedures);
        if let Some(control) = self.control.as_mut().filter(|control| control.is_usable()) {
            for statement in statements {
                control.complete("could not remove the objects of the run", &statement)?;
            }
        }
        Ok(())
    }

    fn stop(&mut self, keep: bool) -> Result<(), TargetError> {
        self.connector = None;
        let Some(mut control) = self.control.take() else {
            return Ok(());
        };
        let name = self.login.database.clone();
        if keep {
            return set_comment(&mut control, &name, KEPT_MARK);
        }
        control.close();
        let mut maintenance = connect(&self.maintenance_login)?;
        // FORCE ends sessions in our own database only: clients of a run that failed.
        let sql = format!("DROP DATABASE {}", identifier(&name));
        let forced = format!("{sql} WITH (FORCE)");
        let outcome = maintenance.work(&forced).or_else(|_| maintenance.work(&sql));
        maintenance.close();
        outcome
            .map(drop)
            .map_err(|error| TargetError::engine(format!("could not drop our database \"{name}\""), error))
    }

    fn describe(&mut self) -> Option<&mut dyn Describe> {
        Some(self)
    }

    fn residence(&self) -> Option<&dyn Residence> {
        Some(self)
    }

    fn clients(&mut self) -> Option<&mut dyn ClientControl> {
        Some(self)
    }

    fn cache(&mut self) -> Option<&mut dyn CacheControl> {
        Some(self)
    }

    fn observe(&mut self) -> Option<&mut dyn Observe> {
        Some(self)
    }
}

impl Drop for ExternalPostgres {
    fn drop(&mut self) {
        if let Err(error) = self.stop(false) {
            tracing::warn!(%error, "left a database behind; the next start drops it");
        }
    }
}
