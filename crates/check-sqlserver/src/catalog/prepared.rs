//! What must be known before pages mean anything: maps, catalog and plan of a database that is whole.

use std::path::PathBuf;

use formats::sqlserver::{Boot, PageId, VERSIONS_KNOWN, is_version_known, product};

use crate::catalog::Catalog;
use crate::maps::Maps;
use crate::plan::Plan;
use crate::source::target::{kinds, open};
use crate::source::{CheckError, FileKind, Source};
use crate::whole;
use crate::whole::Whole;

/// The most memory that the maps may take here, bytes: enough for 10 TiB.
const MAP_BYTES_MAX: u64 = 2 << 30;

/// A database that was opened and whose catalog could be read.
pub(crate) struct Prepared {
    pub(crate) source: Source,
    pub(crate) maps: Maps,
    pub(crate) plan: Plan,
    pub(crate) boot: Boot,
    /// What of the database is missing.
    pub(crate) whole: Whole,
}

/// Says that the base tables of a version are not known.
pub(crate) fn version_text(version: u16) -> String {
    format!(
        "version {version} ({}) is not supported: the layout of its base tables is unknown; versions {VERSIONS_KNOWN} are supported",
        product(version)
    )
}

/// Opens the files of a database; or says in words why its catalog is out of reach.
///
/// # Errors
/// When a file cannot be read, or is none of SQL Server's.
pub(crate) fn prepare(paths: &[PathBuf]) -> Result<Result<Prepared, String>, CheckError> {
    let kinds = kinds(paths, false)?;
    if kinds.contains(&FileKind::CompressedBackup) {
        return Ok(Err("the backup is compressed, in an unpublished format".to_owned()));
    }
    let source = open(paths, kinds.contains(&FileKind::Backup))?;
    let mut maps = Maps::new(&source, &source.database_files(), true, MAP_BYTES_MAX);
    let boot = source.read(PageId { file: 1, page: 9 }).ok().and_then(|page| Boot::new(&page[..]).ok());
    let whole = whole::look(&source, boot.as_ref());
    maps.short.clone_from(&whole.short);
    if whole.is_partial {
        let found = whole
            .drafts
            .iter()
            .map(|(_, draft)| format!("expected {}, found {}", draft.expected, draft.found));
        let why: Vec<String> = whole.reasons.iter().cloned().chain(found).collect();
        return Ok(Err(why.join("; ")));
    }
    let Some(boot) = boot else {
        if let Some(why) = whole.reasons.first() {
            return Ok(Err(why.clone()));
        }
        return Ok(Err("page 9 of the first file does not describe a database".to_owned()));
    };
    if !is_version_known(boot.version) {
        return Ok(Err(version_text(boot.version)));
    }
    let mut catalog = Catalog::default();
    catalog.read_units(&source, &boot);
    maps.add_owners(&source, &catalog.units);
    source.refuse_beyond(&maps.budget, MAP_BYTES_MAX)?;
    catalog.read_tables(&source, &maps, boot.version);
    if catalog.rowsets.is_empty() {
        return Ok(Err("the base tables are damaged, or in another stripe of the backup".to_owned()));
    }
    let plan = Plan::new(&catalog, boot.version);
    Ok(Ok(Prepared { source, maps, plan, boot, whole }))
}
