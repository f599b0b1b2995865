//! Databases of the user's own on somebody else's server, beside the one that holds the mark of this fathom.

use lab::engine::TargetError;

use super::ExternalPostgres;
use super::own_database::{KEPT_MARK, drop_parts, part_mark, set_comment};
use crate::own::{Databases, Own, OwnNames};
use crate::server_side::ServerSide;
use crate::wire::Login;

impl ExternalPostgres {
    /// Name of the database of a run.
    pub(super) fn run_database(&self) -> String {
        format!("{}_own", self.login.database)
    }

    /// What the names of the databases begin with that are kept for later runs.
    pub(super) fn kept_prefix(&self) -> String {
        format!("{}_kept_", self.login.database)
    }
}

impl ExternalPostgres {
    /// Leaves the databases where they are for good; those that only runs were copied from are dropped.
    pub(super) fn keep_databases(&mut self) -> Result<(), TargetError> {
        let kept = self.side.run_database.clone();
        let name = self.login.database.clone();
        let control = self.side.leave()?;
        for database in kept.iter().chain([&name]) {
            set_comment(control, database, KEPT_MARK)?;
        }
        drop_parts(control, &name);
        self.side.disconnect();
        self.side.kept_run = kept;
        Ok(())
    }
}

impl Own for ExternalPostgres {
    fn side(&self) -> &ServerSide {
        &self.side
    }

    fn databases(&mut self) -> Result<Databases<'_>, TargetError> {
        let names = OwnNames {
            run: self.run_database(),
            kept_prefix: self.kept_prefix(),
            owner: None,
            mark: Some(part_mark(&self.login.database)),
            tablespace: None,
        };
        let login = Login { database: names.run.clone(), ..self.login.clone() };
        Ok(Databases { side: &mut self.side, names, login })
    }

    fn script_login(&self, application_name: &str) -> Login {
        Login {
            database: self.run_database(),
            application_name: application_name.to_owned(),
            ..self.login.clone()
        }
    }
}
