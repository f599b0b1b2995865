//! Waits that the engine counts itself, put beside those that were sampled.
//!
//! A server counts and times writes and flushes of its files as a whole: clients and background processes together. So
//! these counts belong to a group of their own, the whole server. Where it counts them by session too, those of the
//! clients are one more group. In the groups that were sampled counts stay
//! absent: a part of an exact number is not an exact number, and exact counts beside estimated seconds would look exact.

use results::model::Metric;
use results::observations::{How, Observations, WaitProfile, WaitRow};

/// Group of what is counted for all processes of a server together.
pub const WHOLE_SERVER: &str = "whole server";

/// Group of what is counted for the clients' sessions alone.
pub const CLIENTS_COUNTED: &str = "clients, counted";

/// What the metrics that count by session begin with.
const OF_CLIENTS: &str = "client_";

/// A wait with the names of the metrics that count and time it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedWait {
    /// Class as the engine has it.
    pub class: &'static str,
    /// Name as the engine has it.
    pub name: &'static str,
    /// Number of waits.
    pub count: &'static str,
    /// What the waits moved, where the server counts that and not the waits.
    pub moved: &'static str,
    /// Their seconds.
    pub seconds: &'static str,
}

/// Adds the groups [`CLIENTS_COUNTED`] and [`WHOLE_SERVER`] with each of the `counted` waits that the metrics of the same
/// interval count, when there is any.
///
/// Its seconds are the engine's own where it timed them; where timing is switched off they are the sampled seconds of
/// the same sessions.
pub fn add_counted(observations: &mut Observations, counted: &[CountedWait], metrics: &[Metric]) {
    let sampled: Vec<WaitProfile> = observations.waits.clone();
    let clients: Vec<&WaitProfile> = sampled.iter().filter(|profile| profile.group == "clients").collect();
    let all: Vec<&WaitProfile> = sampled.iter().collect();
    for (group, prefix, profiles) in [(CLIENTS_COUNTED, OF_CLIENTS, clients), (WHOLE_SERVER, "", all)] {
        let rows = rows(&profiles, counted, prefix, metrics);
        if !rows.is_empty() {
            observations.waits.push(WaitProfile {
                group: group.to_owned(),
                session_count: profiles.iter().map(|profile| profile.session_count).sum(),
                session_s: profiles.iter().map(|profile| profile.session_s).sum(),
                on_cpu_s: None,
                run_delay_s: None,
                rows,
            });
        }
    }
}

fn rows(
    profiles: &[&WaitProfile],
    counted: &[CountedWait],
    prefix: &str,
    metrics: &[Metric],
) -> Vec<WaitRow> {
    let value = |name: &str| {
        let is_meant = |metric: &&Metric| metric.name.strip_prefix(prefix) == Some(name);
        metrics.iter().find(is_meant).map(|metric| metric.value)
    };
    let mut rows = Vec::new();
    for counted in counted {
        let count = value(counted.count);
        if count.or_else(|| value(counted.moved)).is_none_or(|count| count <= 0.0) {
            continue;
        }
        let timed = value(counted.seconds).filter(|seconds| *seconds > 0.0);
        let Some((wait_s, how)) =
            timed.map(|seconds| (seconds, How::Exact)).or_else(|| sampled(profiles, counted))
        else {
            continue;
        };
        rows.push(WaitRow {
            class: counted.class.to_owned(),
            name: counted.name.to_owned(),
            is_idle: false,
            wait_s,
            resource_s: None,
            signal_s: None,
            count: count.map(|count| count as u64),
            how,
        });
    }
    rows
}

fn sampled(profiles: &[&WaitProfile], counted: &CountedWait) -> Option<(f64, How)> {
    let mut rows = profiles
        .iter()
        .flat_map(|profile| &profile.rows)
        .filter(|row| row.class == counted.class && row.name == counted.name)
        .peekable();
    let how = rows.peek()?.how;
    Some((rows.map(|row| row.wait_s).sum(), how))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const COUNTED: [CountedWait; 2] =
        [wait("WalSync", "log_flushes", "log_flush_s"), wait("WalWrite", "log_writes", "log_write_s")];

    const fn wait(name: &'static str, count: &'static str, seconds: &'static str) -> CountedWait {
        CountedWait { class: "IO", name, count, moved: count, seconds }
    }

    fn metric(name: &str, value: f64) -> Metric {
        Metric::new(name, value, "", "")
    }

    fn clients() -> Observations {
        let row = WaitRow {
            class: "IO".to_owned(),
            name: "WalWrite".to_owned(),
            is_idle: false,
            wait_s: 0.25,
            resource_s: Some(0.25),
            signal_s: Some(0.0),
            count: None,
            how: How::Sampled { period_ns: 10_000_000 },
        };
        let profile = WaitProfile {
            group: "clients".to_owned(),
            session_count: 2,
            session_s: 4.0,
            on_cpu_s: None,
            run_delay_s: None,
            rows: vec![row],
        };
        Observations { waits: vec![profile.clone(), profile], ..Observations::default() }
    }

    #[test]
    fn counted_waits_stand_in_a_group_of_their_own_and_the_others_stay_as_they_were() {
        let mut observations = clients();
        add_counted(
            &mut observations,
            &COUNTED,
            &[
                metric("log_flushes", 100.0),
                metric("log_flush_s", 0.5),
                metric("log_writes", 40.0),
                metric("log_write_s", 0.0),
            ],
        );
        assert_eq!(observations.waits[..2], clients().waits[..]);
        let server = &observations.waits[2];
        assert_eq!((server.group.as_str(), server.session_count, server.session_s), (WHOLE_SERVER, 4, 8.0));
        let sync = &server.rows[0];
        assert_eq!(
            (sync.name.as_str(), sync.count, sync.wait_s, sync.how),
            ("WalSync", Some(100), 0.5, How::Exact)
        );
        let write = &server.rows[1];
        assert_eq!((write.count, write.wait_s), (Some(40), 0.5));
        assert_eq!(write.how, How::Sampled { period_ns: 10_000_000 });
    }

    #[test]
    fn what_is_counted_for_the_clients_alone_stands_before_the_whole_server() {
        let mut observations = clients();
        add_counted(
            &mut observations,
            &COUNTED,
            &[
                metric("log_flushes", 100.0),
                metric("log_flush_s", 0.5),
                metric("client_log_flushes", 90.0),
                metric("client_log_flush_s", 0.25),
                metric("client_data_writes", 0.0),
            ],
        );
        let groups: Vec<(&str, Option<u64>, f64)> = observations.waits[2..]
            .iter()
            .map(|profile| (profile.group.as_str(), profile.rows[0].count, profile.rows[0].wait_s))
            .collect();
        assert_eq!(groups, [(CLIENTS_COUNTED, Some(90), 0.25), (WHOLE_SERVER, Some(100), 0.5)]);
        assert_eq!(observations.waits[2].rows.len(), 1);
        assert_eq!((observations.waits[2].session_count, observations.waits[2].session_s), (4, 8.0));
    }

    #[test]
    fn an_engine_that_counts_nothing_adds_nothing() {
        let mut observations = clients();
        add_counted(&mut observations, &COUNTED, &[metric("log_flushes", 0.0), metric("rows", 5.0)]);
        assert_eq!(observations, clients());
    }
}
