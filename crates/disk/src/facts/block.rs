//! The way from a file system down to the disks, through partitions, loop devices, mappers and RAID.

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::device::DeviceNumber;
use super::kind::{MEMORY, StorageKind};
use super::mounts::{Mount, mount_holding};
use crate::tree::{SystemTree, bracketed, names_in, text_at};

/// The most places visited on the way down. A RAID of 24 disks under a volume manager takes about 60; a loop in the
/// links cannot go on, because each number is visited once.
const PLACES_MAX: usize = 1024;

/// `size` in sysfs counts in this unit, whatever the block size of the device.
const SECTOR_BYTES: u64 = 512;

/// The attributes of one block device, as sysfs tells them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockDevice {
    /// The kernel's name, such as `vda`, `nvme0n1p2`, `loop3`, `dm-0`.
    pub name: String,
    /// Its number; the key under which `/proc/diskstats` lists it too.
    pub number: DeviceNumber,
    /// The disk of which it is a partition.
    pub whole_disk: Option<String>,
    /// The file behind a loop device.
    pub loop_backing_file: Option<String>,
    /// The devices directly below a mapper or RAID device, sorted; empty otherwise.
    pub slaves: Vec<String>,
    /// The name that the device mapper was given, such as `vg0-data`.
    pub mapper_name: Option<String>,
    /// The RAID level of a software RAID, such as `raid10`.
    pub raid_level: Option<String>,
    /// The model that the device reports.
    pub model: Option<String>,
    /// Whether the device says that it turns. Virtual disks often say so without reason.
    pub rotational: Option<bool>,
    /// The I/O scheduler in force.
    pub scheduler: Option<String>,
    /// The smallest unit that can be addressed, in bytes.
    pub logical_block_bytes: Option<u64>,
    /// The smallest unit written without read-modify-write, in bytes.
    pub physical_block_bytes: Option<u64>,
    /// `write back`: a flush is needed, and sent; `write through`: none is sent.
    pub write_cache: Option<String>,
    /// Whether single writes can bypass the cache.
    pub fua: Option<bool>,
    /// Depth of the scheduler's queue.
    pub nr_requests: Option<u64>,
    /// Whether freed blocks can be discarded.
    pub discard: Option<bool>,
    /// The size in bytes.
    pub size_bytes: Option<u64>,
}

/// A file or directory, or the device that holds it.
#[derive(Clone, Debug)]
pub(super) struct StorageNode {
    pub(super) number: DeviceNumber,
    pub(super) path: PathBuf,
}

/// What was met on the way down.
#[derive(Clone, Debug)]
pub(super) struct StorageStack {
    pub(super) kind: StorageKind,
    pub(super) block_devices: Vec<BlockDevice>,
    pub(super) physical_devices: BTreeSet<String>,
}

/// Follows `start` to the disks, breadth first.
pub(super) fn walk_down(tree: &SystemTree, mounts: &[Mount], start: StorageNode) -> StorageStack {
    let mut behind = StorageStack {
        kind: StorageKind::Block,
        block_devices: Vec::new(),
        physical_devices: BTreeSet::new(),
    };
    let mut seen = BTreeSet::new();
    let mut open = VecDeque::from([start]);
    while let Some(place) = open.pop_front() {
        let is_start = seen.is_empty();
        if seen.len() >= PLACES_MAX || !seen.insert(place.number) {
            continue;
        }
        let (kind, step) = match sysfs_directory(tree, place.number) {
            Some(directory) => {
                let device = block_device(&directory, place.number);
                let step = below_device(tree, &directory, &device);
                behind.block_devices.push(device);
                (StorageKind::Block, step)
            }
            None => below_file_system(tree, mounts, &place),
        };
        if is_start {
            behind.kind = kind;
        }
        match step {
            Step::Down(places) => open.extend(places),
            Step::End(name) => {
                behind.physical_devices.insert(name);
            }
        }
    }
    behind
}

/// Where the way continues from one place.
enum Step {
    Down(Vec<StorageNode>),
    End(String),
}

fn below_device(tree: &SystemTree, directory: &Path, device: &BlockDevice) -> Step {
    if device.whole_disk.is_some() {
        let disk = directory.parent().and_then(number_at);
        return down_or(disk.into_iter().map(device_place).collect(), device.whole_disk.as_deref(), device);
    }
    if !device.slaves.is_empty() {
        let slaves = names_in(&directory.join("slaves"));
        let places = slaves
            .iter()
            .filter_map(|slave| number_at(&directory.join("slaves").join(slave)))
            .map(device_place)
            .collect();
        return down_or(places, None, device);
    }
    if let Some(file) = &device.loop_backing_file {
        let path = PathBuf::from(file);
        let place = tree.stat(&path).map(|numbers| StorageNode { number: numbers.holder, path });
        return down_or(place.into_iter().collect(), None, device);
    }
    // zram and the RAM disk of the kernel are block devices, but what they hold is in memory.
    let in_memory = device.name.starts_with("zram")
        || device.name.strip_prefix("ram").is_some_and(|rest| rest.parse::<u32>().is_ok());
    Step::End(if in_memory { MEMORY.to_owned() } else { device.name.clone() })
}

fn down_or(places: Vec<StorageNode>, end: Option<&str>, device: &BlockDevice) -> Step {
    if places.is_empty() { Step::End(end.unwrap_or(&device.name).to_owned()) } else { Step::Down(places) }
}

fn device_place(number: DeviceNumber) -> StorageNode {
    StorageNode { number, path: PathBuf::new() }
}

fn below_file_system(tree: &SystemTree, mounts: &[Mount], place: &StorageNode) -> (StorageKind, Step) {
    let Some(mount) = mount_holding(mounts, &place.path, place.number) else {
        let reason = format!("neither /sys/dev/block nor the mount table lists device {}", place.number);
        return (StorageKind::Other { reason }, Step::End(format!("device {}", place.number)));
    };
    let source = mount.source.to_string_lossy().into_owned();
    match mount.file_system.as_str() {
        "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs" => (StorageKind::Memory, Step::End(MEMORY.to_owned())),
        "overlay" => below_overlay(tree, mount),
        "zfs" => {
            let pool = source.split('/').next().unwrap_or_default().to_owned();
            let reason = format!("ZFS does not tell the disks of its pool \"{pool}\"");
            (StorageKind::Other { reason }, Step::End(format!("zfs {pool}")))
        }
        network if is_network(network) => {
            // `server:/export` and `//server/share`: what is shared is the server and the way to it.
            let server = source.trim_start_matches('/').split([':', '/']).next().unwrap_or_default();
            let end = format!("{network} {server}");
            (StorageKind::Network { source }, Step::End(end))
        }
        // btrfs has a number of its own but names a device; so does any file system where /sys is not visible.
        file_system => match source.strip_prefix("/dev/") {
            Some(name) if !file_system.starts_with("fuse.") => {
                let node = tree.stat(&mount.source).map(|numbers| numbers.node);
                let node = node.filter(|node| *node != place.number && node.major != 0);
                let step =
                    node.map_or(Step::End(name.to_owned()), |node| Step::Down(vec![device_place(node)]));
                (StorageKind::Block, step)
            }
            _ => {
                let reason = format!("file system {file_system} names no block device");
                (StorageKind::Other { reason }, Step::End(format!("{file_system} {source}")))
            }
        },
    }
}

fn below_overlay(tree: &SystemTree, mount: &Mount) -> (StorageKind, Step) {
    let upper = mount.super_option("upperdir").map(str::to_owned);
    let place = upper.as_ref().and_then(|upper| {
        let path = PathBuf::from(upper);
        tree.stat(&path).map(|numbers| StorageNode { number: numbers.holder, path })
    });
    let step =
        place.map_or_else(|| Step::End(format!("overlay {}", mount.number)), |place| Step::Down(vec![place]));
    (StorageKind::Overlay { upper_directory: upper }, step)
}

fn is_network(file_system: &str) -> bool {
    ["nfs", "nfs4", "cifs", "smb3", "ceph", "glusterfs", "fuse.glusterfs", "fuse.sshfs", "lustre", "afs"]
        .contains(&file_system)
}

/// The directory of a device, with the link resolved: its last component is the name, and for a partition the one
/// before is the disk.
fn sysfs_directory(tree: &SystemTree, number: DeviceNumber) -> Option<PathBuf> {
    tree.place(format!("sys/dev/block/{number}")).canonicalize().ok()
}

fn number_at(directory: &Path) -> Option<DeviceNumber> {
    DeviceNumber::parse(&text_at(&directory.join("dev"))?)
}

/// sysfs cannot have a slash in a name and writes an exclamation mark (`cciss!c0d0`).
fn name_at(directory: &Path) -> String {
    directory.file_name().unwrap_or_default().to_string_lossy().replace('!', "/")
}

fn block_device(directory: &Path, number: DeviceNumber) -> BlockDevice {
    let is_partition = directory.join("partition").exists();
    // A partition has no queue of its own: queue and model are the disk's.
    let disk = if is_partition { directory.parent().unwrap_or(directory) } else { directory };
    let text = |name: &str| text_at(&disk.join(name));
    let count = |name: &str| text(name)?.parse::<u64>().ok();
    BlockDevice {
        name: name_at(directory),
        number,
        whole_disk: is_partition.then(|| name_at(disk)),
        loop_backing_file: text("loop/backing_file"),
        slaves: names_in(&directory.join("slaves")).iter().map(|name| name.replace('!', "/")).collect(),
        mapper_name: text("dm/name"),
        raid_level: text("md/level"),
        model: text("device/model"),
        rotational: count("queue/rotational").map(|flag| flag != 0),
        scheduler: text("queue/scheduler").as_deref().and_then(bracketed),
        logical_block_bytes: count("queue/logical_block_size"),
        physical_block_bytes: count("queue/physical_block_size"),
        write_cache: text("queue/write_cache"),
        fua: count("queue/fua").map(|flag| flag != 0),
        nr_requests: count("queue/nr_requests"),
        discard: count("queue/discard_max_bytes").map(|bytes| bytes > 0),
        size_bytes: text_at(&directory.join("size"))
            .and_then(|sectors| sectors.parse::<u64>().ok()?.checked_mul(SECTOR_BYTES)),
    }
}
