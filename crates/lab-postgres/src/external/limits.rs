//! What an external server makes impossible: all that only its owner can change.

use lab::engine::Limitation;
use lab::work::{Durability, LoopSide, Placement, Work, Workload};

use crate::capabilities::{Capabilities, Family};
use crate::control::Control;
use crate::settings::SETTINGS_OF_PARAMETERS;

/// Connections beside the clients: control, counters, manual checkpoints, waits and waiting tasks.
const OWN_CONNECTIONS: u32 = 5;

/// What the server is set to and we cannot change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerState {
    /// `fsync`; `None` where the server does not say.
    fsync: Option<bool>,
    /// Connections left for ordinary roles, by configuration.
    connections_max: Option<u32>,
}

impl ServerState {
    /// Asks the server.
    pub(crate) fn ask(control: &mut Control) -> Self {
        let number = |text: Option<String>| text.and_then(|text| text.parse::<u32>().ok());
        let total = number(control.probe("SHOW max_connections"));
        let reserved = number(control.probe("SHOW superuser_reserved_connections")).unwrap_or(0);
        Self {
            fsync: control.probe("SHOW fsync").map(|text| text == "on"),
            connections_max: total.map(|total| total.saturating_sub(reserved + OWN_CONNECTIONS)),
        }
    }
}

/// Directories, processors, memory and caches of a server belong to whoever runs it.
fn resource_limits(work: &Work, family: Family) -> Vec<Limitation> {
    let refuse = |subject: &str, text: &str| Limitation {
        subject: subject.to_owned(),
        text: text.to_owned(),
        refuses: true,
    };
    let subject = &work.subject;
    let mut limitations = Vec::new();
    if subject.arrays.is_some_and(|arrays| arrays > 1) {
        limitations.push(refuse("arrays", "the directories of an external server cannot be chosen"));
    }
    let needs_files = work.workload.has_fixtures() && !work.workload.looks_up();
    if needs_files || subject.memory_limit_mib.is_some() || subject.server_cores.is_some() {
        let text = "an external server is neither restarted nor confined, and its files are not read\nhint: use --target postgres";
        limitations.push(refuse("workload", text));
    }
    if work.workload == Workload::Own && family == Family::Cockroach {
        let text = "a workload of your own begins from copies of a database, and this server has no CREATE DATABASE ... TEMPLATE";
        limitations.push(refuse("workload", text));
    }
    if work.workload.looks_up() && family != Family::Postgres {
        limitations
            .push(refuse("workload", "reads and plans of look-ups are known of PostgreSQL itself alone"));
    }
    if work.workload.looks_up() && subject.cache.is_cold() {
        let text = "an external server is not restarted and its page cache not emptied, so that nothing is cold\n\
                    hint: --set cache=as-is or cache=warm; the title then says \"warm\" or \"lukewarm\" by what the server read";
        limitations.push(refuse("cache", text));
    }
    limitations
}

/// What this server makes impossible for this work.
pub(crate) fn refusals(work: &Work, capabilities: &Capabilities, server: &ServerState) -> Vec<Limitation> {
    let mut limitations = resource_limits(work, capabilities.family);
    let mut refuse = |subject: &str, text: String| {
        limitations.push(Limitation { subject: subject.to_owned(), text, refuses: true });
    };
    if work.placement != Placement::Together {
        refuse("placement", "the directories of an external server cannot be chosen".to_owned());
    }
    for (subject, value, setting) in [
        ("buffer_pool_mib", work.buffer_pool_mib, "shared_buffers"),
        ("log_size_mib", work.log_size_mib, "max_wal_size"),
    ] {
        if let Some(mib) = value {
            refuse(
                subject,
                format!("{subject} = {mib}: \"{setting}\" of an external server is not ours to change"),
            );
        }
    }
    match (work.durability, server.fsync) {
        (Durability::None, Some(true) | None) => {
            refuse(
                "durability",
                "durability none: the server runs with fsync on, which is not ours to change".into(),
            );
        }
        (Durability::Full | Durability::Relaxed, Some(false)) => {
            refuse("durability", "the server runs with fsync off: its commits wait for nothing".into());
        }
        _ => {}
    }
    if work.durability == Durability::Relaxed && capabilities.family == Family::Cockroach {
        refuse(
            "durability",
            "durability relaxed: this server has no commit that returns before the log".into(),
        );
    }
    if work.loop_side == LoopSide::Server && !capabilities.procedures && work.workload.adds_rows() {
        refuse(
            "loop_side",
            "the loop on the server needs procedures with COMMIT, which are not driven here".into(),
        );
    }
    if let Some(most) = server.connections_max.filter(|&most| work.connections > most) {
        refuse(
            "connections",
            format!("connections = {}: the server takes {most} (max_connections)", work.connections),
        );
    }
    for (name, value) in &work.settings {
        let lower = name.to_ascii_lowercase();
        if let Some((_, parameter)) = SETTINGS_OF_PARAMETERS.iter().find(|(setting, _)| *setting == lower) {
            refuse(name, format!("setting \"{name}\" is set by the parameter \"{parameter}\""));
            continue;
        }
        match capabilities.setting_contexts.get(&lower).map(String::as_str) {
            Some("user") => {}
            Some("superuser") if capabilities.superuser => {}
            Some(context) => refuse(
                name,
                format!(
                    "setting \"{name}\" = \"{value}\" cannot be set by a session (its context is {context})"
                ),
            ),
            None => refuse(name, format!("the server has no setting \"{name}\"")),
        }
    }
    limitations
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::work::CacheState;

    fn capabilities() -> Capabilities {
        let contexts =
            [("work_mem", "user"), ("max_connections", "postmaster"), ("log_duration", "superuser")];
        Capabilities {
            procedures: true,
            setting_contexts: contexts.map(|(name, context)| (name.to_owned(), context.to_owned())).into(),
            ..Capabilities::default()
        }
    }

    fn refused(work: &Work) -> Vec<String> {
        let server = ServerState { fsync: Some(true), connections_max: Some(90) };
        refusals(work, &capabilities(), &server).into_iter().map(|limitation| limitation.subject).collect()
    }

    #[test]
    fn what_only_the_server_s_owner_can_change_is_refused() {
        let mut work = Work::example();
        assert_eq!(refused(&work), Vec::<String>::new());
        work.placement = Placement::LogApart;
        work.buffer_pool_mib = Some(8);
        work.log_size_mib = Some(64);
        work.durability = Durability::None;
        work.connections = 91;
        assert_eq!(
            refused(&work),
            ["placement", "buffer_pool_mib", "log_size_mib", "durability", "connections"]
        );
    }

    #[test]
    fn look_ups_are_taken_with_a_cache_that_nobody_empties_and_tasks_are_not() {
        let mut work = Work::example();
        work.workload = Workload::GuidLookupScan;
        for (cache, expected) in [
            (CacheState::AsIs, &[][..]),
            (CacheState::Warm, &[]),
            (CacheState::Cold, &["cache"]),
            (CacheState::ColdMachine, &["cache"]),
        ] {
            work.subject.cache = cache;
            assert_eq!(refused(&work), expected);
        }
        (work.workload, work.subject.cache) = (Workload::Check, CacheState::AsIs);
        assert_eq!(refused(&work), ["workload"]);
    }

    #[test]
    fn only_settings_of_a_session_are_allowed() {
        let mut work = Work::example();
        for name in ["work_mem", "max_connections", "log_duration", "no_such_setting", "synchronous_commit"] {
            work.settings.insert(name.to_owned(), "1".to_owned());
        }
        assert_eq!(
            refused(&work),
            ["log_duration", "max_connections", "no_such_setting", "synchronous_commit"]
        );
    }

    #[test]
    fn a_server_without_fsync_is_not_taken_for_durable() {
        let server = ServerState { fsync: Some(false), connections_max: None };
        let work = Work::example();
        assert_eq!(refusals(&work, &capabilities(), &server).len(), 1);
    }
}
