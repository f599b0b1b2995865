//! `fathom list`: experiments that come with fathom, or studies or checks that were made.

use disk::baseline::PUBLISHED_NAME;
use results::model::Scale;
use results::store::Store;

use super::checks;
use crate::Verdict;
use crate::arguments::ListArguments;
use crate::terminal::print;

pub(crate) fn run(arguments: &ListArguments) -> anyhow::Result<Verdict> {
    if arguments.checks {
        checks::list(arguments)
    } else if arguments.studies {
        studies(arguments)
    } else {
        experiments(arguments)
    }
}

fn experiments(arguments: &ListArguments) -> anyhow::Result<Verdict> {
    let mut rows = Vec::new();
    for shipped in lab::spec::shipped() {
        let experiment = lab::spec::Experiment::parse(shipped.name, shipped.text)
            .map_err(|error| anyhow::anyhow!("shipped experiment {}: {error}", shipped.name))?;
        rows.push((shipped, experiment));
    }
    if arguments.json {
        let list: Vec<_> = rows
            .iter()
            .map(|(shipped, experiment)| {
                serde_json::json!({
                    "name": shipped.name,
                    "published_as": shipped.published_as,
                    "kind": experiment.kind.word(),
                    "title": experiment.title,
                    "question": experiment.question,
                })
            })
            .collect();
        print(&format!("{}\n", serde_json::to_string_pretty(&list)?))?;
        return Ok(Verdict::Clean);
    }
    let width = rows.iter().map(|(shipped, _)| shipped.name.len()).max().unwrap_or(0);
    for (shipped, experiment) in &rows {
        print(&format!("{:width$}  {}\n", shipped.name, experiment.question))?;
    }
    print(&format!(
        "\nfathom io PATH measures {PUBLISHED_NAME} at once, as one table: it needs no database\n"
    ))?;
    print("fathom show NAME prints the spec; fathom run NAME --mini --dry-run says what would happen\n")?;
    Ok(Verdict::Clean)
}

fn studies(arguments: &ListArguments) -> anyhow::Result<Verdict> {
    let store = Store::open_read_only(&arguments.results.results)?;
    let studies = store.studies()?;
    if arguments.json {
        print(&format!("{}\n", serde_json::to_string_pretty(&studies)?))?;
        return Ok(Verdict::Clean);
    }
    for stored in &studies {
        let study = &stored.study;
        let counting = store.runs(stored.id)?.iter().filter(|run| run.counts()).count();
        let scale = if study.scale == Scale::Miniature { "miniature" } else { "full" };
        print(&format!(
            "study {}  {}Z  {} on {} ({scale}), seed {}, {} that count\n",
            stored.id.0,
            study.created_at.trim_end_matches('Z').split('.').next().unwrap_or_default(),
            study.experiment,
            study.engine,
            study.seed,
            super::run::counted(counting as u64, "run", "runs")
        ))?;
    }
    if studies.is_empty() {
        print(&format!("no study in \"{}\"\n", store.path().display()))?;
    }
    let check_count = store.checks()?.len();
    if check_count > 0 {
        print(&format!("checks: {check_count} (fathom list --checks)\n"))?;
    }
    Ok(Verdict::Clean)
}
