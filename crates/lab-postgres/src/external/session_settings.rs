//! Settings that sessions have for themselves.

use lab::work::Work;

use super::super::control::{Control, identifier, literal};

/// Takes over the clients' settings of timing: what their sessions do not time is then read as not known, not as 0.
pub(super) fn time_as_clients_do(control: &mut Control, work: &Work) {
    for name in ["track_io_timing", "track_wal_io_timing"] {
        let taken = work.settings.get(name).map(|value| format!("SET {name} = {}", literal(value)));
        // A server without the setting, or a role that may not set it: the clients could not, either.
        let _ = control.query(&taken.unwrap_or_else(|| format!("RESET {name}")));
    }
}

/// A setting's name for SET: words and dots only, so that nothing else gets into the statement.
pub(super) fn setting_name(name: &str) -> String {
    name.split('.').map(identifier).collect::<Vec<_>>().join(".")
}
