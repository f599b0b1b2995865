//! Rows of `pg_database` and `pg_tablespace`, read with the layouts that are written down in `formats`: they stand in
//! `global/`, and say which directories must be there.

use std::collections::HashMap;

use formats::postgres::catalog::{Layout, PG_DATABASE, PG_TABLESPACE, Row};
use formats::postgres::file_name::Fork;
use formats::postgres::{Oid, relmap};

use crate::catalog::reader::visible_tuples;
use crate::cluster::Cluster;
use crate::cluster::transactions::Transactions;

/// `datconnlimit` of a database that is half dropped.
// EVIDENCE: src/include/catalog/pg_database.h DATCONNLIMIT_INVALID_DB -2
const DROPPING: u32 = 0xFFFF_FFFE;

/// A database.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Database {
    pub(crate) oid: Oid,
    pub(crate) name: String,
    /// Default tablespace.
    pub(crate) tablespace: Oid,
}

/// Databases that everyone sees, without those that are half dropped; `None` if the catalog cannot be read.
pub(crate) fn databases(cluster: &Cluster, transactions: &Transactions) -> Option<Vec<Database>> {
    let mut found = Vec::new();
    each(cluster, transactions, PG_DATABASE, &Layout::of_pg_database(cluster.major), |row| {
        let database = || {
            Some(Database {
                oid: row.u32("oid")?,
                name: row.text("datname")?,
                tablespace: row.u32("dattablespace")?,
            })
        };
        found.extend(database().filter(|_| row.u32("datconnlimit") != Some(DROPPING)));
    })?;
    found.sort();
    Some(found)
}

/// Names of databases by object id; empty if the catalog cannot be read.
pub(crate) fn names(cluster: &Cluster, transactions: &Transactions) -> HashMap<Oid, String> {
    let rows = databases(cluster, transactions).unwrap_or_default();
    rows.into_iter().map(|row| (row.oid, row.name)).collect()
}

/// Names of tablespaces by object id; `None` if the catalog cannot be read.
pub(crate) fn tablespaces(cluster: &Cluster, transactions: &Transactions) -> Option<HashMap<Oid, String>> {
    let mut found = HashMap::new();
    each(cluster, transactions, PG_TABLESPACE, &Layout::of_pg_tablespace(), |row| {
        found.extend(row.u32("oid").zip(row.text("spcname")));
    })?;
    Some(found)
}

fn each(
    cluster: &Cluster,
    transactions: &Transactions,
    catalog: Oid,
    layout: &Layout,
    mut take: impl FnMut(&Row<'_>),
) -> Option<()> {
    let number = file_number(cluster, catalog)?;
    let fork = cluster
        .forks
        .iter()
        .find(|fork| fork.number == number && fork.database == 0 && fork.fork == Fork::Main)?;
    visible_tuples(cluster, transactions, fork, |tuple, _| {
        if let Some(row) = layout.row(tuple) {
            take(&row);
        }
    })
    .ok()
}

/// The file number of pg_database; `None` if the map cannot be read.
pub(crate) fn pg_database_file(cluster: &Cluster) -> Option<Oid> {
    file_number(cluster, PG_DATABASE)
}

fn file_number(cluster: &Cluster, catalog: Oid) -> Option<Oid> {
    let map = cluster.tree.read_small("global/pg_filenode.map").ok()?;
    let mut damage = Vec::new();
    let pairs = relmap::read(&map, &mut damage);
    Some(pairs.iter().find(|(id, _)| *id == catalog).filter(|_| damage.is_empty())?.1)
}
