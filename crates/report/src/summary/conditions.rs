//! What the values of a study hold for, in a few lines: engine, machine, device behind each role, settings, cautions.
//! They stand before the values in every output; the record behind them has every fact.

use results::model::Run;
use results::settings::NOT_RECORDED;
use results::store::StudyResults;
use serde::Serialize;

use super::record::{Fact, Record};
use crate::number::percent;
use crate::quantity::elapsed_s;

/// Share of the CPUs used by other processes from which a machine is called noisy, in percent.
const NOISY_FROM_PERCENT: f64 = 25.0;

/// Settings that are named; more are counted.
const SETTINGS_MAX: usize = 6;

/// Longest list of settings: an item of a list is cut at 200 characters.
const SETTINGS_CHARS_MAX: usize = 140;

/// Settings that change how values are written, not how the engine works.
const LOCALE: [&str; 5] = ["lc_", "TimeZone", "log_timezone", "DateStyle", "default_text_search_config"];

/// Between a role and the facts of its storage.
const STORAGE: &str = ".storage.";

/// What the values hold for.
#[derive(Clone, Debug, PartialEq, Default, Serialize)]
pub struct Conditions {
    /// The shortest form, for the head of a page: `PostgreSQL 15.18 · vda ext4 (virtio) · 2 CPUs`.
    pub context: String,
    /// One line per part: `engine: PostgreSQL 15.14`, `machine: ...`, `data 1: vda, ext4`, `settings: ...`.
    pub environment: Vec<String>,
    /// What speaks against the values, or bounds what they show; sentences without a full stop.
    pub cautions: Vec<String>,
}

impl Conditions {
    /// Collects them from the record and the counting runs.
    pub(super) fn of(results: &StudyResults, record: &Record) -> Self {
        let name = results.study.engine_id().map_or(results.study.engine.as_str(), |engine| engine.title());
        let engine = match value(&record.engine, "version") {
            // Some servers name themselves, their platform and their compiler.
            Some(version) if version.starts_with(&format!("{name} ")) => {
                version.split(' ').take(2).collect::<Vec<_>>().join(" ")
            }
            Some(version) => format!("{name} {version}"),
            None => name.to_owned(),
        };
        let mut context = vec![engine.clone()];
        context.extend(devices(&record.layout));
        context.extend(processors(&record.machine));
        let mut environment = Vec::new();
        if let Some(imported) = &results.study.imported {
            context.insert(0, imported.mark());
            environment.push(format!("{}; measured by that tool, not by fathom", imported.words()));
        }
        environment.push(format!("engine: {engine}"));
        environment.extend(machine(&record.machine));
        environment.extend(storage(&record.layout));
        environment.extend(settings(&record.settings));
        if let Some(imported) = &results.study.imported {
            environment.extend(imported.identities.iter().map(|identity| format!("checked: {identity}")));
        }
        Self { context: context.join(" · "), environment, cautions: cautions(results, record) }
    }
}

/// All values of a fact; several where runs differ.
fn value(facts: &[Fact], name: &str) -> Option<String> {
    let fact = facts.iter().find(|fact| fact.name == name)?;
    (!fact.values.is_empty()).then(|| fact.values.join(" | "))
}

/// `machine: 4 CPUs (AMD EPYC, virtual), 23.5 GiB of memory, kernel 6.18.44`.
fn machine(facts: &[Fact]) -> Option<String> {
    let mut parts = Vec::new();
    let count = value(facts, "processors.online").map(|list| list.split(", ").count());
    if let Some(count) = count {
        let is_virtual = value(facts, "processors.hypervisor").is_some_and(|word| word == "true");
        let model = value(facts, "processors.model");
        let words: Vec<String> = model.into_iter().chain(is_virtual.then(|| "virtual".to_owned())).collect();
        let words = if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) };
        parts.push(format!("{count} {}{words}", if count == 1 { "CPU" } else { "CPUs" }));
    }
    let memory = value(facts, "memory.total_bytes").and_then(|bytes| bytes.parse::<f64>().ok());
    parts.extend(memory.map(|bytes| format!("{:.1} GiB of memory", bytes / f64::from(1 << 30))));
    parts.extend(value(facts, "kernel_release").map(|kernel| format!("kernel {kernel}")));
    (!parts.is_empty()).then(|| format!("machine: {}", parts.join(", ")))
}

/// `2 CPUs`.
fn processors(facts: &[Fact]) -> Option<String> {
    let count = value(facts, "processors.online").map(|list| list.split(", ").count())?;
    Some(format!("{count} {}", if count == 1 { "CPU" } else { "CPUs" }))
}

/// `vda ext4 (virtio)`, each device once.
fn devices(facts: &[Fact]) -> Vec<String> {
    let mut devices: Vec<String> = Vec::new();
    let roles = facts.iter().filter_map(|fact| fact.name.split_once(STORAGE).map(|(role, _)| role));
    for role in roles {
        let of_role = |name: &str| value(facts, &format!("{role}{STORAGE}{name}"));
        let Some(device) = of_role("physical_devices").or_else(|| of_role("mount.source")) else { continue };
        let system = of_role("mount.file_system").map_or_else(String::new, |system| format!(" {system}"));
        let kind = if device.starts_with("vd") { " (virtio)" } else { "" };
        let words = format!("{device}{system}{kind}");
        if !devices.contains(&words) {
            devices.push(words);
        }
    }
    devices
}

/// `data 1: vda, ext4`, a line per role; roles in one place share a line.
fn storage(facts: &[Fact]) -> Vec<String> {
    let mut places: Vec<(String, Vec<&str>)> = Vec::new();
    let mut roles: Vec<&str> = Vec::new();
    for fact in facts {
        let role = fact.name.split_once(STORAGE).map(|(role, _)| role);
        roles.extend(role.filter(|role| !roles.contains(role)));
    }
    for role in roles {
        let of_role = |name: &str| value(facts, &format!("{role}{STORAGE}{name}"));
        let device = of_role("physical_devices").or_else(|| of_role("mount.source"));
        let parts: Vec<String> = device.into_iter().chain(of_role("mount.file_system")).collect();
        let place = parts.join(", ");
        match places.iter_mut().find(|(known, _)| *known == place) {
            Some((_, roles)) => roles.push(role),
            None if place.is_empty() => {}
            None => places.push((place, vec![role])),
        }
    }
    places.into_iter().map(|(place, roles)| format!("{}: {place}", roles.join(" and "))).collect()
}

fn settings(facts: &[Fact]) -> Option<String> {
    let is_locale = |fact: &&Fact| LOCALE.iter().any(|begin| fact.name.starts_with(begin));
    // A name without its value tells nothing; the record has it.
    let has_value = |fact: &&Fact| fact.values.iter().all(|value| !value.starts_with(NOT_RECORDED));
    let told: Vec<&Fact> = facts.iter().filter(|fact| !is_locale(fact)).filter(has_value).collect();
    // The value without its source, which the record has.
    let value = |value: &String| value.split(" (").next().unwrap_or_default().to_owned();
    let of_one = |fact: &&Fact| {
        format!("{}={}", fact.name, fact.values.iter().map(value).collect::<Vec<_>>().join(" | "))
    };
    let mut named: Vec<String> = told.iter().take(SETTINGS_MAX).map(of_one).collect();
    while named.len() > 1 && named.iter().map(|name| name.len() + 2).sum::<usize>() > SETTINGS_CHARS_MAX {
        named.pop();
    }
    let more = match told.len().saturating_sub(named.len()) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!named.is_empty()).then(|| format!("non-default settings: {}{more}", named.join(", ")))
}

/// One sentence per code: where only the values differ from run to run, that of the first.
fn cautions(results: &StudyResults, record: &Record) -> Vec<String> {
    let of = record.ended_run_count;
    let mut codes: Vec<&str> = Vec::new();
    for warning in &record.warnings {
        if !codes.contains(&warning.code.as_str()) {
            codes.push(&warning.code);
        }
    }
    let stored = codes.into_iter().map(|code| {
        let all: Vec<_> = record.warnings.iter().filter(|warning| warning.code == code).collect();
        let count: usize = all.iter().map(|warning| warning.run_count).sum();
        let text = &all[0].text;
        match (all.len(), count) {
            (1, count) if count == of => text.clone(),
            (1, count) => format!("{text} ({count} of {of} runs)"),
            (_, count) => format!("{text} (similar in {} of {of} runs)", count.min(of)),
        }
    });
    stored.chain(noise(results)).collect()
}

/// Who else used the CPUs while the counting runs were made.
fn noise(results: &StudyResults) -> Option<String> {
    let share = |run: &Run| {
        let online = run.environment.machine.pointer("/processors/online")?.as_array()?.len();
        let room_s = elapsed_s(run) * online as f64;
        (room_s > 0.0).then(|| (100.0 * run.metric("other_cpu_s").unwrap_or(0.0) / room_s).min(100.0))
    };
    let counting = results.runs.iter().filter(|stored| stored.counts());
    let shares: Vec<f64> = counting.filter_map(|stored| share(&stored.run)).collect();
    let mean = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
    (mean >= NOISY_FROM_PERCENT)
        .then(|| format!("noisy machine: {} % CPU used by other processes during the runs", percent(mean)))
}
