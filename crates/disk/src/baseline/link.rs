//! What the machine tells about the device and its link: the highest rate they can give, and whether it can be polled.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::tree::SystemTree;

/// The most steps from a device up to the root of sysfs. The deepest known chain (NVMe behind bridges) has 12.
const STEPS_MAX: usize = 32;

/// The highest rate that something on the way can give.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RateLimit {
    /// In bytes per second, without the overhead of packets: no transfer can be faster.
    pub bytes_per_s: f64,
    /// Where the figure is from.
    pub source: String,
}

/// Finds the narrowest link between the block device `device` and the processor that sysfs tells of. Virtual devices
/// tell nothing.
pub fn link_limit(device: &str) -> Option<RateLimit> {
    limit_below(&SystemTree::of_this_machine(), device)
}

/// Says whether the queues of the block device `device` can be polled (`queue/io_poll`).
pub(super) fn can_poll(device: &str) -> bool {
    SystemTree::of_this_machine().number(format!("sys/block/{device}/queue/io_poll")) == Some(1)
}

fn limit_below(tree: &SystemTree, device: &str) -> Option<RateLimit> {
    let start = tree.place(format!("sys/class/block/{device}")).canonicalize().ok()?;
    let root = tree.place("sys").canonicalize().ok()?;
    let mut limits: Vec<RateLimit> = Vec::new();
    let mut directory: Option<&Path> = Some(&start);
    for _ in 0..STEPS_MAX {
        let Some(here) = directory.filter(|here| here.starts_with(&root) && *here != root) else { break };
        limits.extend(pci_limit(here));
        limits.extend(ata_limit(here));
        directory = here.parent();
    }
    limits.into_iter().min_by(|a, b| a.bytes_per_s.total_cmp(&b.bytes_per_s))
}

/// `current_link_speed` (`8.0 GT/s PCIe`) and `current_link_width` (`4`) of a PCI device
/// (Documentation/ABI/testing/sysfs-bus-pci). Encoding: 8b/10b up to 5 GT/s, 128b/130b from 8 GT/s (PCI Express Base
/// Specification 3.0, 4.2.2).
fn pci_limit(directory: &Path) -> Option<RateLimit> {
    let text = |name: &str| crate::tree::text_at(&directory.join(name));
    let speed = text("current_link_speed")?;
    let width: f64 = text("current_link_width")?.parse().ok()?;
    let giga_transfers: f64 = speed.split_whitespace().next()?.parse().ok()?;
    let payload = if giga_transfers < 8.0 { 0.8 } else { 128.0 / 130.0 };
    let bytes_per_s = giga_transfers * 1e9 * width * payload / 8.0;
    (bytes_per_s > 0.0).then(|| RateLimit { bytes_per_s, source: format!("PCIe link {speed} x{width}") })
}

/// `sata_spd` (`6.0 Gbps`) of the links of an ATA port (Documentation/ABI/testing/sysfs-ata); 8b/10b.
fn ata_limit(directory: &Path) -> Option<RateLimit> {
    let name = directory.file_name()?.to_str()?;
    let port = name.strip_prefix("ata")?;
    let link: PathBuf = directory.join(format!("link{port}/ata_link/link{port}/sata_spd"));
    let speed = crate::tree::text_at(&link)?;
    let gigabits: f64 = speed.split_whitespace().next()?.parse().ok()?;
    (gigabits > 0.0)
        .then(|| RateLimit { bytes_per_s: gigabits * 1e9 * 0.8 / 8.0, source: format!("SATA link {speed}") })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn write(path: PathBuf, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn tree_with(device: &str, path: &str, files: &[(&str, &str)]) -> (tempfile::TempDir, Option<RateLimit>) {
        let root = tempfile::tempdir().unwrap();
        let sys = root.path().join("sys");
        let target = sys.join(path);
        std::fs::create_dir_all(&target).unwrap();
        std::fs::create_dir_all(sys.join("class/block")).unwrap();
        std::os::unix::fs::symlink(&target, sys.join("class/block").join(device)).unwrap();
        files.iter().for_each(|(file, text)| write(sys.join(file), text));
        let limit = limit_below(&SystemTree::made_up(root.path(), |_| None), device);
        (root, limit)
    }

    #[test]
    fn the_narrowest_pci_link_on_the_way_is_the_limit() {
        let (_root, limit) = tree_with(
            "nvme0n1",
            "devices/pci0000:00/0000:00:01.0/0000:01:00.0/nvme/nvme0/nvme0n1",
            &[
                ("devices/pci0000:00/0000:00:01.0/current_link_speed", "16.0 GT/s PCIe\n"),
                ("devices/pci0000:00/0000:00:01.0/current_link_width", "8\n"),
                ("devices/pci0000:00/0000:00:01.0/0000:01:00.0/current_link_speed", "8.0 GT/s PCIe\n"),
                ("devices/pci0000:00/0000:00:01.0/0000:01:00.0/current_link_width", "4\n"),
            ],
        );
        let limit = limit.unwrap();
        assert_eq!(limit.source, "PCIe link 8.0 GT/s PCIe x4");
        assert!((limit.bytes_per_s / 3.938e9 - 1.0).abs() < 1e-3, "{limit:?}");
    }

    #[test]
    fn a_sata_port_has_the_rate_of_its_link() {
        let (_root, limit) = tree_with(
            "sda",
            "devices/pci0000:00/ata3/host2/target2:0:0/2:0:0:0/block/sda",
            &[("devices/pci0000:00/ata3/link3/ata_link/link3/sata_spd", "6.0 Gbps\n")],
        );
        assert_eq!(limit.unwrap().bytes_per_s, 6e8);
    }

    #[test]
    fn odd_text_and_virtual_devices_tell_nothing() {
        let odd = [
            ("devices/virtual/block/x/current_link_speed", "Unknown"),
            ("devices/virtual/block/x/current_link_width", "0"),
        ];
        assert_eq!(tree_with("x", "devices/virtual/block/x", &odd).1, None);
        assert_eq!(tree_with("x", "devices/virtual/block/x", &[]).1, None);
        assert_eq!(link_limit("../../etc"), None);
    }
}
