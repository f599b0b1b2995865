//! Both targets as places for databases of the user's own.

use std::sync::Arc;

use lab::engine::{BulkLoad, DynConnector, OwnDatabases, TargetError};
use lab::own::Plan;

use super::databases::Databases;
use super::load::Loader;
use super::parse;
use super::session::{OwnConnecting, OwnConnector};
use crate::external::ExternalPostgres;
use crate::managed::ManagedPostgres;
use crate::server_side::ServerSide;
use crate::wire::{Addresses, Connection, Login, complete};

/// Name of the connections that parse and load in the list of sessions.
const OWN_CONTROL_NAME: &str = "fathom-control-own";

/// A target with databases of the user's own.
pub(crate) trait Own {
    /// What is kept of the server.
    fn side(&self) -> &ServerSide;

    /// The same, to ask the server.
    fn side_mut(&mut self) -> &mut ServerSide;

    /// Its databases, to make one of them.
    fn databases(&mut self) -> Result<Databases<'_>, TargetError>;

    /// How scripts reach the database of the run.
    fn script_login(&self, application_name: &str) -> Login;
}

macro_rules! own_databases {
    ($target:ty) => {
        impl OwnDatabases for $target {
            fn make_empty(&mut self) -> Result<(), TargetError> {
                self.databases()?.make_empty()
            }

            fn is_kept(&mut self, name: &str) -> Result<bool, TargetError> {
                self.databases()?.is_kept(name)
            }

            fn keep(&mut self, name: &str) -> Result<(), TargetError> {
                self.databases()?.keep(name)
            }

            fn restore(&mut self, name: &str) -> Result<(), TargetError> {
                self.databases()?.restore(name)
            }

            fn connector(&self, plan: Arc<Plan>) -> Arc<dyn DynConnector> {
                Arc::new(connector(self, plan))
            }

            fn parse_all(&mut self, plan: &Plan) -> Result<(), TargetError> {
                parse::parse_all(&mut open(self)?, plan)
            }

            fn interrupt(&mut self) -> Result<(), TargetError> {
                self.side_mut().interrupt()
            }

            fn loader(&self) -> Result<Box<dyn BulkLoad>, TargetError> {
                Ok(Box::new(Loader::new(open(self)?)))
            }
        }
    };
}

own_databases!(ManagedPostgres);
own_databases!(ExternalPostgres);

/// How the clients of a plan connect.
fn connector(target: &impl Own, plan: Arc<Plan>) -> OwnConnector {
    let connector = target.side().connector();
    let clients = connector.connecting();
    OwnConnector::new(OwnConnecting {
        login: target.script_login(connector.application_name()),
        first_statements: clients.first_statements.clone(),
        counts_by_session: clients.counts_by_session,
        addresses: Addresses::default(),
        first_commands: OwnConnecting::first_commands(&plan),
        plan,
    })
}

/// A connection as the scripts have it, which blocks.
fn open(target: &impl Own) -> Result<Connection, TargetError> {
    let login = target.script_login(OWN_CONTROL_NAME);
    let context = format!("could not connect to database \"{}\" at {}", login.database, login.endpoint);
    let refused = |error| TargetError::engine(&context, error);
    let mut connection = Connection::open(&login).map_err(refused)?;
    for statement in &target.side().connector().connecting().first_statements {
        complete(connection.query(statement)).map_err(refused)?;
    }
    Ok(connection)
}
