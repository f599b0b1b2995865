//! The first sentence of a reason: the limit with the values that it was decided on, or where the time went instead.

use crate::summary::CeilingLine;
use results::observations::Limit;

use super::decision::{Basis, CLIENT_FROM, Decision};
use super::evidence::{Evidence, Part};

/// Says what was decided.
pub(super) fn sentence(
    evidence: &Evidence,
    parts: &[Part],
    decision: Decision,
    ceilings: &[&CeilingLine],
) -> String {
    let Some(limit) = decision.limit else { return not_explained(evidence, parts) };
    let how = if evidence.is_sampled { " (estimated from samples)" } else { "" };
    let words = limit.words();
    match decision.basis {
        Basis::IdleSessions => {
            let idle = 100.0 * evidence.client_idle_share().unwrap_or(0.0);
            let full = if limit == Limit::Cpu { ", and no CPU is idle" } else { "" };
            format!(
                "the limit is {words}: sessions wait for their client for {idle:.1} % of their time{how}{full}."
            )
        }
        Basis::DeviceMaximum => {
            let reached =
                ceilings.iter().find(|line| line.is_at_maximum()).map_or_else(String::new, |line| {
                    format!(": its device reached {:.0} % of its measured maximum", line.percent)
                });
            let waits = if evidence.session_s > 0.0 {
                "no limit accounts for half of the sessions' active time"
            } else {
                "no wait was recorded"
            };
            format!("the limit is {words}{reached}; {waits}.")
        }
        Basis::Counters if limit == Limit::Cpu => {
            let own = evidence.own_cpus().unwrap_or(0.0);
            let share = 100.0 * evidence.own_cpu_share().unwrap_or(0.0);
            format!(
                "the limit is {words}: the run's own processes used {own:.2} CPUs, {share:.1} % of the maximum of their \
                 threads; no wait was recorded."
            )
        }
        Basis::Counters | Basis::ServedRate => {
            format!("the limit is {words}, by counters only: no wait was recorded.")
        }
        Basis::Waits => {
            let share = parts.iter().find(|part| part.limit == limit).map_or(0.0, |part| 100.0 * part.share);
            let made_of =
                if limit == Limit::Cpu { on_processors(evidence) } else { largest_waits(evidence, limit) };
            format!("the limit is {words}, with {share:.1} % of the sessions' active time{how}: {made_of}.")
        }
    }
}

/// What the sessions of a served rate did besides: their idle time, and who had the CPUs where the machine was full.
pub(super) fn idle(evidence: &Evidence) -> Option<String> {
    let idle = 100.0 * evidence.client_idle_share().filter(|idle| *idle >= CLIENT_FROM)?;
    let others = evidence.processors_of_others().filter(|_| evidence.is_crowded());
    let others = others.map_or_else(String::new, |others| format!("; {}", by_others(evidence, others)));
    Some(format!("Sessions were idle until the next start for {idle:.1} % of their time{others}."))
}

fn by_others(evidence: &Evidence, others: f64) -> String {
    let of = evidence.processor_count.map_or_else(String::new, |count| format!(" of {count}"));
    format!("{others:.2}{of} CPUs were used by other processes")
}

/// The three longest waits of a limit.
fn largest_waits(evidence: &Evidence, limit: Limit) -> String {
    let of_limit = evidence.waits.iter().filter(|wait| wait.limit == limit).take(3);
    let waits = of_limit.filter_map(|wait| {
        let percent = evidence.percent_of_active(wait.resource_s)?;
        (percent >= 1.0).then(|| format!("{} {percent:.1} %", wait.name))
    });
    waits.collect::<Vec<_>>().join(", ")
}

/// How the time that stands for CPUs is made up. Where waits are not split nobody knows which part is whose.
fn on_processors(evidence: &Evidence) -> String {
    let percent = |seconds: Option<f64>| evidence.percent_of_active(seconds.unwrap_or(0.0)).unwrap_or(0.0);
    let (on, delayed) = (percent(evidence.on_cpu_s), percent(evidence.run_delay_s));
    if evidence.is_unsplit {
        return format!(
            "outside waits; the scheduler counted {on:.1} % on a CPU and {delayed:.1} % runnable, waiting for one, partly inside waits"
        );
    }
    let inside: f64 =
        evidence.waits.iter().filter(|wait| wait.limit == Limit::Cpu).map(|wait| wait.resource_s).sum();
    let inside = percent(Some(inside));
    let waits = if inside >= 0.05 { format!(", in CPU waits {inside:.1} %") } else { String::new() };
    format!("on a CPU {on:.1} %, runnable and waiting for one {delayed:.1} %{waits}")
}

/// Says the largest parts and what nothing accounts for.
fn not_explained(evidence: &Evidence, parts: &[Part]) -> String {
    if evidence.session_s <= 0.0 {
        return without_waits(evidence);
    }
    let named: Vec<String> = parts
        .iter()
        .take(3)
        .filter(|part| part.share >= 0.01)
        .map(|part| format!("{} {:.1} %", part.limit.words(), 100.0 * part.share))
        .collect();
    let unknown = 100.0 * (1.0 - parts.iter().map(|part| part.share).sum::<f64>()).max(0.0);
    let named =
        if named.is_empty() { "every named wait has less than 1 %".to_owned() } else { named.join(", ") };
    let unknown = if unknown >= 0.05 { format!(", unaccounted for {unknown:.1} %") } else { String::new() };
    let dominant = evidence.waits.first().and_then(|wait| {
        let percent = evidence.percent_of_active(wait.resource_s)?;
        Some(format!(" The top wait is {} with {percent:.1} %.", wait.name))
    });
    format!(
        "not explained: no limit accounts for half of the sessions' active time ({named}{unknown}).{}",
        dominant.unwrap_or_default()
    )
}

/// What the run's own processes and its device did, where no wait says what it waited for.
fn without_waits(evidence: &Evidence) -> String {
    let own = evidence.own_cpus().map(|own| format!("the run's own processes used {own:.2} CPUs"));
    let device = evidence
        .busiest_device()
        .map(|(device, share)| format!("device {device} was busy for {:.1} % of the time", 100.0 * share));
    let others = evidence.processors_of_others().filter(|_| evidence.is_crowded());
    let others = others.map(|others| by_others(evidence, others));
    let known: Vec<String> = own.into_iter().chain(device).chain(others).collect();
    if known.is_empty() {
        return "not explained: no wait was recorded, and no CPU time or device was counted.".to_owned();
    }
    format!("not explained: no wait was recorded. {}.", capitalised(&known.join("; ")))
}

pub(super) fn capitalised(sentence: &str) -> String {
    let mut characters = sentence.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}
