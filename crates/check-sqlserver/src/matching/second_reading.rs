//! What is read a second time before anything is accused: the allocation maps, the catalog, pages whose facts differ.

use formats::sqlserver::Boot;

use crate::catalog::Catalog;
use crate::finding::Draft;
use crate::maps::Maps;
use crate::run::state::Run;
use crate::run::worker::Worker;
use crate::source::Source;

impl Run<'_> {
    /// Drops findings between pages where a second reading of the maps and of the catalog brings something else: somebody
    /// writes the files, and what follows from the first reading proves nothing.
    ///
    /// I/O: the allocation maps and the base tables once more, only where there are such findings.
    pub(crate) fn confirm(
        &mut self,
        boot: Option<&Boot>,
        maps: &Maps,
        catalog: &Catalog,
        cross: &mut Vec<Draft>,
    ) {
        let Some(boot) = boot.filter(|_| !cross.is_empty() && maps.has_owners) else { return };
        if is_confirmed(self.source, boot, maps, catalog) {
            return;
        }
        cross.clear();
        self.is_changed = true;
        self.reasons.push("the allocation maps or the base tables were changed during the check".to_owned());
    }

    /// Gives up facts between pages, since pages that were older than the last checkpoint are newer when they are read again.
    pub(crate) fn give_up(&mut self, worker: &mut Worker<'_>, newer_count: u64) {
        worker.newer_count += newer_count;
        self.is_changed = true;
        self.reasons.push(format!(
            "{} changed during the check",
            match newer_count {
                1 => "a page was".to_owned(),
                count => format!("{count} pages were"),
            }
        ));
    }
}

fn is_confirmed(source: &Source, boot: &Boot, maps: &Maps, catalog: &Catalog) -> bool {
    let files: Vec<(u16, u32)> = maps.files.iter().map(|map| (map.file, map.page_count)).collect();
    let mut again = Maps::new(source, &files, true, u64::MAX);
    again.short.clone_from(&maps.short);
    let mut catalog_again = Catalog::default();
    catalog_again.read_units(source, boot);
    again.add_owners(source, &catalog_again.units);
    catalog_again.read_tables(source, &again, boot.version);
    again.files == maps.files
        && maps.findings.get(..maps.chain_finding_count) == Some(&again.findings[..])
        && catalog_again.units == catalog.units
        && catalog_again.rowsets == catalog.rowsets
        && catalog_again.columns == catalog.columns
        && catalog_again.findings == catalog.findings
}
