//! `fathom run --find-max-rate`: the highest rate that holds an objective, by studies of one rate each.

mod objective;
mod outcome;
mod probe;
mod shown;

use std::ffi::OsString;

use anyhow::{Context, bail};
use lab::assignment::Assignment;
use lab::engine::Provider;
use results::model::RunState;
use results::store::{Store, StudyId};
use results::wording::counted;
use stats::rate_search::{Next, Search};

use super::conducting::{Announcement, Conductor, unused_seed, with_conductor};
use super::dry_run;
use super::resolving::{self, Changes};
use crate::arguments::RunArguments;
use crate::cli::preview::{Preview, nearest_existing, sync_latency_ns, time_text};
use crate::cli::terminal::{print, print_json, say};
use crate::cli::{permission, resumption};
use crate::exit_status::ExitStatus;
use crate::targets::default_base;
use objective::Objective;
use outcome::{Outcome, Start};
use probe::Probe;

/// Runs at each rate unless `--repetitions` says otherwise.
const REPEATS: u32 = 3;

/// What a search came to.
enum Searched {
    Done(Box<Outcome>),
    /// The user stopped it; the seed resumes it.
    Stopped(u64),
}

pub(super) fn run(
    arguments: &RunArguments,
    choice: &dyn Provider,
    words: &[OsString],
) -> anyhow::Result<ExitStatus> {
    let objectives: Vec<Objective> =
        arguments.max_rate.slo.iter().map(|text| Objective::parse(text)).collect::<Result<_, _>>()?;
    let plan = Plan { arguments, choice, objectives };
    let first = plan.assignment(None, arguments.seed)?;
    plan.require(&first)?;
    let announcement = plan.announcement(&first)?;
    if arguments.dry_run {
        announcement.iter().try_for_each(|line| print(&format!("{line}\n")))?;
        return Ok(ExitStatus::Clean);
    }
    permission::require(&first.resolved().commands, arguments.allow_commands)?;
    announcement.iter().for_each(|line| say(line));
    let name = first.resolved().name.clone();
    let message = |searched: &Searched| match searched {
        Searched::Done(outcome) => shown::sentence(outcome, &plan.objectives),
        Searched::Stopped(_) => "the search was stopped by the user".to_owned(),
    };
    let searched = with_conductor(arguments, choice, &name, message, |store, conductor| {
        plan.search(store, conductor, first)
    })?;
    match searched {
        Searched::Done(outcome) => {
            if arguments.json {
                let json = shown::json(&outcome, &plan.objectives);
                print_json(&format!("{}\n", serde_json::to_string_pretty(&json)?))?;
            } else {
                print(&shown::text(&outcome, &plan.objectives))?;
            }
            Ok(ExitStatus::Clean)
        }
        Searched::Stopped(seed) => {
            say("Interrupted. Completed runs are saved; this command resumes the search:");
            say(&format!("  {}", resumption::command(words.iter().cloned(), seed)));
            Ok(ExitStatus::Stopped)
        }
    }
}

/// What is searched, and on what.
struct Plan<'a> {
    arguments: &'a RunArguments,
    choice: &'a dyn Provider,
    objectives: Vec<Objective>,
}

impl Plan<'_> {
    fn repeats(&self) -> u32 {
        self.arguments.repetitions.unwrap_or(REPEATS)
    }

    /// The study of a rate, or of the closed loop.
    fn assignment(&self, rate_per_s: Option<f64>, seed: u64) -> anyhow::Result<Assignment> {
        let changes = Changes {
            parameters: rate_per_s.map(|rate| ("rate".to_owned(), rate.to_string())).into_iter().collect(),
            repetitions: Some(if rate_per_s.is_some() { self.repeats() } else { 1 }),
        };
        Ok(resolving::assignment(self.arguments, self.choice, &changes)?.with_seed(seed))
    }

    /// Refuses what has no one rate.
    fn require(&self, first: &Assignment) -> anyhow::Result<()> {
        let precision = self.arguments.max_rate.rate_precision;
        if !(0.1..=100.0).contains(&precision) {
            bail!("--rate-precision takes 0.1 to 100 percent, found {precision}");
        }
        let count = first.cells().len();
        if count != 1 {
            let names: Vec<String> = first.factors().into_iter().map(|factor| factor.name).collect();
            bail!(
                "{} has {count} configurations, and a search has one\nhint: give each of these one level with --set: {}",
                first.resolved().name,
                names.join(", ")
            );
        }
        if first.resolved().repeat_until.is_some() {
            bail!("a spec with [repeat_until] has no fixed number of runs at each rate\nhint: leave it out");
        }
        Ok(())
    }

    /// The rate that the spec has, where it has one.
    fn rate_of_spec(first: &Assignment) -> Option<f64> {
        first.cells().first().and_then(|cell| first.work(cell, 0).rate_per_s)
    }

    fn searching(&self, start: Start) -> Search {
        let options = &self.arguments.max_rate;
        let precision = options.rate_precision / 100.0;
        match start {
            Start::Capacity(rate, _) => Search::below(rate, self.repeats(), precision, options.rates_max),
            Start::Rate(rate) => Search::around(rate, self.repeats(), precision, options.rates_max),
        }
    }

    /// What is done, and how long that takes.
    fn announcement(&self, first: &Assignment) -> anyhow::Result<Vec<String>> {
        let base = nearest_existing(&default_base(&self.arguments.results.results)?);
        let store = Store::open_read_only(&self.arguments.results.results).ok();
        let latency = sync_latency_ns(&first.resolved().layout, &base);
        let preview = Preview::of(first, store.as_ref(), latency)?;
        if !self.arguments.dry_run {
            dry_run::require_space(first, &preview.estimate, &base, self.arguments.ignore_space)?;
        }
        // The number of rates does not depend on the capacity.
        let (search, closed) = match Self::rate_of_spec(first) {
            Some(rate) => (self.searching(Start::Rate(rate)), 0),
            None => (self.searching(Start::Capacity(1.0, StudyId(0))), 1),
        };
        let runs = |rates: u32| closed + u64::from(rates) * u64::from(self.repeats());
        let time = |rates: u32| match preview.estimate.seconds {
            Some((low, high)) => {
                let runs = runs(rates) as f64;
                format!("{} to {}", time_text(low * runs), time_text(high * runs))
            }
            None => "a time that is not known".to_owned(),
        };
        let texts: Vec<String> = self.objectives.iter().map(ToString::to_string).collect();
        let (expected, bound) = (search.rates_expected(), search.rates_bound());
        let beginning = if closed == 1 { "a run in a closed loop, then rates" } else { "rates" };
        Ok(vec![
            format!("{}: highest rate with {}", first.resolved().name, texts.join(" and ")),
            format!("search: {beginning} with {} each", counted(u64::from(self.repeats()), "run")),
            format!(
                "expected: {} ({}); at most {} ({})",
                counted(runs(expected), "run"),
                time(expected),
                counted(runs(bound), "run"),
                time(bound)
            ),
        ])
    }

    fn search(
        &self,
        store: &mut Store,
        conductor: &mut Conductor<'_>,
        first: Assignment,
    ) -> anyhow::Result<Searched> {
        let first = if self.arguments.again { unused_seed(store, first)? } else { first };
        let seed = first.seed();
        let start = match Self::rate_of_spec(&first) {
            Some(rate) => Start::Rate(rate),
            None => match self.capacity(store, conductor, &first)? {
                Some(start) => start,
                None => return Ok(Searched::Stopped(seed)),
            },
        };
        let search = self.searching(start);
        let mut probes: Vec<Probe> = Vec::new();
        let end = loop {
            let tried: Vec<_> = probes.iter().map(Probe::tried).collect();
            match search.next(&tried)? {
                Next::Done(end) => break end,
                Next::Rate(rate) => match self.probe(store, conductor, rate, seed)? {
                    Some(probe) => probes.push(probe),
                    None => return Ok(Searched::Stopped(seed)),
                },
            }
        };
        let tried: Vec<_> = probes.iter().map(Probe::tried).collect();
        let found = search.found(&tried);
        Ok(Searched::Done(Box::new(Outcome { start, search, probes, found, end })))
    }

    /// What the clients reach in a closed loop; `None` where the user stopped it.
    fn capacity(
        &self,
        store: &mut Store,
        conductor: &mut Conductor<'_>,
        first: &Assignment,
    ) -> anyhow::Result<Option<Start>> {
        let (study, outcome) = conductor.conduct(store, first, Announcement::None)?;
        if outcome.stopped {
            return Ok(None);
        }
        let runs = store.runs(study)?;
        let run = runs.iter().find(|run| run.counts() && run.run.state == RunState::Valid);
        let run = &run
            .with_context(|| {
                format!(
                    "no run in a closed loop is valid (study {}): there is no rate to begin with",
                    study.0
                )
            })?
            .run;
        let seconds = run.elapsed_ns as f64 / 1e9;
        let capacity = run.transactions() as f64 / seconds;
        if !(capacity.is_finite() && capacity > 0.0) {
            bail!("the run in a closed loop has no transactions (study {})", study.0);
        }
        Ok(Some(Start::Capacity(capacity, study)))
    }

    /// The runs of a rate, stored ones where there are; `None` where the user stopped them.
    fn probe(
        &self,
        store: &mut Store,
        conductor: &mut Conductor<'_>,
        rate: f64,
        seed: u64,
    ) -> anyhow::Result<Option<Probe>> {
        let assignment = self.assignment(Some(rate), seed)?;
        let read = |store: &Store| Probe::read(store, &assignment, rate, &self.objectives);
        let mut found = read(store)?;
        if found.is_none() {
            let (_, outcome) = conductor.conduct(store, &assignment, Announcement::None)?;
            if outcome.stopped {
                return Ok(None);
            }
            found = read(store)?;
        }
        let probe = found.with_context(|| format!("runs at {rate} transactions/s are missing"))?;
        say(&shown::line(&probe, &self.objectives));
        Ok(Some(probe))
    }
}
