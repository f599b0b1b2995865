//! A server that is not ours, reached by URL. fathom works only inside a database that it creates there and marks
//! with a comment, and drops it when it is done.

use std::fmt;
use std::sync::Arc;

use lab::engine::look_up::Answers;
use lab::engine::managed_directory::unique_id;
use lab::engine::{
    CacheControl, ClientControl, Counters, Describe, DynConnector, Engine, Limitation, Observe, OwnDatabases,
    PostRunState, Residence, Target, TargetError,
};
use lab::work::{Durability, Work, Workload};

use super::capabilities::{Capabilities, Family};
use super::control::{identifier, literal};
use super::server_side::ServerSide;
use super::session::{Connecting, PostgresConnector};
use super::settings::{common_limitations, require_possible};
use super::wire::{Addresses, Login};
use crate::external::limits::{ServerState, refusals};
use crate::external::own_database::{
    MARK, create_database, drop_leftovers, drop_parts, make_way, set_comment,
};
use crate::workload::guid::{self, FixtureTables};
use crate::workload::{fixture, schema};
use crate::{ENGINE, address, waits};

mod abilities;
pub(super) mod connecting;
mod limits;
mod own;
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
    side: ServerSide,
    server: ServerState,
    /// Version and suite of TLS, where there is any.
    encryption: Option<String>,
    /// Tables that look-ups read, made in our database and kept with it.
    fixtures: Vec<FixtureTables>,
    /// The role that executes scripts, where it is not that of the URL.
    script_role: Option<Login>,
}

impl ExternalPostgres {
    /// How the clients of this run connect.
    ///
    /// # Panics
    /// Outside `prepare` and `clean`.
    pub fn postgres_connector(&self) -> PostgresConnector {
        self.side.connector()
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
        let side = ServerSide {
            control: Some(control),
            capabilities,
            reconnects: Some(login.clone()),
            ..ServerSide::default()
        };
        Ok(Self {
            maintenance_login,
            login,
            side,
            server,
            encryption,
            fixtures: Vec::new(),
            script_role: None,
        })
    }

    /// Name of our database.
    pub fn database(&self) -> &str {
        &self.login.database
    }

    /// Makes the tables that look-ups read, once for each shape of them.
    fn provide_fixtures(&mut self, work: &Work) -> Result<(), TargetError> {
        fixture::provide(self.side.running()?, &mut self.fixtures, work).map(drop)
    }

    /// What each client sets for itself.
    fn session_statements(&self, work: &Work) -> Vec<String> {
        let mut statements = Vec::new();
        if self.side.capabilities.family != Family::Cockroach {
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
        limitations.extend(self.side.capabilities.limitations());
        limitations.extend(refusals(work, &self.side.capabilities, &self.server));
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
        self.side.clean(&self.run_database())?;
        self.side.answers = Answers::default();
        let mut first_statements = self.session_statements(work);
        if work.workload.looks_up() {
            first_statements.extend(guid::PLANNER.map(str::to_owned));
            self.provide_fixtures(work)?;
        }
        if work.workload == Workload::Own {
            self.provide_role(work, &mut first_statements)?;
        }
        let look_up = self.side.look_up(work, false);
        let mut statements = schema::drop_all(self.side.capabilities.procedures);
        statements.extend(schema::create(work, &[None], &self.side.capabilities));
        let control = self.side.running()?;
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
        self.side.connector = Some(PostgresConnector::new(Connecting {
            login,
            first_statements,
            row: schema::row_statement(work),
            workload: work.workload,
            seed: work.seed,
            look_up,
            counts_by_session: self.side.capabilities.backend_counters,
            addresses: Addresses::default(),
        }));
        Ok(())
    }

    fn connector(&self) -> Arc<dyn DynConnector> {
        Arc::new(self.postgres_connector())
    }

    fn jobs(&self, work: &Work) -> u32 {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as u32;
        let is_local = self.login.endpoint.is_local();
        let available = if is_local { processors / 2 } else { processors };
        available.clamp(1, work.connections.max(1))
    }

    fn counters(&mut self) -> Result<Counters, TargetError> {
        self.side.counters()
    }

    fn post_run_state(&mut self, work: &Work) -> Result<PostRunState, TargetError> {
        self.side.post_run_state(work)
    }

    fn clean(&mut self) -> Result<(), TargetError> {
        self.side.clean(&self.run_database())
    }

    fn stop(&mut self, keep: bool) -> Result<(), TargetError> {
        if self.side.control.is_none() {
            return Ok(());
        }
        let name = self.login.database.clone();
        if keep {
            return self.keep_databases();
        }
        self.side.disconnect();
        let mut maintenance = connect(&self.maintenance_login)?;
        drop_parts(&mut maintenance, &name);
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

    fn own_databases(&mut self) -> Option<&mut dyn OwnDatabases> {
        Some(self)
    }
}

impl Drop for ExternalPostgres {
    fn drop(&mut self) {
        if let Err(error) = self.stop(false) {
            tracing::warn!(%error, "a database was not removed; the next start drops it");
        }
    }
}
