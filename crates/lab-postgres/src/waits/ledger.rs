//! What many looks add up to. Pure: times come with the looks, names and groups are asked for at the end.
//!
//! The measured part is known only when it is over, so the first looks and the last ones are kept as they were seen;
//! what lies between them is added up at once. Memory does not grow with the length of a run.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Instant;

use lab::observe::Window;
use results::observations::{How, WaitProfile, WaitRow};

/// First looks that are kept: a second of the fastest sampler. The barrier falls a few milliseconds after the start.
const HEAD_LOOKS: usize = 100;

/// Last looks that are kept: the sampler is stopped milliseconds after the last client.
const TAIL_LOOKS: usize = 100;

/// Pairs of session and event that are counted; further ones are left out. Those of ten thousand sessions with a
/// hundred events each.
const COUNTS_MAX: usize = 1_000_000;

/// What a session did at one look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Suspended: the resource is not there.
    Resource,
    /// In a wait, but running or ready to run: the resource is there, or is had by computing.
    Signal,
    /// Not told apart.
    Unsplit,
}

/// One session at one look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    /// Index of its account.
    pub(super) account: usize,
    /// Number of the wait; 0: none.
    pub(super) event: u32,
    /// What it did.
    pub(super) phase: Phase,
}

#[derive(Debug)]
struct Look {
    at: Instant,
    seen: Vec<Seen>,
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
    looks: u64,
    /// Looks by event: resource, signal, not split.
    counts: HashMap<u32, [u64; 3]>,
}

/// Looks of one sampler.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// One per session, in the order in which they were first seen.
    pub(super) accounts: Vec<Account>,
    head: Vec<Look>,
    tail: VecDeque<Look>,
    settled: u64,
    /// Pairs of session and event that are counted.
    count_count: usize,
    spare: Vec<Vec<Seen>>,
}

impl Ledger {
    /// Opens an account and returns its index.
    pub(super) fn open(&mut self, process_id: u32) -> usize {
        self.accounts.push(Account { process_id, ..Account::default() });
        self.accounts.len() - 1
    }

    /// Memory for the next look.
    pub(super) fn page(&mut self) -> Vec<Seen> {
        let mut page = self.spare.pop().unwrap_or_default();
        page.clear();
        page
    }

    /// Takes in a look.
    pub(super) fn enter(&mut self, at: Instant, seen: Vec<Seen>) {
        if self.head.len() < HEAD_LOOKS {
            self.head.push(Look { at, seen });
            return;
        }
        self.tail.push_back(Look { at, seen });
        if self.tail.len() > TAIL_LOOKS
            && let Some(look) = self.tail.pop_front()
        {
            self.settle(&look);
            self.spare.push(look.seen);
        }
    }

    fn settle(&mut self, look: &Look) {
        self.settled += 1;
        for seen in &look.seen {
            let Some(account) = self.accounts.get_mut(seen.account) else { continue };
            account.looks += 1;
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

    /// Adds up the looks inside the window.
    pub(super) fn close(mut self, window: Window) -> Closed {
        let inside = |look: &Look| window.began <= look.at && look.at <= window.ended;
        let head = std::mem::take(&mut self.head);
        let tail = std::mem::take(&mut self.tail);
        for look in head.iter().chain(&tail).filter(|look| inside(look)) {
            self.settle(look);
        }
        let length_ns = window.ended.saturating_duration_since(window.began).as_nanos() as u64;
        Closed { looks: self.settled, length_ns, accounts: self.accounts }
    }
}

/// A ledger after its end.
#[derive(Debug)]
pub(super) struct Closed {
    /// Looks inside the window.
    pub(super) looks: u64,
    /// Length of the window in nanoseconds.
    pub(super) length_ns: u64,
    accounts: Vec<Account>,
}

impl Closed {
    /// One profile per group, clients first, the others by name. `group_of` tells the group of a process, `None`
    /// leaves it out.
    ///
    /// A look stands for the length of the window over the number of looks: looks that came late make no less waiting.
    pub(super) fn profiles(
        &self,
        group_of: impl Fn(u32) -> Option<String>,
        name_of: impl Fn(u32) -> (String, String),
        is_idle: impl Fn(&str) -> bool,
    ) -> Vec<WaitProfile> {
        if self.looks == 0 {
            return Vec::new();
        }
        let period_ns = self.length_ns / self.looks;
        let mut groups: BTreeMap<(bool, String), Vec<&Account>> = BTreeMap::new();
        for account in self.accounts.iter().filter(|account| account.looks > 0) {
            if let Some(group) = group_of(account.process_id) {
                groups.entry((group != super::sessions::CLIENTS, group)).or_default().push(account);
            }
        }
        groups
            .into_iter()
            .map(|((_, group), accounts)| {
                let rows = rows(&accounts, period_ns, &name_of, &is_idle);
                let looks: u64 = accounts.iter().map(|account| account.looks).sum();
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
                    session_s: seconds(looks, period_ns),
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
            let looks = resource + signal + unsplit;
            let wait_s = seconds(looks, period_ns);
            // Looks without a state are split as those with one; the sum is that of all looks.
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

fn seconds(looks: u64, period_ns: u64) -> f64 {
    looks as f64 * period_ns as f64 / 1e9
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Duration;

    use super::*;

    fn name_of(event: u32) -> (String, String) {
        ("IO".to_owned(), format!("event {event}"))
    }

    /// Looks every 10 ms for 10 s, of which the window leaves out the first 50 ms and the last 30 ms.
    fn ledger(looks: u32) -> (Ledger, Window) {
        let start = Instant::now();
        let mut ledger = Ledger::default();
        let (one, two, three) = (ledger.open(1), ledger.open(2), ledger.open(3));
        for look in 0..looks {
            let mut page = ledger.page();
            let phase = if look % 4 == 0 { Phase::Signal } else { Phase::Resource };
            page.push(Seen { account: one, event: 5, phase });
            let event = if look % 2 == 0 { 9 } else { 0 };
            page.push(Seen { account: two, event, phase: Phase::Unsplit });
            // Of this one the state is read at every fifth look only.
            let phase = if look % 5 == 0 { phase } else { Phase::Unsplit };
            page.push(Seen { account: three, event: 7, phase });
            ledger.enter(start + Duration::from_millis(10) * look, page);
        }
        let window = Window {
            began: start + Duration::from_millis(45),
            ended: start + Duration::from_millis(10) * looks - Duration::from_millis(35),
        };
        (ledger, window)
    }

    #[test]
    fn looks_outside_the_window_do_not_count_and_the_sums_are_those_of_the_looks() {
        for looks in [20, 150, 1000] {
            let (ledger, window) = ledger(looks);
            let closed = ledger.close(window);
            assert_eq!(closed.looks, u64::from(looks) - 8);
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
                let is_long = looks > 100;
                assert!(!is_long || (split.signal_s.unwrap() / split.wait_s - 0.25).abs() < 0.1, "{split:?}");
            }
            assert_eq!(row("event 9").resource_s, None);
        }
    }

    #[test]
    fn groups_stand_apart_with_the_clients_first_and_what_is_left_out_is_absent() {
        let (mut ledger, window) = ledger(100);
        let four = ledger.open(4);
        ledger.enter(window.began, vec![Seen { account: four, event: 5, phase: Phase::Unsplit }]);
        let closed = ledger.close(window);
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
        let (mut ledger, window) = ledger(20);
        let totals = |run_ns, delay_ns| Some(Scheduling { run_ns, delay_ns });
        ledger.accounts[0].scheduled_first = totals(1_000_000_000, 0);
        ledger.accounts[0].scheduled_last = totals(1_500_000_000, 250_000_000);
        let closed = ledger.close(window);
        let own_groups = closed.profiles(|process_id| Some(process_id.to_string()), name_of, |_| false);
        assert_eq!((own_groups[0].on_cpu_s, own_groups[0].run_delay_s), (Some(0.5), Some(0.25)));
        assert_eq!((own_groups[1].on_cpu_s, own_groups[1].run_delay_s), (None, None));
    }

    #[test]
    fn without_a_look_there_is_no_profile() {
        let now = Instant::now();
        let closed = Ledger::default().close(Window { began: now, ended: now });
        assert!(closed.profiles(|_| None, name_of, |_| false).is_empty());
    }
}
