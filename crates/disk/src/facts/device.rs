//! The number of a block device.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The number of a block device, as `stat` gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DeviceNumber {
    /// The driver. 0 for file systems without a block device of their own (tmpfs, overlay, btrfs, NFS).
    pub major: u32,
    /// The device of that driver.
    pub minor: u32,
}

impl DeviceNumber {
    /// Splits a `st_dev` or `st_rdev`.
    pub(crate) fn from_raw(raw: u64) -> Self {
        DeviceNumber { major: rustix::fs::major(raw), minor: rustix::fs::minor(raw) }
    }

    /// Reads `major:minor`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.split_once(':')?;
        Some(DeviceNumber { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}
