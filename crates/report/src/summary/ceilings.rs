//! What the runs reached beside what the device alone gave: the figure of a database as a percentage.

use results::ceiling::{CeilingPattern, StoredCeiling};
use results::model::Run;
use results::store::StudyResults;
use serde::Serialize;

/// From this share on the device is said to be the limit.
const LIMIT_PERCENT: f64 = 80.0;

/// One configuration beside one ceiling.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CeilingLine {
    /// Label of the cell.
    pub label: String,
    /// `log`, for flushes, or `data`, for bytes written to data files.
    pub role: String,
    /// What the device did in the ceiling's measurement, e.g. `fdatasync of 8192 bytes`.
    pub pattern: String,
    /// What is counted: `flushes/s` or `MiB/s`.
    pub unit: &'static str,
    /// Mean of the counting runs.
    pub achieved: f64,
    /// What the device alone gave.
    pub possible: f64,
    /// `achieved` in percent of `possible`.
    pub percent: f64,
    /// Why the ceiling is doubtful, as sentences.
    pub flags: Vec<String>,
}

impl CeilingLine {
    /// `fdatasync of 8192 bytes: 1,112 of 1,190 possible flushes/s (93 %): the log device is the limit`.
    pub fn words(&self) -> String {
        let limit = match self.percent {
            percent if percent > 120.0 => {
                ": more than was possible before, the device was not the same or its cache took them"
            }
            percent if percent >= LIMIT_PERCENT => match self.role.as_str() {
                "log" => ": the log device is the limit",
                _ => ": the data device is the limit",
            },
            _ => "",
        };
        format!(
            "{}: {:.0} of {:.0} possible {} ({:.0} %){limit}",
            self.pattern, self.achieved, self.possible, self.unit, self.percent
        )
    }
}

/// All lines of a study: cells in their order, the log before the data. Empty without ceilings.
pub(super) fn lines(results: &StudyResults) -> Vec<CeilingLine> {
    let mut lines = Vec::new();
    for cell in &results.cells {
        let runs: Vec<&Run> = results
            .runs
            .iter()
            .filter(|stored| stored.counts() && stored.run.key.cell_index == cell.index)
            .map(|stored| &stored.run)
            .collect();
        lines.extend(log_line(&cell.label(), &runs, &results.ceilings));
        lines.extend(data_line(&cell.label(), &runs, &results.ceilings));
    }
    lines
}

/// Flushes of the log beside durable appends of the size that a flush had.
fn log_line(label: &str, runs: &[&Run], ceilings: &[StoredCeiling]) -> Option<CeilingLine> {
    let seconds = mean(runs, |run| Some(run.elapsed_ns as f64 / 1e9))?;
    let flushes = mean(runs, |run| run.metric("log_flushes")).filter(|flushes| *flushes > 0.0)?;
    let flush_bytes = mean(runs, |run| run.metric("log_bytes"))? / flushes;
    let mut appends: Vec<(u64, &StoredCeiling)> = ceilings
        .iter()
        .filter_map(|ceiling| match ceiling.pattern {
            CeilingPattern::Appends { size_bytes } => Some((size_bytes, ceiling)),
            CeilingPattern::Writes { .. } => None,
        })
        .collect();
    appends.sort_by_key(|(size_bytes, _)| *size_bytes);
    let fitting = appends.iter().find(|(size_bytes, _)| *size_bytes as f64 >= flush_bytes);
    let (size_bytes, ceiling) = *fitting.or(appends.last())?;
    line(
        label,
        ceiling,
        format!("fdatasync of {size_bytes} bytes"),
        "flushes/s",
        flushes / seconds,
        ceiling.per_s,
    )
}

/// Bytes written to data files beside page writes of the device.
fn data_line(label: &str, runs: &[&Run], ceilings: &[StoredCeiling]) -> Option<CeilingLine> {
    let seconds = mean(runs, |run| Some(run.elapsed_ns as f64 / 1e9))?;
    let written = mean(runs, |run| {
        run.metric("data_written_bytes")
            .or_else(|| run.metric("checkpoint_pages").map(|pages| 8192.0 * pages))
    });
    let written = written.filter(|bytes| *bytes > 0.0)?;
    let (ceiling, pattern) = ceilings.iter().find_map(|ceiling| match ceiling.pattern {
        CeilingPattern::Writes { transfer_bytes, random_percent, outstanding } => {
            let place = if random_percent > 0 { "random" } else { "sequential" };
            Some((ceiling, format!("{place} writes of {transfer_bytes} bytes, {outstanding} outstanding")))
        }
        CeilingPattern::Appends { .. } => None,
    })?;
    let mebibyte = f64::from(1 << 20);
    let possible = ceiling.bytes_per_s() / mebibyte;
    line(label, ceiling, pattern, "MiB/s", written / mebibyte / seconds, possible)
}

fn line(
    label: &str,
    ceiling: &StoredCeiling,
    pattern: String,
    unit: &'static str,
    achieved: f64,
    possible: f64,
) -> Option<CeilingLine> {
    (possible > 0.0 && achieved.is_finite()).then(|| CeilingLine {
        label: label.to_owned(),
        role: ceiling.role.clone(),
        pattern,
        unit,
        achieved,
        possible,
        percent: 100.0 * achieved / possible,
        flags: ceiling.flags.clone(),
    })
}

/// Mean over the runs; `None` unless every run has the figure.
fn mean(runs: &[&Run], figure: impl Fn(&Run) -> Option<f64>) -> Option<f64> {
    let figures: Option<Vec<f64>> = runs.iter().map(|run| figure(run)).collect();
    let figures = figures.filter(|figures| !figures.is_empty())?;
    Some(figures.iter().sum::<f64>() / figures.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line_of(percent: f64) -> CeilingLine {
        CeilingLine {
            label: "all".to_owned(),
            role: "log".to_owned(),
            pattern: "fdatasync of 8192 bytes".to_owned(),
            unit: "flushes/s",
            achieved: 1190.0 * percent / 100.0,
            possible: 1190.0,
            percent,
            flags: Vec::new(),
        }
    }

    #[test]
    fn a_device_is_named_the_limit_only_near_its_ceiling_and_not_beyond_it() {
        let words = line_of(93.4).words();
        assert_eq!(
            words,
            "fdatasync of 8192 bytes: 1111 of 1190 possible flushes/s (93 %): the log device is the limit"
        );
        assert!(line_of(26.0).words().ends_with("(26 %)"));
        assert!(line_of(150.0).words().contains("more than was possible"));
    }
}
