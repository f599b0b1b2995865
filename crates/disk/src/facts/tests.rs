#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::symlink;

use super::*;
use crate::tree::PathNumbers;

const ROOM: Room = Room { free_bytes: 10, total_bytes: 20 };

/// A machine with a partitioned NVMe disk, two SATA disks in a mirror under a volume, a loop device on a file of the
/// NVMe disk, another on a file in memory, and a zram disk.
fn made_up_machine() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, content: &[u8]| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    };
    let devices = [
        ("259:0", "pci/nvme0n1"),
        ("259:1", "pci/nvme0n1/nvme0n1p1"),
        ("259:2", "pci/nvme0n1/nvme0n1p2"),
        ("8:0", "pci/sda"),
        ("8:16", "pci/sdb"),
        ("9:0", "virtual/md0"),
        ("253:0", "virtual/dm-0"),
        ("7:0", "virtual/loop0"),
        ("7:1", "virtual/loop1"),
        ("252:0", "virtual/zram0"),
        ("104:0", "pci/cciss!c0d0"),
    ];
    fs::create_dir_all(root.path().join("sys/dev/block")).unwrap();
    for (number, place) in devices {
        write(&format!("sys/devices/{place}/dev"), format!("{number}\n").as_bytes());
        let link = root.path().join("sys/dev/block").join(number);
        symlink(format!("../../devices/{place}"), link).unwrap();
    }
    let nvme = "sys/devices/pci/nvme0n1";
    write(&format!("{nvme}/device/model"), b"Fast Disk 9000   \n");
    write(&format!("{nvme}/queue/scheduler"), b"[none] mq-deadline kyber\n");
    write(&format!("{nvme}/queue/rotational"), b"0\n");
    write(&format!("{nvme}/queue/logical_block_size"), b"512\n");
    write(&format!("{nvme}/queue/physical_block_size"), b"4096\n");
    write(&format!("{nvme}/queue/write_cache"), b"write back\n");
    write(&format!("{nvme}/queue/fua"), b"1\n");
    write(&format!("{nvme}/queue/nr_requests"), b"1023\n");
    write(&format!("{nvme}/queue/discard_max_bytes"), b"2199023255040\n");
    write(&format!("{nvme}/nvme0n1p1/partition"), b"1\n");
    write(&format!("{nvme}/nvme0n1p1/size"), b"2048\n");
    write(&format!("{nvme}/nvme0n1p2/partition"), b"2\n");
    write("sys/devices/virtual/md0/md/level", b"raid1\n");
    write("sys/devices/virtual/dm-0/dm/name", b"vg0-data\n");
    write("sys/devices/virtual/loop0/loop/backing_file", b"/images/disk one.img\n");
    write("sys/devices/virtual/loop1/loop/backing_file", b"/dev/shm/disk.img\n");
    for (upper, lower) in [("md0", "../../pci/sda"), ("md0", "../../pci/sdb"), ("dm-0", "../md0")] {
        let slaves = root.path().join("sys/devices/virtual").join(upper).join("slaves");
        fs::create_dir_all(&slaves).unwrap();
        symlink(format!("../{lower}"), slaves.join(lower.rsplit('/').next().unwrap())).unwrap();
    }
    write("proc/self/mountinfo", MOUNTS.as_bytes());
    root
}

const MOUNTS: &str = r"1 0 259:1 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p1 rw,discard
2 1 259:2 / /images rw - xfs /dev/nvme0n1p2 rw
3 1 253:0 / /data rw,noatime - ext4 /dev/mapper/vg0-data rw,data=ordered
4 1 7:0 / /with\040space rw - ext4 /dev/loop0 rw
5 1 7:1 / /fast rw - ext4 /dev/loop1 rw
6 1 0:23 / /dev/shm rw - tmpfs tmpfs rw,size=1k
7 1 0:24 / /tmp rw - tmpfs none rw
8 1 0:30 / /box rw - overlay overlay rw,lowerdir=/l,upperdir=/images/upper,workdir=/w
9 1 0:31 / /other-box rw - overlay overlay rw,lowerdir=/l,upperdir=/of-the-host,workdir=/w
10 1 0:40 /@ /btrfs rw - btrfs /dev/sda rw,subvol=/@
11 1 0:50 / /nfs rw - nfs4 filer:/export rw
12 1 0:51 / /pool rw - zfs tank/db rw
13 1 252:0 / /squeezed rw - ext4 /dev/zram0 rw
14 1 104:0 / /old rw - ext4 /dev/cciss/c0d0 rw
";

fn number(major: u32, minor: u32) -> DeviceNumber {
    DeviceNumber { major, minor }
}

fn made_up_stat(path: &Path) -> Option<PathNumbers> {
    let (holder, node) = match path.to_str()? {
        "/images/disk one.img" | "/images/upper" => (number(259, 2), number(0, 0)),
        "/dev/shm/disk.img" => (number(0, 23), number(0, 0)),
        "/dev/sda" => (number(0, 6), number(8, 0)),
        _ => return None,
    };
    Some(PathNumbers { holder, node })
}

fn facts(root: &tempfile::TempDir, directory: &str, major: u32, minor: u32) -> StorageFacts {
    let tree = SystemTree::made_up(root.path(), made_up_stat);
    facts_of(&tree, Path::new(directory), number(major, minor), ROOM)
}

fn names(facts: &StorageFacts) -> Vec<&str> {
    facts.block_devices.iter().map(|device| device.name.as_str()).collect()
}

#[test]
fn a_partition_leads_to_its_disk_and_shows_the_queue_of_the_disk() {
    let root = made_up_machine();
    let facts = facts(&root, "/home", 259, 1);
    assert_eq!(names(&facts), ["nvme0n1p1", "nvme0n1"]);
    assert_eq!(facts.physical_devices, ["nvme0n1"]);
    assert_eq!(facts.kind, StorageKind::Block);
    let partition = &facts.block_devices[0];
    assert_eq!(partition.whole_disk.as_deref(), Some("nvme0n1"));
    assert_eq!(partition.size_bytes, Some(1 << 20));
    assert_eq!(partition.model.as_deref(), Some("Fast Disk 9000"));
    assert_eq!(partition.scheduler.as_deref(), Some("none"));
    assert_eq!(partition.rotational, Some(false));
    assert_eq!(partition.logical_block_bytes, Some(512));
    assert_eq!(partition.physical_block_bytes, Some(4096));
    assert_eq!(partition.write_cache.as_deref(), Some("write back"));
    assert_eq!(partition.fua, Some(true));
    assert_eq!(partition.nr_requests, Some(1023));
    assert_eq!(partition.discard, Some(true));
    let mount = facts.mount.unwrap();
    assert_eq!((mount.mount_point.as_str(), mount.file_system.as_str()), ("/", "ext4"));
    assert_eq!((facts.free_bytes, facts.total_bytes), (10, 20));
}

#[test]
fn a_volume_over_a_mirror_leads_to_both_disks() {
    let root = made_up_machine();
    let facts = facts(&root, "/data/base", 253, 0);
    assert_eq!(names(&facts), ["dm-0", "md0", "sda", "sdb"]);
    assert_eq!(facts.physical_devices, ["sda", "sdb"]);
    assert_eq!(facts.block_devices[0].mapper_name.as_deref(), Some("vg0-data"));
    assert_eq!(facts.block_devices[1].raid_level.as_deref(), Some("raid1"));
    assert_eq!(facts.block_devices[1].slaves, ["sda", "sdb"]);
    assert_eq!(facts.block_devices[2].model, None);
}

#[test]
fn a_loop_device_leads_to_the_disk_of_its_file() {
    let root = made_up_machine();
    let on_disk = facts(&root, "/with space", 7, 0);
    assert_eq!(names(&on_disk), ["loop0", "nvme0n1p2", "nvme0n1"]);
    assert_eq!(on_disk.block_devices[0].loop_backing_file.as_deref(), Some("/images/disk one.img"));
    assert_eq!(on_disk.mount.unwrap().mount_point, "/with space");
    let in_memory = facts(&root, "/fast", 7, 1);
    assert_eq!(names(&in_memory), ["loop1"]);
    assert_eq!(in_memory.physical_devices, [MEMORY]);
    assert_eq!(in_memory.kind, StorageKind::Block);
}

#[test]
fn storage_without_a_block_device_says_what_it_is() {
    let root = made_up_machine();
    let tmpfs = facts(&root, "/dev/shm/x", 0, 23);
    assert_eq!((tmpfs.kind, tmpfs.physical_devices), (StorageKind::Memory, vec![MEMORY.to_owned()]));
    assert!(tmpfs.block_devices.is_empty());
    let nfs = facts(&root, "/nfs", 0, 50);
    assert_eq!(nfs.kind, StorageKind::Network { source: "filer:/export".to_owned() });
    assert_eq!(nfs.physical_devices, ["nfs4 filer"]);
    let zfs = facts(&root, "/pool", 0, 51);
    assert!(matches!(&zfs.kind, StorageKind::Other { reason } if reason.contains("\"tank\"")));
    assert_eq!(zfs.physical_devices, ["zfs tank"]);
    assert_eq!(facts(&root, "/squeezed", 252, 0).physical_devices, [MEMORY]);
}

#[test]
fn an_overlay_leads_to_the_disk_of_its_upper_directory() {
    let root = made_up_machine();
    let seen = facts(&root, "/box/x", 0, 30);
    assert_eq!(seen.kind, StorageKind::Overlay { upper_directory: Some("/images/upper".to_owned()) });
    assert_eq!(seen.physical_devices, ["nvme0n1"]);
    let hidden = facts(&root, "/other-box/x", 0, 31);
    assert_eq!(hidden.physical_devices, ["overlay 0:31"]);
    assert!(hidden.block_devices.is_empty());
}

#[test]
fn btrfs_with_a_number_of_its_own_leads_to_the_device_it_names() {
    let root = made_up_machine();
    // The number of a subvolume (0:41) stands nowhere in the mount table.
    let facts = facts(&root, "/btrfs/sub", 0, 41);
    assert_eq!(names(&facts), ["sda"]);
    assert_eq!(facts.physical_devices, ["sda"]);
    assert_eq!(facts.kind, StorageKind::Block);
}

#[test]
fn an_exclamation_mark_in_sysfs_is_a_slash_in_the_name() {
    let root = made_up_machine();
    assert_eq!(facts(&root, "/old", 104, 0).physical_devices, ["cciss/c0d0"]);
}

#[test]
fn without_sysfs_the_mount_table_names_the_device() {
    let root = made_up_machine();
    fs::remove_dir_all(root.path().join("sys")).unwrap();
    let facts = facts(&root, "/", 259, 1);
    assert_eq!(facts.physical_devices, ["nvme0n1p1"]);
    assert!(facts.block_devices.is_empty());
}

#[test]
fn an_empty_tree_gives_absent_facts() {
    let root = tempfile::tempdir().unwrap();
    let facts = facts(&root, "/data", 8, 1);
    assert_eq!(facts.mount, None);
    assert!(matches!(&facts.kind, StorageKind::Other { reason } if reason.contains("8:1")));
    assert_eq!(facts.physical_devices, ["device 8:1"]);
}

#[test]
fn devices_that_are_each_others_slaves_end() {
    let root = made_up_machine();
    let slaves = root.path().join("sys/devices/pci/sda/slaves");
    fs::create_dir_all(&slaves).unwrap();
    symlink("../../../virtual/dm-0", slaves.join("dm-0")).unwrap();
    assert_eq!(facts(&root, "/data", 253, 0).physical_devices, ["sdb"]);
}

#[test]
fn odd_bytes_in_sysfs_make_a_number_absent() {
    let root = made_up_machine();
    let queue = root.path().join("sys/devices/pci/nvme0n1/queue");
    fs::write(queue.join("scheduler"), b"[\xff\xfe").unwrap();
    fs::write(queue.join("rotational"), b"\xff").unwrap();
    fs::write(root.path().join("sys/devices/pci/nvme0n1/nvme0n1p1/size"), b"99999999999999999999").unwrap();
    let facts = facts(&root, "/", 259, 1);
    let partition = &facts.block_devices[0];
    assert_eq!((&partition.scheduler, partition.rotational, partition.size_bytes), (&None, None, None));
}

#[test]
fn roles_share_a_disk_through_partitions_loops_and_memory() {
    let root = made_up_machine();
    let role =
        |name: &str, directory: &str, major, minor| (name.to_owned(), facts(&root, directory, major, minor));
    let shared = roles_sharing_a_device(&[
        role("data", "/", 259, 1),
        role("log", "/with space", 7, 0),
        role("temp", "/tmp", 0, 24),
        role("scratch", "/dev/shm", 0, 23),
        role("archive", "/data", 253, 0),
    ]);
    let expected = [
        SharedDevice { device: "memory".to_owned(), roles: vec!["temp".to_owned(), "scratch".to_owned()] },
        SharedDevice { device: "nvme0n1".to_owned(), roles: vec!["data".to_owned(), "log".to_owned()] },
    ];
    assert_eq!(shared, expected);
    assert_eq!(roles_sharing_a_device(&[role("data", "/", 259, 1), role("log", "/data", 253, 0)]), []);
}

#[test]
fn this_machine_tells_about_a_temporary_directory() {
    let directory = tempfile::tempdir().unwrap();
    let facts = storage_behind(directory.path()).unwrap();
    assert!(facts.free_bytes <= facts.total_bytes);
    assert!(!facts.physical_devices.is_empty());
    assert_eq!(Path::new(&facts.directory), directory.path().canonicalize().unwrap());
    let json = serde_json::to_string(&facts).unwrap();
    assert_eq!(serde_json::from_str::<StorageFacts>(&json).unwrap(), facts);
}

#[test]
fn a_missing_directory_and_a_file_are_errors_with_the_path() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing");
    let message = storage_behind(&missing).unwrap_err().to_string();
    assert!(
        message.starts_with("could not inspect directory \"") && message.contains("missing"),
        "{message}"
    );
    let file = directory.path().join("file");
    fs::write(&file, b"").unwrap();
    assert!(matches!(storage_behind(&file), Err(FactsError::NotADirectory { .. })));
}
