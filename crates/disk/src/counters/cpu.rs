//! Processor time: of this thread, of this process, of the whole machine.

use std::path::Path;

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use super::{CountersError, malformed, read, ticks_to_ns};

/// The time of all processors of the machine since it started, in nanoseconds, in steps of one clock tick (10 ms).
///
/// From the first line of `/proc/stat` (proc_stat(5)). In a container this is still the whole machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineCpu {
    /// In programs, guests of virtual machines included.
    pub user_ns: u64,
    /// In programs of low priority.
    pub nice_ns: u64,
    /// In the kernel.
    pub system_ns: u64,
    /// With nothing to do.
    pub idle_ns: u64,
    /// With nothing to do while a task of this processor waited for I/O. A hint only: it can go back.
    pub iowait_ns: u64,
    /// In hardware interrupts.
    pub irq_ns: u64,
    /// In software interrupts.
    pub softirq_ns: u64,
    /// Taken by the hypervisor for others.
    pub steal_ns: u64,
}

impl MachineCpu {
    /// The time in which processors worked for this machine: all but idle, I/O wait and what was stolen.
    pub fn busy_ns(&self) -> u64 {
        let parts = [self.user_ns, self.nice_ns, self.system_ns, self.irq_ns, self.softirq_ns];
        parts.into_iter().fold(0, u64::saturating_add)
    }

    /// The time in which processors had nothing to do, with and without I/O under way.
    pub fn unused_ns(&self) -> u64 {
        self.idle_ns.saturating_add(self.iowait_ns)
    }

    /// Subtracts the earlier reading. A part that went back, as I/O wait can, counts as 0.
    pub fn since(&self, earlier: &MachineCpu) -> MachineCpu {
        MachineCpu {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            nice_ns: self.nice_ns.saturating_sub(earlier.nice_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
            idle_ns: self.idle_ns.saturating_sub(earlier.idle_ns),
            iowait_ns: self.iowait_ns.saturating_sub(earlier.iowait_ns),
            irq_ns: self.irq_ns.saturating_sub(earlier.irq_ns),
            softirq_ns: self.softirq_ns.saturating_sub(earlier.softirq_ns),
            steal_ns: self.steal_ns.saturating_sub(earlier.steal_ns),
        }
    }

    /// The busy time of a difference that is not `own_ns`: what others used on the machine meanwhile. Not below 0,
    /// since the two are counted in steps of different size.
    pub fn other_busy_ns(&self, own_ns: u64) -> u64 {
        self.busy_ns().saturating_sub(own_ns)
    }
}

/// Reads the processor time of the whole machine.
///
/// # Errors
/// When `/proc/stat` cannot be read or does not have the fields.
pub fn machine_cpu() -> Result<MachineCpu, CountersError> {
    let path = Path::new("/proc/stat");
    parse(&read(path)?, rustix::param::clock_ticks_per_second(), path)
}

/// Reads the processor time of the whole machine from the content of `/proc/stat`, for callers that keep it open.
///
/// # Errors
/// When the text does not have the fields.
pub fn parse_machine_cpu(text: &str) -> Result<MachineCpu, CountersError> {
    parse(text, rustix::param::clock_ticks_per_second(), Path::new("/proc/stat"))
}

/// Reads the processor time of the calling thread in nanoseconds (`CLOCK_THREAD_CPUTIME_ID`). One system call.
pub fn thread_cpu_ns() -> u64 {
    clock_ns(ClockId::ThreadCPUTime)
}

/// Reads the processor time of this process, all threads, in nanoseconds (`CLOCK_PROCESS_CPUTIME_ID`). One system
/// call.
pub fn process_cpu_ns() -> u64 {
    clock_ns(ClockId::ProcessCPUTime)
}

fn clock_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let rest_ns = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(rest_ns)
}

fn parse(text: &str, ticks_per_second: u64, path: &Path) -> Result<MachineCpu, CountersError> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "));
    let mut fields = line.ok_or_else(|| malformed(path, "the line \"cpu\""))?.split_ascii_whitespace();
    let mut time = |name: &str| {
        let ticks = fields.next().and_then(|field| field.parse::<u64>().ok());
        ticks.map(|ticks| ticks_to_ns(ticks, ticks_per_second)).ok_or_else(|| malformed(path, name))
    };
    Ok(MachineCpu {
        user_ns: time("user")?,
        nice_ns: time("nice")?,
        system_ns: time("system")?,
        idle_ns: time("idle")?,
        iowait_ns: time("iowait")?,
        irq_ns: time("irq")?,
        softirq_ns: time("softirq")?,
        steal_ns: time("steal")?,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const TEXT: &str = "cpu  100 20 30 4000 50 6 7 80 9 1\ncpu0 1 2 3 4 5 6 7 8 9 10\n";

    #[test]
    fn busy_leaves_out_waiting_and_stolen_time() {
        let cpu = parse(TEXT, 100, Path::new("stat")).unwrap();
        assert_eq!(cpu.busy_ns(), 1_630_000_000);
        assert_eq!(cpu.unused_ns(), 40_500_000_000);
        assert_eq!(cpu.steal_ns, 800_000_000);
    }

    #[test]
    fn what_others_used_is_never_below_zero() {
        let before = parse(TEXT, 100, Path::new("stat")).unwrap();
        let after = parse("cpu 200 20 30 4100 40 6 7 80", 100, Path::new("stat")).unwrap();
        let difference = after.since(&before);
        assert_eq!((difference.busy_ns(), difference.iowait_ns), (1_000_000_000, 0));
        assert_eq!(difference.other_busy_ns(600_000_000), 400_000_000);
        assert_eq!(difference.other_busy_ns(2_000_000_000), 0);
    }

    #[test]
    fn text_cut_anywhere_is_an_error_or_a_value() {
        for end in 0..TEXT.len() {
            let _any = parse(&TEXT[..end], 100, Path::new("stat"));
        }
        assert!(parse("", 100, Path::new("stat")).is_err());
        assert!(parse("cpu 1 2 3", 100, Path::new("stat")).unwrap_err().to_string().contains("idle"));
        assert!(parse(&String::from_utf8_lossy(b"cpu \xff"), 100, Path::new("stat")).is_err());
        assert_eq!(ticks_to_ns(u64::MAX, 0), u64::MAX);
    }

    #[test]
    fn the_clocks_of_this_machine_do_not_go_back() {
        let (thread, process) = (thread_cpu_ns(), process_cpu_ns());
        assert!(thread_cpu_ns() >= thread && process_cpu_ns() >= process);
        let machine = machine_cpu().unwrap();
        assert!(machine_cpu().unwrap().busy_ns() >= machine.busy_ns());
    }
}
