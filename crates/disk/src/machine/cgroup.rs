//! The limits of the control group in which this process runs.
//!
//! Version 2: `Documentation/admin-guide/cgroup-v2.rst` (`cpu.max`, `memory.max`); version 1: the controllers `cpu`
//! (`cpu.cfs_quota_us`, `cpu.cfs_period_us`) and `memory` (`memory.limit_in_bytes`). Both can be in use at once. A limit
//! of a parent holds for its children, so the smallest on the way to the root counts.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::facts::{Mount, mounts_of};
use crate::tree::SystemTree;

/// The most parents that are asked; the kernel's own depth limit is lower in practice, and a path from a file must
/// not choose the work.
const DEPTH_MAX: usize = 256;

/// Version 1 writes "no limit" as the largest multiple of the page size in 63 bits; with 64 KiB pages this is the
/// smallest such number. Nothing has 8 EiB of memory.
const MEMORY_UNLIMITED_BYTES: u64 = i64::MAX as u64 & !0xffff;

/// What the control groups allow this process. Absent: no limit, or none that can be seen (in a container the limits of
/// the parents are hidden).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CgroupLimits {
    /// Processor time per time: 1.5 is one and a half processors.
    pub cpu_limit: Option<f64>,
    /// Memory in bytes, the page cache of the files that it uses included.
    pub memory_limit_bytes: Option<u64>,
}

pub(super) fn limits(tree: &SystemTree) -> CgroupLimits {
    let mounts = mounts_of(tree);
    let groups = tree.text("proc/self/cgroup").unwrap_or_default();
    let mut found = CgroupLimits::default();
    for line in groups.lines() {
        // `0::/path` is version 2, `4:memory,hugetlb:/path` version 1.
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        for directory in directories(&mounts, controllers, path) {
            let text = |name: &str| tree.text(directory.join(name));
            let cpu = match controllers {
                "" => text("cpu.max").and_then(|text| cpu_max(&text)),
                _ => text("cpu.cfs_quota_us")
                    .and_then(|quota| cpu_max(&format!("{quota} {}", text("cpu.cfs_period_us")?))),
            };
            let name = if controllers.is_empty() { "memory.max" } else { "memory.limit_in_bytes" };
            let memory = text(name).and_then(|text| text.parse::<u64>().ok());
            found.cpu_limit = smaller(found.cpu_limit, cpu, f64::min);
            found.memory_limit_bytes = smaller(
                found.memory_limit_bytes,
                memory.filter(|&bytes| bytes < MEMORY_UNLIMITED_BYTES),
                u64::min,
            );
        }
    }
    found
}

/// The directories of a group and its parents, the group first.
fn directories(mounts: &[Mount], controllers: &str, path: &str) -> Vec<PathBuf> {
    let wanted: Vec<&str> = controllers.split(',').collect();
    let mount = mounts.iter().find(|mount| match controllers {
        "" => mount.file_system == "cgroup2",
        _ => {
            mount.file_system == "cgroup"
                && mount.super_options.iter().any(|option| wanted.contains(&option.as_str()))
        }
    });
    let Some(mount) = mount else { return Vec::new() };
    // A container sees only a part of the tree, mounted at the mount point; a path outside it cannot be followed.
    let below = Path::new(path).strip_prefix(&mount.root).unwrap_or(Path::new(""));
    let followed = below.components().all(|part| matches!(part, Component::Normal(_)));
    let below = if followed { below } else { Path::new("") };
    below.ancestors().take(DEPTH_MAX).map(|part| mount.mount_point.join(part)).collect()
}

/// `quota period` in microseconds; `max` or a negative quota is no limit.
fn cpu_max(text: &str) -> Option<f64> {
    let (quota, period) = text.split_once(' ')?;
    let (quota, period) = (quota.parse::<u64>().ok()?, period.trim().parse::<u64>().ok()?);
    (quota > 0 && period > 0).then(|| quota as f64 / period as f64)
}

fn smaller<T: Copy>(one: Option<T>, other: Option<T>, min: fn(T, T) -> T) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(min(one, other)),
        (one, other) => one.or(other),
    }
}
