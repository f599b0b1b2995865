//! `fathom history`: one figure over all studies of an experiment, with the changes marked.

use anyhow::bail;
use report::comparison::{Side, restrict};
use report::history::history;
use results::measure::Measure;
use results::store::Store;

use crate::arguments::{HistoryArguments, ReportFormat};
use crate::cli::delivery::{Delivery, place};
use crate::cli::stored;
use crate::cli::terminal::form;
use crate::exit_status::ExitStatus;

pub(crate) fn run(arguments: &HistoryArguments) -> anyhow::Result<ExitStatus> {
    let store = Store::open_read_only(&arguments.results.results)?;
    let experiment = match &arguments.experiment {
        Some(name) => name.clone(),
        None => stored::find(&store, None)?.study.experiment,
    };
    let wanted = levels(arguments.only.as_deref().unwrap_or_default())?;
    let wanted_metric = arguments.metric.as_deref().map(Measure::named);
    let sides = sides(&store, &experiment, &wanted, wanted_metric.as_ref())?;
    let Some(latest) = sides.last() else {
        bail!(
            "\"{}\" has no study of \"{experiment}\"\nhint: `fathom list --studies` lists them",
            store.path().display()
        );
    };
    let measure = match &wanted_metric {
        Some(wanted) => Measure::in_study(&wanted.name, &latest.results.study),
        None => Measure::of_study(&latest.results.study),
    };
    let history = history(&sides, &measure);
    if history.series.is_empty() {
        bail!(
            "no run of \"{experiment}\" that counts measured \"{}\"\nhint: `fathom export` lists what is stored",
            measure.name
        );
    }
    let delivery = Delivery {
        is_json: arguments.json,
        format: arguments.format,
        output: arguments.output.as_deref(),
        page: place(&arguments.results.results, &["history", &experiment, &measure.name]),
    };
    delivery.deliver(|format| {
        Ok(match format {
            ReportFormat::Text => form(arguments.output.as_deref()).history(&history),
            ReportFormat::Markdown => report::markdown::history(&history),
            ReportFormat::Json => report::export::history_json(&history),
            ReportFormat::Html => report::html::history(&history),
            ReportFormat::Svg | ReportFormat::Png => report::html::history_svg(&history),
        })
    })?;
    Ok(ExitStatus::Clean)
}

/// The page of the history of an experiment, of the quantity that its latest study compares; `None` where no run counts.
pub(crate) fn page(store: &Store, experiment: &str) -> anyhow::Result<Option<String>> {
    let sides = sides(store, experiment, &[], None)?;
    let Some(latest) = sides.last() else { return Ok(None) };
    let history = history(&sides, &Measure::of_study(&latest.results.study));
    Ok((!history.series.is_empty()).then(|| report::html::history(&history)))
}

/// All studies of the experiment in the order of time, those configurations that were asked for.
fn sides(
    store: &Store,
    experiment: &str,
    wanted: &[(String, String)],
    wanted_metric: Option<&Measure>,
) -> anyhow::Result<Vec<Side>> {
    let mut studies = store.studies()?;
    studies.retain(|stored| stored.study.experiment == experiment);
    studies.sort_by(|one, other| (&one.study.created_at, one.id).cmp(&(&other.study.created_at, other.id)));
    // The latest study says what is compared; older ones may not have asked for latencies.
    let latest = studies.last().map(|stored| Measure::of_study(&stored.study));
    let needs_latencies = wanted_metric.or(latest.as_ref()).is_some_and(|measure| measure.is_latency());
    let mut sides = Vec::new();
    let mut refusal = None;
    for stored in studies {
        let results = match needs_latencies {
            true => store.study_results_with_histograms(stored.id)?,
            false => store.study_results(stored.id)?,
        };
        let results = match restrict(&results, wanted) {
            Ok(results) => results,
            // Another study of the same experiment may have other levels.
            Err(reason) => {
                refusal = Some(reason);
                continue;
            }
        };
        sides.push(Side { name: format!("study {}", stored.id.0), study_id: stored.id.0, results });
    }
    match refusal {
        Some(reason) if sides.is_empty() => bail!("{reason}"),
        _ => Ok(sides),
    }
}

fn levels(text: &str) -> anyhow::Result<Vec<(String, String)>> {
    let mut levels = Vec::new();
    for level in text.split(',').filter(|level| !level.is_empty()) {
        let Some((name, value)) = level.split_once('=') else {
            bail!("\"{level}\" is not a level\nhint: write factor=level");
        };
        levels.push((name.trim().to_owned(), value.trim().to_owned()));
    }
    Ok(levels)
}
