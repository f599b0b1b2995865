//! Processors and NUMA nodes.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::fields::{field, kib_field};
use crate::tree::SystemTree;

/// The most processors that a list may name; the kernel's own limit (`CONFIG_NR_CPUS`) is 8192.
const CPUS_MAX: u32 = 8192;

/// The processors of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessorFacts {
    /// The model name; on ARM, which has none, the numbers of the implementer and the part.
    pub model: Option<String>,
    /// The number of sockets with a processor on line.
    pub socket_count: Option<u32>,
    /// The number of physical cores on line.
    pub core_count: Option<u32>,
    /// The logical processors on line, ascending.
    pub online: Vec<u32>,
    /// The logical processors that this process may use, ascending.
    pub allowed: Vec<u32>,
    /// Whether a core runs more than one thread.
    pub multithreading: Option<bool>,
    /// Whether the processors say that they are those of a virtual machine; absent where they never say it.
    pub hypervisor: Option<bool>,
    /// How frequencies are chosen, by policy; absent without frequency scaling, as in most virtual machines.
    pub frequency_policies: Option<Vec<FrequencyPolicy>>,
    /// Whether frequencies above the nominal one are allowed (turbo, boost).
    pub boost: Option<bool>,
}

/// How the frequency of a group of processors is chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrequencyPolicy {
    /// The kernel's name, such as `policy0`.
    pub policy: String,
    /// The rule, such as `performance` or `powersave`.
    pub governor: Option<String>,
}

/// One NUMA node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumaNode {
    /// Its number.
    pub node: u32,
    /// Its logical processors, ascending; empty for a node with memory only.
    pub cpus: Vec<u32>,
    /// Its memory in bytes.
    pub memory_bytes: Option<u64>,
}

pub(super) fn processors(tree: &SystemTree) -> ProcessorFacts {
    let info = tree.text("proc/cpuinfo").unwrap_or_default();
    let status = tree.text("proc/self/status").unwrap_or_default();
    let online = tree.text("sys/devices/system/cpu/online").map(|list| cpu_list(&list)).unwrap_or_default();
    let topology =
        |cpu: &u32, name: &str| tree.text(format!("sys/devices/system/cpu/cpu{cpu}/topology/{name}"));
    // A core is the set of processors that share it. Core numbers alone repeat from socket to socket.
    let cores: BTreeSet<String> = online
        .iter()
        .filter_map(|cpu| topology(cpu, "core_cpus_list").or_else(|| topology(cpu, "thread_siblings_list")))
        .collect();
    let sockets: BTreeSet<String> =
        online.iter().filter_map(|cpu| topology(cpu, "physical_package_id")).collect();
    ProcessorFacts {
        model: model(&info),
        socket_count: count_of(&sockets),
        core_count: count_of(&cores),
        allowed: field(&status, "Cpus_allowed_list").map(cpu_list).unwrap_or_default(),
        multithreading: tree.number("sys/devices/system/cpu/smt/active").map(|active| active != 0),
        hypervisor: field(&info, "flags")
            .map(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor")),
        frequency_policies: frequency_policies(tree),
        boost: boost(tree),
        online,
    }
}

pub(super) fn numa_nodes(tree: &SystemTree) -> Vec<NumaNode> {
    let names = tree.names("sys/devices/system/node");
    let mut nodes: Vec<NumaNode> = names
        .iter()
        .filter_map(|name| {
            let node = name.strip_prefix("node")?.parse().ok()?;
            let file = |file: &str| tree.text(format!("sys/devices/system/node/{name}/{file}"));
            let memory = file("meminfo").and_then(|text| {
                // `Node 0 MemTotal:  4679892 kB`
                let prefix = format!("Node {node} ");
                text.lines().find_map(|line| kib_field(line.trim().strip_prefix(&prefix)?, "MemTotal"))
            });
            let cpus = file("cpulist").map(|list| cpu_list(&list)).unwrap_or_default();
            Some(NumaNode { node, cpus, memory_bytes: memory })
        })
        .collect();
    nodes.sort_unstable_by_key(|node| node.node);
    nodes
}

fn model(info: &str) -> Option<String> {
    let name = ["model name", "cpu model", "Model"].into_iter().find_map(|name| field(info, name));
    let name = name.filter(|name| !name.is_empty()).map(str::to_owned);
    name.or_else(|| {
        let (implementer, part) = (field(info, "CPU implementer")?, field(info, "CPU part")?);
        Some(format!("implementer {implementer} part {part}"))
    })
}

fn frequency_policies(tree: &SystemTree) -> Option<Vec<FrequencyPolicy>> {
    let directory = "sys/devices/system/cpu/cpufreq";
    let mut policies: Vec<(u32, FrequencyPolicy)> = tree
        .names(directory)
        .into_iter()
        .filter_map(|policy| {
            let number = policy.strip_prefix("policy")?.parse().ok()?;
            let governor = tree.text(format!("{directory}/{policy}/scaling_governor"));
            Some((number, FrequencyPolicy { policy, governor }))
        })
        .collect();
    policies.sort_unstable_by_key(|(number, _)| *number);
    (!policies.is_empty()).then(|| policies.into_iter().map(|(_, policy)| policy).collect())
}

fn boost(tree: &SystemTree) -> Option<bool> {
    let cpu = "sys/devices/system/cpu";
    let no_turbo = tree.number(format!("{cpu}/intel_pstate/no_turbo")).map(|flag| flag == 0);
    no_turbo.or_else(|| tree.number(format!("{cpu}/cpufreq/boost")).map(|flag| flag != 0))
}

fn count_of(set: &BTreeSet<String>) -> Option<u32> {
    u32::try_from(set.len()).ok().filter(|&count| count > 0)
}

/// Reads a list like `0-3,8,10-11`. Parts that are not numbers and processors from [`CPUS_MAX`] on are left out.
pub(super) fn cpu_list(text: &str) -> Vec<u32> {
    let mut cpus = BTreeSet::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (Ok(first), Ok(last)) = (first.trim().parse::<u32>(), last.trim().parse::<u32>()) else {
            continue;
        };
        cpus.extend(first..=last.min(CPUS_MAX - 1));
    }
    cpus.retain(|&cpu| cpu < CPUS_MAX);
    cpus.into_iter().collect()
}
