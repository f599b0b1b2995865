//! Databases of the user's own in a cluster of ours: their scripts run as a role that owns them and is no superuser.

use lab::engine::TargetError;

use super::{CONTROL_NAME, ManagedPostgres, OWN};
use crate::own::{Databases, Own, OwnNames};
use crate::server_side::ServerSide;
use crate::wire::Login;

/// Stands before the names of the databases that are kept for later runs.
const KEPT_PREFIX: &str = "fathom_kept_";

impl Own for ManagedPostgres {
    fn side(&self) -> &ServerSide {
        &self.side
    }

    fn side_mut(&mut self) -> &mut ServerSide {
        &mut self.side
    }

    fn databases(&mut self) -> Result<Databases<'_>, TargetError> {
        let work = self.work.clone();
        let tablespaces = work.map_or_else(|| Ok(Vec::new()), |work| self.tablespaces_for(&work))?;
        let login = self.cluster_mut()?.login(OWN, CONTROL_NAME);
        Ok(Databases {
            side: &mut self.side,
            names: OwnNames {
                run: OWN.to_owned(),
                kept_prefix: KEPT_PREFIX.to_owned(),
                owner: Some(OWN.to_owned()),
                mark: None,
                tablespace: tablespaces.into_iter().next().flatten(),
            },
            login,
        })
    }

    fn script_login(&self, application_name: &str) -> Login {
        Login { user: OWN.to_owned(), ..self.cluster().login(OWN, application_name) }
    }
}
