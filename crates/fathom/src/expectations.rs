//! Holds the claims of a spec against what was measured.

use std::collections::BTreeMap;

use lab::run::FLUSHES_IGNORED;
use lab::spec::claim::{Claim, ClaimOutcome, Difference, Figures};
use report::summary::{ALPHA, ExpectationOutcome, ExpectationState};
use results::measure::Measure;
use results::model::{Cell, Expectation, Run, Scale, StoredRun};
use results::store::StudyResults;
use stats::compare::{BlockedValue, Direction, compare_in_blocks};
use stats::verdict::{Verdict, verdicts};

/// One outcome per expectation of the study, in the order of the spec.
pub(crate) fn evaluate(results: &StudyResults) -> Vec<ExpectationOutcome> {
    let figures = StudyFigures::new(results);
    results
        .study
        .expectations
        .iter()
        .map(|expectation| {
            let (state, detail) = outcome(expectation, results, &figures);
            ExpectationOutcome { claim: expectation.claim.clone(), state, detail }
        })
        .collect()
}

fn outcome(
    expectation: &Expectation,
    results: &StudyResults,
    figures: &StudyFigures<'_>,
) -> (ExpectationState, String) {
    let not_checked = |why: String| (ExpectationState::NotChecked, why);
    if let Some(scope) = expectation.scope.filter(|scope| *scope != results.study.scale) {
        let word = if scope == Scale::Full { "full" } else { "miniature" };
        return not_checked(format!("claimed at {word} scale only"));
    }
    if let Some(reason) = expectation.requires.as_deref().and_then(|need| unmet(need, figures)) {
        return not_checked(reason);
    }
    let Some(check) = &expectation.check else {
        return not_checked(match &expectation.valid_for {
            Some(valid_for) => format!("not computed; holds for {valid_for}"),
            // The command line took away what it compares, or there never was a formula.
            None => "not computed: this study has no values for it".to_owned(),
        });
    };
    let claim = match Claim::parse(check) {
        Ok(claim) => claim,
        Err(error) => return not_checked(error.title),
    };
    let valid_for = |text: String| match &expectation.valid_for {
        Some(valid_for) => format!("{text} (claimed for {valid_for})"),
        None => text,
    };
    match claim.evaluate(&results.study.factors, &results.cells, figures) {
        ClaimOutcome::Holds { found } => (ExpectationState::Held, found),
        ClaimOutcome::Broken { found } => (ExpectationState::NotHeld, valid_for(found)),
        ClaimOutcome::NotShown { reason } => not_checked(reason),
    }
}

/// Why the machine does not meet what a claim requires; `None` when it does.
fn unmet(requirement: &str, figures: &StudyFigures<'_>) -> Option<String> {
    let warned =
        |code: &str| figures.runs().any(|run| run.warnings.iter().any(|warning| warning.code == code));
    match requirement {
        "durable_commit" if warned(FLUSHES_IGNORED) => {
            Some("this device does not wait for flushes, so commits cost no disk time".to_owned())
        }
        "separate_devices" if warned("roles_share_device") => Some("data and log share a device".to_owned()),
        _ => None,
    }
}

/// The runs that count, by cell.
struct StudyFigures<'a> {
    by_cell: BTreeMap<u32, Vec<&'a Run>>,
    seed: u64,
}

impl<'a> StudyFigures<'a> {
    fn new(results: &'a StudyResults) -> Self {
        let mut by_cell: BTreeMap<u32, Vec<&Run>> = BTreeMap::new();
        for stored in results.runs.iter().filter(|stored| StoredRun::counts(stored)) {
            by_cell.entry(stored.run.key.cell_index).or_default().push(&stored.run);
        }
        Self { by_cell, seed: results.study.seed }
    }

    fn runs(&self) -> impl Iterator<Item = &'a Run> + '_ {
        self.by_cell.values().flatten().copied()
    }

    /// Value of a metric in every counting run of a cell; `None` unless all of them have it.
    fn values(&self, metric: &str, cell: &Cell) -> Option<Vec<BlockedValue>> {
        let runs = self.by_cell.get(&cell.index)?;
        runs.iter()
            .map(|run| Some(BlockedValue { block: run.key.block_index, value: value(run, metric)? }))
            .collect()
    }
}

impl Figures for StudyFigures<'_> {
    fn mean(&self, metric: &str, cell: &Cell) -> Option<f64> {
        let values = self.values(metric, cell)?;
        let sum: f64 = values.iter().map(|value| value.value).sum();
        (!values.is_empty()).then(|| sum / values.len() as f64)
    }

    fn difference(&self, metric: &str, cell: &Cell, other: &Cell) -> Option<Difference> {
        let (one, two) = (self.values(metric, cell)?, self.values(metric, other)?);
        let comparison = compare_in_blocks(&one, &two, Direction::SmallerIsBetter, ALPHA, self.seed).ok()?;
        let decision = verdicts(&[comparison], ALPHA).ok()?.pop()?;
        Some(match decision.verdict {
            Verdict::Better | Verdict::Worse => Difference::Shown,
            Verdict::NoDifferenceShown => Difference::NotShown,
            Verdict::TooFewRuns => Difference::TooFewRuns,
        })
    }
}

fn value(run: &Run, metric: &str) -> Option<f64> {
    match metric {
        "rows" => Some(run.rows() as f64),
        "transactions" => Some(run.transactions() as f64),
        // What is no measure, since it can only be equal, is a number of the run all the same.
        name => Measure::named(name).value(run).or_else(|| run.metric(name)),
    }
}
