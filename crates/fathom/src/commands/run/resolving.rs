//! From arguments to an assignment: the experiment, what the command line changes in it, and the target.

use anyhow::Context;
use lab::assignment::Assignment;
use lab::engine::{Layout, Provider};
use lab::observe::external::ExternalCommand;
use lab::schedule::{Decision, RepeatUntil};
use lab::spec::{Experiment, Request, Resolved, Wanted};
use results::model::Scale;

use crate::arguments::RunArguments;
use crate::cli::quantities;
use crate::commands::show;
use crate::scripts;

/// What is changed in the experiment of the command line.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes {
    /// Parameters, in place of those that the command line sets.
    pub(super) parameters: Vec<(String, String)>,
    /// Repetitions in place of those of the command line.
    pub(super) repetitions: Option<u32>,
}

/// The experiment of the command line with its target, ready to run.
///
/// # Errors
/// Whatever is wrong with the arguments or the experiment.
pub(super) fn assignment(
    arguments: &RunArguments,
    choice: &dyn Provider,
    changes: &Changes,
) -> anyhow::Result<Assignment> {
    let (resolved, samplers_of_spec) = resolve(arguments, choice, changes)?;
    let no_progress =
        quantities::time_above_zero("--no-progress-after", &arguments.notify.no_progress_after)?;
    let mut assignment = Assignment::new(resolved, choice.servers(), &choice.identity(), arguments.seed);
    assignment.no_progress = Some(no_progress);
    assignment.samplers = samplers_of_spec;
    assignment.samplers.extend(samplers(arguments)?);
    Ok(assignment)
}

fn samplers(arguments: &RunArguments) -> anyhow::Result<Vec<ExternalCommand>> {
    let parse =
        |text: &String| ExternalCommand::parse(text).map_err(|reason| anyhow::anyhow!("--sampler: {reason}"));
    arguments.sampler.iter().map(parse).collect()
}

/// The experiment as it will run, and the samplers that its spec names.
fn resolve(
    arguments: &RunArguments,
    choice: &dyn Provider,
    changes: &Changes,
) -> anyhow::Result<(Resolved, Vec<ExternalCommand>)> {
    let experiment = experiment(arguments)?;
    let mut overrides = scripts::overrides(arguments)?;
    overrides.retain(|(name, _)| changes.parameters.iter().all(|(changed, _)| changed != name));
    overrides.extend(changes.parameters.iter().cloned());
    let request = Request {
        scale: if arguments.mini { Scale::Miniature } else { experiment.scales()[0] },
        overrides,
        engine: choice.engine(),
        repetitions: changes.repetitions.or(arguments.repetitions),
        repeat_until: repeat_until(arguments)?,
        wanted: Wanted { metric: arguments.metric.clone(), against: arguments.against.clone() },
        layout: Layout { data: absolute(&arguments.data)?, log: absolute(arguments.log.as_slice())?.pop() },
        server_is_foreign: choice.is_foreign(),
    };
    let resolved = experiment.resolve(&request).map_err(|error| anyhow::anyhow!("{error}"))?;
    Ok((resolved, experiment.samplers))
}

/// The scripts of the command line as an experiment, or the experiment that it names.
fn experiment(arguments: &RunArguments) -> anyhow::Result<Experiment> {
    let read = match scripts::spec_text(arguments)? {
        Some((name, text)) => Experiment::parse(&name, &text),
        None => {
            let named = scripts::experiment(arguments)?;
            let (name, text) = show::spec_text(named)?;
            Experiment::parse_with(&name, &text, show::files_of(named).as_ref())
        }
    };
    read.map_err(|error| anyhow::anyhow!("{error}"))
}

fn repeat_until(arguments: &RunArguments) -> anyhow::Result<Option<RepeatUntil>> {
    let Some(words) = arguments.repeat_until else { return Ok(None) };
    if arguments.margin.is_some() && !words.is_decided {
        anyhow::bail!(
            "--margin has no meaning without decisions\nhint: write --repeat-until decision --margin 5"
        );
    }
    let decision = Decision { margin: arguments.margin.map(|percent| percent / 100.0) };
    Ok(Some(RepeatUntil {
        half_width_percent: words.half_width_percent,
        decision: words.is_decided.then_some(decision),
        blocks_max: arguments.repeat_max,
    }))
}

fn absolute(directories: &[std::path::PathBuf]) -> anyhow::Result<Vec<std::path::PathBuf>> {
    directories
        .iter()
        .map(|directory| {
            std::path::absolute(directory)
                .with_context(|| format!("could not use directory \"{}\"", directory.display()))
        })
        .collect()
}
