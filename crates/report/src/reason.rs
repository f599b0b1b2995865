//! Why a configuration took as long as it did: the dominant wait, what it stands for, and the counters that agree or
//! disagree, in sentences that carry their figures.
//!
//! Pure: stored runs in, sentences out. A limit is named only when at least half of the sessions' active time stands
//! for it; below that the parts are named and the answer is "not explained". Thresholds are constants below and are no
//! statistics: they decide which sentence is said, and every sentence shows the figures that it was decided on.

use results::model::Run;
use results::store::StudyResults;
use serde::Serialize;

use crate::catalogue::{Limit, READERS};
use crate::summary::cell_label;

mod checks;
mod evidence;
mod log_device;
#[cfg(test)]
mod made_up;
#[cfg(test)]
mod tests;

use checks::{Check, checks, counted, of_elapsed};
use evidence::{Evidence, Part};

/// Share of the active time that one limit needs to be named.
const NAMED_FROM: f64 = 0.5;

/// Share of the session time in which sessions wait for their client before that is the answer.
const CLIENT_FROM: f64 = 0.5;

/// Share of the elapsed time that log flushes need to be named as what the holders of a lock wait for.
const HOLDER_FROM: f64 = 0.5;

/// Share of the elapsed time that flushes, or pages being added, need before it matters what they waited for.
const STARVED_FROM: f64 = 0.1;

/// What the holder of the lock on new space does.
const EXTENDING: &str = "IO:DataFileExtend";

/// Why one configuration took as long as it did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellReason {
    /// Index within the study.
    pub cell_index: u32,
    /// `batch_size=10 connections=4`.
    pub label: String,
    /// What limits it; `None`: not explained.
    pub limit: Option<Limit>,
    /// Wait type with the most time, as `class:name`; `None` when no wait was seen.
    pub dominant_wait: Option<String>,
    /// Its share of the sessions' active time, in percent.
    pub dominant_percent: Option<f64>,
    /// The reason in words, each sentence with its figures; never empty.
    pub sentences: Vec<String>,
}

/// Explains each configuration that has counting runs in which something was looked at; the others are left out.
pub fn cells(results: &StudyResults) -> Vec<CellReason> {
    let explain = |cell: &results::model::Cell| {
        let runs: Vec<&Run> = results
            .runs
            .iter()
            .filter(|stored| stored.counts() && stored.run.key.cell_index == cell.index)
            .map(|stored| &stored.run)
            .collect();
        let was_looked_at = runs
            .iter()
            .any(|run| !run.observations.waits.is_empty() || !run.observations.samplers.is_empty());
        was_looked_at.then(|| {
            reason(cell.index, cell_label(results, cell.index), &Evidence::of(&results.study, &runs))
        })
    };
    results.cells.iter().filter_map(explain).collect()
}

/// The reasons as sentences, one paragraph per configuration.
pub fn sentences(results: &StudyResults) -> Vec<String> {
    cells(results).iter().map(CellReason::paragraph).collect()
}

impl CellReason {
    /// All sentences behind the label of the cell.
    pub fn paragraph(&self) -> String {
        format!("{}: {}", self.label, self.sentences.join(" "))
    }
}

fn reason(cell_index: u32, label: String, evidence: &Evidence) -> CellReason {
    let parts = evidence.parts();
    let limit = limit(evidence, &parts);
    let dominant = evidence.waits.first();
    let mut sentences = vec![verdict(evidence, &parts, limit)];
    sentences.extend(limit.and_then(|limit| meaning(evidence, limit)));
    if let Some(limit) = limit {
        sentences.extend(holders(evidence, limit));
        sentences.extend(starved(evidence, limit));
        let bytes = if limit == Limit::Log { log_device::bytes(evidence) } else { None };
        let mut checks = checks(evidence, limit);
        checks.extend(bytes.iter().flatten().cloned());
        sentences.extend(weighed(&checks));
        sentences.extend(bytes.and_then(Result::err).map(|reason| format!("Not shown: {reason}.")));
        sentences.extend(remedy(evidence, limit));
    }
    sentences.extend(checkpoints(evidence));
    CellReason {
        cell_index,
        label,
        limit,
        dominant_wait: dominant.map(|wait| wait.name.clone()),
        dominant_percent: dominant.and_then(|wait| evidence.percent_of_active(wait.resource_s)),
        sentences,
    }
}

/// What limits the configuration: from the waits where there are any, else from the counters alone.
fn limit(evidence: &Evidence, parts: &[Part]) -> Option<Limit> {
    if let Some(idle) = evidence.client_idle_share()
        && idle >= CLIENT_FROM
    {
        // Where no processor is free, a client that is late is waiting for one.
        let is_full = evidence.processors_busy().is_some_and(|share| share >= checks::PROCESSORS_FROM);
        return Some(if is_full { Limit::Cpu } else { Limit::Client });
    }
    if evidence.session_s > 0.0 {
        let largest = parts.first()?;
        let is_named = largest.share >= NAMED_FROM && largest.limit != Limit::Other;
        return is_named.then_some(largest.limit);
    }
    checks::from_counters(evidence)
}

fn verdict(evidence: &Evidence, parts: &[Part], limit: Option<Limit>) -> String {
    let how = if evidence.is_sampled { " (estimated from samples)" } else { "" };
    let Some(limit) = limit else { return not_explained(evidence, parts) };
    let idle = 100.0 * evidence.client_idle_share().unwrap_or(0.0);
    if limit == Limit::Cpu && idle >= 100.0 * CLIENT_FROM {
        return format!(
            "the limit is {}: sessions wait for their client for {idle:.1} % of their time{how}, and no processor is free for it.",
            limit.words()
        );
    }
    if limit == Limit::Client {
        return format!(
            "the limit is {}: sessions wait for their client for {idle:.1} % of their time{how}.",
            limit.words()
        );
    }
    if evidence.session_s <= 0.0 {
        return format!("the limit is {}, by its counters alone: no wait was recorded.", limit.words());
    }
    let share = parts.iter().find(|part| part.limit == limit).map_or(0.0, |part| 100.0 * part.share);
    if limit == Limit::Cpu {
        return format!(
            "the limit is {}, with {share:.1} % of the sessions' active time{how}: {}.",
            limit.words(),
            on_processors(evidence)
        );
    }
    let waits: Vec<String> = evidence
        .waits
        .iter()
        .filter(|wait| wait.limit == limit)
        .take(3)
        .filter_map(|wait| {
            let percent = evidence.percent_of_active(wait.resource_s)?;
            (percent >= 1.0).then(|| format!("{} {percent:.1} %", wait.name))
        })
        .collect();
    format!(
        "the limit is {}, with {share:.1} % of the sessions' active time{how}: {}.",
        limit.words(),
        waits.join(", ")
    )
}

/// How the time that stands for processors is made up. Where waits are not split nobody knows which part is whose.
fn on_processors(evidence: &Evidence) -> String {
    let percent = |seconds: Option<f64>| evidence.percent_of_active(seconds.unwrap_or(0.0)).unwrap_or(0.0);
    let (on, delayed) = (percent(evidence.on_cpu_s), percent(evidence.run_delay_s));
    if evidence.is_unsplit {
        return format!(
            "outside waits; the scheduler counted {on:.1} % on a processor and {delayed:.1} % ready without one, partly inside waits"
        );
    }
    let inside: f64 =
        evidence.waits.iter().filter(|wait| wait.limit == Limit::Cpu).map(|wait| wait.resource_s).sum();
    let inside = percent(Some(inside));
    let waits =
        if inside >= 0.05 { format!(", in waits that stand for them {inside:.1} %") } else { String::new() };
    format!("on a processor {on:.1} %, ready without one {delayed:.1} %{waits}")
}

/// Says the largest parts and what nothing accounts for.
fn not_explained(evidence: &Evidence, parts: &[Part]) -> String {
    if evidence.session_s <= 0.0 {
        return "not explained: no wait was recorded, and no counter stands out.".to_owned();
    }
    let named: Vec<String> = parts
        .iter()
        .take(3)
        .filter(|part| part.share >= 0.01)
        .map(|part| format!("{} {:.1} %", part.limit.words(), 100.0 * part.share))
        .collect();
    let unknown = 100.0 * (1.0 - parts.iter().map(|part| part.share).sum::<f64>()).max(0.0);
    let named = if named.is_empty() {
        "less than 1 % of it to anything with a name".to_owned()
    } else {
        named.join(", ")
    };
    let unknown =
        if unknown >= 0.05 { format!(", and nothing accounts for {unknown:.1} %") } else { String::new() };
    let dominant = evidence.waits.first().and_then(|wait| {
        let percent = evidence.percent_of_active(wait.resource_s)?;
        Some(format!(" The wait with the most time is {} with {percent:.1} %.", wait.name))
    });
    format!(
        "not explained: no limit has half of the sessions' active time; it went to {named}{unknown}.{}",
        dominant.unwrap_or_default()
    )
}

/// What the longest wait of the limit means on this engine.
fn meaning(evidence: &Evidence, limit: Limit) -> Option<String> {
    let wait = evidence.waits.iter().find(|wait| wait.limit == limit)?;
    let percent = evidence.percent_of_active(wait.resource_s)?;
    (percent >= 1.0).then(|| format!("In {} ({percent:.1} %) the session {}.", wait.name, wait.meaning))
}

/// What those who hold a lock wait for themselves: behind a lock stands the work of its holder.
fn holders(evidence: &Evidence, limit: Limit) -> Option<String> {
    if !matches!(limit, Limit::Lock | Limit::Page | Limit::Space) {
        return None;
    }
    let (extending, elapsed_s) = (evidence.times_elapsed(EXTENDING), evidence.elapsed_mean_s());
    if limit == Limit::Space && extending >= HOLDER_FROM {
        return Some(format!(
            "Behind it stands the data device: {EXTENDING} took {:.3} s of {elapsed_s:.3} s elapsed ({}), in which whoever held the lock wrote the new pages.",
            extending * elapsed_s,
            of_elapsed(extending)
        ));
    }
    let flush_s = evidence.mean("log_flush_s").filter(|seconds| *seconds > 0.0)?;
    let flushes = evidence.mean("log_flushes")?;
    let figures = format!(
        "{} took {flush_s:.3} s of {elapsed_s:.3} s elapsed ({})",
        counted(flushes, "flush", "flushes"),
        of_elapsed(flush_s / elapsed_s)
    );
    Some(if is_log_behind(evidence) {
        format!("Behind it stands the log: {figures}, in which whoever held the lock waited for the device.")
    } else {
        format!("The log is not behind it: {figures}.")
    })
}

/// Do flushes of the log fill so much of the time that those who hold locks must have waited for them?
fn is_log_behind(evidence: &Evidence) -> bool {
    evidence.mean("log_flush_s").is_some_and(|flush_s| flush_s / evidence.elapsed_mean_s() >= HOLDER_FROM)
}

/// A flush that was done while its session waited for a processor is the processors' time, and so is that of all who
/// waited for this session.
fn starved(evidence: &Evidence, limit: Limit) -> Option<String> {
    let first = |prefix: &str| evidence.waits.iter().find(|wait| wait.name.eq_ignore_ascii_case(prefix));
    let flush = match limit {
        Limit::Log => first("IO:WalSync")?,
        Limit::Space => first(EXTENDING)?,
        _ => return None,
    };
    let wait_s = flush.resource_s + flush.signal_s;
    (flush.signal_s > flush.resource_s && wait_s >= STARVED_FROM * evidence.elapsed_s).then(|| {
        format!(
            "Behind it stand the processors: of {wait_s:.3} s in {} sessions were ready, and had no processor, for {:.3} s ({:.1} %).",
            flush.name,
            flush.signal_s,
            100.0 * flush.signal_s / wait_s
        )
    })
}

fn weighed(checks: &[Check]) -> Vec<String> {
    let said = |agrees: bool| -> Vec<&str> {
        checks.iter().filter(|check| check.agrees == agrees).map(|check| check.text.as_str()).collect()
    };
    let mut sentences = Vec::new();
    for (agrees, word) in [(true, "Agrees"), (false, "Disagrees")] {
        let texts = said(agrees);
        if !texts.is_empty() {
            sentences.push(format!("{word}: {}.", texts.join("; ")));
        }
    }
    if checks.is_empty() {
        sentences.push("No counter was there to agree or disagree.".to_owned());
    }
    sentences
}

/// What to do next. Nothing that an experiment varies helps where others have the processors.
fn remedy(evidence: &Evidence, limit: Limit) -> Option<String> {
    if limit == Limit::Cpu && evidence.is_crowded() {
        return Some("Run it again on a quiet machine before anything else.".to_owned());
    }
    let behind = if limit == Limit::Lock && is_log_behind(evidence) { Limit::Log } else { limit };
    let (experiment, remedy) = if behind == Limit::DataDevice && is_reading(evidence) {
        // No other place makes fewer reads.
        let own = READERS.iter().find(|name| **name == evidence.experiment).unwrap_or(&READERS[0]);
        (*own, "rows that lie in the order of their keys, so that fewer pages are read")
    } else {
        behind.remedy()?
    };
    Some(if experiment == evidence.experiment {
        format!("This experiment tests a remedy, in its other configurations: {remedy}.")
    } else {
        format!("`fathom run {experiment}` would test a remedy: {remedy}.")
    })
}

/// Is the data device waited for by those who read, more than by those who write?
fn is_reading(evidence: &Evidence) -> bool {
    let first = evidence.waits.iter().find(|wait| wait.limit == Limit::DataDevice);
    first.is_some_and(|wait| wait.name.ends_with(":DataFileRead"))
}

fn checkpoints(evidence: &Evidence) -> Option<String> {
    let (count, runs) = evidence.total("checkpoints").filter(|(count, _)| *count > 0.0)?;
    let (pages, _) = evidence.total("checkpoint_pages")?;
    let all = if runs == 1 { String::new() } else { format!(" in {runs} runs") };
    Some(format!(
        "Meanwhile {}{all} wrote {}.",
        counted(count, "checkpoint", "checkpoints"),
        counted(pages, "page", "pages")
    ))
}
