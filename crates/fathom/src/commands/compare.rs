//! `fathom compare`: compares two studies or configurations; exit status 1 on a regression.

use std::path::Path;

use anyhow::bail;
use report::comparison::{ComparisonSummary, Options, OtherWork, Side, StudiesSummary, compare, studies};
use results::measure::Measure;
use results::store::{Store, StudyId};

use crate::arguments::{Better, CompareArguments, DEFAULT_THRESHOLD, ReportFormat};
use crate::cli::delivery::{Delivery, place};
use crate::cli::selection::Selection;
use crate::cli::stored;
use crate::cli::terminal::{form, say};
use crate::exit_status::ExitStatus;

pub(crate) fn run(arguments: &CompareArguments) -> anyhow::Result<ExitStatus> {
    let threshold_percent = threshold(&arguments.threshold)?;
    let selection = Selection::parse(&arguments.baseline)?;
    let named = arguments.metric.as_deref();
    let mut needs_latencies = named.is_some_and(|name| Measure::named(name).is_latency());
    let mut baseline = selection.read(&arguments.results.results, needs_latencies)?;
    let mut measure = named.map(|name| measure(name, arguments.better, &baseline));
    if measure.is_none() {
        // What the baseline compares, the others have to show as well.
        let own = Measure::of_study(&baseline.results.study);
        needs_latencies = own.is_latency();
        if needs_latencies {
            baseline = selection.read(&arguments.results.results, true)?;
            measure = Some(own);
        }
    }
    let read = |text: &String| Selection::parse(text)?.read(&arguments.results.results, needs_latencies);
    let candidates: Vec<Side> = arguments.candidates.iter().map(read).collect::<anyhow::Result<_>>()?;
    let options = Options { measure, threshold_percent };
    let shown = match candidates.as_slice() {
        [candidate] => Shown::Two(Box::new(compare(&baseline, candidate, &options))),
        _ => Shown::Many(Box::new(studies(&baseline, &candidates, &options))),
    };
    for (summary, name) in shown.comparisons().iter().zip(&arguments.candidates) {
        require_comparable(summary, &arguments.baseline, name, arguments.force)?;
    }
    let parts: Vec<&str> = ["compare", &arguments.baseline]
        .into_iter()
        .chain(arguments.candidates.iter().map(String::as_str))
        .collect();
    let delivery = Delivery {
        is_json: arguments.json,
        format: arguments.format,
        output: arguments.output.as_deref(),
        page: place(&arguments.results.results, &parts),
    };
    delivery.deliver(|format| Ok(shown.written(format, arguments.output.as_deref())))?;
    Ok(conclude(shown.comparisons()))
}

/// Two sides side by side, or a table of several studies.
enum Shown {
    Two(Box<ComparisonSummary>),
    Many(Box<StudiesSummary>),
}

impl Shown {
    fn comparisons(&self) -> &[ComparisonSummary] {
        match self {
            Self::Two(summary) => std::slice::from_ref(summary),
            Self::Many(summary) => &summary.comparisons,
        }
    }

    fn written(&self, format: ReportFormat, output: Option<&Path>) -> String {
        match self {
            Self::Two(summary) => match format {
                ReportFormat::Text => form(output).comparison(summary),
                ReportFormat::Markdown => report::markdown::comparison(summary),
                ReportFormat::Json => report::export::comparison_json(summary),
                ReportFormat::Html => report::html::comparison(summary),
                ReportFormat::Svg | ReportFormat::Png => report::html::comparison_svg(summary),
            },
            Self::Many(summary) => match format {
                ReportFormat::Text => form(output).studies(summary),
                ReportFormat::Markdown => report::markdown::studies(summary),
                ReportFormat::Json => report::export::studies_json(summary),
                ReportFormat::Html => report::html::studies(summary),
                ReportFormat::Svg | ReportFormat::Png => report::html::studies_svg(summary),
            },
        }
    }
}

/// Refuses sides that do other work, have nothing in common, or measured nothing that could be compared.
fn require_comparable(
    summary: &ComparisonSummary,
    baseline: &str,
    candidate: &str,
    is_forced: bool,
) -> anyhow::Result<()> {
    if !summary.other_work.is_empty() && !is_forced {
        let work: Vec<String> = summary.other_work.iter().map(OtherWork::words).collect();
        bail!(
            "\"{baseline}\" and \"{candidate}\" do different work: {}\nhint: --force compares them without a verdict",
            work.join("; ")
        );
    }
    if summary.pairs.is_empty() {
        bail!(
            "no configuration of \"{baseline}\" matches one of \"{candidate}\"\nhint: name one configuration on each side, \
             as in 3/batch_size=10"
        );
    }
    if summary.pairs.iter().all(|pair| pair.baseline.is_none() && pair.candidate.is_none()) {
        let why_not =
            summary.pairs.iter().find_map(|pair| pair.why_not.as_deref()).unwrap_or("no run counts");
        bail!("nothing can be compared: {why_not}\nhint: see `fathom explain METRIC` and `fathom export`");
    }
    Ok(())
}

/// Says what was lost, and finds the exit status: 1 on a regression, a lost configuration or a changed plan.
fn conclude(comparisons: &[ComparisonSummary]) -> ExitStatus {
    let mut status = ExitStatus::Clean;
    for summary in comparisons {
        let name = &summary.candidate.name;
        if summary.lost_count() > 0 {
            say(&format!("{} configurations of {name} have no run that counts", summary.lost_count()));
        }
        if summary.invalid_count() > 0 {
            say(&format!("{} comparisons of {name} are invalid: the plan changed", summary.invalid_count()));
        }
        let found = [summary.regression_count(), summary.lost_count(), summary.invalid_count()];
        if summary.other_work.is_empty() && found != [0; 3] {
            status = ExitStatus::Findings;
        }
    }
    status
}

/// The page that compares two studies of one results file, in the quantity that they compare themselves; `None` where no
/// configuration of one matches one of the other.
pub(crate) fn page(store: &Store, baseline: StudyId, candidate: StudyId) -> anyhow::Result<Option<String>> {
    let needs_latencies = Measure::of_study(&store.study(baseline)?).is_latency();
    let side = |id: StudyId| -> anyhow::Result<Side> {
        let results = match needs_latencies {
            true => store.study_results_with_histograms(id)?,
            false => stored::results(store, id)?,
        };
        Ok(Side { name: format!("study {}", id.0), study_id: id.0, results })
    };
    let options = Options { measure: None, threshold_percent: threshold(DEFAULT_THRESHOLD)? };
    let summary = compare(&side(baseline)?, &side(candidate)?, &options);
    Ok((!summary.pairs.is_empty()).then(|| report::html::comparison(&summary)))
}

/// Which way it improves is what the command line says, else the baseline's spec, else its name.
fn measure(name: &str, better: Option<Better>, baseline: &Side) -> Measure {
    let mut measure = Measure::in_study(name, &baseline.results.study);
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
