//! Why a configuration took as long as it did: the dominant wait, what it stands for, and the counters that agree or
//! disagree, in sentences that carry their figures.
//!
//! Pure: stored runs in, sentences out. `decision` says once what the limit is, and on what; ceilings, charts and the
//! answer read it from here. A limit is named only when at least half of the sessions' active time stands for it; below
//! that the parts are named and the answer is "not explained". Thresholds are constants and no statistics: they decide
//! which sentence is said, and every sentence shows the values that it was decided on.

use results::model::Run;
use results::observations::Limit;
use results::store::StudyResults;

use crate::catalogue::{Catalogue, READERS};
use crate::summary::{CeilingLine, ceilings, cell_label};

mod cell;
mod checks;
mod decision;
mod evidence;
mod log_device;
mod log_place;
#[cfg(test)]
pub(crate) mod made_up;
mod offered;
#[cfg(test)]
mod tests;
mod verdict;

use checks::{Check, checks, counted, of_elapsed};
use decision::{Basis, Decision, decide};
use evidence::Evidence;

pub use cell::CellReason;
pub use offered::OfferedRate;

/// Share of the elapsed time that log flushes need to be named as what the holders of a lock wait for.
const HOLDER_FROM: f64 = 0.5;

/// Share of the elapsed time that flushes, or pages being added, need before it matters what they waited for.
const STARVED_FROM: f64 = 0.1;

/// Explains each configuration that has counting runs in which something was sampled, or whose device reached its
/// measured maximum; the others are left out.
pub fn cells(results: &StudyResults, catalogue: &Catalogue) -> Vec<CellReason> {
    beside(results, catalogue, &ceilings::measured(results))
}

/// As [`cells`], with the ceilings that were computed already.
pub(crate) fn beside(
    results: &StudyResults,
    catalogue: &Catalogue,
    ceilings: &[CeilingLine],
) -> Vec<CellReason> {
    let explain = |cell: &results::model::Cell| {
        let runs: Vec<&Run> = results
            .runs
            .iter()
            .filter(|stored| stored.counts() && stored.run.key.cell_index == cell.index)
            .map(|stored| &stored.run)
            .collect();
        let own: Vec<&CeilingLine> = ceilings.iter().filter(|line| line.cell_index == cell.index).collect();
        let was_sampled = runs
            .iter()
            .any(|run| !run.observations.waits.is_empty() || !run.observations.samplers.is_empty());
        (was_sampled || own.iter().any(|line| line.is_at_maximum())).then(|| {
            let evidence = Evidence::of(results, catalogue, cell.index, &runs);
            reason(cell.index, cell_label(results, cell.index), &evidence, &own)
        })
    };
    results.cells.iter().filter_map(explain).collect()
}

/// The reasons as sentences, one paragraph per configuration.
pub fn sentences(results: &StudyResults, catalogue: &Catalogue) -> Vec<String> {
    cells(results, catalogue).iter().map(CellReason::paragraph).collect()
}

fn reason(cell_index: u32, label: String, evidence: &Evidence, ceilings: &[&CeilingLine]) -> CellReason {
    let parts = evidence.parts();
    let decision = decide(evidence, &parts, ceilings);
    let Decision { limit, basis } = decision;
    let dominant = evidence.waits.first();
    let mut sentences = Vec::new();
    sentences.extend(evidence.offered_rate.map(|rate| rate.sentence()));
    if basis == Basis::ServedRate {
        sentences.extend(verdict::idle(evidence));
    } else {
        let mut sentence = verdict::sentence(evidence, &parts, decision, ceilings);
        // The first sentence stands behind the label of the cell, further ones behind a full stop.
        if !sentences.is_empty() {
            sentence = verdict::capitalised(&sentence);
        }
        sentences.push(sentence);
    }
    sentences.extend(limit.and_then(|limit| meaning(evidence, limit)));
    if let Some(limit) = limit {
        sentences.extend(holders(evidence, limit));
        sentences.extend(starved(evidence, limit));
        let bytes = if limit == Limit::Log { log_device::bytes(evidence) } else { None };
        // The run's own CPU time is the verdict already, and how busy the machine is adds nothing to it.
        if (limit, basis) != (Limit::Cpu, Basis::Counters) {
            let mut checks = checks(evidence, limit);
            checks.extend(maximum(limit, basis, ceilings));
            checks.extend(bytes.iter().flatten().cloned());
            sentences.extend(weighed(&checks));
        }
        sentences.extend(bytes.and_then(Result::err).map(|reason| format!("Not tested: {reason}.")));
        sentences.extend(remedy(evidence, limit));
    }
    sentences.extend(checkpoints(evidence));
    CellReason {
        cell_index,
        label,
        limit,
        offered_rate: evidence.offered_rate,
        dominant_wait: dominant.map(|wait| wait.name.clone()),
        dominant_percent: dominant.and_then(|wait| evidence.percent_of_active(wait.resource_s)),
        sentences,
    }
}

/// A device at its measured maximum agrees with the limit that it is, and disagrees with another device or the CPUs.
/// Behind a lock, a page or a client it may stand all the same.
fn maximum(limit: Limit, basis: Basis, ceilings: &[&CeilingLine]) -> Vec<Check> {
    let speaks = matches!(limit, Limit::Log | Limit::DataDevice | Limit::Cpu) && basis == Basis::Waits;
    let at_maximum = ceilings.iter().filter(|line| speaks && line.is_at_maximum());
    let check = |line: &&CeilingLine| Check {
        agrees: line.device_limit() == limit,
        text: format!("the {} device reached {:.0} % of its measured maximum", line.role, line.percent),
    };
    at_maximum.map(check).collect()
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
    let elapsed_s = evidence.elapsed_mean_s();
    let extending = if limit == Limit::Space { evidence.device_work(limit) } else { None };
    let share = extending.map_or(0.0, |wait| wait.resource_s / evidence.elapsed_s);
    if let Some(wait) = extending.filter(|_| share >= HOLDER_FROM) {
        return Some(format!(
            "Cause: the data device. {} took {:.3} s of {elapsed_s:.3} s elapsed ({}), in which the lock holder wrote the new pages.",
            wait.name,
            share * elapsed_s,
            of_elapsed(share)
        ));
    }
    let flush_s = evidence.mean("log_flush_s").filter(|seconds| *seconds > 0.0)?;
    let flushes = evidence.mean("log_flushes")?;
    let numbers = format!(
        "{} took {flush_s:.3} s of {elapsed_s:.3} s elapsed ({})",
        counted(flushes, "flush", "flushes"),
        of_elapsed(flush_s / elapsed_s)
    );
    Some(if is_log_behind(evidence) {
        format!("Cause: the log. {numbers}, in which the lock holder waited for the device.")
    } else {
        format!("The log is not the cause: {numbers}.")
    })
}

/// Do flushes of the log fill so much of the time that those who hold locks must have waited for them?
fn is_log_behind(evidence: &Evidence) -> bool {
    evidence.mean("log_flush_s").is_some_and(|flush_s| flush_s / evidence.elapsed_mean_s() >= HOLDER_FROM)
}

/// A flush that was done while its session waited for a processor is the processors' time, and so is that of all who
/// waited for this session.
fn starved(evidence: &Evidence, limit: Limit) -> Option<String> {
    if !matches!(limit, Limit::Log | Limit::Space) {
        return None;
    }
    let flush = evidence.device_work(limit)?;
    let wait_s = flush.resource_s + flush.signal_s;
    (flush.signal_s > flush.resource_s && wait_s >= STARVED_FROM * evidence.elapsed_s).then(|| {
        format!(
            "Cause: CPU. Of {wait_s:.3} s in {} sessions were runnable without a CPU for {:.3} s ({:.1} %).",
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
        sentences.push("No counter is available to confirm this.".to_owned());
    }
    sentences
}

/// What to do next. Nothing that an experiment varies helps where others have the processors.
fn remedy(evidence: &Evidence, limit: Limit) -> Option<String> {
    if limit == Limit::Cpu && evidence.is_crowded() {
        return Some("Repeat it on a quiet machine first.".to_owned());
    }
    let behind = if limit == Limit::Lock && is_log_behind(evidence) { Limit::Log } else { limit };
    let (experiment, remedy) = if behind == Limit::DataDevice && is_reading(evidence) {
        // No other place makes fewer reads.
        let own = READERS.iter().find(|name| **name == evidence.experiment).unwrap_or(&READERS[0]);
        (*own, "rows in key order, so that fewer pages are read")
    } else {
        behind.remedy()?
    };
    Some(if experiment == evidence.experiment {
        format!("Other configurations of this experiment test a remedy: {remedy}.")
    } else {
        format!("`fathom run {experiment}` would test a remedy: {remedy}.")
    })
}

/// Is the data device waited for by those who read, more than by those who write?
fn is_reading(evidence: &Evidence) -> bool {
    let first = evidence.waits.iter().find(|wait| wait.limit == Limit::DataDevice);
    first.is_some_and(|wait| wait.is_read)
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
