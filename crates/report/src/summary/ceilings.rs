//! What the runs reached beside what the device alone gave: the figure of a database as a percentage.

use std::collections::BTreeSet;

use results::ceiling::{
    CeilingPattern, StoredCeiling, SyncCall, data_write_bytes, devices_of_role, flush_bytes,
};
use results::engine::WriteModel;
use results::model::{Cell, Level, Run};
use results::store::StudyResults;
use serde::Serialize;

use crate::reason::CellReason;
use results::observations::Limit;

/// From this share on the device is said to be the limit.
const LIMIT_PERCENT: f64 = 80.0;

/// Up to this share above 100 the device still is; one that varies gives that much more from one second to the next.
const VARIES_PERCENT: f64 = 115.0;

/// A ceiling whose transfers differ by more in size from those of the runs is not one of their pattern.
const SIZE_FACTOR_MAX: f64 = 1.25;

/// One configuration beside one ceiling.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CeilingLine {
    /// Index of the cell within the study.
    pub cell_index: u32,
    /// Label of the cell.
    pub label: String,
    /// `log`, for flushes, or `data`, for bytes written to data files.
    pub role: String,
    /// What the device did in the ceiling's measurement, e.g. `fdatasync of 8192 bytes`.
    pub pattern: String,
    /// Bytes of one flush or write of the runs, by their counters; absent where these are missing.
    pub own_bytes: Option<f64>,
    /// What is counted: `flushes/s` or `MiB/s`.
    pub unit: &'static str,
    /// Mean of the counting runs.
    pub achieved: f64,
    /// What the device alone gave.
    pub possible: f64,
    /// `achieved` in percent of `possible`.
    pub percent: f64,
    /// Do the ceiling's transfers have the size of the runs' own? Else nothing is concluded.
    #[serde(skip)]
    is_own_pattern: bool,
    /// The limit of the configuration, where it is this device; absent where something else, or nothing, is.
    pub limit: Option<Limit>,
    /// What the percentage says, where it says something: the device is the limit, or it cannot be a share.
    pub conclusion: Option<String>,
    /// All of it in words: `fdatasync 1,112 of 1,190 possible per second (93 %): the log device is the limit`.
    pub sentence: String,
    /// Why the ceiling is doubtful, as sentences.
    pub flags: Vec<String>,
}

impl CeilingLine {
    /// Did the device reach its measured maximum, within what it varies by?
    pub(crate) fn is_at_maximum(&self) -> bool {
        self.is_own_pattern && (LIMIT_PERCENT..=VARIES_PERCENT).contains(&self.percent)
    }

    /// The limit that this device is where it is one.
    pub(crate) fn device_limit(&self) -> Limit {
        if self.role == "log" { Limit::Log } else { Limit::DataDevice }
    }

    /// Says what the share means beside what was decided about the configuration.
    fn conclude(&mut self, decided: Option<Limit>) {
        let is_limit = self.is_at_maximum() && decided == Some(self.device_limit());
        self.limit = decided.filter(|_| is_limit);
        self.conclusion = if self.is_own_pattern { conclusion(self, is_limit, decided) } else { None };
        if let Some(conclusion) = &self.conclusion {
            self.sentence = format!("{}: {conclusion}", self.sentence);
        }
    }
}

/// Adds to each line what it means: the limit is what the reasons decided, and no line says another.
pub(super) fn conclude(lines: &mut [CeilingLine], reasons: &[CellReason]) {
    for line in lines {
        let reason = reasons.iter().find(|reason| reason.cell_index == line.cell_index);
        line.conclude(reason.and_then(|reason| reason.limit));
    }
}

/// All lines of a study, without conclusions: cells in their order, the log before the data. Empty without ceilings.
pub(crate) fn measured(results: &StudyResults) -> Vec<CeilingLine> {
    let mut lines = Vec::new();
    for cell in &results.cells {
        let runs: Vec<&Run> = results
            .runs
            .iter()
            .filter(|stored| stored.counts() && stored.run.key.cell_index == cell.index)
            .map(|stored| &stored.run)
            .collect();
        lines.extend(log_line(results, cell, &runs));
        lines.extend(data_line(results, cell, &runs));
    }
    lines
}

/// Flushes of the log beside durable appends of the size that a flush had.
fn log_line(results: &StudyResults, cell: &Cell, runs: &[&Run]) -> Option<CeilingLine> {
    let seconds = mean(runs, |run| Some(run.elapsed_ns as f64 / 1e9))?;
    let flushes = mean(runs, |run| run.metric("log_flushes")).filter(|flushes| *flushes > 0.0)?;
    let writes = WriteModel::of(&results.study.engine);
    let own_bytes = mean(runs, |run| flush_bytes(writes, run))?;
    let devices = devices_of(runs, "log")?;
    let call = SyncCall::of_run(runs.first()?)?;
    if runs.iter().any(|run| SyncCall::of_run(run) != Some(call)) {
        return None;
    }
    let on_device = results.ceilings.iter().filter(|ceiling| devices.contains(&ceiling.device));
    let appends = on_device.filter_map(|ceiling| match ceiling.pattern {
        CeilingPattern::Appends { method, size_bytes, fills_first } if method == call => {
            Some((ceiling, size_bytes, fills_first))
        }
        CeilingPattern::Appends { .. } => None,
        CeilingPattern::Writes { .. } => None,
    });
    let (ceiling, size_bytes, fills_first) =
        appends.min_by(|a, b| factor_off(a.1, own_bytes).total_cmp(&factor_off(b.1, own_bytes)))?;
    let log = if fills_first { "in a preallocated log" } else { "that extend their file" };
    let asked = Asked {
        pattern: format!("{} of {size_bytes} bytes {log}", call.name()),
        size_bytes,
        own_bytes: Some(own_bytes),
        unit: "flushes/s",
        subject: call.name(),
        decimals: 0,
    };
    line(cell, ceiling, asked, flushes / seconds, ceiling.per_s)
}

/// Bytes written to data files beside page writes of the device.
fn data_line(results: &StudyResults, cell: &Cell, runs: &[&Run]) -> Option<CeilingLine> {
    let seconds = mean(runs, |run| Some(run.elapsed_ns as f64 / 1e9))?;
    let written = mean(runs, |run| {
        run.metric("data_written_bytes")
            .or_else(|| run.metric("checkpoint_pages").map(|pages| 8192.0 * pages))
    });
    let written = written.filter(|bytes| *bytes > 0.0)?;
    let writes = WriteModel::of(&results.study.engine);
    let own_bytes = mean(runs, |run| data_write_bytes(writes, run));
    // Where the scripts of a user write is not known.
    let is_random =
        workload(results, cell).is_none_or(|workload| ["random-insert", "own"].contains(&workload));
    let devices = devices_of(runs, "data")?;
    let on_device = results.ceilings.iter().filter(|ceiling| devices.contains(&ceiling.device));
    let writes = on_device.filter_map(|ceiling| match ceiling.pattern {
        CeilingPattern::Writes { transfer_bytes, random_percent, outstanding } => {
            Some((ceiling, transfer_bytes, random_percent > 0, outstanding))
        }
        CeilingPattern::Appends { .. } => None,
    });
    // The place first, then the size.
    let distance = |&(_, transfer_bytes, at_random, _): &(&StoredCeiling, u64, bool, u32)| {
        let size_off = own_bytes.map_or(1.0, |own_bytes| factor_off(transfer_bytes, own_bytes));
        (at_random != is_random, size_off)
    };
    let (ceiling, size_bytes, at_random, outstanding) = writes.min_by(|a, b| {
        let (a, b) = (distance(a), distance(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    })?;
    // What several devices give together, each for the same pattern.
    let of_device = |device: &String| {
        let of_pattern = |other: &&StoredCeiling| other.device == *device && other.pattern == ceiling.pattern;
        results.ceilings.iter().find(of_pattern).map(StoredCeiling::bytes_per_s)
    };
    let possible: f64 = devices.iter().map(of_device).sum::<Option<f64>>()?;
    let place = if at_random { "random" } else { "sequential" };
    let mebibyte = f64::from(1 << 20);
    let asked = Asked {
        pattern: format!("{place} writes of {size_bytes} bytes, depth {outstanding}"),
        size_bytes,
        own_bytes,
        unit: "MiB/s",
        subject: "writes to data files",
        decimals: 1,
    };
    let mut line = line(cell, ceiling, asked, written / mebibyte / seconds, possible / mebibyte)?;
    if devices.len() > 1 {
        line.flags.push(format!("the ceiling is the sum of {} devices", devices.len()));
    }
    Some(line)
}

/// Devices that held a role in the runs of a cell; `None` unless all runs name the same.
fn devices_of(runs: &[&Run], role: &str) -> Option<BTreeSet<String>> {
    let first = devices_of_role(runs.first()?, role);
    let is_same = runs.iter().all(|run| devices_of_role(run, role) == first);
    (is_same && !first.is_empty()).then_some(first)
}

/// What a line is about.
struct Asked {
    pattern: String,
    size_bytes: u64,
    own_bytes: Option<f64>,
    unit: &'static str,
    subject: &'static str,
    decimals: usize,
}

fn line(
    cell: &Cell,
    ceiling: &StoredCeiling,
    asked: Asked,
    achieved: f64,
    possible: f64,
) -> Option<CeilingLine> {
    if !(possible > 0.0 && achieved.is_finite()) {
        return None;
    }
    let percent = 100.0 * achieved / possible;
    let mut flags = ceiling.flags.clone();
    let is_own_pattern =
        asked.own_bytes.is_none_or(|own_bytes| factor_off(asked.size_bytes, own_bytes) <= SIZE_FACTOR_MAX);
    if let Some(own_bytes) = asked.own_bytes.filter(|_| !is_own_pattern) {
        flags.push(format!(
            "the ceiling is that of {}, but a run transferred {own_bytes:.0} bytes: the share is not of the same \
             pattern",
            asked.pattern
        ));
    }
    let per = if asked.unit == "flushes/s" { "per second" } else { asked.unit };
    let Asked { subject, decimals, .. } = asked;
    let (reached, most) = (grouped(achieved, decimals), grouped(possible, decimals));
    Some(CeilingLine {
        cell_index: cell.index,
        label: cell.label(),
        role: ceiling.role.clone(),
        pattern: asked.pattern,
        own_bytes: asked.own_bytes,
        unit: asked.unit,
        achieved,
        possible,
        percent,
        is_own_pattern,
        limit: None,
        conclusion: None,
        sentence: format!("{subject} {reached} of {most} possible {per} ({percent:.0} %)"),
        flags,
    })
}

/// What a share says: nothing below [`LIMIT_PERCENT`]; above 100 that it is no share.
fn conclusion(line: &CeilingLine, is_limit: bool, decided: Option<Limit>) -> Option<String> {
    let role = &line.role;
    let words = match decided {
        _ if is_limit => format!("the {role} device is the limit"),
        Some(limit) => {
            format!("the {role} device is near its maximum, and {}", limit.sessions())
        }
        None => format!("the {role} device is near its maximum"),
    };
    match line.percent {
        percent if percent > VARIES_PERCENT => Some(format!(
            "above 100 %: the {role} device was slower while it was measured alone, or a \
             cache absorbed the writes of the runs"
        )),
        percent if percent > 100.0 => {
            Some(format!("{words}; above 100 % because the device was slower while it was measured alone"))
        }
        percent if percent >= LIMIT_PERCENT => Some(words),
        _ => None,
    }
}

/// By which factor a size is off, 1 being equal.
fn factor_off(size_bytes: u64, own_bytes: f64) -> f64 {
    let factor = size_bytes as f64 / own_bytes.max(1.0);
    factor.max(1.0 / factor.max(f64::MIN_POSITIVE))
}

/// The workload of a cell, as a factor or fixed.
fn workload<'a>(results: &'a StudyResults, cell: &'a Cell) -> Option<&'a str> {
    let parameters = cell.levels.iter().chain(&results.study.fixed);
    parameters.filter(|(name, _)| name == "workload").find_map(|(_, level)| match level {
        Level::Text(text) => Some(text.as_str()),
        _ => None,
    })
}

/// `1,112`.
fn grouped(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut out = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + fraction
}

/// Mean over the runs; `None` unless every run has the figure.
fn mean(runs: &[&Run], figure: impl Fn(&Run) -> Option<f64>) -> Option<f64> {
    let figures: Option<Vec<f64>> = runs.iter().map(|run| figure(run)).collect();
    let figures = figures.filter(|figures| !figures.is_empty())?;
    Some(figures.iter().sum::<f64>() / figures.len() as f64)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn line_of(percent: f64, size_bytes: u64) -> CeilingLine {
        let ceiling = StoredCeiling {
            role: "log".to_owned(),
            device: "vda".to_owned(),
            pattern: CeilingPattern::Appends { method: SyncCall::Fdatasync, size_bytes, fills_first: true },
            per_s: 1190.0,
            latency_ns_mean: 0.0,
            latency_ns_p99: 0,
            measured_unix_s: 0,
            flags: Vec::new(),
        };
        let asked = Asked {
            pattern: format!("fdatasync of {size_bytes} bytes in a preallocated log"),
            size_bytes,
            own_bytes: Some(8192.0),
            unit: "flushes/s",
            subject: "fdatasync",
            decimals: 0,
        };
        let cell = Cell { index: 0, levels: Vec::new() };
        let mut line = line(&cell, &ceiling, asked, 1190.0 * percent / 100.0, 1190.0).unwrap();
        line.conclude(Some(Limit::Log));
        line
    }

    #[test]
    fn a_device_is_named_the_limit_only_near_its_ceiling() {
        assert_eq!(
            line_of(93.445, 8192).sentence,
            "fdatasync 1,112 of 1,190 possible per second (93 %): the log device is the limit"
        );
        assert_eq!(line_of(26.0, 8192).sentence, "fdatasync 309 of 1,190 possible per second (26 %)");
        assert_eq!(line_of(26.0, 8192).conclusion, None);
    }

    #[test]
    fn a_share_above_one_hundred_is_said_to_be_none() {
        let little = line_of(104.0, 8192).sentence;
        assert!(
            little.ends_with(
                "the limit; above 100 % because the device was slower while it was measured alone"
            )
        );
        let much = line_of(150.0, 8192).sentence;
        assert!(much.contains("(150 %): above 100 %: the"), "{much}");
    }

    #[test]
    fn a_ceiling_of_another_size_concludes_nothing_and_says_so() {
        let other = line_of(150.0, 65_536);
        assert_eq!(other.conclusion, None);
        assert!(other.flags[0].contains("a run transferred 8192 bytes"), "{:?}", other.flags);
        assert_eq!(line_of(90.0, 8704).flags, Vec::<String>::new());
    }

    #[test]
    fn thousands_are_set_apart() {
        let words = [(1.0, 0), (999.6, 0), (1_234_567.0, 0), (1234.56, 1), (0.04, 1)]
            .map(|(value, decimals)| grouped(value, decimals));
        assert_eq!(words, ["1", "1,000", "1,234,567", "1,234.6", "0.0"]);
    }
}
