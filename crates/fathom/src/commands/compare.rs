//! `fathom compare`: compares two studies or configurations; exit status 1 on a regression.

use anyhow::bail;
use report::comparison::{Options, OtherWork, compare};
use results::measure::Measure;

use crate::arguments::{Better, CompareArguments, ReportFormat};
use crate::cli::delivery::{Delivery, place};
use crate::cli::selection::Selection;
use crate::cli::terminal::{form, say};
use crate::exit_status::ExitStatus;

pub(crate) fn run(arguments: &CompareArguments) -> anyhow::Result<ExitStatus> {
    let threshold_percent = threshold(&arguments.threshold)?;
    let measure = arguments.metric.as_deref().map(|name| measure(name, arguments.better));
    let needs_latencies = measure.as_ref().is_some_and(Measure::is_latency);
    let read = |text: &str| Selection::parse(text)?.read(&arguments.results.results, needs_latencies);
    let (baseline, candidate) = (read(&arguments.baseline)?, read(&arguments.candidate)?);
    let summary = compare(&baseline, &candidate, &Options { measure, threshold_percent });
    if !summary.other_work.is_empty() && !arguments.force {
        let work: Vec<String> = summary.other_work.iter().map(OtherWork::words).collect();
        bail!(
            "\"{}\" and \"{}\" do different work: {}\nhint: --force compares them without a verdict",
            arguments.baseline,
            arguments.candidate,
            work.join("; ")
        );
    }
    if summary.pairs.is_empty() {
        bail!(
            "no configuration of \"{}\" matches one of \"{}\"\nhint: name one configuration on each side, as in 3/batch_size=10",
            arguments.baseline,
            arguments.candidate
        );
    }
    if summary.pairs.iter().all(|pair| pair.baseline.is_none() && pair.candidate.is_none()) {
        let why_not =
            summary.pairs.iter().find_map(|pair| pair.why_not.as_deref()).unwrap_or("no run counts");
        bail!("nothing can be compared: {why_not}\nhint: see `fathom explain METRIC` and `fathom export`");
    }
    let delivery = Delivery {
        is_json: arguments.json,
        format: arguments.format,
        output: arguments.output.as_deref(),
        page: place(&arguments.results.results, &["compare", &arguments.baseline, &arguments.candidate]),
    };
    delivery.deliver(|format| {
        Ok(match format {
            ReportFormat::Text => form(arguments.output.as_deref()).comparison(&summary),
            ReportFormat::Markdown => report::markdown::comparison(&summary),
            ReportFormat::Json => report::export::comparison_json(&summary),
            ReportFormat::Html => report::html::comparison(&summary),
            ReportFormat::Svg | ReportFormat::Png => report::html::comparison_svg(&summary),
        })
    })?;
    if summary.lost_count() > 0 {
        say(&format!("{} configurations of the candidate have no run that counts", summary.lost_count()));
    }
    if summary.invalid_count() > 0 {
        say(&format!("{} comparisons are invalid: the plan changed", summary.invalid_count()));
    }
    if !summary.other_work.is_empty() {
        return Ok(ExitStatus::Clean);
    }
    let is_clean = [summary.regression_count(), summary.lost_count(), summary.invalid_count()] == [0; 3];
    Ok(if is_clean { ExitStatus::Clean } else { ExitStatus::Findings })
}

fn measure(name: &str, better: Option<Better>) -> Measure {
    let mut measure = Measure::named(name);
    if let Some(better) = better {
        measure.is_smaller_better = better == Better::Smaller;
    }
    measure
}

/// A percentage of at least zero, with or without its sign.
fn threshold(text: &str) -> anyhow::Result<f64> {
    match text.trim().trim_end_matches('%').trim().parse::<f64>() {
        Ok(percent) if percent.is_finite() && percent >= 0.0 => Ok(percent),
        _ => bail!("threshold \"{text}\" is not a percentage of zero or more\nhint: write 5 or 5%"),
    }
}
