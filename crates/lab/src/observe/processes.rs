//! Processor time and run-queue delay of a process and all its children.

use std::collections::BTreeMap;

use disk::counters::parse_process_cpu;

use super::kept_file::KeptFile;

/// Children that are looked at; servers have at most some thousand sessions.
const CHILDREN_MAX: usize = 20_000;

/// Totals of a process tree until now. Neither ever goes back: what a child had done when it ended stays in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TreeTotals {
    /// Processor time in nanoseconds, in steps of 10 ms.
    pub(crate) cpu_ns: u64,
    /// Time ready to run without a processor, in nanoseconds.
    pub(crate) run_delay_ns: u64,
}

/// A process with its children; descriptors stay open while a child lives.
#[derive(Debug)]
pub(crate) struct ProcessTree {
    process_id: u32,
    children: Option<KeptFile>,
    members: BTreeMap<u32, Member>,
    /// Delay of children that ended, as it was last seen.
    ended_run_delay_ns: u64,
}

#[derive(Debug)]
struct Member {
    stat: Option<KeptFile>,
    schedstat: Option<KeptFile>,
    run_delay_ns: u64,
}

impl Member {
    fn open(process_id: u32) -> Self {
        let keep = |name: &str| KeptFile::open(&format!("/proc/{process_id}/{name}")).ok();
        Self { stat: keep("stat"), schedstat: keep("schedstat"), run_delay_ns: 0 }
    }

    /// Processor time with that of children it waited for; `None` when it has ended.
    fn sample(&mut self) -> Option<u64> {
        let delay = self.schedstat.as_mut().and_then(KeptFile::text).and_then(run_delay_ns);
        self.run_delay_ns = delay.unwrap_or(self.run_delay_ns);
        let cpu = parse_process_cpu(self.stat.as_mut()?.text()?).ok()?;
        Some(cpu.total_with_children_ns())
    }
}

impl ProcessTree {
    /// Begins with the process itself.
    pub(crate) fn new(process_id: u32) -> Self {
        let path = format!("/proc/{process_id}/task/{process_id}/children");
        Self {
            process_id,
            children: KeptFile::open(&path).ok(),
            members: BTreeMap::new(),
            ended_run_delay_ns: 0,
        }
    }

    /// Adds up what all have done; `None` when the process itself is gone.
    pub(crate) fn sample(&mut self) -> Option<TreeTotals> {
        let listed = self.children.as_mut().and_then(KeptFile::text).unwrap_or_default();
        let mut living: Vec<u32> =
            listed.split_ascii_whitespace().take(CHILDREN_MAX).filter_map(|id| id.parse().ok()).collect();
        living.push(self.process_id);
        living.sort_unstable();
        let mut ended_ns = 0;
        self.members.retain(|process_id, member| {
            let lives = living.binary_search(process_id).is_ok();
            if !lives {
                ended_ns += member.run_delay_ns;
            }
            lives
        });
        self.ended_run_delay_ns += ended_ns;
        let mut totals = TreeTotals { cpu_ns: 0, run_delay_ns: self.ended_run_delay_ns };
        for process_id in living {
            let member = self.members.entry(process_id).or_insert_with(|| Member::open(process_id));
            match member.sample() {
                Some(cpu_ns) => totals.cpu_ns += cpu_ns,
                None if process_id == self.process_id => return None,
                // It ended since the list was read: its parent has its time at the next sample.
                None => {}
            }
            totals.run_delay_ns += member.run_delay_ns;
        }
        Some(totals)
    }
}

/// The second field of `/proc/PID/schedstat`.
fn run_delay_ns(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn the_delay_is_the_second_field() {
        assert_eq!(run_delay_ns("351221 1234 77\n"), Some(1234));
        assert_eq!(run_delay_ns("351221"), None);
    }

    #[test]
    fn totals_never_go_back_when_a_child_ends() {
        // A shell that works, then starts a child that works, then waits for it.
        let script = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo ready; read _; \
                      sh -c 'i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done; echo up; read _' ; echo done; read _";
        let mut shell = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = shell.stdin.take().unwrap();
        let mut output = BufReader::new(shell.stdout.take().unwrap()).lines();
        let mut tree = ProcessTree::new(shell.id());
        let mut totals = Vec::new();
        for word in ["ready", "up", "done"] {
            assert_eq!(output.next().unwrap().unwrap(), word);
            totals.push(tree.sample().unwrap());
            writeln!(input).unwrap();
        }
        shell.wait().unwrap();
        assert!(totals[0].cpu_ns <= totals[1].cpu_ns && totals[1].cpu_ns <= totals[2].cpu_ns, "{totals:?}");
        assert!(totals[1].run_delay_ns <= totals[2].run_delay_ns, "{totals:?}");
        assert_eq!(tree.sample(), None, "a process that is gone has no totals");
    }
}
