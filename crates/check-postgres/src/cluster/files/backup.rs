//! `backup_label`: where the recovery of a base backup starts; and how its absence is recognised.

use std::path::Path;

use formats::postgres::control::{Control, State};
use results::check::{Confidence, Finding};

use crate::cluster::files::manifest::{Manifest, position};
use crate::cluster::lsn::Lsn;
use crate::cluster::state::Standing;
use crate::finding::file_finding;
use crate::rules;
use crate::source::Tree;

/// What `backup_label` says.
// EVIDENCE: src/backend/access/transam/xlogbackup.c build_backup_content; xlogrecovery.c read_backup_label, which ends
// the server with "invalid data in file" where one of the first two lines cannot be read
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Label {
    /// Where replay starts.
    pub(crate) start_lsn: Option<u64>,
    /// Where the record of the backup's checkpoint begins.
    pub(crate) checkpoint_lsn: Option<u64>,
    /// Time line of the start.
    pub(crate) timeline: Option<u32>,
}

impl Label {
    /// Reads the label; `None` if there is no such file.
    pub(crate) fn read(tree: &Tree) -> Option<Label> {
        let text = tree.read_small("backup_label").ok()?;
        let text = String::from_utf8_lossy(&text);
        let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
        let lsn = |name: &str| value(name)?.split_whitespace().next().and_then(position);
        // The segment's name begins with the time line.
        let segment = value("START WAL LOCATION: ").and_then(|rest| rest.split("(file ").nth(1));
        Some(Label {
            start_lsn: lsn("START WAL LOCATION: "),
            checkpoint_lsn: lsn("CHECKPOINT LOCATION: "),
            timeline: segment
                .and_then(|name| u32::from_str_radix(name.get(..8)?, 16).ok())
                .or_else(|| value("START TIMELINE: ")?.trim().parse().ok()),
        })
    }
}

/// Why a directory must be a base backup whose label was lost; `None` if it need not be one.
///
/// A server that starts on a backup renames both `backup_label` and `tablespace_map` and, once it is consistent, ends a
/// checkpoint behind the WAL that the backup needs. So a map that is there, or a control file of a server that runs, with
/// a checkpoint before that end, shows that no server was started on the backup. The CRC that the manifest has for
/// pg_control says nothing: that file ends with a CRC of its own and zeros, so that all of them have the same CRC.
// EVIDENCE: xlog.c StartupXLOG: tablespace_map without backup_label is renamed to tablespace_map.old
pub(crate) fn lost_label(tree: &Tree, control: Option<&Control>) -> Option<LostLabel> {
    if tree.has("backup_label") || tree.has("postmaster.pid") {
        return None;
    }
    let manifest = Manifest::read(tree);
    let listed = manifest.as_ref().and_then(|manifest| {
        let bytes = manifest.bytes_of("backup_label")?;
        let control = control
            .filter(|control| matches!(control.state, State::InProduction | State::InArchiveRecovery))?;
        let (_, end) = manifest.wal?;
        let was_started =
            ["backup_label.old", "standby.signal", "recovery.signal"].iter().any(|name| tree.has(name));
        let is_untouched = control.checkpoint_lsn < end && !was_started;
        is_untouched.then(|| format!("backup_label ({bytes} bytes), which backup_manifest lists"))
    });
    let mapped =
        || tree.has("tablespace_map").then(|| "backup_label, since there is a tablespace_map".to_owned());
    let shown = listed.or_else(mapped);
    let confidence = if shown.is_some() { Confidence::Certain } else { Confidence::Possible };
    let expected = shown.or_else(|| never_started(tree, control))?;
    let wal = manifest.and_then(|manifest| manifest.wal);
    Some(LostLabel { expected, confidence, start_lsn: wal.map(|wal| wal.0), end_lsn: wal.map(|wal| wal.1) })
}

/// What shows a base backup that has no manifest and no tablespaces: a control file of a server that runs, while nothing
/// of what every server leaves behind is there.
///
/// A server writes postmaster.opts when it starts and keeps it when it ends, and pg_subtrans has a segment from initdb on.
/// Backups leave both out, and no crash removes them.
// EVIDENCE: src/backend/backup/basebackup.c excludeFiles, excludeDirContents; PostgreSQL docs 26.3.5 (what a backup through
// the low-level API may omit); src/backend/access/transam/subtrans.c BootStrapSUBTRANS; src/backend/postmaster/postmaster.c
// CreateOptsFile
// OBSERVED: pg_basebackup of 14.24, 15.18, 16.15, 17.11, 18.6
fn never_started(tree: &Tree, control: Option<&Control>) -> Option<String> {
    let state = control?.state;
    let is_active = matches!(state, State::InProduction | State::InArchiveRecovery);
    let has_signal = ["standby.signal", "recovery.signal"].iter().any(|name| tree.has(name));
    let subtrans = Path::new("pg_subtrans");
    let is_empty = tree.has_directory(subtrans) && tree.files(subtrans).is_ok_and(|files| files.is_empty());
    let is_backup = is_active && !has_signal && is_empty && !tree.has("postmaster.opts") && !tree.is_cut();
    is_backup.then(|| {
        "backup_label: pg_control is that of a running server, but pg_subtrans is empty and postmaster.opts is missing, \
         so no server was started on this directory"
            .to_owned()
    })
}

/// A base backup without its label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LostLabel {
    expected: String,
    confidence: Confidence,
    start_lsn: Option<u64>,
    end_lsn: Option<u64>,
}

impl LostLabel {
    /// What the directory is: a backup, with the range of the WAL that the manifest has.
    pub(crate) fn standing(&self) -> Standing {
        Standing::Backup { start_lsn: self.start_lsn.unwrap_or(0), end_lsn: self.end_lsn }
    }

    /// The finding.
    pub(crate) fn finding(&self, control: Option<&Control>) -> Finding {
        let from = control.map_or_else(
            || "no such file".to_owned(),
            |control| {
                let wanted =
                    self.start_lsn.map_or_else(String::new, |start| format!(", not from {}", Lsn(start)));
                format!(
                    "no such file: recovery would start from {}, the redo point in pg_control{wanted}",
                    Lsn(control.redo_lsn)
                )
            },
        );
        let mut finding =
            file_finding(&rules::BACKUP_LABEL, "backup_label", None, self.expected.clone(), from);
        finding.confidence = self.confidence;
        finding
    }
}

/// The finding of a label that recovery cannot read.
pub(crate) fn damaged_label(label: Label) -> Option<Finding> {
    let line = match (label.start_lsn, label.checkpoint_lsn) {
        (None, _) => "START WAL LOCATION",
        (_, None) => "CHECKPOINT LOCATION",
        _ => return None,
    };
    let expected = format!("a line \"{line}: \" with an LSN");
    let found = "no such line".to_owned();
    Some(file_finding(&rules::BACKUP_LABEL, "backup_label", None, expected, found))
}
