//! PostgreSQL as a value.

use lab::engine::Engine;
use lab::work::Work;
use results::EngineId;
use results::ceiling::SyncCall;

use crate::costs;
use crate::counted::COUNTED;
use crate::waits::meanings::WAITS;

/// PostgreSQL, and the servers that speak its protocol.
pub static ENGINE: Engine = Engine {
    id: EngineId::Postgres,
    schemes: &["postgres", "postgresql"],
    is_embedded: false,
    is_managed: true,
    has_layout: true,
    time: costs::TIME,
    space: costs::SPACE,
    sync_call,
    counted: &COUNTED,
    waits: Some(&WAITS),
};

/// The call that `wal_sync_method` names.
fn sync_call(work: &Work) -> Option<SyncCall> {
    let asked = work.settings.iter().find(|(name, _)| name.eq_ignore_ascii_case("wal_sync_method"));
    asked.map_or(Some(SyncCall::default()), |(_, method)| SyncCall::named(method))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_made_durable_by_the_call_that_its_setting_names() {
        let call = |method: Option<&str>| {
            let mut work = Work::example();
            work.settings.extend(method.map(|method| ("wal_sync_method".to_owned(), method.to_owned())));
            sync_call(&work)
        };
        assert_eq!(call(None), Some(SyncCall::Fdatasync));
        assert_eq!(call(Some("fsync")), Some(SyncCall::Fsync));
        assert_eq!(call(Some("open_datasync")), Some(SyncCall::OpenDatasync));
        assert_eq!(call(Some("open_sync")), None, "not measured");
    }
}
