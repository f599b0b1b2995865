//! A word that changes whenever something about a study changes: what was computed from it is good for as long as it stays.

use crate::store::{Store, StoreError, StudyId};

impl Store {
    /// The stamp of a study: its runs by state, their time, and the marks and supersessions of the whole file.
    ///
    /// Costs one query over the runs of the study, without what they measured.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn stamp(&self, study: StudyId) -> Result<String, StoreError> {
        let standing = self.standing()?;
        let sql = format!(
            "SELECT count(*), total(state = 'running'), total(state = 'interrupted'), total(state = 'valid'), \
             total(elapsed_ns), (SELECT count(*) FROM mark WHERE {standing}), (SELECT count(*) FROM supersession) \
             FROM run WHERE study_id = ?1"
        );
        self.connection
            .query_row(&sql, [study.0], |row| {
                let counts = [row.get(0)?, row.get(5)?, row.get(6)?].map(|count: i64| count.to_string());
                let totals: [f64; 4] = [row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?];
                Ok(format!("{}-{}", counts.join("-"), totals.map(|total| total.to_string()).join("-")))
            })
            .map_err(self.sqlite())
    }
}
