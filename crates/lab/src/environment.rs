//! What a run ran on: machine, storage behind each role, engine.

use std::path::PathBuf;

use disk::facts::{StorageFacts, roles_sharing_a_device, storage_behind};
use results::model::{Environment, Warning};

use crate::target::{Target, TargetError};

/// Collects the record of the environment and the cautions that follow from it.
///
/// Costs some reads of /proc and /sys and a few queries; nothing on the device.
pub fn collect(target: &mut dyn Target) -> Result<(Environment, Vec<Warning>), TargetError> {
    let roles = storage_by_role(&target.directories());
    let mut warnings = target.warnings();
    warnings.extend(sharing_warnings(&roles));
    let layout = roles.iter().map(|(role, facts)| {
        let mut storage = json(facts);
        // Free space changes from run to run; it would make every environment a new one.
        storage.as_object_mut().map(|object| object.remove("free_bytes"));
        serde_json::json!({ "role": role, "storage": storage })
    });
    let mut machine = disk::machine::machine_facts();
    // What changes from second to second would make every run's environment a new one.
    machine.memory.available_bytes = None;
    machine.memory.swap_used_bytes = None;
    let environment = Environment {
        machine: json(&machine),
        layout: serde_json::Value::Array(layout.collect()),
        engine: target.facts()?,
    };
    Ok((environment, warnings))
}

/// Storage facts per role; a directory that cannot be looked at is left out with a note in the log.
pub fn storage_by_role(directories: &[(String, PathBuf)]) -> Vec<(String, StorageFacts)> {
    let mut found = Vec::new();
    for (role, directory) in directories {
        match storage_behind(directory) {
            Ok(facts) => found.push((role.clone(), facts)),
            Err(error) => tracing::warn!("{error}"),
        }
    }
    found
}

fn sharing_warnings(roles: &[(String, StorageFacts)]) -> Vec<Warning> {
    roles_sharing_a_device(roles)
        .into_iter()
        .map(|shared| Warning {
            code: "roles_share_device".to_owned(),
            text: format!(
                "{} share device {}: their I/O competes",
                shared.roles.join(" and "),
                shared.device
            ),
        })
        .collect()
}

fn json(value: &impl serde::Serialize) -> serde_json::Value {
    serde_json::to_value(value).unwrap_or(serde_json::Value::Null)
}
