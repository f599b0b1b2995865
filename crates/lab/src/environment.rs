//! What a run ran on: machine, storage behind each role, engine.

use std::path::PathBuf;

use disk::facts::{StorageFacts, roles_sharing_a_device, storage_behind};
use results::model::{Environment, Warning};

use crate::engine::{EngineFacts, Target, TargetError};

/// Collects the record of the environment and the cautions that follow from it.
///
/// Costs some reads of /proc and /sys and a few queries; nothing on the device.
pub fn collect(target: &mut dyn Target) -> Result<(Environment, Vec<Warning>), TargetError> {
    let directories = target.residence().map(|place| place.directories()).unwrap_or_default();
    let roles = storage_by_role(&directories);
    let (facts, mut warnings) = match target.describe() {
        Some(engine) => (engine.facts()?, engine.warnings()),
        None => (EngineFacts::Null, Vec::new()),
    };
    warnings.extend(sharing_warnings(&roles));
    warnings.extend(log_beside_data(&roles));
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
        engine: facts,
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

/// Without a role of its own the log is in the first data directory, as in a cluster that nobody laid out: each commit
/// competes with reads and checkpoints then.
fn log_beside_data(roles: &[(String, StorageFacts)]) -> Vec<Warning> {
    if roles.iter().any(|(role, _)| role == "log") {
        return Vec::new();
    }
    let Some((role, facts)) = roles.iter().find(|(role, _)| role.starts_with("data")) else {
        return Vec::new();
    };
    let warning = |device: &String| Warning {
        code: "log_beside_data".to_owned(),
        text: format!("{role} and the log share device {device}: their I/O competes"),
    };
    facts.physical_devices.iter().map(warning).collect()
}

fn json(value: &impl serde::Serialize) -> serde_json::Value {
    serde_json::to_value(value).unwrap_or(serde_json::Value::Null)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn texts(roles: &[&str]) -> Vec<String> {
        let place = tempfile::tempdir().unwrap();
        let facts = storage_behind(place.path()).unwrap();
        let roles: Vec<_> = roles.iter().map(|role| ((*role).to_owned(), facts.clone())).collect();
        let warnings = sharing_warnings(&roles).into_iter().chain(log_beside_data(&roles));
        warnings.map(|warning| warning.text.replace(&facts.physical_devices[0], "vda")).collect()
    }

    #[test]
    fn a_log_without_a_directory_of_its_own_shares_the_device_of_the_data() {
        assert_eq!(texts(&["data 1"]), ["data 1 and the log share device vda: their I/O competes"]);
        assert_eq!(texts(&["data", "log"]), ["data and log share device vda: their I/O competes"]);
        assert_eq!(texts(&[]), Vec::<String>::new());
    }
}
