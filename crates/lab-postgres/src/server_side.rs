//! What both targets keep of their server: the control connection, what the server can do, how the clients of a run
//! connect.

use lab::engine::look_up::Answers;
use lab::engine::{Connector, Counters, PostRunState, TargetError};
use lab::work::Work;

use super::capabilities::Capabilities;
use super::control::Control;
use super::external::connecting::connect;
use super::external::own_database::drop_database;
use super::session::PostgresConnector;
use super::wire::Login;
use crate::counters::{self, clients};
use crate::workload::guid::FixtureTables;
use crate::workload::look_up::LookUp;
use crate::workload::{fixture, schema};

/// The server of a target, as its control side and its clients see it.
#[derive(Debug, Default)]
pub(super) struct ServerSide {
    /// The control connection; `None` while no server runs, and after the target was stopped.
    pub(super) control: Option<Control>,
    /// A second connection, into the target's own database, while the control connection is in the database of a run.
    pub(super) beside: Option<Control>,
    /// The database of the run that the control connection is in.
    pub(super) run_database: Option<String>,
    /// What the server can do; all is absent before the first connection.
    pub(super) capabilities: Capabilities,
    /// How the clients of the current run connect; `None` outside `prepare` and `clean`.
    pub(super) connector: Option<PostgresConnector>,
    /// What the look-ups of the current run did.
    pub(super) answers: Answers,
    /// How to connect again to a server that went away between two runs; `None` for a server that the target starts.
    pub(super) reconnects: Option<Login>,
    /// The same for the target's own database, while the control connection is in that of a run.
    pub(super) left: Option<Login>,
    /// The database of the last run, where it stays for good.
    pub(super) kept_run: Option<String>,
}

impl ServerSide {
    /// The control connection, made again where the server may have gone away.
    ///
    /// # Errors
    /// There is no server to ask.
    pub(super) fn running(&mut self) -> Result<&mut Control, TargetError> {
        if let Some(login) = &self.reconnects
            && self.control.as_ref().is_some_and(|control| !control.is_usable())
        {
            self.control = Some(connect(login)?);
        }
        let reason = if self.reconnects.is_some() { "the target was stopped" } else { "it does not run" };
        self.control.as_mut().ok_or_else(|| TargetError::engine("could not ask the server", reason))
    }

    /// Has the control connection work in another database; the one before stays open beside it.
    ///
    /// # Errors
    /// The server refuses the connection.
    pub(super) fn enter(&mut self, login: &Login) -> Result<(), TargetError> {
        self.leave()?;
        let inside = connect(login)?;
        self.beside = self.control.replace(inside);
        self.run_database = Some(login.database.clone());
        if self.reconnects.is_some() {
            self.left = self.reconnects.replace(login.clone());
        }
        Ok(())
    }

    /// Takes the control connection back into the target's own database, and returns it.
    ///
    /// # Errors
    /// There is no server to ask.
    pub(super) fn leave(&mut self) -> Result<&mut Control, TargetError> {
        if self.run_database.take().is_some() {
            if let Some(inside) = self.control.take() {
                inside.close();
            }
            self.control = self.beside.take();
            if let Some(login) = self.left.take() {
                self.reconnects = Some(login);
            }
        }
        self.running()
    }

    /// Leaves the database of the run and drops it, where there is one; returns the control connection, which is in
    /// another one then.
    ///
    /// # Errors
    /// The server does not answer, or refuses it.
    pub(super) fn drop_run(&mut self, run_database: &str) -> Result<&mut Control, TargetError> {
        let control = self.leave()?;
        drop_database(control, run_database)?;
        Ok(control)
    }

    /// Forgets all connections to a server that ends.
    pub(super) fn disconnect(&mut self) {
        (self.connector, self.control, self.beside, self.run_database) = (None, None, None, None);
        if let Some(login) = self.left.take() {
            self.reconnects = Some(login);
        }
    }

    /// How the clients of this run connect.
    ///
    /// # Panics
    /// Outside `prepare` and `clean`.
    pub(super) fn connector(&self) -> PostgresConnector {
        self.connector.clone().expect("a connector is asked for between prepare and clean")
    }

    /// The look-up of the work; `None` for work without any.
    pub(super) fn look_up(&self, work: &Work, is_local: bool) -> Option<LookUp> {
        let fixture = FixtureTables::of(work).filter(|_| work.workload.looks_up())?;
        Some(LookUp {
            statement: LookUp::explained(&fixture.question(work)),
            page_bytes: self.capabilities.page_size_bytes.unwrap_or(8192),
            is_local,
            answers: self.answers.clone(),
        })
    }

    /// Clients of the run in the list of sessions; `None` where the server has no such list.
    pub(super) fn clients_seen(&mut self) -> Result<Option<u32>, TargetError> {
        match self.listed_name() {
            Some(name) => counters::clients_seen(self.running()?, &name).map(Some),
            None => Ok(None),
        }
    }

    /// Cancels what the clients of the run wait for, where the server lists them.
    pub(super) fn interrupt(&mut self) -> Result<(), TargetError> {
        match self.listed_name() {
            Some(name) => counters::interrupt(self.running()?, &name),
            None => Ok(()),
        }
    }

    /// The name of the run's clients in the list of sessions, where there is one.
    fn listed_name(&self) -> Option<String> {
        let connector = self.connector.as_ref().filter(|_| self.capabilities.session_list)?;
        Some(connector.application_name().to_owned())
    }

    /// Counters of the clients' own sessions, where the server keeps them.
    pub(super) fn client_counters(&mut self) -> Result<Option<Counters>, TargetError> {
        let Some(connector) = self.connector.as_ref().filter(|connector| connector.counts_by_session())
        else {
            return Ok(None);
        };
        let name = connector.application_name().to_owned();
        clients::read(self.running()?, &name).map(Some)
    }

    /// Totals of the server.
    pub(super) fn counters(&mut self) -> Result<Counters, TargetError> {
        let capabilities = self.capabilities.clone();
        counters::read(self.running()?, &capabilities)
    }

    /// State of the run's objects after its end.
    pub(super) fn post_run_state(&mut self, work: &Work) -> Result<PostRunState, TargetError> {
        let (capabilities, answers) = (self.capabilities.clone(), self.answers.clone());
        let control = self.running()?;
        match work.workload.looks_up() {
            true => fixture::post_run_state(control, work, &answers),
            false => counters::post_run_state(control, &capabilities, work),
        }
    }

    /// Ends the run: forgets its clients and drops its objects, among them the database `run_database` of a workload of the
    /// user's own. A server that is gone has nothing to clean now.
    pub(super) fn clean(&mut self, run_database: &str) -> Result<(), TargetError> {
        self.connector = None;
        if self.run_database.is_some() {
            self.drop_run(run_database)?;
        }
        let statements = schema::drop_all(self.capabilities.procedures);
        if let Some(control) = self.control.as_mut().filter(|control| control.is_usable()) {
            for statement in statements {
                control.complete("could not remove the objects of the run", &statement)?;
            }
        }
        Ok(())
    }
}
