//! Finding a stored study.

use anyhow::bail;
use results::store::{Store, StoredStudy, StudyId};

/// The study with this number, or the latest one.
pub(crate) fn find(store: &Store, study: Option<i64>) -> anyhow::Result<StoredStudy> {
    match study {
        Some(number) => {
            let id = StudyId(number);
            Ok(StoredStudy { id, study: store.study(id)? })
        }
        None => match store.latest_study()? {
            Some(found) => Ok(found),
            None => bail!("\"{}\" holds no study\nhint: run an experiment first", store.path().display()),
        },
    }
}
