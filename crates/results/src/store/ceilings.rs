//! Ceilings of devices: added to a study, found again for the next one.

use std::ops::RangeInclusive;

use rusqlite::params;

use super::{Store, StoreError, StudyId};
use crate::ceiling::{CeilingPattern, StoredCeiling};

impl Store {
    /// Adds a ceiling to a study.
    ///
    /// # Errors
    /// No space, or SQLite refuses.
    pub fn add_ceiling(&mut self, study: StudyId, ceiling: &StoredCeiling) -> Result<(), StoreError> {
        let json = serde_json::to_string(ceiling).expect("plain data has a JSON form");
        self.connection
            .execute("INSERT INTO ceiling (study_id, json) VALUES (?1, ?2)", params![study.0, json])
            .map_err(self.sqlite())?;
        Ok(())
    }

    /// The ceilings of a study, in the order in which they were added.
    ///
    /// # Errors
    /// A stored value cannot be read, or SQLite refuses.
    pub fn ceilings(&self, study: StudyId) -> Result<Vec<StoredCeiling>, StoreError> {
        self.read_ceilings("SELECT json FROM ceiling WHERE study_id = ?1 ORDER BY id", Some(study.0))
    }

    /// The newest ceiling of a device for a pattern, of any study, measured within `when_unix_s`.
    ///
    /// # Errors
    /// As [`Store::ceilings`].
    pub fn find_ceiling(
        &self,
        device: &str,
        pattern: &CeilingPattern,
        when_unix_s: RangeInclusive<u64>,
    ) -> Result<Option<StoredCeiling>, StoreError> {
        let all = self.read_ceilings("SELECT json FROM ceiling WHERE ?1 IS NULL ORDER BY id", None)?;
        let fits = |ceiling: &StoredCeiling| {
            ceiling.device == device
                && ceiling.pattern == *pattern
                && when_unix_s.contains(&ceiling.measured_unix_s)
        };
        Ok(all.into_iter().filter(fits).max_by_key(|ceiling| ceiling.measured_unix_s))
    }

    fn read_ceilings(&self, sql: &str, study: Option<i64>) -> Result<Vec<StoredCeiling>, StoreError> {
        let mut statement = self.connection.prepare_cached(sql).map_err(self.sqlite())?;
        let rows = statement
            .query_map([study], |row| row.get::<_, String>(0))
            .and_then(Iterator::collect::<rusqlite::Result<Vec<String>>>)
            .map_err(self.sqlite())?;
        rows.iter()
            .map(|json| serde_json::from_str(json).map_err(|error| self.damaged("ceiling".to_owned(), error)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::ceiling::SyncCall;
    use crate::store::tests::study;

    fn appends(size_bytes: u64) -> CeilingPattern {
        CeilingPattern::Appends { method: SyncCall::Fdatasync, size_bytes, fills_first: true }
    }

    #[test]
    fn a_ceiling_is_found_again_by_device_pattern_and_age() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open_or_create(directory.path()).unwrap();
        let id = store.begin_study(&study("a")).unwrap();
        let ceiling = StoredCeiling {
            role: "log".to_owned(),
            device: "vda".to_owned(),
            pattern: appends(8192),
            per_s: 1190.0,
            latency_ns_mean: 840_336.0,
            latency_ns_p99: 2_000_000,
            measured_unix_s: 1_000,
            flags: Vec::new(),
        };
        store.add_ceiling(id, &ceiling).unwrap();
        assert_eq!(store.ceilings(id).unwrap(), std::slice::from_ref(&ceiling));
        assert_eq!(store.study_results(id).unwrap().ceilings, std::slice::from_ref(&ceiling));
        assert_eq!(
            store.find_ceiling("vda", &ceiling.pattern, 1_000..=2_000).unwrap(),
            Some(ceiling.clone())
        );
        assert_eq!(store.find_ceiling("vda", &ceiling.pattern, 1_001..=2_000).unwrap(), None);
        // One from the future is not believed.
        assert_eq!(store.find_ceiling("vda", &ceiling.pattern, 0..=999).unwrap(), None);
        assert_eq!(store.find_ceiling("vdb", &ceiling.pattern, 0..=2_000).unwrap(), None);
        let other = appends(4096);
        assert_eq!(store.find_ceiling("vda", &other, 0..=2_000).unwrap(), None);
    }
}
