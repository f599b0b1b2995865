//! What lies behind a directory: mount, file system, the block devices down to the disk, and the free space.
//!
//! Sources: `statvfs(3)`, `/proc/self/mountinfo` (proc_pid_mountinfo(5)), and `/sys/dev/block/MAJOR:MINOR` with the
//! queue attributes of the kernel's `Documentation/ABI/stable/sysfs-block`.

mod block;
mod device;
mod kind;
mod mounts;
mod sharing;

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use block::BlockDevice;
pub use device::DeviceNumber;
pub use kind::{MEMORY, StorageKind};
pub use mounts::MountFacts;
pub use sharing::{SharedDevice, roles_sharing_a_device};

pub(crate) use mounts::{Mount, mounts_of};

use crate::tree::SystemTree;

/// What lies behind one directory.
///
/// Paths are text for people: bytes that are not UTF-8 are replaced. A fact that the machine does not tell is absent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StorageFacts {
    /// The directory, absolute and without symbolic links.
    pub directory: String,
    /// The device number that `stat` gives for the directory.
    pub device_number: DeviceNumber,
    /// The mount that holds the directory; absent when the mount table does not show it.
    pub mount: Option<MountFacts>,
    /// What kind of thing holds the bytes.
    pub kind: StorageKind,
    /// Every block device met on the way down, each once, the one that the file system lies on first. Empty without
    /// a block device.
    pub block_devices: Vec<BlockDevice>,
    /// Where the way ends: names of whole disks, [`MEMORY`], a file server, a pool. Sorted, each once. Two directories
    /// with a common name here compete. Two namespaces of one NVMe controller count as two.
    pub physical_devices: Vec<String>,
    /// Bytes that an unprivileged process can still write here.
    pub free_bytes: u64,
    /// Size of the file system in bytes.
    pub total_bytes: u64,
}

/// Why nothing can be said about a directory.
#[derive(Debug, thiserror::Error)]
pub enum FactsError {
    /// The directory does not exist, or the way to it is closed.
    #[error("could not inspect directory \"{}\": {source}", .directory.display())]
    Unreachable {
        /// The directory asked for.
        directory: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The path leads to something that is not a directory.
    #[error("could not use \"{}\" as a directory: it is a file", .path.display())]
    NotADirectory {
        /// The path asked for.
        path: PathBuf,
    },
}

/// Finds out what lies behind `dir`.
///
/// Costs a few dozen small reads under `/proc` and `/sys`, no I/O on the device.
///
/// # Errors
/// Only when `dir` itself cannot be looked at; whatever else the machine does not tell is absent from the facts.
pub fn storage_behind(dir: &Path) -> Result<StorageFacts, FactsError> {
    let unreachable = |source: io::Error| FactsError::Unreachable { directory: dir.to_path_buf(), source };
    let directory = dir.canonicalize().map_err(unreachable)?;
    let metadata = directory.metadata().map_err(unreachable)?;
    if !metadata.is_dir() {
        return Err(FactsError::NotADirectory { path: dir.to_path_buf() });
    }
    let room = room_of(&directory).map_err(unreachable)?;
    let number = DeviceNumber::from_raw(metadata.dev());
    Ok(facts_of(&SystemTree::of_this_machine(), &directory, number, room))
}

/// Free and total space of a file system in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// What an unprivileged process can still write.
    pub(crate) free_bytes: u64,
    /// The size.
    pub(crate) total_bytes: u64,
}

/// Asks the file system that holds `directory` for its space.
pub(crate) fn room_of(directory: &Path) -> io::Result<Room> {
    let space = rustix::fs::statvfs(directory)?;
    Ok(Room {
        free_bytes: space.f_bavail.saturating_mul(space.f_frsize),
        total_bytes: space.f_blocks.saturating_mul(space.f_frsize),
    })
}

fn facts_of(tree: &SystemTree, directory: &Path, number: DeviceNumber, room: Room) -> StorageFacts {
    let mounts = mounts_of(tree);
    let place = block::StorageNode { number, path: directory.to_path_buf() };
    let behind = block::walk_down(tree, &mounts, place);
    StorageFacts {
        directory: directory.to_string_lossy().into_owned(),
        device_number: number,
        mount: mounts::mount_holding(&mounts, directory, number).map(MountFacts::from),
        kind: behind.kind,
        block_devices: behind.block_devices,
        physical_devices: behind.physical_devices.into_iter().collect(),
        free_bytes: room.free_bytes,
        total_bytes: room.total_bytes,
    }
}

#[cfg(test)]
mod tests;
