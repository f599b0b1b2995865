//! Where the log lay: with the data, or on a device of its own.

use std::collections::BTreeSet;

use results::model::Run;

/// Code of the warning that roles are on one device.
pub(super) const SHARED: &str = "roles_share_device";

/// Where the log lay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum LogPlace {
    /// Not told, or not behind a block device, or not the same in all runs.
    #[default]
    Unknown,
    /// With the data.
    Shared(String),
    /// On a device of its own.
    Own(String),
}

impl LogPlace {
    /// The place in one run, by the record of its environment.
    pub(super) fn of(run: &Run) -> Self {
        let roles = run.environment.layout.as_array().map_or(&[][..], Vec::as_slice);
        let devices = |is_meant: fn(&str) -> bool| -> BTreeSet<String> {
            let meant = roles.iter().filter(|role| role["role"].as_str().is_some_and(is_meant));
            meant
                .filter_map(|role| Some(role.pointer("/storage/block_devices/0/name")?.as_str()?.to_owned()))
                .collect()
        };
        let (log, data) = (devices(|role| role == "log"), devices(|role| role != "log"));
        // Without a role of its own the log is beside the data.
        let has_role = roles.iter().any(|role| role["role"] == "log");
        let Some(device) = (if has_role { log.first() } else { data.first() }) else { return Self::Unknown };
        let is_shared_below =
            run.warnings.iter().any(|warning| warning.code == SHARED && warning.text.contains("log"));
        if !has_role || data.contains(device) || is_shared_below {
            Self::Shared(device.clone())
        } else if data.is_empty() {
            Self::Unknown
        } else {
            Self::Own(device.clone())
        }
    }
}
