//! What many samples add up to. Pure: times come with the samples, names and groups are asked for at the end.
//!
//! The measured part is known only when it is over, so the first samples and the last ones are kept as they were seen;
//! what lies between them is added up at once. Memory does not grow with the length of a run.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Instant;

use lab::observe::Window;
use results::observations::{How, WaitProfile, WaitRow};

/// First samples that are kept: a second of the fastest sampler. The barrier falls a few milliseconds after the start.
const HEAD_SAMPLES: usize = 100;

/// Last samples that are kept: the sampler is stopped milliseconds after the last client.
const TAIL_SAMPLES: usize = 100;

/// Pairs of session and event that are counted; further ones are left out. Those of ten thousand sessions with a
/// hundred events each.
const COUNTS_MAX: usize = 1_000_000;

/// What a session did at one sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Suspended: the resource is not there.
    Resource,
    /// In a wait, but running or ready to run: the resource is there, or is had by computing.
    Signal,
    /// Not told apart.
    Unsplit,
}

/// One session at one sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SessionState {
    /// Index of its account.
    pub(super) account: usize,
    /// Number of the wait; 0: none.
    pub(super) event: u32,
    /// What it did.
    pub(super) phase: Phase,
}

#[derive(Debug)]
struct Sample {
    at: Instant,
    seen: Vec<SessionState>,
}

/// Time of a process on a processor and ready for one, in nanoseconds, as the scheduler counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Scheduling {
    /// On a processor.
    pub(super) run_ns: u64,
    /// Ready, without one.
    pub(super) delay_ns: u64,
}

/// What is known of one session.
#[derive(Debug, Default)]
pub(super) struct Account {
    /// Its process, as the engine numbers it.
    pub(super) process_id: u32,
    /// Totals of the scheduler when it was first seen, zero when it began later than the sampler.
    pub(super) scheduled_first: Option<Scheduling>,
    /// The same when it was last seen.
    pub(super) scheduled_last: Option<Scheduling>,
    samples: u64,
    /// Samples by event: resource, signal, not split.
    counts: HashMap<u32, [u64; 3]>,
}

/// Samples of one sampler.
#[derive(Debug, Default)]
pub(super) struct WaitCounts {
    /// One per session, in the order in which they were first seen.
    pub(super) accounts: Vec<Account>,
    head: Vec<Sample>,
    tail: VecDeque<Sample>,
    settled: u64,
    /// Pairs of session and event that are counted.
    count_count: usize,
    spare: Vec<Vec<SessionState>>,
}

impl WaitCounts {
    /// Opens an account and returns its index.
    pub(super) fn open(&mut self, process_id: u32) -> usize {
        self.accounts.push(Account { process_id, ..Account::default() });
        self.accounts.len() - 1
    }

    /// Memory for the next sample.
    pub(super) fn page(&mut self) -> Vec<SessionState> {
        let mut page = self.spare.pop().unwrap_or_default();
        page.clear();
        page
    }

    /// Takes in a sample.
    pub(super) fn enter(&mut self, at: Instant, seen: Vec<SessionState>) {
        if self.head.len() < HEAD_SAMPLES {
            self.head.push(Sample { at, seen });
            return;
        }
        self.tail.push_back(Sample { at, seen });
        if self.tail.len() > TAIL_SAMPLES
            && let Some(sample) = self.tail.pop_front()
        {
            self.settle(&sample);
            self.spare.push(sample.seen);
        }
    }

    fn settle(&mut self, sample: &Sample) {
        self.settled += 1;
        for seen in &sample.seen {
            let Some(account) = self.accounts.get_mut(seen.account) else { continue };
            account.samples += 1;
            if seen.event != 0 {
                let column = match seen.phase {
                    Phase::Resource => 0,
                    Phase::Signal => 1,
                    Phase::Unsplit => 2,
                };
                match account.counts.get_mut(&seen.event) {
                    Some(counts) => counts[column] += 1,
                    None if self.count_count < COUNTS_MAX => {
                        self.count_count += 1;
                        account.counts.entry(seen.event).or_default()[column] += 1;
                    }
                    None => {}
                }
            }
        }
    }

    /// Adds up the samples inside the window.
    pub(super) fn close(mut self, window: Window) -> Closed {
        let inside = |sample: &Sample| window.began <= sample.at && sample.at <= window.ended;
        let head = std::mem::take(&mut self.head);
        let tail = std::mem::take(&mut self.tail);
        for sample in head.iter().chain(&tail).filter(|sample| inside(sample)) {
            self.settle(sample);
        }
        let length_ns = window.ended.saturating_duration_since(window.began).as_nanos() as u64;
        Closed { samples: self.settled, length_ns, accounts: self.accounts }
    }
}

/// The counts at their end.
#[derive(Debug)]
pub(super) struct Closed {
    /// Samples inside the window.
    pub(super) samples: u64,
    /// Length of the window in nanoseconds.
    pub(super) length_ns: u64,
    accounts: Vec<Account>,
}

impl Closed {
    /// One profile per group, clients first, the others by name. `group_of` tells the group of a process, `None`
    /// leaves it out.
    ///
    /// A sample stands for the length of the window over the number of samples: samples that came late make no less waiting.
    pub(super) fn profiles(
        &self,
        group_of: impl Fn(u32) -> Option<String>,
        name_of: impl Fn(u32) -> (String, String),
        is_idle: impl Fn(&str) -> bool,
    ) -> Vec<WaitProfile> {
        if self.samples == 0 {
            return Vec::new();
        }
        let period_ns = self.length_ns / self.samples;
        let mut groups: BTreeMap<(bool, String), Vec<&Account>> = BTreeMap::new();
        for account in self.accounts.iter().filter(|account| account.samples > 0) {
            if let Some(group) = group_of(account.process_id) {
                groups.entry((group != super::sessions::CLIENTS, group)).or_default().push(account);
            }
        }
        groups
            .into_iter()
            .map(|((_, group), accounts)| {
                let rows = rows(&accounts, period_ns, &name_of, &is_idle);
                let samples: u64 = accounts.iter().map(|account| account.samples).sum();
                let scheduled = |part: fn(&Scheduling) -> u64| {
                    let sum = accounts.iter().map(|account| {
                        let last = part(account.scheduled_last.as_ref()?);
                        Some(last.saturating_sub(part(account.scheduled_first.as_ref()?)))
                    });
                    sum.sum::<Option<u64>>().map(|ns| ns as f64 / 1e9)
                };
                WaitProfile {
                    group,
                    session_count: accounts.len() as u32,
                    session_s: seconds(samples, period_ns),
                    on_cpu_s: scheduled(|totals| totals.run_ns),
                    run_delay_s: scheduled(|totals| totals.delay_ns),
                    rows,
                }
            })
            .collect()
    }
}

fn rows(
    accounts: &[&Account],
    period_ns: u64,
    name_of: impl Fn(u32) -> (String, String),
    is_idle: impl Fn(&str) -> bool,
) -> Vec<WaitRow> {
    // Several numbers may carry one name: an event that has none of its own is called as its class.
    let mut by_name: BTreeMap<(String, String), [u64; 3]> = BTreeMap::new();
    for (event, counts) in accounts.iter().flat_map(|account| &account.counts) {
        let sums = by_name.entry(name_of(*event)).or_default();
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    by_name
        .into_iter()
        .map(|((class, name), [resource, signal, unsplit])| {
            let samples = resource + signal + unsplit;
            let wait_s = seconds(samples, period_ns);
            // Samples without a state are split as those with one; the sum is that of all samples.
            let state_looks = resource + signal;
            let signal_s = (state_looks > 0).then(|| wait_s * signal as f64 / state_looks as f64);
            WaitRow {
                is_idle: is_idle(&class),
                class,
                name,
                wait_s,
                resource_s: signal_s.map(|signal_s| wait_s - signal_s),
                signal_s,
                count: None,
                how: How::Sampled { period_ns },
            }
        })
        .collect()
}

fn seconds(samples: u64, period_ns: u64) -> f64 {
    samples as f64 * period_ns as f64 / 1e9
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Duration;

    use super::*;

    fn name_of(event: u32) -> (String, String) {
        ("IO".to_owned(), format!("event {event}"))
    }

    /// Samples every 10 ms for 10 s, of which the window leaves out the first 50 ms and the last 30 ms.
    fn wait_counts(samples: u32) -> (WaitCounts, Window) {
        let start = Instant::now();
        let mut wait_counts = WaitCounts::default();
        let (one, two, three) = (wait_counts.open(1), wait_counts.open(2), wait_counts.open(3));
        for sample in 0..samples {
            let mut page = wait_counts.page();
            let phase = if sample % 4 == 0 { Phase::Signal } else { Phase::Resource };
            page.push(SessionState { account: one, event: 5, phase });
            let event = if sample % 2 == 0 { 9 } else { 0 };
            page.push(SessionState { account: two, event, phase: Phase::Unsplit });
            // Of this one the state is read at every fifth sample only.
            let phase = if sample % 5 == 0 { phase } else { Phase::Unsplit };
            page.push(SessionState { account: three, event: 7, phase });
            wait_counts.enter(start + Duration::from_millis(10) * sample, page);
        }
        let window = Window {
            began: start + Duration::from_millis(45),
            ended: start + Duration::from_millis(10) * samples - Duration::from_millis(35),
        };
        (wait_counts, window)
    }

    #[test]
    fn looks_outside_the_window_do_not_count_and_the_sums_are_those_of_the_looks() {
        for samples in [20, 150, 1000] {
            let (wait_counts, window) = wait_counts(samples);
            let closed = wait_counts.close(window);
            assert_eq!(closed.samples, u64::from(samples) - 8);
            let profiles = closed.profiles(|_| Some("clients".to_owned()), name_of, |_| false);
            let profile = &profiles[0];
            let length_s = window.ended.duration_since(window.began).as_secs_f64();
            assert_eq!(profile.session_count, 3);
            assert!((profile.session_s - 3.0 * length_s).abs() < 1e-4 * length_s);
            let row = |name: &str| profile.rows.iter().find(|row| row.name == name).unwrap();
            for name in ["event 5", "event 7"] {
                let split = row(name);
                assert!((split.wait_s - length_s).abs() < 1e-4 * length_s);
                let parts = split.resource_s.unwrap() + split.signal_s.unwrap();
                assert!((split.wait_s - parts).abs() < 1e-9);
                let is_long = samples > 100;
                assert!(!is_long || (split.signal_s.unwrap() / split.wait_s - 0.25).abs() < 0.1, "{split:?}");
            }
            assert_eq!(row("event 9").resource_s, None);
        }
    }

    #[test]
    fn groups_stand_apart_with_the_clients_first_and_what_is_left_out_is_absent() {
        let (mut wait_counts, window) = wait_counts(100);
        let four = wait_counts.open(4);
        wait_counts
            .enter(window.began, vec![SessionState { account: four, event: 5, phase: Phase::Unsplit }]);
        let closed = wait_counts.close(window);
        let group_of = |process_id| match process_id {
            1 => Some("checkpointer".to_owned()),
            2 => Some("clients".to_owned()),
            _ => None,
        };
        let groups: Vec<String> =
            closed.profiles(group_of, name_of, |_| false).into_iter().map(|profile| profile.group).collect();
        assert_eq!(groups, ["clients", "checkpointer"]);
    }

    #[test]
    fn scheduling_is_the_difference_and_absent_when_one_session_lacks_it() {
        let (mut wait_counts, window) = wait_counts(20);
        let totals = |run_ns, delay_ns| Some(Scheduling { run_ns, delay_ns });
        wait_counts.accounts[0].scheduled_first = totals(1_000_000_000, 0);
        wait_counts.accounts[0].scheduled_last = totals(1_500_000_000, 250_000_000);
        let closed = wait_counts.close(window);
        let own_groups = closed.profiles(|process_id| Some(process_id.to_string()), name_of, |_| false);
        assert_eq!((own_groups[0].on_cpu_s, own_groups[0].run_delay_s), (Some(0.5), Some(0.25)));
        assert_eq!((own_groups[1].on_cpu_s, own_groups[1].run_delay_s), (None, None));
    }

    #[test]
    fn without_a_sample_there_is_no_profile() {
        let now = Instant::now();
        let closed = WaitCounts::default().close(Window { began: now, ended: now });
        assert!(closed.profiles(|_| None, name_of, |_| false).is_empty());
    }
}
