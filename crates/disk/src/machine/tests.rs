#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use super::processors::cpu_list;
use super::*;

fn tree_with(files: &[(&str, &[u8])]) -> (tempfile::TempDir, SystemTree) {
    let root = tempfile::tempdir().unwrap();
    for (path, content) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let tree = SystemTree::made_up(root.path(), |_: &Path| None);
    (root, tree)
}

/// Two sockets of two cores with two threads each; processor 7 is off line.
fn two_sockets() -> Vec<(String, Vec<u8>)> {
    let cpu = "sys/devices/system/cpu";
    let mut files = vec![
        (format!("{cpu}/online"), b"0-6\n".to_vec()),
        (format!("{cpu}/smt/active"), b"1\n".to_vec()),
        (format!("{cpu}/intel_pstate/no_turbo"), b"1\n".to_vec()),
        (format!("{cpu}/cpufreq/boost"), b"1\n".to_vec()),
        (format!("{cpu}/cpufreq/policy10/scaling_governor"), b"powersave\n".to_vec()),
        (format!("{cpu}/cpufreq/policy2/scaling_governor"), b"performance\n".to_vec()),
        (
            "proc/cpuinfo".to_owned(),
            b"processor\t: 0\nmodel name\t: Some CPU\nflags\t\t: fpu hypervisor\n".to_vec(),
        ),
        ("proc/self/status".to_owned(), b"Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0,2-3\n".to_vec()),
        ("sys/devices/system/node/node0/cpulist".to_owned(), b"0-3\n".to_vec()),
        ("sys/devices/system/node/node0/meminfo".to_owned(), b"\nNode 0 MemTotal:       1024 kB\n".to_vec()),
        ("sys/devices/system/node/node1/cpulist".to_owned(), b"\n".to_vec()),
        ("sys/devices/system/node/online".to_owned(), b"0-1\n".to_vec()),
    ];
    for number in 0..8u32 {
        let first = number & !1;
        let siblings = if number == 6 { "6".to_owned() } else { format!("{first}-{}", first + 1) };
        files.push((format!("{cpu}/cpu{number}/topology/core_cpus_list"), siblings.into_bytes()));
        let socket = (number / 4).to_string();
        files.push((format!("{cpu}/cpu{number}/topology/physical_package_id"), socket.into_bytes()));
    }
    files
}

#[test]
fn sockets_cores_and_threads_are_told_apart() {
    let files = two_sockets();
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_slice())).collect();
    let (_root, tree) = tree_with(&files);
    let facts = facts_of(&tree);
    let cpus = facts.processors;
    assert_eq!(cpus.model.as_deref(), Some("Some CPU"));
    assert_eq!((cpus.socket_count, cpus.core_count), (Some(2), Some(4)));
    assert_eq!(cpus.online, [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(cpus.allowed, [0, 2, 3]);
    assert_eq!((cpus.multithreading, cpus.hypervisor, cpus.boost), (Some(true), Some(true), Some(false)));
    let policies = cpus.frequency_policies.unwrap();
    assert_eq!(
        (policies[0].policy.as_str(), policies[0].governor.as_deref()),
        ("policy2", Some("performance"))
    );
    assert_eq!(policies[1].policy, "policy10");
    let expected = [
        NumaNode { node: 0, cpus: vec![0, 1, 2, 3], memory_bytes: Some(1 << 20) },
        NumaNode { node: 1, cpus: vec![], memory_bytes: None },
    ];
    assert_eq!(facts.numa_nodes, expected);
}

#[test]
fn memory_comes_in_bytes() {
    let text = b"MemTotal:       2048 kB\nMemAvailable: 1024 kB\nSwapTotal: 10 kB\nSwapFree: 4 kB\nHugePages_Total: 3\nHugepagesize:  2048 kB\n";
    let (_root, tree) = tree_with(&[
        ("proc/meminfo", text),
        ("sys/kernel/mm/transparent_hugepage/enabled", b"always [madvise] never\n"),
    ]);
    let expected = MemoryFacts {
        total_bytes: Some(2 << 20),
        available_bytes: Some(1 << 20),
        swap_total_bytes: Some(10 << 10),
        swap_used_bytes: Some(6 << 10),
        transparent_huge_pages: Some("madvise".to_owned()),
        huge_page_count: Some(3),
        huge_page_bytes: Some(2 << 20),
    };
    assert_eq!(memory(&tree), expected);
}

#[test]
fn system_names_come_without_quotes() {
    let (_root, tree) = tree_with(&[
        ("etc/os-release", b"NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n"),
        ("sys/class/dmi/id/sys_vendor", b"Maker\n"),
        ("sys/class/dmi/id/product_name", b"m6i.large\n"),
        ("sys/devices/system/clocksource/clocksource0/current_clocksource", b"tsc\n"),
        ("proc/sys/kernel/io_uring_disabled", b"2\n"),
    ]);
    let facts = facts_of(&tree);
    assert_eq!(facts.operating_system.as_deref(), Some("Debian GNU/Linux 12"));
    assert_eq!(facts.product.as_deref(), Some("Maker m6i.large"));
    assert_eq!(facts.clock_source.as_deref(), Some("tsc"));
    assert_eq!(facts.io_uring_disabled, Some(2));
}

#[test]
fn an_arm_processor_has_numbers_for_a_name_and_no_word_on_hypervisors() {
    let info = b"processor\t: 0\nFeatures\t: fp\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
    let (_root, tree) = tree_with(&[("proc/cpuinfo", info)]);
    let cpus = processors::processors(&tree);
    assert_eq!(cpus.model.as_deref(), Some("implementer 0x41 part 0xd0c"));
    assert_eq!(cpus.hypervisor, None);
}

#[test]
fn the_smallest_limit_on_the_way_to_the_root_counts() {
    let (_root, tree) = tree_with(&[
        ("proc/self/mountinfo", b"1 0 0:5 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
        ("proc/self/cgroup", b"0::/a/b\n"),
        ("sys/fs/cgroup/a/cpu.max", b"150000 100000\n"),
        ("sys/fs/cgroup/a/memory.max", b"1073741824\n"),
        ("sys/fs/cgroup/a/b/cpu.max", b"max 100000\n"),
        ("sys/fs/cgroup/a/b/memory.max", b"2147483648\n"),
    ]);
    let limits = cgroup::limits(&tree);
    assert_eq!(limits, CgroupLimits { cpu_limit: Some(1.5), memory_limit_bytes: Some(1 << 30) });
}

#[test]
fn the_limits_of_version_1_lie_in_two_trees() {
    let (_root, tree) = tree_with(&[
        (
            "proc/self/mountinfo",
            b"1 0 0:5 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n2 0 0:6 /box /cg/memory rw - cgroup cgroup rw,memory\n",
        ),
        ("proc/self/cgroup", b"4:memory:/box/in\n2:cpu,cpuacct:/x\n1:name=systemd:/\n0::/\n"),
        ("cg/cpu/x/cpu.cfs_quota_us", b"50000\n"),
        ("cg/cpu/x/cpu.cfs_period_us", b"100000\n"),
        ("cg/cpu/cpu.cfs_quota_us", b"-1\n"),
        ("cg/cpu/cpu.cfs_period_us", b"100000\n"),
        ("cg/memory/in/memory.limit_in_bytes", b"4096000\n"),
        ("cg/memory/memory.limit_in_bytes", b"9223372036854771712\n"),
    ]);
    let limits = cgroup::limits(&tree);
    assert_eq!(limits, CgroupLimits { cpu_limit: Some(0.5), memory_limit_bytes: Some(4_096_000) });
}

#[test]
fn a_group_outside_of_what_is_mounted_uses_the_mount_point() {
    let (_root, tree) = tree_with(&[
        ("proc/self/mountinfo", b"1 0 0:5 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
        ("proc/self/cgroup", b"0::/../../elsewhere\n"),
        ("sys/fs/cgroup/memory.max", b"5\n"),
        ("sys/fs/memory.max", b"1\n"),
    ]);
    assert_eq!(cgroup::limits(&tree).memory_limit_bytes, Some(5));
}

#[test]
fn processor_lists_are_bounded_and_odd_parts_left_out() {
    assert_eq!(cpu_list("0-3,8,10-11"), [0, 1, 2, 3, 8, 10, 11]);
    assert_eq!(cpu_list("x,3-1,-,5,,7-"), [5]);
    assert!(cpu_list("4294967295").is_empty());
    assert_eq!(cpu_list("0-4294967295").len(), 8192);
}

#[test]
fn an_empty_tree_and_odd_bytes_give_absent_facts() {
    let (_root, empty) = tree_with(&[]);
    let facts = facts_of(&empty);
    assert_eq!(facts.processors, ProcessorFacts::default());
    assert_eq!(facts.memory, MemoryFacts::default());
    assert_eq!(facts.cgroup, CgroupLimits::default());
    assert!(facts.numa_nodes.is_empty() && facts.operating_system.is_none());
    let odd: &[u8] = b"\xff\xfe:\n::\nMemTotal: \xff kB\nMemTotal\nPRETTY_NAME=\n0::\xff\n";
    let paths =
        ["proc/meminfo", "proc/cpuinfo", "proc/self/status", "proc/self/cgroup", "proc/self/mountinfo"];
    let mut files: Vec<(&str, &[u8])> = paths.iter().map(|path| (*path, odd)).collect();
    files.push(("etc/os-release", odd));
    files.push(("sys/devices/system/cpu/online", odd));
    files.push(("sys/devices/system/node/nodeX/cpulist", odd));
    let (_root, tree) = tree_with(&files);
    let facts = facts_of(&tree);
    assert_eq!((facts.memory, facts.cgroup), (MemoryFacts::default(), CgroupLimits::default()));
    assert_eq!(facts.operating_system, None);
}

#[test]
fn this_machine_has_processors_and_memory() {
    let facts = machine_facts();
    assert!(!facts.processors.allowed.is_empty());
    assert!(facts.processors.core_count.is_none_or(|cores| cores >= 1));
    assert!(facts.processors.core_count.unwrap_or(1) as usize <= facts.processors.online.len().max(1));
    assert!(facts.memory.available_bytes <= facts.memory.total_bytes);
    assert!(facts.page_size_bytes.is_power_of_two());
    assert!(!facts.kernel_release.is_empty() && !facts.architecture.is_empty());
    let json = serde_json::to_string(&facts).unwrap();
    assert_eq!(serde_json::from_str::<MachineFacts>(&json).unwrap(), facts);
}
