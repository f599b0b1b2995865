//! The WAL that recovery needs: the checkpoint record where the control file or the label says, and all records from the
//! redo position up to it, or up to the end of a backup.

use std::path::Path;

use formats::postgres::control::{Control, State};
use results::check::{Finding, NotChecked};

use crate::cluster::Cluster;
use crate::cluster::files::backup::Label;
use crate::cluster::files::manifest::Manifest;
use crate::cluster::files::wal::{Gap, WalFiles};
use crate::cluster::lsn::Lsn;
use crate::cluster::state::Standing;
use crate::finding::file_finding;
use crate::rules;
use crate::run::report::ReportBuilder;
use crate::source::Tree;

/// How often the control file of a running server is read again: a checkpoint ended meanwhile, and removed old segments.
const READ_AGAIN_MAX: usize = 5;

/// Where recovery starts, and up to where it needs the WAL.
#[derive(Clone, Copy, Debug)]
struct Recovery {
    /// The file that says so.
    named_by: &'static str,
    checkpoint_lsn: Option<u64>,
    redo_lsn: u64,
    timeline: u32,
    /// Every record before it is needed.
    until_lsn: u64,
}

impl ReportBuilder<'_> {
    /// Tests that the WAL is there from which the server recovers.
    pub(super) fn check_recovery(&mut self) {
        let cluster = self.cluster;
        let Some(control) = cluster.control.filter(|_| cluster.control_damage.is_empty()) else { return };
        if !has_directory(&cluster.tree, "pg_wal") {
            // In a directory this is a finding of its own.
            let why = match cluster.tree.link("pg_wal") {
                _ if cluster.tree.directory().is_some() => return,
                Some(target) => {
                    format!("pg_wal is a symbolic link to {target}, which is not in the tar file")
                }
                None => "the tar files have no pg_wal".to_owned(),
            };
            self.not_checked.push(NotChecked::coverage(None, "WAL that recovery needs", why));
            return;
        }
        let from_elsewhere = wal_from_elsewhere(&cluster.tree, &control);
        let outcome = match cluster.standing {
            Standing::Backup { .. } => self.check_wal_of_backup(&control, from_elsewhere),
            _ => check_wal_of_control(cluster, control, from_elsewhere),
        };
        match outcome {
            RecoveryWal::Whole => {}
            RecoveryWal::Broken(finding) => self.findings.push(*finding),
            RecoveryWal::NotKnown(why) => {
                self.not_checked.push(NotChecked::coverage(None, "WAL that recovery needs", why));
            }
        }
    }

    fn check_wal_of_backup(&mut self, control: &Control, from_elsewhere: Option<&str>) -> RecoveryWal {
        let tree = &self.cluster.tree;
        let Standing::Backup { start_lsn, end_lsn } = self.cluster.standing else {
            return RecoveryWal::Whole;
        };
        let label = Label::read(tree).unwrap_or_default();
        let timeline = label.timeline.unwrap_or(control.timeline);
        let Some(files) = WalFiles::new(self.cluster, control, timeline) else { return RecoveryWal::Whole };
        let start = Lsn(start_lsn);
        if start_lsn == 0 {
            return RecoveryWal::NotKnown("no file has the start of the backup".to_owned());
        }
        let recovery = Recovery {
            named_by: "backup_label",
            checkpoint_lsn: label.checkpoint_lsn,
            redo_lsn: start_lsn,
            timeline,
            until_lsn: end_lsn.unwrap_or(label.checkpoint_lsn.map_or(start_lsn, |lsn| lsn + 1)),
        };
        if files.is_empty() {
            let name = files.name(start_lsn);
            if let Some(found) = removed_segments(tree, &name) {
                return RecoveryWal::Broken(Box::new(recovery.missing(&name, found)));
            }
            // A backup without WAL (pg_basebackup -X none) is whole: its WAL is kept elsewhere.
            let last = |end: u64| files.name(end.saturating_sub(1).max(start_lsn));
            let until = end_lsn.map_or_else(
                || format!("{start} ({name}) to the end of the backup (unknown without backup_manifest)"),
                |end| format!("{start} ({name}) to {} ({})", Lsn(end), last(end)),
            );
            let how = if may_be_restored(tree) { "" } else { "; restore_command is not set" };
            return RecoveryWal::NotKnown(format!(
                "pg_wal has no segment: recovery needs the WAL from {until}, from restore_command or copied into \
                 pg_wal{how}"
            ));
        }
        let outcome = recovery.judge(&self.cluster.standing, &files, from_elsewhere);
        match (outcome, end_lsn) {
            (RecoveryWal::Whole, None) => RecoveryWal::NotKnown(format!(
                "without backup_manifest the end of the backup is unknown: the WAL was read from {start} to the \
                 checkpoint record only"
            )),
            (outcome, _) => outcome,
        }
    }
}

enum RecoveryWal {
    Whole,
    Broken(Box<Finding>),
    NotKnown(String),
}

/// Tests the checkpoint that the control file names. A running server's control file is read again where something is
/// missing.
fn check_wal_of_control(
    cluster: &Cluster,
    mut control: Control,
    from_elsewhere: Option<&str>,
) -> RecoveryWal {
    let (tree, standing) = (&cluster.tree, cluster.standing);
    for _ in 0..READ_AGAIN_MAX {
        let Some(files) = WalFiles::new(cluster, &control, control.timeline) else {
            return RecoveryWal::Whole;
        };
        let recovery = Recovery {
            named_by: "global/pg_control",
            checkpoint_lsn: Some(control.checkpoint_lsn),
            redo_lsn: control.redo_lsn,
            timeline: control.timeline,
            until_lsn: control.checkpoint_lsn,
        };
        let outcome = recovery.judge(&standing, &files, from_elsewhere);
        let RecoveryWal::Broken(finding) = outcome else { return outcome };
        let again = tree.read_small("global/pg_control").ok();
        let again = again.and_then(|bytes| Control::read(&bytes, &mut Vec::new()));
        match again.filter(|again| again.checkpoint_lsn != control.checkpoint_lsn) {
            Some(again) if standing == Standing::Running => control = again,
            _ => return RecoveryWal::Broken(finding),
        }
    }
    RecoveryWal::NotKnown("the control file changed at each reading (checkpoints)".to_owned())
}

impl Recovery {
    fn judge(&self, standing: &Standing, files: &WalFiles, from_elsewhere: Option<&str>) -> RecoveryWal {
        if let Some(lsn) = self.checkpoint_lsn
            && let Err(gap) = files.checkpoint(lsn, self.redo_lsn)
        {
            return self.broken_checkpoint(standing, lsn, gap, from_elsewhere);
        }
        if self.until_lsn <= self.redo_lsn {
            return RecoveryWal::Whole;
        }
        let found = if *standing == Standing::Running {
            // The records between were just written, and may be many.
            let starts = files.segment_starts(self.redo_lsn, self.until_lsn);
            starts.and_then(|()| files.walk(self.redo_lsn, self.until_lsn, |_| false))
        } else {
            files.walk(self.redo_lsn, self.until_lsn, |_| true)
        };
        let Err((lsn, Gap { segment, is_absent, found })) = found else { return RecoveryWal::Whole };
        match from_elsewhere.filter(|_| is_absent) {
            Some(why) => RecoveryWal::NotKnown(format!("{segment} is not in pg_wal: {why}")),
            None => {
                let mut found = format!("{found}, at {}", Lsn(lsn));
                if is_absent {
                    let absent = files.absent(self.redo_lsn, self.until_lsn);
                    found = format!("no such file; {} of the needed segments are missing", absent.len());
                }
                RecoveryWal::Broken(Box::new(self.missing(&segment, found)))
            }
        }
    }

    fn broken_checkpoint(
        &self,
        standing: &Standing,
        lsn: u64,
        gap: Gap,
        from_elsewhere: Option<&str>,
    ) -> RecoveryWal {
        if let Some(why) = from_elsewhere.filter(|_| gap.is_absent) {
            return RecoveryWal::NotKnown(format!("{} is not in pg_wal: {why}", gap.segment));
        }
        let expected = format!(
            "the checkpoint record at {} with redo point {}, as in {}",
            Lsn(lsn),
            Lsn(self.redo_lsn),
            self.named_by
        );
        let mut finding = file_finding(&rules::CHECKPOINT_RECORD, &gap.segment, None, expected, gap.found);
        finding.next_step = next_step(standing).to_owned();
        RecoveryWal::Broken(Box::new(finding))
    }

    fn missing(&self, segment: &str, found: String) -> Finding {
        let expected = format!(
            "all WAL records from {} to {}, which recovery from {} needs (timeline {})",
            Lsn(self.redo_lsn),
            Lsn(self.until_lsn),
            self.named_by,
            self.timeline
        );
        file_finding(&rules::RECOVERY_WAL, segment, None, expected, found)
    }
}

/// What to do without a checkpoint record, by the state that the cluster was left in.
fn next_step(standing: &Standing) -> &'static str {
    match standing {
        Standing::Stopped => {
            "restore the segment from the WAL archive or a backup, or run pg_resetwal on a copy: the cluster was shut down cleanly, so its data files have every committed change"
        }
        Standing::Running => {
            "run CHECKPOINT now, then this check again: the running server does not need the record, but it could not start after a crash"
        }
        Standing::Crashed => {
            "restore the segment from the WAL archive; pg_resetwal only as a last resort and on a copy: changes that are only in the WAL are lost, and tables and indexes become inconsistent"
        }
        Standing::Backup { .. } => {
            "restore the segment from the WAL archive, or take another backup; removing backup_label or pg_resetwal would make an inconsistent cluster start"
        }
    }
}

/// Why WAL that is not in `pg_wal` may come from elsewhere.
// EVIDENCE: PostgreSQL docs 26.3.5, 27.2: recovery.signal and standby.signal; xlogrecovery.c WaitForWALToBecomeAvailable
fn wal_from_elsewhere(tree: &Tree, control: &Control) -> Option<&'static str> {
    if tree.has("standby.signal") {
        return Some("standby.signal is present, so primary_conninfo or restore_command may supply it");
    }
    if tree.has("recovery.signal") {
        return Some("recovery.signal is present, so restore_command may supply it");
    }
    let in_recovery = matches!(control.state, State::InArchiveRecovery | State::ShutDownInRecovery);
    in_recovery.then_some("the server was in archive recovery, so restore_command may supply it")
}

/// Segments that were in `pg_wal` and are not there any more: `pg_basebackup` marks those that it brought whole as archived,
/// and the directory for such marks is always made.
// OBSERVED: pg_basebackup of 15.18: archive_status/<segment>.done with -X fetch, with -X stream where the segment was streamed
// to its end; an empty archive_status with -X none
fn removed_segments(tree: &Tree, segment: &str) -> Option<String> {
    let marks = tree.files(Path::new("pg_wal/archive_status")).unwrap_or_default();
    let mark = format!("{}.done", segment.trim_start_matches("pg_wal/"));
    if marks.iter().any(|(name, _)| *name == mark) {
        return Some(format!("no segment in pg_wal, while archive_status has {mark}"));
    }
    let manifest = Manifest::read(tree)?;
    if manifest.bytes_of(&format!("pg_wal/archive_status/{mark}")).is_some() {
        return Some(format!("no segment in pg_wal, while backup_manifest lists archive_status/{mark}"));
    }
    (manifest.wal.is_some() && !has_directory(tree, "pg_wal/archive_status")).then(|| {
        "pg_wal is empty: archive_status, which pg_basebackup creates, is missing as well".to_owned()
    })
}

/// Whether the configuration that was backed up sets restore_command, or is not in the data directory.
fn may_be_restored(tree: &Tree) -> bool {
    let Ok(main) = tree.read_small("postgresql.conf") else { return true };
    let auto = tree.read_small("postgresql.auto.conf").unwrap_or_default();
    let text = format!("{}\n{}", String::from_utf8_lossy(&main), String::from_utf8_lossy(&auto));
    let command = text.lines().rev().find_map(|line| setting(line, "restore_command"));
    let is_set = command.is_some_and(|command| !command.is_empty());
    is_set || text.lines().any(|line| line.trim_start().starts_with("include"))
}

/// The value of a setting, if a line of a configuration file is about it.
// EVIDENCE: PostgreSQL docs 20.1.2: name, an optional equal sign, a value that may stand in single quotes
fn setting(line: &str, name: &str) -> Option<String> {
    let rest = line.trim_start().strip_prefix(name)?;
    let rest = rest.strip_prefix(|sign: char| sign == '=' || sign.is_whitespace())?;
    let rest = rest.trim_start_matches(|sign: char| sign == '=' || sign.is_whitespace());
    let value = match rest.strip_prefix('\'') {
        Some(quoted) => quoted.split('\'').next()?,
        None => rest.split(|sign: char| sign == '#' || sign.is_whitespace()).next()?,
    };
    Some(value.to_owned())
}

fn has_directory(tree: &Tree, path: &str) -> bool {
    tree.has_directory(Path::new(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_with_and_without_quotes_and_not_from_comments() {
        assert_eq!(setting("archive_mode = on # comment", "archive_mode").as_deref(), Some("on"));
        assert_eq!(
            setting(" restore_command='cp /a/%f %p'", "restore_command").as_deref(),
            Some("cp /a/%f %p")
        );
        assert_eq!(setting("restore_command ''", "restore_command").as_deref(), Some(""));
        assert_eq!(setting("#archive_mode = on", "archive_mode"), None);
        assert_eq!(setting("archive_mode_x = on", "archive_mode"), None);
    }
}
