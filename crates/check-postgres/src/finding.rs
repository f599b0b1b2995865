//! Makes findings of what was seen at a place.

use check::rule::Rule;
use std::io;
use std::path::Path;

use formats::postgres::Damage;
use results::check::{CheckReport, Confidence, Finding};

use crate::cluster::{Cluster, OpenError, Standing};
use crate::plan::{Plan, PlanFile};
use crate::rules;
use check::evidence;
use check::evidence::{Terms, Watch};

/// A place in a relation's file, with what is known about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    /// The file, relative to the data directory.
    pub(crate) file: &'a str,
    /// `database.schema.relation`, where the catalog told.
    pub(crate) object: Option<&'a str>,
    /// Block, counted from the start of the relation, as the server does.
    pub(crate) block: u32,
    /// How sure findings here are.
    pub(crate) confidence: Confidence,
}

impl Place<'_> {
    /// Makes a finding at this place; `item` is a line pointer, counted from 1, as the server does.
    pub(crate) fn finding(
        &self,
        rule: &'static Rule,
        item: Option<u16>,
        expected: String,
        found: String,
    ) -> Finding {
        let mut finding = file_finding(rule, self.file, self.object, expected, found);
        finding.page = Some(u64::from(self.block));
        finding.slot = item.map(u64::from);
        finding.confidence = self.confidence;
        finding
    }

    /// Makes a finding of what a format reader saw.
    pub(crate) fn damage(&self, damage: Damage) -> Finding {
        let rule = rules::of(damage.promise);
        let mut finding = self.finding(rule, damage.item, damage.expected, damage.found);
        if damage.item.is_none() {
            finding.offset_bytes = Some(damage.offset_bytes as u64);
        }
        finding
    }
}

/// Makes a finding about a file or relation as a whole.
pub(crate) fn file_finding(
    rule: &'static Rule,
    file: &str,
    object: Option<&str>,
    expected: String,
    found: String,
) -> Finding {
    Finding {
        file: file.to_owned(),
        page: None,
        slot: None,
        offset_bytes: None,
        rule: rule.id.to_owned(),
        engine: "postgres".to_owned(),
        object: object.map(str::to_owned),
        promise: rule.promise.to_owned(),
        expected,
        found,
        confidence: Confidence::Certain,
        next_step: rule.next_step.to_owned(),
        row: None,
        messages: None,
    }
}

/// Takes back what the reads do not allow to be concluded.
pub(super) fn settle(watch: Watch, cluster: &Cluster, plan: &Plan, report: &mut CheckReport) {
    let place = |path: &Path, offset: u64| place_of(cluster, plan, path, offset);
    let terms = Terms {
        is_archive: crate::is_archive_name,
        rules: &crate::rules::RULES,
        differ: &rules::READINGS_DIFFER,
        unreadable: &rules::UNREADABLE,
        is_served: cluster.standing == Standing::Running,
        judges_changes: false,
        place: &place,
    };
    watch.settle(report, &terms);
}

/// The file below the data directory, with block and relation where the catalogs name it.
fn place_of(cluster: &Cluster, plan: &Plan, path: &Path, offset: u64) -> evidence::Place {
    let is_in = |file: &&PlanFile| {
        let part = &file.part;
        *part.path == *path && (part.offset_bytes..part.offset_bytes + part.bytes.max(1)).contains(&offset)
    };
    if let Some(file) = plan.first_files.iter().chain(&plan.second_files).find(is_in) {
        let block = (offset - file.part.offset_bytes) / cluster.block_bytes as u64;
        let relation = file.relation.and_then(|number| plan.relation(number));
        return evidence::Place {
            file: file.shown.clone(),
            page: Some(u64::from(file.first_block) + block),
            object: relation.map(|relation| relation.name.clone()),
        };
    }
    let below = cluster.tree.directory().and_then(|directory| path.strip_prefix(directory).ok());
    evidence::Place { file: below.unwrap_or(path).display().to_string(), ..evidence::Place::default() }
}

/// The reason why a cluster could not be opened: where its files could not be read, that, not that there is no cluster.
pub(super) fn reason(error: OpenError, watch: &Watch) -> OpenError {
    let is_special =
        matches!(&error, OpenError::Read { source, .. } if source.kind() == io::ErrorKind::InvalidInput);
    match (error, watch.failure()) {
        (error, None) => error,
        (error, _) if is_special => error,
        // The file or directory itself, where the error has the one above.
        (_, Some((path, source))) => OpenError::Read { path, source },
    }
}
