//! What the reads of a check do not allow to be concluded.

use std::io;
use std::path::Path;

use check::evidence;
use check::evidence::{Terms, Watch};
use results::check::CheckReport;

use crate::cluster::Cluster;
use crate::cluster::state::Standing;
use crate::plan::Plan;
use crate::plan::objects::PlanFile;
use crate::rules;
use crate::source::error::OpenError;

/// Why a check could not be done at all.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The data directory could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The files could not be read.
    #[error(transparent)]
    Scan(#[from] disk::scan::ScanError),
    /// The file is not part of a data directory, and has no name of a relation file.
    #[error("cannot check \"{0}\": it is not a relation file of a PostgreSQL data directory")]
    NotARelation(std::path::PathBuf),
}

/// Takes back what the reads do not allow to be concluded.
pub(crate) fn settle(watch: Watch, cluster: &Cluster, plan: &Plan, report: &mut CheckReport) {
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
pub(crate) fn place_of(cluster: &Cluster, plan: &Plan, path: &Path, offset: u64) -> evidence::Place {
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
pub(crate) fn reason(error: OpenError, watch: &Watch) -> OpenError {
    let is_special =
        matches!(&error, OpenError::Read { source, .. } if source.kind() == io::ErrorKind::InvalidInput);
    match (error, watch.failure()) {
        (error, None) => error,
        (error, _) if is_special => error,
        // The file or directory itself, where the error has the one above.
        (_, Some((path, source))) => OpenError::Read { path, source },
    }
}
