//! Samples the waits of all processes of a server on this machine, a hundred times a second, without asking the
//! server anything: waits from shared memory, state from `/proc/PID/stat`.
//!
//! A process that is suspended (state S or D) in a wait waits for its resource; one that runs or is ready to run
//! (state R) although it is in a wait has its resource, or gets it by computing. Wait and state are read one after the
//! other, 0.1 to 0.5 ms apart, so of waits shorter than that the split is blurred, never the sum.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use lab::observe::kept_file::KeptFile;

use super::events::is_idle_event;
use super::server_memory::{ReadPlan, ServerMemory};
use super::wait_counts::{Phase, Scheduling, SessionState, WaitCounts};

/// Time between two samples.
pub(super) const PERIOD: Duration = Duration::from_millis(10);

/// Samples between two searches for new processes: 0.1 s.
const RESCAN_SAMPLES: u64 = 10;

/// Samples between two readings of the scheduler's totals, which are gone when a process is: 0.25 s.
const SCHEDULING_SAMPLES: u64 = 25;

/// Processes that are looked at.
const PROCESSES_MAX: usize = 20_000;

/// States read at one sample, about 5 us each, so that many sessions do not cost more than a few percent of a core. Of
/// more waiting sessions every second, third, ... is read, in turn; the others are split as those of the same event.
const STATES_MAX: usize = 80;

/// Bytes of `/proc/PID/stat` up to the state: number, name of at most 64 bytes in parentheses, state.
const STATE_BYTES: usize = 96;

/// A server's processes under observation.
#[derive(Debug)]
pub(super) struct MemoryProbe {
    memory: ServerMemory,
    children: KeptFile,
    listed: String,
    living: Vec<Living>,
    plan: ReadPlan,
    values: Vec<u32>,
    samples: u64,
    pub(super) wait_counts: WaitCounts,
    /// Command lines, for processes that end before SQL lists them.
    pub(super) titles: HashMap<u32, String>,
}

#[derive(Debug)]
struct Living {
    process_id: u32,
    slot: u64,
    account: usize,
    stat: File,
    schedstat: Option<KeptFile>,
}

impl MemoryProbe {
    /// Begins with the processes that live now.
    ///
    /// # Errors
    /// The children of the postmaster cannot be listed.
    pub(super) fn new(memory: ServerMemory, postmaster: u32) -> Result<Self, String> {
        let path = format!("/proc/{postmaster}/task/{postmaster}/children");
        let children = KeptFile::open(&path).map_err(|error| format!("cannot read \"{path}\": {error}"))?;
        let mut sample = Self {
            memory,
            children,
            listed: String::new(),
            living: Vec::new(),
            plan: ReadPlan::default(),
            values: Vec::new(),
            samples: 0,
            wait_counts: WaitCounts::default(),
            titles: HashMap::new(),
        };
        sample.rescan();
        sample.read_scheduling();
        Ok(sample)
    }

    /// Takes one sample.
    ///
    /// # Errors
    /// The server has ended.
    pub(super) fn sample(&mut self) -> Result<(), String> {
        if self.samples > 0 && self.samples.is_multiple_of(RESCAN_SAMPLES) {
            self.rescan();
        }
        if self.samples > 0 && self.samples.is_multiple_of(SCHEDULING_SAMPLES) {
            self.read_scheduling();
        }
        self.samples += 1;
        let at = Instant::now();
        self.memory
            .read(&mut self.plan, &mut self.values)
            .map_err(|_| "the server ended while it was sampled".to_owned())?;
        let mut page = self.wait_counts.page();
        let is_waiting = |event: u32| event != 0 && !is_idle_event(event);
        let waiting = self.values.iter().filter(|event| is_waiting(**event)).count();
        let stride = waiting.div_ceil(STATES_MAX).max(1);
        let mut turn = self.samples as usize;
        for (process, &event) in self.living.iter().zip(&self.values) {
            let mut phase = Phase::Unsplit;
            if is_waiting(event) {
                turn += 1;
                if turn.is_multiple_of(stride) {
                    phase = match state(&process.stat) {
                        Some(b'R') => Phase::Signal,
                        Some(_) => Phase::Resource,
                        // It ended since; what its slot says is no longer its own.
                        None => continue,
                    };
                }
            }
            page.push(SessionState { account: process.account, event, phase });
        }
        self.wait_counts.enter(at, page);
        Ok(())
    }

    /// Takes the scheduler's totals for the last time.
    pub(super) fn finish(mut self) -> (WaitCounts, HashMap<u32, String>) {
        self.read_scheduling();
        (self.wait_counts, self.titles)
    }

    fn rescan(&mut self) {
        let Some(listed) = self.children.text() else { return };
        let children: Vec<u32> =
            listed.split_ascii_whitespace().take(PROCESSES_MAX).filter_map(|id| id.parse().ok()).collect();
        // A child without a slot yet is looked for again although the list is the same.
        if listed == self.listed && children.len() == self.living.len() {
            return;
        }
        listed.clone_into(&mut self.listed);
        self.living
            .retain(|process| children.contains(&process.process_id) && state(&process.stat).is_some());
        let is_first = self.samples == 0;
        let known: Vec<u32> = self.living.iter().map(|process| process.process_id).collect();
        for process_id in children.into_iter().filter(|id| !known.contains(id)) {
            let Some(slot) = self.memory.slot_of(process_id) else { continue };
            let Ok(stat) = File::open(format!("/proc/{process_id}/stat")) else { continue };
            let account = self.wait_counts.open(process_id);
            if !is_first {
                // Born since the start: all that it ever did belongs here.
                self.wait_counts.accounts[account].scheduled_first = Some(Scheduling::default());
            }
            let schedstat = KeptFile::open(&format!("/proc/{process_id}/schedstat")).ok();
            if let Ok(title) = std::fs::read(format!("/proc/{process_id}/cmdline")) {
                self.titles.insert(process_id, String::from_utf8_lossy(&title).into_owned());
            }
            self.living.push(Living { process_id, slot, account, stat, schedstat });
        }
        let slots: Vec<u64> = self.living.iter().map(|process| process.slot).collect();
        self.plan = ReadPlan::new(&slots);
    }

    fn read_scheduling(&mut self) {
        for process in &mut self.living {
            let Some(text) = process.schedstat.as_mut().and_then(KeptFile::text) else { continue };
            let Some(totals) = scheduling(text) else { continue };
            let account = &mut self.wait_counts.accounts[process.account];
            account.scheduled_first.get_or_insert(totals);
            account.scheduled_last = Some(totals);
        }
    }
}

/// The state letter; `None` when the process has ended.
fn state(stat: &File) -> Option<u8> {
    let mut buffer = [0; STATE_BYTES];
    let length = stat.read_at(&mut buffer, 0).ok()?;
    let text = buffer.get(..length)?;
    // The name of the program may hold parentheses: only the last one closes it.
    let end = text.iter().rposition(|byte| *byte == b')')?;
    text.get(end + 2).copied().filter(|letter| !matches!(letter, b'Z' | b'X'))
}

// EVIDENCE: Linux Documentation/scheduler/sched-stats.rst, /proc/<pid>/schedstat: run time, run-queue wait, time slices
fn scheduling(text: &str) -> Option<Scheduling> {
    let mut fields = text.split_ascii_whitespace();
    Some(Scheduling { run_ns: fields.next()?.parse().ok()?, delay_ns: fields.next()?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Write;

    use super::*;

    #[test]
    fn the_state_is_the_letter_after_the_last_parenthesis_of_the_name() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"42 (odd ) (name) S 1 42 42").unwrap();
        assert_eq!(state(&file), Some(b'S'));
        file.write_all_at(b"42 (odd ) (name) Z", 0).unwrap();
        assert_eq!(state(&file), None);
        assert_eq!(state(&tempfile::tempfile().unwrap()), None);
    }

    #[test]
    fn a_process_that_ended_has_no_state() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let stat = File::open(format!("/proc/{}/stat", child.id())).unwrap();
        assert!(state(&stat).is_some());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(state(&stat), None);
    }

    #[test]
    fn run_time_and_delay_are_the_first_two_fields() {
        assert_eq!(scheduling("10 20 3\n"), Some(Scheduling { run_ns: 10, delay_ns: 20 }));
        assert_eq!(scheduling("10"), None);
    }
}
