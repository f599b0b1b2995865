//! Which roles compete for one device.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::StorageFacts;

/// A physical device behind more than one role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedDevice {
    /// Its name as in [`StorageFacts::physical_devices`].
    pub device: String,
    /// The roles on it, in the order in which they were given; at least two.
    pub roles: Vec<String>,
}

/// Finds the devices that stand behind more than one of `roles`, sorted by name.
///
/// Two mounts of one file system share, and so do two partitions of one disk, a loop device and the disk of its
/// file, and any two file systems in memory. Two volumes that a storage array or a hypervisor cuts from one set of
/// disks cannot be told apart here and do not show.
pub fn roles_sharing_a_device(roles: &[(String, StorageFacts)]) -> Vec<SharedDevice> {
    let mut roles_by_device: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (role, facts) in roles {
        for device in &facts.physical_devices {
            roles_by_device.entry(device).or_default().push(role.clone());
        }
    }
    roles_by_device
        .into_iter()
        .filter(|(_, roles)| roles.len() > 1)
        .map(|(device, roles)| SharedDevice { device: device.to_owned(), roles })
        .collect()
}
