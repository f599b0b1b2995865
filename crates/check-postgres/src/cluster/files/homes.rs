//! The directory of each database that has its catalogs: that of its default tablespace.

use std::collections::BTreeMap;
use std::path::PathBuf;

use formats::postgres::Oid;
use formats::postgres::file_name::Fork;

use crate::cluster::files::databases::directory_of;
use crate::cluster::files::shared_catalogs::databases;
use crate::cluster::transactions::Transactions;
use crate::cluster::{Cluster, ForkFiles};

impl Cluster {
    /// Keeps one directory for each database: the one with its relation map, since tables in other tablespaces have
    /// directories without one. Where none or several have a map, the one that pg_database names: a crash during ALTER
    /// DATABASE SET TABLESPACE leaves a copy, and DROP DATABASE a part.
    ///
    /// `others`: directories of databases in tablespaces. I/O: pg_xact and pg_database, only if it is not clear.
    // EVIDENCE: src/backend/commands/dbcommands.c movedb: the directory is copied before the row is changed, and the old one
    // is removed afterwards
    pub(crate) fn settle_databases(&mut self, others: Vec<(Oid, PathBuf)>) {
        let mut all: Vec<(Oid, PathBuf)> = self.databases.drain(..).chain(others).collect();
        all.sort();
        let mut by_database: BTreeMap<Oid, Vec<PathBuf>> = BTreeMap::new();
        for (oid, path) in all {
            by_database.entry(oid).or_default().push(path);
        }
        let has_map = |path: &PathBuf| self.tree.has(path.join("pg_filenode.map"));
        let mut named = None;
        let mut homes = Vec::new();
        for (oid, paths) in by_database {
            let mapped: Vec<&PathBuf> = paths.iter().filter(|path| has_map(path)).collect();
            if let [home] = mapped.as_slice() {
                homes.push((oid, (*home).clone()));
                continue;
            }
            let rows = named.get_or_insert_with(|| self.named_directories().unwrap_or_default());
            let home = match rows.iter().find(|(known, _)| *known == oid) {
                Some((_, home)) => paths.iter().find(|path| *path == home),
                None => mapped.first().copied().or(paths.first().filter(|path| path.starts_with("base"))),
            };
            homes.extend(home.map(|home| (oid, home.clone())));
        }
        self.databases = homes;
    }

    /// The tablespace whose directory has a database's catalogs, as in the directory: 0 for `base`, 1664 for relations that
    /// belong to no database.
    pub(crate) fn home_space(&self, database: Oid) -> Oid {
        if database == 0 {
            return 1664;
        }
        let home = self.databases.iter().find(|(oid, _)| *oid == database).map(|(_, path)| path);
        let space = home.and_then(|path| path.strip_prefix("pg_tblspc").ok()?.iter().next()?.to_str());
        space.and_then(|space| space.parse().ok()).unwrap_or(0)
    }

    /// The main fork of a catalog.
    pub(crate) fn catalog_fork(&self, database: Oid, number: Oid) -> Option<&ForkFiles> {
        let space = self.home_space(database);
        self.forks.iter().find(|fork| {
            fork.number == number
                && fork.database == database
                && fork.tablespace == space
                && fork.fork == Fork::Main
                && !fork.temporary
        })
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
