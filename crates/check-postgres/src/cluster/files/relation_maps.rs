//! Which damage of relation maps is certain while databases are created and dropped.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use formats::postgres::{Damage, Oid, relmap};

use crate::cluster::Cluster;
use crate::cluster::files::databases::directory_of;
use crate::cluster::files::manifest::Manifest;
use crate::cluster::files::moved_databases::has_moved;
use crate::cluster::files::shared_catalogs::databases;
use crate::cluster::state::Standing;
use crate::cluster::transactions::Transactions;
use crate::cluster::truncations::Truncations;

/// Keeps the damage of maps that CREATE or DROP DATABASE does not explain.
///
/// I/O: the damaged maps, `pg_database` and, where the cluster was not shut down cleanly, the WAL once more.
pub(crate) fn certain(
    cluster: &Cluster,
    transactions: &Transactions,
    damage: Vec<(PathBuf, Damage)>,
) -> Vec<(PathBuf, Damage)> {
    if damage.is_empty() {
        return damage;
    }
    damage.into_iter().filter(|(path, _)| is_certain(cluster, transactions, path)).collect()
}

// EVIDENCE: src/backend/commands/dbcommands.c createdb: the directory and its files are made before the row of pg_database is
// committed; dropdb: datconnlimit is set to -2 and a checkpoint ends before files are removed, and the record for the WAL
// is written after
fn is_certain(cluster: &Cluster, transactions: &Transactions, path: &Path) -> bool {
    let Some(directory) = path.parent() else { return true };
    let is_running = cluster.standing == Standing::Running;
    let again = cluster.tree.read_small(path);
    // A map is written in place up to version 15: the first reading may have had some bytes of before.
    // EVIDENCE: src/backend/utils/cache/relmapper.c write_relmap_file of 15; of 16: durable_rename
    let is_whole = |bytes: &Vec<u8>| {
        let mut damage = Vec::new();
        !relmap::read(bytes, &mut damage).is_empty() && damage.is_empty()
    };
    if is_running && again.as_ref().is_ok_and(is_whole) {
        return false;
    }
    let name = directory.file_name().and_then(|name| name.to_str());
    let Some(oid) = name.and_then(|name| name.parse().ok()) else { return true };
    if cluster.standing == Standing::Stopped {
        // A directory that pg_database does not name was left behind by an interrupted CREATE or DROP DATABASE.
        return is_home(cluster, transactions, oid, directory) != Some(false);
    }
    if !cluster.tree.has_directory(directory) {
        return false;
    }
    let is_missing = again.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound);
    let control = cluster.control.filter(|_| cluster.control_damage.is_empty());
    let log = control.as_ref().map(|control| Truncations::new(cluster, control));
    let moved = log.and_then(|log| has_moved(cluster, &log, oid));
    if moved == Some(true) {
        return false;
    }
    // A file of no length was listed while it was made.
    let listed = Manifest::read(&cluster.tree).and_then(|listed| listed.bytes_of(&path.to_string_lossy()));
    if listed > Some(0) && matches!(cluster.standing, Standing::Backup { .. }) {
        return true;
    }
    let is_named = || is_home(cluster, transactions, oid, directory);
    if is_named() == Some(false) {
        return false;
    }
    // Without the WAL it is not known whether replay creates the map.
    let is_still_named = || !is_running || is_named() != Some(false);
    !moved.unwrap_or(is_missing || listed.is_some())
        && is_still_named()
        && (!is_running || cluster.tree.has_directory(directory))
}

/// Whether a directory is that of a database's default tablespace; `None` if pg_database cannot be read.
fn is_home(cluster: &Cluster, transactions: &Transactions, oid: Oid, directory: &Path) -> Option<bool> {
    let rows = databases(cluster, transactions)?;
    Some(rows.iter().any(|row| row.oid == oid && directory_of(cluster, row) == directory))
}
