//! Counters of the machine, once a second: devices, processors, pressure.
//!
//! Files under /proc stay open and are read from their start each time; a sample costs some tens of microseconds and
//! about ten more for each process of the server.

use std::collections::BTreeMap;
use std::path::PathBuf;

use disk::counters::{DiskCounters, MachineCpu, parse_diskstats, parse_machine_cpu, process_cpu_ns};

use super::kept_file::KeptFile;
use super::processes::{ProcessTree, TreeTotals};
use super::series::{Naming, Probe, SampledSeries, Samples, series};
use crate::environment;

/// The three resources of which the kernel counts the time that tasks had to wait for them.
const PRESSURES: [&str; 3] = ["cpu", "io", "memory"];

/// What the machine has done until now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineReading {
    devices: BTreeMap<String, DiskCounters>,
    cpu: Option<MachineCpu>,
    own_cpu_ns: u64,
    server: Option<TreeTotals>,
    /// Microseconds in which at least one task waited, in the order of [`PRESSURES`].
    pressure_us: [Option<u64>; 3],
}

/// Samples devices, processors and pressure.
#[derive(Debug)]
pub struct MachineProbe {
    devices: Vec<String>,
    diskstats: Option<KeptFile>,
    stat: Option<KeptFile>,
    pressures: [Option<KeptFile>; 3],
    server: Option<ProcessTree>,
    missing: Vec<String>,
}

impl MachineProbe {
    /// Chooses what to sample: every block device behind the directories, from the one that the file system lies on
    /// to the whole disk, and the server's process with all below it.
    pub fn new(directories: &[(String, PathBuf)], server_process_id: Option<u32>) -> Self {
        let mut missing = Vec::new();
        let mut devices: Vec<String> = Vec::new();
        for (role, storage) in environment::storage_by_role(directories) {
            if storage.block_devices.is_empty() {
                missing.push(format!("no block device is known for {role}"));
            }
            for device in storage.block_devices {
                if !devices.contains(&device.name) {
                    devices.push(device.name);
                }
            }
        }
        let mut keep = |path: &str| match KeptFile::open(path) {
            Ok(file) => Some(file),
            Err(error) => {
                missing.push(format!("could not open \"{path}\": {error}"));
                None
            }
        };
        Self {
            diskstats: if devices.is_empty() { None } else { keep("/proc/diskstats") },
            stat: keep("/proc/stat"),
            pressures: PRESSURES.map(|resource| keep(&format!("/proc/pressure/{resource}"))),
            server: server_process_id.map(ProcessTree::new),
            devices,
            missing,
        }
    }
}

impl Probe for MachineProbe {
    type Reading = MachineReading;

    fn name(&self) -> String {
        "machine".to_owned()
    }

    fn sample(&mut self) -> Result<MachineReading, String> {
        let mut reading = MachineReading { own_cpu_ns: process_cpu_ns(), ..MachineReading::default() };
        if let Some(text) = self.diskstats.as_mut().and_then(KeptFile::text) {
            let is_ours = |line: &&str| {
                let name = line.split_ascii_whitespace().nth(2);
                name.is_some_and(|name| self.devices.iter().any(|device| device == name))
            };
            for (_, counters) in text.lines().filter(is_ours).flat_map(parse_diskstats) {
                reading.devices.insert(counters.device.clone(), counters);
            }
        }
        reading.cpu =
            self.stat.as_mut().and_then(KeptFile::text).and_then(|text| parse_machine_cpu(text).ok());
        for (file, total_us) in self.pressures.iter_mut().zip(&mut reading.pressure_us) {
            *total_us = file.as_mut().and_then(KeptFile::text).and_then(some_total_us);
        }
        reading.server = self.server.as_mut().and_then(ProcessTree::sample);
        Ok(reading)
    }

    fn series(self, samples: &Samples<MachineReading>) -> SampledSeries {
        let mut sampled = SampledSeries::default();
        for device in &self.devices {
            sampled.series.extend(device_series(samples, device));
        }
        sampled.series.extend(processor_series(samples));
        for (place, resource) in PRESSURES.iter().enumerate() {
            let source = format!("/proc/pressure/{resource} some total");
            sampled.series.extend(samples.rate(pressure_name(resource, source), |reading| {
                reading.pressure_us[place].map(|total_us| total_us as f64 / 1e6)
            }));
        }
        sampled.problem = (!self.missing.is_empty()).then(|| self.missing.join("; "));
        sampled
    }
}

fn pressure_name(resource: &str, source: String) -> Naming {
    let name = match resource {
        "cpu" => "pressure_cpu",
        "io" => "pressure_io",
        _ => "pressure_memory",
    };
    series(name, "1", source)
}

/// The figures of iostat for one device.
fn device_series(
    samples: &Samples<MachineReading>,
    device: &str,
) -> impl Iterator<Item = results::observations::Series> {
    let source = |fields: &str| format!("/proc/diskstats {device} {fields}");
    let of = |reading: &MachineReading, field: fn(&DiskCounters) -> u64| {
        reading.devices.get(device).map(|counters| field(counters) as f64)
    };
    let flushes = |reading: &MachineReading, is_time: bool| {
        let flushes = reading.devices.get(device)?.flushes?;
        Some(if is_time { flushes.flush_ms } else { flushes.flushes } as f64)
    };
    let rate =
        |name: Naming, field: fn(&DiskCounters) -> u64| samples.rate(name, |reading| of(reading, field));
    let all = [
        rate(
            series(format!("device_read_bytes_per_s.{device}"), "bytes/s", source("sectors read x 512")),
            |c| c.read_bytes,
        ),
        rate(
            series(format!("device_write_bytes_per_s.{device}"), "bytes/s", source("sectors written x 512")),
            |c| c.write_bytes,
        ),
        rate(series(format!("device_reads_per_s.{device}"), "1/s", source("reads")), |c| c.reads),
        rate(series(format!("device_writes_per_s.{device}"), "1/s", source("writes")), |c| c.writes),
        samples.ratio(
            series(format!("device_read_ms.{device}"), "ms", source("read ms / reads")),
            |reading| of(reading, |c| c.read_ms),
            |reading| of(reading, |c| c.reads),
        ),
        samples.ratio(
            series(format!("device_write_ms.{device}"), "ms", source("write ms / writes")),
            |reading| of(reading, |c| c.write_ms),
            |reading| of(reading, |c| c.writes),
        ),
        samples.rate(
            series(format!("device_queue_length.{device}"), "1", source("weighted I/O ms / elapsed")),
            |reading| of(reading, |c| c.weighted_io_ms).map(|ms| ms / 1e3),
        ),
        samples.rate(
            series(format!("device_utilisation.{device}"), "1", source("I/O ms / elapsed")),
            |reading| of(reading, |c| c.io_ms).map(|ms| ms / 1e3),
        ),
        samples.rate(series(format!("device_flushes_per_s.{device}"), "1/s", source("flushes")), |reading| {
            flushes(reading, false)
        }),
        samples.ratio(
            series(format!("device_flush_ms.{device}"), "ms", source("flush ms / flushes")),
            |reading| flushes(reading, true),
            |reading| flushes(reading, false),
        ),
    ];
    all.into_iter().flatten()
}

/// Processors that the server, fathom and everything else kept busy, and how long the server's tasks waited for one.
fn processor_series(
    samples: &Samples<MachineReading>,
) -> impl Iterator<Item = results::observations::Series> {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let server = |reading: &MachineReading| reading.server.map(|server| seconds(server.cpu_ns));
    let other = samples.between(|earlier, later, elapsed_s| {
        let own_ns = later.own_cpu_ns - earlier.own_cpu_ns;
        let server_ns = match (earlier.server, later.server) {
            (Some(earlier), Some(later)) => later.cpu_ns.saturating_sub(earlier.cpu_ns),
            _ => 0,
        };
        let other_ns = later.cpu?.since(earlier.cpu.as_ref()?).other_busy_ns(own_ns + server_ns);
        Some(seconds(other_ns) / elapsed_s)
    });
    let all = [
        samples.rate(series("server_cpus", "CPUs", "/proc/PID/stat of the server and its children"), server),
        samples.rate(series("fathom_cpus", "CPUs", "CLOCK_PROCESS_CPUTIME_ID"), |reading| {
            Some(seconds(reading.own_cpu_ns))
        }),
        super::series::build(
            series("other_cpus", "CPUs", "/proc/stat less fathom and server"),
            results::observations::SeriesKind::Rate,
            other,
        ),
        samples.rate(
            series("server_run_delay", "tasks", "/proc/PID/schedstat of the server and its children"),
            |reading| reading.server.map(|server| seconds(server.run_delay_ns)),
        ),
    ];
    all.into_iter().flatten()
}

/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=12345` to microseconds.
fn some_total_us(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
    line.split_ascii_whitespace().find_map(|field| field.strip_prefix("total="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn reading(at_s: u64, line: &str) -> (i64, Option<MachineReading>) {
        let (_, counters) = parse_diskstats(line).remove(0);
        let cpu = MachineCpu { user_ns: at_s * 1_500_000_000, ..MachineCpu::default() };
        let reading = MachineReading {
            devices: BTreeMap::from([("vda".to_owned(), counters)]),
            cpu: Some(cpu),
            own_cpu_ns: at_s * 250_000_000,
            server: Some(TreeTotals { cpu_ns: at_s * 750_000_000, run_delay_ns: at_s * 2_000_000_000 }),
            pressure_us: [Some(at_s * 300_000), None, Some(0)],
        };
        (at_s as i64 * 1_000_000_000, Some(reading))
    }

    fn sampled() -> Vec<results::observations::Series> {
        let probe = MachineProbe {
            devices: vec!["vda".to_owned()],
            diskstats: None,
            stat: None,
            pressures: [None, None, None],
            server: None,
            missing: Vec::new(),
        };
        let samples = Samples {
            samples: vec![
                reading(0, "254 0 vda 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"),
                reading(2, "254 0 vda 10 0 160 50 200 0 3200 100 0 1000 3000 0 0 0 0 100 400"),
            ],
        };
        probe.series(&samples).series
    }

    #[test]
    fn this_machine_can_be_looked_at() {
        let place = std::env::temp_dir();
        let mut probe = MachineProbe::new(&[("data".to_owned(), place)], Some(std::process::id()));
        let first = probe.sample().unwrap();
        let second = probe.sample().unwrap();
        assert!(second.own_cpu_ns >= first.own_cpu_ns);
        assert!(second.server.unwrap().cpu_ns >= first.server.unwrap().cpu_ns);
        assert_eq!(second.devices.len(), probe.devices.len());
    }

    #[test]
    fn a_device_has_the_figures_of_iostat() {
        let sampled = sampled();
        let value =
            |name: &str| sampled.iter().find(|series| series.name == name).unwrap().values[0].unwrap();
        assert_eq!(value("device_read_bytes_per_s.vda"), 40_960.0);
        assert_eq!(value("device_write_bytes_per_s.vda"), 819_200.0);
        assert_eq!(value("device_read_ms.vda"), 5.0);
        assert_eq!(value("device_write_ms.vda"), 0.5);
        assert_eq!(value("device_queue_length.vda"), 1.5);
        assert_eq!(value("device_utilisation.vda"), 0.5);
        assert_eq!(value("device_flushes_per_s.vda"), 50.0);
        assert_eq!(value("device_flush_ms.vda"), 4.0);
    }

    #[test]
    fn processors_of_server_fathom_and_others_add_up_to_what_was_busy() {
        let sampled = sampled();
        let value =
            |name: &str| sampled.iter().find(|series| series.name == name).unwrap().values[0].unwrap();
        assert_eq!((value("server_cpus"), value("fathom_cpus"), value("other_cpus")), (0.75, 0.25, 0.5));
        assert_eq!(value("server_run_delay"), 2.0);
        assert_eq!(value("pressure_cpu"), 0.3);
        assert_eq!(value("pressure_memory"), 0.0);
        assert!(
            sampled.iter().all(|series| series.name != "pressure_io"),
            "what was not read makes no series"
        );
    }

    #[test]
    fn the_total_of_a_pressure_is_found_and_odd_text_is_none() {
        assert_eq!(
            some_total_us("some avg10=1.2 avg60=0 avg300=0 total=55858764\nfull total=3\n"),
            Some(55_858_764)
        );
        for text in ["", "some", "some total=", "full total=3", "some total=-1"] {
            assert_eq!(some_total_us(text), None, "{text:?}");
        }
    }
}
