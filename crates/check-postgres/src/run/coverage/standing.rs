//! What the state of a cluster leaves unproven.

use formats::postgres::file_name::Fork;
use results::check::CheckLevel;

use crate::catalog::Storage;
use crate::cluster::state::Standing;
use crate::finding::file_finding;
use crate::plan::Plan;
use crate::plan::objects::PlanFile;
use crate::rules;
use crate::run::report::ReportBuilder;
use crate::source::Tree;

impl ReportBuilder<'_> {
    /// Reports how much of a running, crashed or copied cluster could be compared.
    pub(crate) fn report_share(&mut self, plan: &Plan, is_snapshot: bool) {
        let is_whole =
            self.only.is_none() && !self.options.is_raw && self.options.level >= CheckLevel::Structure;
        if !is_snapshot || !is_whole {
            return;
        }
        let kept = |number: &usize| {
            let relation = &plan.relations[*number];
            relation.persistence == b'p'
                && (relation.storage == Storage::Heap || relation.storage.is_matched())
        };
        let blocks = |numbers: &mut dyn Iterator<Item = usize>| -> u64 {
            numbers.map(|number| u64::from(plan.blocks[number])).sum()
        };
        // Files that the catalogs of that moment do not name came later.
        let is_new = |file: &&PlanFile| file.relation.is_none() && file.fork == Fork::Main && !file.temporary;
        let new =
            plan.first_files.iter().filter(is_new).map(|file| file.part.bytes / plan.block_bytes as u64);
        let all = blocks(&mut (0..plan.relations.len()).filter(kept)) + new.sum::<u64>();
        let still =
            (0..plan.relations.len()).filter(kept).filter(|number| !self.moved.contains(&(*number as u32)));
        let changed = self.changed.iter().filter(|(number, _)| !self.moved.contains(number));
        let still = blocks(&mut still.into_iter()).saturating_sub(changed.map(|(_, count)| count).sum());
        let share = 100.0 * still as f64 / all.max(1) as f64;
        self.stood_still = Some(format!("{still} of {all} blocks ({share:.1} %)"));
        if still < all {
            let what = "links between blocks, rows and index entries of some relations";
            let server = match self.cluster.standing {
                Standing::Running => "a server is running: ",
                _ => "",
            };
            let why = format!(
                "{server}they changed since the last checkpoint: {} blocks of {all}; a CHECKPOINT right before the check makes it fewer (--checkpoint asks for one)",
                all - still
            );
            self.left_out(None, what, &why);
        }
    }

    /// Reports a control file that is damaged or not there, and says what the state of the cluster leaves unproven.
    pub(crate) fn report_control(&mut self) {
        let cluster = self.cluster;
        if let Tree::Archive(archive) = &cluster.tree
            && let Some(cut) = &archive.cut
        {
            self.left_out(None, "bytes after the end of a tar file", cut);
            self.unfinished_source = Some(format!("the backup is incomplete: {cut}"));
        }
        for space in &cluster.absent_tablespaces {
            let name = format!("tablespace {space}");
            self.left_out(Some(&name), "everything", "the backup lists it, but none of its files exists");
        }
        self.report_control_file();
        self.report_standing();
    }

    fn report_control_file(&mut self) {
        let cluster = self.cluster;
        // A file away from its data directory has none.
        if cluster.control.is_none() && cluster.major > 0 {
            let expected = "a readable control file".to_owned();
            self.findings.push(file_finding(
                &rules::CONTROL_FILE,
                "global/pg_control",
                None,
                expected,
                "none".into(),
            ));
        }
        for damage in &cluster.control_damage {
            let (expected, found) = (damage.expected.clone(), damage.found.clone());
            self.findings.push(file_finding(
                &rules::CONTROL_FILE,
                "global/pg_control",
                None,
                expected,
                found,
            ));
        }
    }

    /// Says what the state of the cluster leaves unproven.
    fn report_standing(&mut self) {
        let cluster = self.cluster;
        if cluster.incremental_count > 0 {
            let why = format!(
                "{} files of an incremental backup have some blocks only: run pg_combinebackup first",
                cluster.incremental_count
            );
            self.left_out(None, "files named INCREMENTAL.*", &why);
        }
        let why = match cluster.standing {
            Standing::Stopped => return,
            Standing::Running => "a server is running: files and shared buffers differ",
            Standing::Crashed => {
                "not shut down cleanly (crash or standby): more can be verified after recovery and a clean shutdown"
            }
            Standing::Backup { .. } => {
                "the WAL of the backup is not replayed: restore the backup to verify more"
            }
        };
        match cluster.snapshot() {
            Some(_) if cluster.standing == Standing::Running => {
                if !cluster.is_in_production() {
                    let why = "the server replays WAL and removes files immediately";
                    self.left_out(None, "missing files", why);
                }
            }
            Some(_) => self.left_out(None, "blocks that recovery may change", why),
            None => {
                let what = "transactions, visibility, links between blocks, rows and index entries";
                self.left_out(None, what, &cluster.reason_without_view());
            }
        }
        if matches!(cluster.standing, Standing::Crashed | Standing::Backup { .. }) && !cluster.checksums {
            self.left_out(
                None,
                "contents of blocks",
                "without checksums a torn block that recovery repairs cannot be distinguished from a damaged one",
            );
        }
    }
}
