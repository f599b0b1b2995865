//! Tablespaces in the directories of the layout.

use std::path::PathBuf;

use lab::engine::TargetError;
use lab::work::{Placement, Work};

use super::super::control::{identifier, literal};
use super::ManagedPostgres;
use crate::expand::spread::sql_path;
use crate::server::cluster;

impl ManagedPostgres {
    /// The tablespace in each directory that holds data of this run, made when it is first needed.
    pub(super) fn tablespaces_for(&mut self, work: &Work) -> Result<Vec<Option<String>>, TargetError> {
        let places: Vec<Option<PathBuf>> = match work.placement {
            Placement::DataApart => vec![self.layout.log.clone()],
            // The first data directory holds the cluster: its default tablespace is there.
            _ => std::iter::once(None).chain(self.layout.data.iter().skip(1).cloned().map(Some)).collect(),
        };
        let used = work.data_places(places.len());
        places
            .into_iter()
            .take(used)
            .map(|place| place.map(|place| self.tablespace(place)).transpose())
            .collect()
    }

    fn tablespace(&mut self, place: PathBuf) -> Result<String, TargetError> {
        if let Some((_, name)) = self.tablespaces.iter().find(|(known, _)| *known == place) {
            return Ok(name.clone());
        }
        let name = format!("fathom_{}", self.tablespaces.len() + 1);
        let cluster = self.cluster_mut()?;
        let directory = cluster.part(&place, &name)?.join("tablespace");
        cluster::make_directory(&directory, cluster.user())?;
        let sql =
            format!("CREATE TABLESPACE {} LOCATION {}", identifier(&name), literal(sql_path(&directory)?));
        self.side
            .running()?
            .rows(&format!("could not make a tablespace in \"{}\"", place.display()), &sql)?;
        self.tablespaces.push((place, name.clone()));
        Ok(name)
    }
}
