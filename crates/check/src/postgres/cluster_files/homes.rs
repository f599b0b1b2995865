//! The directory of each database that has its catalogs: that of its default tablespace.

use std::path::PathBuf;

use formats::postgres::Oid;

use super::databases::directory_of;
use super::shared_catalogs::databases;
use crate::postgres::cluster::Cluster;
use crate::postgres::transactions::Transactions;

impl Cluster {
    /// Keeps one directory for each database: the one with its relation map, since tables in other tablespaces have
    /// directories without one; where no directory has the map, the one that pg_database names.
    ///
    /// `others`: directories of databases in tablespaces. I/O: pg_xact and pg_database, only if a map is missing.
    pub(crate) fn settle_databases(&mut self, others: Vec<(Oid, PathBuf)>) {
        let all: Vec<(Oid, PathBuf)> = self.databases.drain(..).chain(others).collect();
        let (mapped, bare): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|(_, path)| self.tree.has(path.join("pg_filenode.map")));
        let bare = bare.into_iter().filter(|(oid, _)| mapped.iter().all(|(known, _)| known != oid));
        let bare: Vec<(Oid, PathBuf)> = bare.collect();
        let rows = if bare.is_empty() { None } else { self.named_directories() };
        let is_home = |(oid, path): &(Oid, PathBuf)| match &rows {
            Some(rows) if rows.iter().any(|(named, _)| named == oid) => {
                rows.iter().any(|(named, home)| named == oid && home == path)
            }
            _ => path.starts_with("base"),
        };
        let mut homes: Vec<(Oid, PathBuf)> = bare.into_iter().filter(is_home).chain(mapped).collect();
        homes.sort();
        self.databases = homes;
    }

    /// Databases of pg_database with their directories.
    fn named_directories(&self) -> Option<Vec<(Oid, PathBuf)>> {
        let control = self.control.as_ref()?;
        let horizon = self.snapshot().map(|snapshot| snapshot.horizon_xid);
        let transactions = Transactions::load(&self.tree, control, horizon);
        let rows = databases(self, &transactions)?;
        Some(rows.iter().map(|row| (row.oid, directory_of(self, row))).collect())
    }
}
