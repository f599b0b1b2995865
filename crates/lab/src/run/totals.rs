//! What devices and processors did around a run.

use std::collections::BTreeMap;
use std::path::PathBuf;

use disk::counters::{DiskCounters, MachineCpu, disk_counters, machine_cpu, process_cpu, process_cpu_ns};
use results::model::Metric;

use crate::engine::Target;
use crate::environment;

/// What devices and processors have done, read just before the barrier, when all samplers have begun, and just after
/// the last client.
pub(super) struct MachineTotals {
    devices: BTreeMap<String, DiskCounters>,
    cpu: CpuTotals,
}

impl MachineTotals {
    /// Reads all counters.
    pub(super) fn read(target: &dyn Target) -> Self {
        // The processors last: at the barrier nothing comes in between, at the end the devices are soon read.
        let directories = target.residence().map(|place| place.directories()).unwrap_or_default();
        let devices = device_counters(&directories);
        Self { devices, cpu: CpuTotals::read(target) }
    }

    /// What happened since an earlier reading.
    pub(super) fn since(&self, before: &Self) -> Vec<Metric> {
        let mut metrics = Vec::new();
        for (device, counters) in &self.devices {
            let earlier = before.devices.get(device);
            if let Some(activity) = earlier.and_then(|earlier| counters.since(earlier, 1).ok()) {
                metrics.extend(device_metrics(device, &activity.difference));
            }
        }
        metrics.extend(self.cpu.since(&before.cpu));
        metrics
    }
}

fn device_metrics(device: &str, counters: &DiskCounters) -> Vec<Metric> {
    let source = format!("/proc/diskstats {device}");
    let seconds = |ms: u64| ms as f64 / 1e3;
    let mut metrics = vec![
        Metric::new(&format!("device_write_bytes.{device}"), counters.write_bytes as f64, "bytes", &source),
        Metric::new(&format!("device_read_bytes.{device}"), counters.read_bytes as f64, "bytes", &source),
        Metric::new(&format!("device_writes.{device}"), counters.writes as f64, "1", &source),
        Metric::new(&format!("device_write_s.{device}"), seconds(counters.write_ms), "s", &source),
        Metric::new(&format!("device_reads.{device}"), counters.reads as f64, "1", &source),
        Metric::new(&format!("device_read_s.{device}"), seconds(counters.read_ms), "s", &source),
        Metric::new(&format!("device_busy_s.{device}"), seconds(counters.io_ms), "s", &source),
    ];
    if let Some(flushes) = counters.flushes {
        metrics.push(Metric::new(&format!("device_flushes.{device}"), flushes.flushes as f64, "1", &source));
        metrics.push(Metric::new(
            &format!("device_flush_s.{device}"),
            seconds(flushes.flush_ms),
            "s",
            &source,
        ));
    }
    metrics
}

/// CPU clocks of machine, fathom and server.
struct CpuTotals {
    machine: Option<MachineCpu>,
    own_ns: u64,
    server_ns: Option<u64>,
}

impl CpuTotals {
    fn read(target: &dyn Target) -> Self {
        Self {
            machine: machine_cpu().ok(),
            own_ns: process_cpu_ns(),
            server_ns: target.residence().and_then(|place| place.server_process_id()).and_then(server_cpu_ns),
        }
    }

    fn since(&self, before: &Self) -> Vec<Metric> {
        let own_ns = self.own_ns - before.own_ns;
        let mut metrics =
            vec![Metric::new("fathom_cpu_s", own_ns as f64 / 1e9, "s", "CLOCK_PROCESS_CPUTIME_ID")];
        let mut known_ns = own_ns;
        if let (Some(after), Some(earlier)) = (self.server_ns, before.server_ns) {
            let server_ns = after.saturating_sub(earlier);
            known_ns += server_ns;
            metrics.push(Metric::new(
                "server_cpu_s",
                server_ns as f64 / 1e9,
                "s",
                "/proc/PID/stat of the server and its children",
            ));
        }
        if let (Some(after), Some(earlier)) = (&self.machine, &before.machine) {
            let other_ns = after.since(earlier).other_busy_ns(known_ns);
            metrics.push(Metric::new(
                "other_cpu_s",
                other_ns as f64 / 1e9,
                "s",
                "/proc/stat less fathom and server",
            ));
        }
        metrics
    }
}

/// CPU of the server's main process and all its children, ended or not.
fn server_cpu_ns(process_id: u32) -> Option<u64> {
    let own = process_cpu(process_id).ok()?.total_with_children_ns();
    let children = std::fs::read_to_string(format!("/proc/{process_id}/task/{process_id}/children")).ok()?;
    let living: u64 = children
        .split_whitespace()
        .filter_map(|child| child.parse().ok())
        .filter_map(|child| process_cpu(child).ok())
        .map(|cpu| cpu.total_with_children_ns())
        .sum();
    Some(own + living)
}

fn device_counters(directories: &[(String, PathBuf)]) -> BTreeMap<String, DiskCounters> {
    environment::storage_by_role(directories)
        .into_iter()
        .filter_map(|(_, facts)| facts.block_devices.first().map(|device| device.name.clone()))
        .filter_map(|name| disk_counters(&name).ok().map(|counters| (name, counters)))
        .collect()
}
