//! What stands beside runs in the results: plans of earlier ones, structures of their tables.

use results::model::Cell;
use results::store::{StoreError, StructureOrigin, StudyId};

use super::Laboratory;
use crate::reading;

impl Laboratory<'_> {
    /// The plan of the first run of a cell that counts.
    pub(super) fn earlier_plan(&self, study: StudyId, cell: &Cell) -> Result<Option<String>, StoreError> {
        let runs = self.store.runs(study)?;
        let counting =
            runs.iter().filter(|stored| stored.counts() && stored.run.key.cell_index == cell.index);
        Ok(counting.map(|stored| &stored.run).find_map(reading::plan_of).map(str::to_owned))
    }

    /// Stores what a target measured of its tables, beside the run.
    pub(super) fn store_structures(&mut self, target_index: usize, run_id: i64) -> Result<(), StoreError> {
        for structure in self.targets[target_index].take_structures() {
            let stored_at = jiff::Timestamp::now().to_string();
            let fathom_version = env!("CARGO_PKG_VERSION");
            let place = structure.target.clone();
            let origin = StructureOrigin {
                run_id: Some(run_id),
                stored_at: &stored_at,
                fathom_version,
                place: &place,
            };
            self.store.add_structure(&structure, &origin)?;
        }
        Ok(())
    }
}
