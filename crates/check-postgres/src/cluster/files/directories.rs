//! Directories that a server needs, whatever stands in them.

use std::path::Path;

use results::check::Finding;

use crate::cluster::state::Standing;
use crate::finding::file_finding;
use crate::rules;
use crate::run::report::ReportBuilder;

/// Without these the server does not start, or its first checkpoint fails.
// OBSERVED: 14.24, 15.18, 16.15, 17.11, 18.6, each directory removed alone: no start without pg_wal, pg_xact, pg_commit_ts,
// pg_notify, pg_twophase, pg_multixact/offsets, pg_replslot; CHECKPOINT ends with an error without pg_subtrans,
// pg_multixact/members, pg_logical/snapshots, pg_logical/mappings (15.18)
const NEEDED: [&str; 12] = [
    "global",
    "pg_wal",
    "pg_xact",
    "pg_multixact/offsets",
    "pg_multixact/members",
    "pg_commit_ts",
    "pg_notify",
    "pg_twophase",
    "pg_replslot",
    "pg_subtrans",
    "pg_logical/snapshots",
    "pg_logical/mappings",
];

impl ReportBuilder<'_> {
    /// Tests that all directories are there. Empty ones are lost by copies that copy files only.
    pub(super) fn check_directories(&mut self) {
        let tree = &self.cluster.tree;
        if tree.is_cut() {
            return;
        }
        let is_archive = tree.directory().is_none();
        // The WAL of a backup in tar files may be kept elsewhere.
        let is_apart = |name: &str| {
            name == "pg_wal" && is_archive && matches!(self.cluster.standing, Standing::Backup { .. })
        };
        let absent = NEEDED.iter().filter(|name| !is_apart(name) && !tree.has_directory(Path::new(name)));
        let findings: Vec<Finding> = absent
            .filter(|name| !(is_archive && tree.link(name).is_some()))
            .map(|name| {
                let found = match tree.link(name) {
                    Some(target) => format!("a symbolic link to {target}, which is not a directory"),
                    None => "no such directory".to_owned(),
                };
                file_finding(&rules::DIRECTORY, name, None, "a directory".to_owned(), found)
            })
            .collect();
        findings.into_iter().for_each(|finding| self.findings.push(finding));
    }
}
