//! Files and directories that belong to the cluster as a whole: versions, directories, the WAL from which recovery starts,
//! the label of a backup, databases and tablespaces.

pub(crate) mod backup;
mod checkpoint;
mod databases;
mod directories;
mod homes;
pub(crate) mod horizon;
mod manifest;
pub(crate) mod moved_databases;
mod next_xid;
pub(crate) mod relation_maps;
pub(crate) mod shared_catalogs;
pub(crate) mod version;
mod wal;

use results::check::CheckLevel;

use crate::cluster::Cluster;
use crate::cluster::files::backup::{Label, damaged_label};
use crate::cluster::files::wal::WalFiles;
use crate::cluster::transactions::Transactions;
use crate::plan::Plan;
use crate::run::report::ReportBuilder;

/// The segment file of the checkpoint record that the control file names, and where the record begins in it.
pub(crate) fn checkpoint_place(cluster: &Cluster) -> Option<(String, u64)> {
    let control = cluster.control.filter(|_| cluster.control_damage.is_empty())?;
    let files = WalFiles::new(cluster, &control, control.timeline)?;
    let lsn = control.checkpoint_lsn;
    Some((files.name(lsn), lsn % u64::from(control.log_segment_bytes)))
}

impl ReportBuilder<'_> {
    /// Puts causes about the cluster in place of what follows from them in its blocks.
    pub(crate) fn fold_by_cluster(&mut self) {
        self.fold_future_transactions();
    }

    /// Tests what the cluster needs beside its relations. I/O: small files, two shared catalogs, and the WAL that
    /// recovery needs.
    pub(crate) fn check_cluster_files(&mut self, plan: &Plan, transactions: Option<&Transactions>) {
        let cluster = self.cluster;
        if self.only.is_some() || self.options.level < CheckLevel::Page {
            return;
        }
        let version = version::check_version(&cluster.tree, "PG_VERSION", cluster.major, None);
        let label = match &cluster.lost_label {
            Some(lost) => Some(lost.finding(cluster.control.as_ref())),
            None => Label::read(&cluster.tree).and_then(damaged_label),
        };
        version.into_iter().chain(label).for_each(|finding| self.findings.push(finding));
        self.check_directories();
        self.check_recovery();
        if let Some(transactions) = transactions.filter(|_| !self.options.is_raw) {
            self.check_databases(plan, transactions);
            self.check_catalog_agreement(transactions, &shared_catalogs::names(cluster, transactions));
        }
    }
}
