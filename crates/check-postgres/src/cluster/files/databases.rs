//! Each database of `pg_database` has its directory, and each tablespace of `pg_tablespace` its link.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use formats::postgres::Oid;
use results::check::{Finding, NotChecked};

use crate::cluster::Cluster;
use crate::cluster::files::manifest::Manifest;
use crate::cluster::files::moved_databases::has_moved;
use crate::cluster::files::shared_catalogs::{Database, databases, tablespaces};
use crate::cluster::files::version::check_version;
use crate::cluster::state::Standing;
use crate::cluster::transactions::Transactions;
use crate::cluster::truncations::Truncations;
use crate::finding::file_finding;
use crate::plan::Plan;
use crate::rules;
use crate::run::report::ReportBuilder;

/// Names of databases and relations that one finding lists.
const NAMES_MAX: usize = 5;
/// Tablespaces that are directories of the cluster: pg_default and pg_global.
const OWN_SPACES: [Oid; 2] = [1663, 1664];

impl ReportBuilder<'_> {
    /// Tests directories of databases and links of tablespaces.
    ///
    /// I/O: two small catalogs; the WAL once if something is missing in a cluster that was not shut down cleanly.
    pub(super) fn check_databases(&mut self, plan: &Plan, transactions: &Transactions) {
        let cluster = self.cluster;
        if cluster.tree.is_cut() {
            return;
        }
        let Some(rows) = databases(cluster, transactions) else { return };
        let spaces = tablespaces(cluster, transactions).unwrap_or_default();
        let control = cluster.control.filter(|_| cluster.control_damage.is_empty());
        let log = control.as_ref().map(|control| Truncations::new(cluster, control));
        let mut lost_spaces = self.lost_tablespaces(plan, &rows, log.as_ref(), spaces.keys().copied());
        lost_spaces.sort_unstable();
        for space in &lost_spaces {
            let name = spaces.get(space).map(String::as_str);
            let of_space = rows.iter().filter(|row| row.tablespace == *space);
            let finding = tablespace_finding(cluster, *space, name, of_space, plan);
            self.findings.push(finding);
        }
        for row in rows.iter().filter(|row| !lost_spaces.contains(&row.tablespace)) {
            self.check_database(row, transactions, log.as_ref());
        }
    }

    fn check_database(&mut self, row: &Database, transactions: &Transactions, log: Option<&Truncations>) {
        let cluster = self.cluster;
        let directory = directory_of(cluster, row);
        let shown = directory.to_string_lossy();
        if cluster.absent_tablespaces.contains(&row.tablespace) {
            return;
        }
        let name = Some(row.name.as_str());
        let (finding, is_listed) = if cluster.tree.has_directory(&directory) {
            let path = format!("{shown}/PG_VERSION");
            let Some(found) = check_version(&cluster.tree, &path, cluster.major, name) else { return };
            // A file of no length was listed while it was made.
            (found, Manifest::read(&cluster.tree).and_then(|listed| listed.bytes_of(&path)) > Some(0))
        } else {
            let expected = format!("the directory of database {} (oid {})", row.name, row.oid);
            let found = "no such directory".to_owned();
            let below = format!("{shown}/");
            let listed = Manifest::read(&cluster.tree);
            let is_listed = listed.is_some_and(|listed| listed.below(&below).next().is_some());
            (file_finding(&rules::DATABASE_DIRECTORY, &shown, name, expected, found), is_listed)
        };
        match self.is_still_wanted(row, transactions, log, is_listed) {
            Some(true) => self.findings.push(finding),
            Some(false) => {}
            None => {
                let file = &finding.file;
                let why = format!(
                    "{file} is missing or not valid; the WAL that could have dropped or moved the database is incomplete, or marks a database as being dropped"
                );
                self.not_checked.push(NotChecked::coverage(name, "everything", why));
            }
        }
    }

    /// Whether a database must be there: it was not made, dropped or moved since its row was written; `None` if that is
    /// not known. `is_listed`: the manifest of the backup names what is not there.
    // EVIDENCE: src/backend/commands/dbcommands.c dropdb: datconnlimit is changed in its place and a checkpoint ends before
    // the directory is removed, and the WAL gets a record; movedb: a record for both directories; dbase_redo: the directory
    // is removed and copied anew, so nothing in it is needed
    fn is_still_wanted(
        &self,
        row: &Database,
        transactions: &Transactions,
        log: Option<&Truncations>,
        is_listed: bool,
    ) -> Option<bool> {
        let cluster = self.cluster;
        if cluster.standing == Standing::Stopped {
            return Some(true);
        }
        let is_backup = matches!(cluster.standing, Standing::Backup { .. });
        let has_moved = log.and_then(|log| has_moved(cluster, log, row.oid));
        match has_moved {
            Some(true) => return Some(false),
            _ if is_listed && is_backup => return Some(true),
            None => return None,
            Some(false) => {}
        }
        let is_there_still =
            || databases(cluster, transactions).is_some_and(|rows| rows.iter().any(|again| again == row));
        Some(cluster.standing != Standing::Running || is_there_still())
    }

    /// Tablespaces whose directory is not there. Of a cluster that was not shut down cleanly only those in which the
    /// WAL leaves a relation or database.
    fn lost_tablespaces(
        &self,
        plan: &Plan,
        rows: &[Database],
        log: Option<&Truncations>,
        named: impl Iterator<Item = Oid>,
    ) -> Vec<Oid> {
        let cluster = self.cluster;
        let used = rows.iter().map(|row| row.tablespace).chain(plan.out_of_reach.keys().copied());
        let all: HashSet<Oid> = named.chain(used).filter(|space| !OWN_SPACES.contains(space)).collect();
        let is_there = |space: &Oid| cluster.tree.has_directory(&cluster.tablespace_directory(*space));
        let is_elsewhere = |space: &Oid| {
            let link = format!("pg_tblspc/{space}");
            let is_archive = cluster.tree.directory().is_none();
            cluster.absent_tablespaces.contains(space) || is_archive && cluster.tree.link(link).is_some()
        };
        let is_wanted = |space: &Oid| {
            let relations = plan.out_of_reach.get(space).map(Vec::as_slice).unwrap_or_default();
            let databases = || rows.iter().filter(|row| row.tablespace == *space);
            let asked = log.and_then(|log| {
                log.ask(|changes| {
                    relations.iter().any(|(database, number)| changes.is_there(*database, *number))
                        || databases().any(|row| !changes.has_changed(row.oid))
                })
            });
            cluster.standing == Standing::Stopped || asked == Some(true)
        };
        all.into_iter().filter(|space| !is_there(space) && !is_elsewhere(space) && is_wanted(space)).collect()
    }
}

pub(super) fn directory_of(cluster: &Cluster, row: &Database) -> PathBuf {
    let parent = match row.tablespace {
        1663 => PathBuf::from("base"),
        space => cluster.tablespace_directory(space),
    };
    parent.join(row.oid.to_string())
}

fn tablespace_finding<'a>(
    cluster: &Cluster,
    space: Oid,
    name: Option<&str>,
    databases: impl Iterator<Item = &'a Database>,
    plan: &Plan,
) -> Finding {
    let link = format!("pg_tblspc/{space}");
    let directory = cluster.tablespace_directory(space);
    let version = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let target = cluster.tree.link(&link);
    let found = match (cluster.tree.has_directory(Path::new(&link)), &target) {
        (true, Some(target)) => format!("a link to {target}, which has no directory {version}"),
        (true, None) => format!("a directory without {version}"),
        (false, Some(target)) => format!("a link to {target}, which does not exist"),
        (false, None) => "no such link".to_owned(),
    };
    let names: Vec<&str> = databases.map(|row| row.name.as_str()).collect();
    let relations = plan.out_of_reach.get(&space).map_or(0, Vec::len);
    let mut lost = vec![format!("{relations} relation{}", if relations == 1 { "" } else { "s" })];
    if !names.is_empty() {
        let shown = names.iter().take(NAMES_MAX).copied().collect::<Vec<_>>().join(", ");
        lost.push(format!(
            "{} whole database{} ({shown})",
            names.len(),
            if names.len() == 1 { "" } else { "s" }
        ));
    }
    let label = name.map_or_else(|| format!("tablespace {space}"), |name| format!("tablespace {name}"));
    let expected = format!("a link to the directory of {label} (oid {space}), with {version} in it");
    let found = format!("{found}; not readable: {}", lost.join(", "));
    let mut finding = file_finding(&rules::TABLESPACE, &link, Some(&label), expected, found);
    if let Some(target) = target {
        finding.next_step = format!(
            "mount or restore {target}, the target of {link}; if its files exist, no restore is needed"
        );
    }
    finding
}
