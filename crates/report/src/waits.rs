//! The wait table, in the columns of the published ones: where the time of the sessions went, run by run or as the
//! mean of several runs.
//!
//! The table lists the smallest number of wait types that reach 95 % of all waiting, and the rest as one row, so that
//! the percentages sum to 100. Idle classes are left out of it and accounted for below it: session time = waits of the
//! table + idle + no wait.

use std::collections::BTreeMap;

use results::model::Run;
use results::observations::{How, WaitProfile, WaitRow};
use serde::Serialize;
use stats::waits::{TOP_PERCENT, Wait, top_waits};

mod tasks;

pub use tasks::{BLOCKERS_MAX, TaskSummary, tasks};

/// How the seconds of a row were had, as the exports name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Had {
    /// Samples times their period: an estimate.
    Sampled,
    /// Measured around every wait.
    Exact,
    /// Of both kinds: the rest row.
    Mixed,
}

/// One row of a wait table. Seconds and counts are means over the runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WaitLine {
    /// `class:name`; empty in the rest row.
    pub wait_type: String,
    /// Seconds waited, all sessions together.
    pub wait_s: f64,
    /// Of it, until the resource was there; `None` where it cannot be split.
    pub resource_s: Option<f64>,
    /// Of it, from then until a processor was there; `None` where it cannot be split.
    pub signal_s: Option<f64>,
    /// Number of waits; `None` unless it is exact.
    pub wait_count: Option<f64>,
    /// Share of all waiting, 0 to 100.
    pub percentage: f64,
    /// Share of this row and those before it, 0 to 100.
    pub percentage_cumulative: f64,
    /// Mean seconds per wait; `None` without a count.
    pub avg_wait_s: Option<f64>,
    /// Mean resource seconds per wait.
    pub avg_resource_s: Option<f64>,
    /// Mean signal seconds per wait.
    pub avg_signal_s: Option<f64>,
    /// How the seconds were had.
    pub had: Had,
}

/// Where all of the sessions' time went, in seconds, means over the runs. `wait_s + idle_s + no_wait_s = session_s`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionTime {
    /// Time of all sessions added: the whole.
    pub session_s: f64,
    /// Waits of the table, rest row included.
    pub wait_s: f64,
    /// Idle classes.
    pub idle_s: f64,
    /// The same by class, largest first.
    pub idle_by_class: Vec<(String, f64)>,
    /// Neither: the session ran, was ready to run, or did something that the engine does not name.
    pub no_wait_s: f64,
    /// Time on a processor as the scheduler counts it, inside waits too; `None` where that cannot be had.
    pub on_cpu_s: Option<f64>,
    /// Time ready to run without a processor as the scheduler counts it: the exact total of signal time.
    pub run_delay_s: Option<f64>,
}

/// The wait table of one group of sessions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WaitTable {
    /// `clients`, `checkpointer`, ...
    pub group: String,
    /// Runs that it is the mean of.
    pub run_count: usize,
    /// Sessions in the group, the most of any run.
    pub session_count: u32,
    /// Time that one sample stands for, in seconds, shortest and longest of the runs; `None` when nothing was sampled.
    pub sample_s: Option<(f64, f64)>,
    /// The types that together reach 95 %, largest first.
    pub rows: Vec<WaitLine>,
    /// All other types.
    pub rest: Option<WaitLine>,
    /// How many types the rest stands for.
    pub rest_type_count: usize,
    /// What the table is a part of.
    pub time: SessionTime,
}

/// Builds the tables of several runs, one per group, the clients first: sums over the runs divided by their number. Runs
/// in which nothing looked at waits do not count. Empty without any other.
pub fn table(runs: &[&Run]) -> Vec<WaitTable> {
    let seen: Vec<&[WaitProfile]> = runs.iter().map(|run| run.observations.waits.as_slice()).collect();
    tables(&seen)
}

/// As [`table`], from the profiles of each run.
pub fn tables(runs: &[&[WaitProfile]]) -> Vec<WaitTable> {
    let runs: Vec<&[WaitProfile]> = runs.iter().copied().filter(|profiles| !profiles.is_empty()).collect();
    let mut groups: Vec<&str> = Vec::new();
    for profile in runs.iter().flat_map(|profiles| profiles.iter()) {
        if !groups.contains(&profile.group.as_str()) {
            groups.push(&profile.group);
        }
    }
    let of_group = |group: &&str| {
        let members = runs.iter().flat_map(|profiles| profiles.iter());
        let members: Vec<&WaitProfile> = members.filter(|profile| profile.group == **group).collect();
        group_table(&members, runs.len())
    };
    groups.iter().map(of_group).collect()
}

/// Waits of one type, added over runs.
#[derive(Clone, Copy, Debug)]
struct Sum {
    wait_s: f64,
    resource_s: Option<f64>,
    signal_s: Option<f64>,
    count: Option<u64>,
    had: Had,
}

impl Sum {
    fn of(row: &WaitRow) -> Self {
        Self {
            wait_s: row.wait_s,
            resource_s: row.resource_s,
            signal_s: row.signal_s,
            count: row.count,
            had: if row.how == How::Exact { Had::Exact } else { Had::Sampled },
        }
    }

    fn add(&mut self, other: Self) {
        let both = |left: Option<f64>, right: Option<f64>| Some(left? + right?);
        self.wait_s += other.wait_s;
        self.resource_s = both(self.resource_s, other.resource_s);
        self.signal_s = both(self.signal_s, other.signal_s);
        self.count = self.count.zip(other.count).and_then(|(left, right)| left.checked_add(right));
        self.had = together(self.had, other.had);
    }
}

fn together(left: Had, right: Had) -> Had {
    if left == right { left } else { Had::Mixed }
}

fn group_table(members: &[&WaitProfile], run_count: usize) -> WaitTable {
    let n = run_count as f64;
    let mut sums: BTreeMap<String, Sum> = BTreeMap::new();
    let mut idle: BTreeMap<&str, f64> = BTreeMap::new();
    let mut periods: Vec<f64> = Vec::new();
    for row in members.iter().flat_map(|profile| &profile.rows) {
        if let How::Sampled { period_ns } = row.how {
            periods.push(period_ns as f64 / 1e9);
        }
        if row.is_idle {
            *idle.entry(&row.class).or_default() += row.wait_s / n;
            continue;
        }
        let sum = Sum::of(row);
        sums.entry(format!("{}:{}", row.class, row.name)).and_modify(|sums| sums.add(sum)).or_insert(sum);
    }
    let waits: Vec<Wait> = sums
        .iter()
        .map(|(wait_type, sum)| Wait {
            wait_type: wait_type.clone(),
            wait_s: sum.wait_s,
            resource_s: sum.resource_s,
            signal_s: sum.signal_s,
            count: sum.count,
        })
        .collect();
    // Seconds from a file that is not ours may be no durations; a table of none is better than a false one.
    let top = top_waits(&waits, TOP_PERCENT).unwrap_or(stats::waits::WaitTable {
        rows: Vec::new(),
        rest: None,
        rest_type_count: 0,
        total_wait_s: 0.0,
    });
    let line = |row: &stats::waits::WaitRow, had: Had| WaitLine {
        wait_type: row.wait.wait_type.clone(),
        wait_s: row.wait.wait_s / n,
        resource_s: row.wait.resource_s.map(|seconds| seconds / n),
        signal_s: row.wait.signal_s.map(|seconds| seconds / n),
        wait_count: row.wait.count.map(|count| count as f64 / n),
        percentage: row.percentage,
        percentage_cumulative: row.percentage_cumulative,
        avg_wait_s: row.avg_wait_s(),
        avg_resource_s: row.avg_resource_s(),
        avg_signal_s: row.avg_signal_s(),
        had,
    };
    let had_of = |wait_type: &str| sums.get(wait_type).map_or(Had::Mixed, |sum| sum.had);
    let listed: Vec<&str> = top.rows.iter().map(|row| row.wait.wait_type.as_str()).collect();
    let others = sums.iter().filter(|(wait_type, _)| !listed.contains(&wait_type.as_str()));
    let had_rest = others.map(|(_, sum)| sum.had).reduce(together);
    WaitTable {
        group: members.first().map(|profile| profile.group.clone()).unwrap_or_default(),
        run_count,
        session_count: members.iter().map(|profile| profile.session_count).max().unwrap_or(0),
        sample_s: periods.iter().copied().reduce(f64::min).zip(periods.iter().copied().reduce(f64::max)),
        rows: top.rows.iter().map(|row| line(row, had_of(&row.wait.wait_type))).collect(),
        rest: top.rest.as_ref().map(|row| line(row, had_rest.unwrap_or(Had::Mixed))),
        rest_type_count: top.rest_type_count,
        time: session_time(members, n, top.total_wait_s / n, &idle),
    }
}

fn session_time(members: &[&WaitProfile], n: f64, wait_s: f64, idle: &BTreeMap<&str, f64>) -> SessionTime {
    let mean = |value: fn(&WaitProfile) -> Option<f64>| {
        let sum: Option<f64> = members.iter().map(|profile| value(profile)).sum();
        sum.map(|seconds| seconds / n)
    };
    let session_s = members.iter().map(|profile| profile.session_s).sum::<f64>() / n;
    // A sum of nothing is -0.
    let idle_s = idle.values().sum::<f64>() + 0.0;
    let mut idle_by_class: Vec<(String, f64)> =
        idle.iter().map(|(class, seconds)| ((*class).to_owned(), *seconds)).collect();
    idle_by_class.sort_by(|left, right| right.1.total_cmp(&left.1));
    SessionTime {
        session_s,
        wait_s,
        idle_s,
        idle_by_class,
        no_wait_s: (session_s - wait_s - idle_s).max(0.0),
        on_cpu_s: mean(|profile| profile.on_cpu_s),
        run_delay_s: mean(|profile| profile.run_delay_s),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use results::observations::WaitingTask;

    use super::*;

    const SAMPLED: How = How::Sampled { period_ns: 10_000_000 };

    fn row(class: &str, name: &str, wait_s: f64, how: How) -> WaitRow {
        WaitRow {
            class: class.to_owned(),
            name: name.to_owned(),
            is_idle: class == "Client" || class == "Timeout",
            wait_s,
            resource_s: Some(0.75 * wait_s),
            signal_s: Some(0.25 * wait_s),
            count: None,
            how,
        }
    }

    fn profile(group: &str, session_s: f64, rows: Vec<WaitRow>) -> WaitProfile {
        WaitProfile {
            group: group.to_owned(),
            session_count: 4,
            session_s,
            on_cpu_s: Some(0.5),
            run_delay_s: None,
            rows,
        }
    }

    fn clients() -> WaitProfile {
        profile(
            "clients",
            40.0,
            vec![
                row("IO", "WalSync", 2.0, SAMPLED),
                row("LWLock", "WALWrite", 18.0, SAMPLED),
                row("Client", "ClientRead", 12.0, SAMPLED),
                row("Timeout", "PgSleep", 1.0, SAMPLED),
                row("IPC", "X", 0.5, SAMPLED),
                row("IPC", "Y", 0.25, SAMPLED),
            ],
        )
    }

    #[test]
    fn the_smallest_prefix_with_the_rest_sums_to_one_hundred_and_all_session_time_is_accounted_for() {
        let tables = tables(&[&[clients(), profile("checkpointer", 10.0, Vec::new())]]);
        let table = &tables[0];
        let types: Vec<&str> = table.rows.iter().map(|row| row.wait_type.as_str()).collect();
        assert_eq!((types, table.rest_type_count), (vec!["LWLock:WALWrite", "IO:WalSync"], 2));
        let sum: f64 = table.rows.iter().chain(&table.rest).map(|row| row.percentage).sum();
        assert!((sum - 100.0).abs() < 1e-9);
        for row in table.rows.iter().chain(&table.rest) {
            assert!((row.wait_s - row.resource_s.unwrap() - row.signal_s.unwrap()).abs() < 1e-9);
            assert_eq!((row.wait_count, row.avg_wait_s, row.had), (None, None, Had::Sampled));
        }
        let time = &table.time;
        assert_eq!((time.wait_s, time.idle_s, time.no_wait_s), (20.75, 13.0, 6.25));
        assert_eq!(time.idle_by_class, [("Client".to_owned(), 12.0), ("Timeout".to_owned(), 1.0)]);
        assert_eq!((time.on_cpu_s, time.run_delay_s), (Some(0.5), None));
        assert_eq!(
            (tables[1].group.as_str(), tables[1].rows.len(), tables[1].time.no_wait_s),
            ("checkpointer", 0, 10.0)
        );
    }

    #[test]
    fn several_runs_are_added_and_shown_as_their_mean_and_a_wait_that_one_run_lacks_counts_as_zero() {
        let counted = |count, wait_s| {
            let row = WaitRow { count: Some(count), ..row("vfs", "sync", wait_s, How::Exact) };
            profile("clients", 10.0, vec![row])
        };
        let other = profile("clients", 10.0, vec![row("vfs", "read", 1.0, SAMPLED)]);
        let tables = tables(&[&[counted(10, 1.0)], &[counted(20, 5.0)], &[other], &[]]);
        let table = &tables[0];
        assert_eq!((tables.len(), table.run_count), (1, 3));
        let sync = &table.rows[0];
        assert_eq!((sync.wait_s, sync.wait_count, sync.avg_wait_s), (2.0, Some(10.0), Some(0.2)));
        assert_eq!((sync.had, table.sample_s), (Had::Exact, Some((0.01, 0.01))));
        assert_eq!(table.time.session_s, 10.0);
    }

    #[test]
    fn a_figure_that_one_summand_lacks_is_absent_and_what_is_no_duration_is_not_shown() {
        let unsplit = WaitRow { resource_s: None, signal_s: None, ..row("IO", "WalSync", 1.0, SAMPLED) };
        let both = tables(&[&[clients()], &[profile("clients", 1.0, vec![unsplit])]]);
        let sync = both[0].rows.iter().find(|row| row.wait_type == "IO:WalSync").unwrap();
        assert_eq!((sync.wait_s, sync.resource_s, sync.signal_s), (1.5, None, None));
        let odd = tables(&[&[profile("clients", 1.0, vec![row("IO", "WalSync", f64::NAN, SAMPLED)])]]);
        assert_eq!(odd[0].rows.len(), 0);
        assert_eq!(tables(&[]), vec![]);
    }

    #[test]
    fn tasks_are_added_up_by_what_was_waited_for() {
        let task = |at_ns, resource: &str, waited_s, blocker: &str| WaitingTask {
            at_ns,
            session: "7".to_owned(),
            wait: "Lock:extend".to_owned(),
            resource: resource.to_owned(),
            page_class: None,
            waited_s,
            blocked_by: vec![blocker.to_owned()],
        };
        let samples = [
            task(1, "extend a", Some(0.5), "3"),
            task(1, "extend a", None, "4"),
            task(2, "extend b", None, "3"),
            task(2, "extend a", Some(0.25), "4"),
        ];
        let list = tasks(&samples);
        assert_eq!(list.len(), 2);
        let first = &list[0];
        assert_eq!((first.resource.as_str(), first.sample_count, first.percentage), ("extend a", 3, 75.0));
        assert_eq!((first.sessions_max, first.waited_s_max), (2, Some(0.5)));
        assert_eq!(first.blockers, ["4", "3"]);
        assert_eq!(tasks(&[]), vec![]);
    }
}
