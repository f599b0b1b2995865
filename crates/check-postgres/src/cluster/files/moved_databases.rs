//! Databases that the WAL since the last checkpoint makes, moves or drops: replay makes their directories anew or removes
//! them, so nothing that stands in them is needed, and nothing in them must agree.

use std::collections::HashSet;

use formats::postgres::Oid;
use results::check::NotChecked;

use crate::catalog::Catalogs;
use crate::cluster::Cluster;
use crate::cluster::files::shared_catalogs::pg_database_file;
use crate::cluster::state::Standing;
use crate::cluster::transactions::Transactions;
use crate::cluster::truncations::Truncations;
use crate::run::report::ReportBuilder;

/// Whether the WAL makes, moves or drops a database; `None` if that is not known, which in a backup it is not either when a
/// row of pg_database was changed in its place: the backup may have the row from before and the files from after.
// EVIDENCE: src/backend/commands/dbcommands.c dropdb: datconnlimit is set to -2 in its place, a checkpoint ends, files are
// removed, and the record for the WAL is written last
pub(crate) fn has_moved(cluster: &Cluster, log: &Truncations, oid: Oid) -> Option<bool> {
    let catalog = pg_database_file(cluster);
    let is_backup = matches!(cluster.standing, Standing::Backup { .. });
    let (has_moved, may_be_dropped) = log.ask(|changes| {
        let may_be_dropped = || catalog.is_none_or(|number| changes.has_changed_in_place(number));
        (changes.has_changed(oid), is_backup && may_be_dropped())
    })?;
    (has_moved || !may_be_dropped).then_some(has_moved)
}

impl ReportBuilder<'_> {
    /// Leaves relations out whose database the WAL makes, moves or drops, and notes these databases.
    ///
    /// I/O: the WAL, once.
    pub(crate) fn leave_moved_out(
        &mut self,
        catalogs: &mut Catalogs,
        transactions: Option<&Transactions>,
        log: Option<&Truncations>,
    ) {
        if self.cluster.standing == Standing::Stopped {
            return;
        }
        let Some(moved) = log.and_then(|log| log.ask(|changes| changes.databases().clone())) else { return };
        let is_moved = |oid: Oid| moved.contains(&oid);
        let with_relations = catalogs.relations.iter().map(|relation| relation.database);
        let all = with_relations.chain(catalogs.unreadable.iter().map(|(oid, _)| *oid));
        let left: HashSet<Oid> = all.filter(|oid| is_moved(*oid)).collect();
        catalogs.relations.retain(|relation| !is_moved(relation.database));
        catalogs.unreadable.retain(|(oid, _)| !is_moved(*oid));
        let names =
            transactions.map(|known| crate::cluster::files::shared_catalogs::names(self.cluster, known));
        for oid in left {
            let name = names.as_ref().and_then(|names| names.get(&oid));
            let name = name.cloned().unwrap_or_else(|| format!("database {oid}"));
            let why = "the WAL since the last checkpoint creates, moves or drops the database: replay makes or removes its files";
            self.not_checked.push(NotChecked::coverage(Some(&name), "rows and index entries", why));
        }
        self.moved_databases = moved;
    }
}
