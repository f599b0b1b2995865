//! What a run asks of the server's settings, and what cannot be asked.

use std::path::Path;

use lab::engine::{Layout, Limitation, TargetError};
use lab::own::Load;
use lab::work::{BackupMethod, Durability, LoopSide, Placement, Work};
use results::model::Setting;

/// MiB of one log segment; initdb is left at its default.
pub(super) const SEGMENT_MIB: u64 = 16;

/// Stands before what to do about a limitation, on a line of its own.
const HINT: &str = "\nhint: ";

/// Connections beside the clients: control, autovacuum launchers do not count, three are reserved for superusers.
const CONNECTIONS_RESERVE: u32 = 10;

/// Default of `max_connections`: not lowered, so that small runs do not differ in it.
const CONNECTIONS_DEFAULT: u32 = 100;

/// Settings by which fathom finds the server or its files; a run must not change them.
const OWN_SETTINGS: [&str; 12] = [
    "listen_addresses",
    "port",
    "unix_socket_directories",
    "unix_socket_permissions",
    "unix_socket_group",
    "data_directory",
    "config_file",
    "hba_file",
    "ident_file",
    "external_pid_file",
    "logging_collector",
    "log_destination",
];

/// Settings that a parameter of the run stands for, with that parameter.
pub(super) const SETTINGS_OF_PARAMETERS: [(&str, &str); 5] = [
    ("fsync", "durability"),
    ("synchronous_commit", "durability"),
    ("shared_buffers", "buffer_pool_mib"),
    ("max_wal_size", "log_size_mib"),
    ("min_wal_size", "log_size_mib"),
];

/// Settings for a managed server, in order; the last of a name wins.
pub(super) fn server_settings(work: &Work) -> Vec<(String, String)> {
    let mut settings: Vec<(String, String)> = Vec::new();
    let mut set = |name: &str, value: String| settings.push((name.to_owned(), value));
    let on_or_off = |on: bool| if on { "on" } else { "off" }.to_owned();
    set("fsync", on_or_off(work.durability != Durability::None));
    set("synchronous_commit", on_or_off(work.durability == Durability::Full));
    if work.durability == Durability::None {
        set("full_page_writes", on_or_off(false));
    }
    // The time of flushes, writes and reads is one of the answers; the price is two clock readings for each.
    set("track_wal_io_timing", on_or_off(true));
    set("track_io_timing", on_or_off(true));
    set("log_checkpoints", on_or_off(true));
    let loading = work.own.as_ref().and_then(|own| own.load.as_ref()).map_or(0, Load::connections);
    let connections = work.connections.max(loading).saturating_add(CONNECTIONS_RESERVE);
    if connections > CONNECTIONS_DEFAULT {
        set("max_connections", connections.to_string());
    }
    if let Some(mib) = work.buffer_pool_mib {
        set("shared_buffers", format!("{mib}MB"));
    }
    if let Some(mib) = work.log_size_mib {
        let mib = mib.max(2 * SEGMENT_MIB);
        set("max_wal_size", format!("{mib}MB"));
        set("min_wal_size", format!("{mib}MB"));
    }
    for (name, value) in &work.settings {
        set(name, value.clone());
    }
    settings
}

/// Who set what stands on the command line of a managed server: the experiment, one of its parameters, or fathom.
pub(super) fn name_sources(settings: &mut [Setting], work: &Work) {
    const COMMAND_LINE: &str = "command line";
    for setting in settings.iter_mut().filter(|setting| setting.source == COMMAND_LINE) {
        let is_asked = work.settings.keys().any(|name| name.eq_ignore_ascii_case(&setting.name));
        let parameter = SETTINGS_OF_PARAMETERS.iter().find(|(name, _)| *name == setting.name);
        setting.source = match (is_asked, parameter, setting.name.as_str()) {
            (true, _, _) => "experiment".to_owned(),
            (_, Some((_, parameter)), _) => format!("parameter {parameter}"),
            (_, _, "full_page_writes") => "parameter durability".to_owned(),
            (_, _, "max_connections") => "parameter connections".to_owned(),
            _ => "fathom".to_owned(),
        };
    }
}

/// What a backup by the tool of the server needs, and what it does in its own way; `bin_dir` holds the server's binaries.
pub(super) fn backup_limitations(work: &Work, bin_dir: &Path) -> Vec<Limitation> {
    let mut limitations = Vec::new();
    if work.subject.backup != BackupMethod::PgBasebackup {
        return limitations;
    }
    let mut add = |subject: &str, text: String, refuses: bool| {
        limitations.push(Limitation { subject: subject.to_owned(), text, refuses });
    };
    if !bin_dir.join("pg_basebackup").is_file() {
        let text = format!(
            "pg_basebackup is not beside the server in \"{}\"\nhint: install the client programs of that version, or choose a \
             server that has them with --pg-bin",
            bin_dir.display()
        );
        add("backup_method", text, true);
    }
    if work.subject.streams > 1 {
        let text = format!(
            "pg_basebackup writes one stream, whatever is requested; the {} streams are used by the restore",
            work.subject.streams
        );
        add("streams", text, false);
    }
    limitations
}

/// What a managed server cannot do, or does in its own way. Costs nothing and needs no server.
pub fn managed_limitations(layout: &Layout, work: &Work) -> Vec<Limitation> {
    let mut limitations = common_limitations(work);
    limitations.extend(lab::cache::limitation(work));
    let mut add = |subject: &str, text: String, refuses: bool| {
        limitations.push(Limitation { subject: subject.to_owned(), text, refuses });
    };
    if work.placement != Placement::Together && layout.log.is_none() {
        add(
            "placement",
            "log and data apart need a directory for the log, and the layout has none".into(),
            true,
        );
    }
    if let Some(arrays) = work.subject.arrays.filter(|&arrays| arrays as usize > layout.data.len().max(1)) {
        add(
            "arrays",
            format!(
                "{arrays} arrays need as many data directories, and the layout has {}\nhint: repeat --data",
                layout.data.len()
            ),
            true,
        );
    }
    let data_places = if work.placement == Placement::DataApart { 1 } else { layout.data.len().max(1) };
    if work.data_files > 1 {
        add(
            "data_files",
            format!(
                "{} hash partitions over {data_places} tablespace(s): partitions, not files, the index is divided too",
                work.data_files
            ),
            false,
        );
    }
    if work.placement == Placement::DataApart {
        add(
            "placement",
            "the table is in the log directory, the system's own tables stay with the log in the data directory"
                .into(),
            false,
        );
    } else if u64::from(work.data_files) < layout.data.len() as u64 && work.workload.adds_rows() {
        add(
            "data_files",
            format!(
                "{} data file(s) use only as many of the {} data directories",
                work.data_files,
                layout.data.len()
            ),
            false,
        );
    }
    if let Some(mib) = work.log_size_mib.filter(|&mib| mib < 2 * SEGMENT_MIB) {
        add(
            "log_size_mib",
            format!("{mib} MiB is less than two segments: the log has {} MiB", 2 * SEGMENT_MIB),
            false,
        );
    }
    for name in work.settings.keys() {
        let lower = name.to_ascii_lowercase();
        if OWN_SETTINGS.contains(&lower.as_str()) {
            add(name, format!("setting \"{name}\" is how fathom reaches its own server"), true);
        }
        if let Some((_, parameter)) = SETTINGS_OF_PARAMETERS.iter().find(|(setting, _)| *setting == lower) {
            add(name, format!("setting \"{name}\" is set by the parameter \"{parameter}\""), true);
        }
    }
    limitations
}

/// What holds for managed and external servers alike.
pub(super) fn common_limitations(work: &Work) -> Vec<Limitation> {
    let mut limitations = Vec::new();
    let mut add = |subject: &str, text: &str| {
        limitations.push(Limitation { subject: subject.to_owned(), text: text.to_owned(), refuses: false });
    };
    if work.workload.adds_rows() {
        add("primary_key", "heap and B-tree index, not a clustered table");
    }
    if work.loop_side == LoopSide::Server && work.workload.adds_rows() {
        if work.key == lab::work::KeyOrder::Random {
            add("seed", "the loop on the server draws its keys there: they do not follow the seed");
        }
        add("loop_side", "a procedure with COMMIT for each batch: no latency per transaction");
    }
    if work.secondary_indexes > 0 {
        add("secondary_indexes", "their numbers are drawn by the server and do not follow the seed");
    }
    limitations
}

/// Stops what a limitation makes impossible.
pub(super) fn require_possible(limitations: &[Limitation]) -> Result<(), TargetError> {
    let texts = limitations.iter().filter(|limitation| limitation.refuses).map(|limitation| &limitation.text);
    let (mut reasons, mut hints) = (Vec::new(), Vec::new());
    for text in texts {
        let (reason, hint) =
            text.split_once(HINT).map_or((text.as_str(), None), |(reason, hint)| (reason, Some(hint)));
        reasons.push(reason);
        hints.extend(hint);
    }
    if reasons.is_empty() {
        return Ok(());
    }
    let hint = (!hints.is_empty()).then(|| hints.join(HINT));
    Err(TargetError::Refused { text: reasons.join("; "), hint })
}

/// When the server did not start and its log names one of the run's own settings, the error says which and with what
/// value.
pub(super) fn name_the_setting(error: TargetError, work: &Work) -> TargetError {
    let TargetError::Engine { reason, .. } = &error else {
        return error;
    };
    match work.settings.iter().find(|(name, _)| reason.contains(&format!("\"{name}\""))) {
        Some((name, value)) => TargetError::refused(
            format!("the server refuses setting \"{name}\" = \"{value}\": {reason}"),
            "see the server's manual for its settings and their values",
        ),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value<'a>(settings: &'a [(String, String)], name: &str) -> Option<&'a str> {
        settings.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    #[test]
    fn durability_decides_what_a_commit_waits_for() {
        let mut work = Work::example();
        for (durability, fsync, commit, pages) in [
            (Durability::Full, "on", "on", None),
            (Durability::Relaxed, "on", "off", None),
            (Durability::None, "off", "off", Some("off")),
        ] {
            work.durability = durability;
            let settings = server_settings(&work);
            assert_eq!(value(&settings, "fsync"), Some(fsync));
            assert_eq!(value(&settings, "synchronous_commit"), Some(commit));
            assert_eq!(value(&settings, "full_page_writes"), pages);
        }
    }

    #[test]
    fn the_log_is_never_smaller_than_two_segments_and_that_is_said() {
        let mut work = Work::example();
        work.log_size_mib = Some(1);
        assert_eq!(value(&server_settings(&work), "max_wal_size"), Some("32MB"));
        let limitations = managed_limitations(&Layout::default(), &work);
        assert!(limitations.iter().any(|one| one.subject == "log_size_mib" && !one.refuses));
    }

    #[test]
    fn connections_beyond_the_default_raise_the_maximum_and_nothing_else() {
        let mut work = Work::example();
        assert_eq!(value(&server_settings(&work), "max_connections"), None);
        work.connections = 256;
        assert_eq!(value(&server_settings(&work), "max_connections"), Some("266"));
    }

    #[test]
    fn settings_that_fathom_needs_or_has_a_parameter_for_are_refused() {
        for name in ["port", "Listen_Addresses", "fsync", "shared_buffers"] {
            let mut work = Work::example();
            work.settings.insert(name.to_owned(), "1".to_owned());
            assert!(require_possible(&managed_limitations(&Layout::default(), &work)).is_err(), "{name}");
        }
        let mut work = Work::example();
        work.settings.insert("full_page_writes".to_owned(), "off".to_owned());
        assert!(require_possible(&managed_limitations(&Layout::default(), &work)).is_ok());
    }

    #[test]
    fn hints_of_limitations_stand_behind_all_reasons_on_lines_of_their_own() {
        let limitation =
            |text: &str, refuses| Limitation { subject: String::new(), text: text.into(), refuses };
        let limitations = [
            limitation("a\nhint: do a", true),
            limitation("b", true),
            limitation("c\nhint: do c", true),
            limitation("d", false),
        ];
        let error = require_possible(&limitations).expect_err("two of them refuse").to_string();
        assert_eq!(error, "a; b; c\nhint: do a\nhint: do c");
    }

    #[test]
    fn a_log_apart_needs_a_directory() {
        let mut work = Work::example();
        work.placement = Placement::LogApart;
        assert!(require_possible(&managed_limitations(&Layout::default(), &work)).is_err());
        let layout = Layout { data: Vec::new(), log: Some("/log".into()) };
        assert!(require_possible(&managed_limitations(&layout, &work)).is_ok());
    }
}
