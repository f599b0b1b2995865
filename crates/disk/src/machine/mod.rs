//! The machine that a run had: processors, memory, kernel, and the limits set on this process.
//!
//! Sources: `/proc` (proc(5)) and `/sys/devices/system` (the kernel's `Documentation/ABI/stable/sysfs-devices-system-cpu`
//! and `sysfs-devices-node`). Serial numbers, addresses and the boot id are left out: results get passed on.

mod cgroup;
mod fields;
mod processors;

use serde::{Deserialize, Serialize};

pub use cgroup::CgroupLimits;
pub use processors::{FrequencyPolicy, NumaNode, ProcessorFacts};

use fields::{field, kib_field};

use crate::tree::{SystemTree, bracketed};

/// What is known of the machine. A fact that the machine does not tell is absent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineFacts {
    /// The distribution, such as `Debian GNU/Linux 12 (bookworm)`.
    pub operating_system: Option<String>,
    /// The kernel's release, as `uname -r` prints it.
    pub kernel_release: String,
    /// The kernel's build, as `uname -v` prints it.
    pub kernel_version: String,
    /// The instruction set, as `uname -m` prints it.
    pub architecture: String,
    /// Maker and model of the machine, or of the virtual machine, from its firmware.
    pub product: Option<String>,
    /// The processors.
    pub processors: ProcessorFacts,
    /// The NUMA nodes, by number; empty where the kernel shows none.
    pub numa_nodes: Vec<NumaNode>,
    /// The memory.
    pub memory: MemoryFacts,
    /// The limits of the control group of this process.
    pub cgroup: CgroupLimits,
    /// The clock that the kernel reads, such as `tsc`; another one makes every time stamp dear.
    pub clock_source: Option<String>,
    /// The size of a page of memory in bytes.
    pub page_size_bytes: u64,
    /// `kernel.io_uring_disabled`: 0 all may use it, 1 privileged processes only, 2 nobody; absent before Linux 6.6.
    pub io_uring_disabled: Option<u64>,
}

/// The memory of the machine, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryFacts {
    /// All that the kernel manages.
    pub total_bytes: Option<u64>,
    /// What can be had without swapping, as the kernel estimates it.
    pub available_bytes: Option<u64>,
    /// The size of the swap space; 0 without any.
    pub swap_total_bytes: Option<u64>,
    /// The part of the swap space in use.
    pub swap_used_bytes: Option<u64>,
    /// When memory gets huge pages unasked: `always`, `madvise` or `never`.
    pub transparent_huge_pages: Option<String>,
    /// The number of huge pages set aside.
    pub huge_page_count: Option<u64>,
    /// The size of a huge page.
    pub huge_page_bytes: Option<u64>,
}

/// Collects what is known of this machine.
///
/// Costs some hundred small reads under `/proc` and `/sys`. Nothing is an error: what cannot be read is absent.
pub fn machine_facts() -> MachineFacts {
    facts_of(&SystemTree::of_this_machine())
}

fn facts_of(tree: &SystemTree) -> MachineFacts {
    let kernel = rustix::system::uname();
    MachineFacts {
        operating_system: operating_system(tree),
        kernel_release: kernel.release().to_string_lossy().into_owned(),
        kernel_version: kernel.version().to_string_lossy().into_owned(),
        architecture: kernel.machine().to_string_lossy().into_owned(),
        product: product(tree),
        processors: processors::processors(tree),
        numa_nodes: processors::numa_nodes(tree),
        memory: memory(tree),
        cgroup: cgroup::limits(tree),
        clock_source: tree.text("sys/devices/system/clocksource/clocksource0/current_clocksource"),
        page_size_bytes: rustix::param::page_size() as u64,
        io_uring_disabled: tree.number("proc/sys/kernel/io_uring_disabled"),
    }
}

/// `/etc/os-release`, or the copy that os-release(5) names for when that is missing.
fn operating_system(tree: &SystemTree) -> Option<String> {
    let text = tree.text("etc/os-release").or_else(|| tree.text("usr/lib/os-release"))?;
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?.trim();
    let name = name.trim_matches(['"', '\'']);
    (!name.is_empty()).then(|| name.to_owned())
}

fn product(tree: &SystemTree) -> Option<String> {
    let names = ["sys_vendor", "product_name"].map(|name| tree.text(format!("sys/class/dmi/id/{name}")));
    let text = names.into_iter().flatten().collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}

fn memory(tree: &SystemTree) -> MemoryFacts {
    let text = tree.text("proc/meminfo").unwrap_or_default();
    let swap_total_bytes = kib_field(&text, "SwapTotal");
    let swap_free_bytes = kib_field(&text, "SwapFree");
    MemoryFacts {
        total_bytes: kib_field(&text, "MemTotal"),
        available_bytes: kib_field(&text, "MemAvailable"),
        swap_total_bytes,
        swap_used_bytes: swap_total_bytes
            .zip(swap_free_bytes)
            .map(|(total, free)| total.saturating_sub(free)),
        transparent_huge_pages: tree
            .text("sys/kernel/mm/transparent_hugepage/enabled")
            .as_deref()
            .and_then(bracketed),
        huge_page_count: field(&text, "HugePages_Total").and_then(|value| value.parse().ok()),
        huge_page_bytes: kib_field(&text, "Hugepagesize"),
    }
}

#[cfg(test)]
mod tests;
