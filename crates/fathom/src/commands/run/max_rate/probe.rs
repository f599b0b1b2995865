//! What the runs of one rate showed.

use anyhow::Context;
use lab::assignment::Assignment;
use results::model::{GateOutcome, Run, RunState};
use results::store::{Store, StudyId};
use stats::rate_search::Tried;

use super::objective::{Objective, unkept};

/// A rate and its runs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Probe {
    pub(super) rate_per_s: f64,
    pub(super) study: StudyId,
    pub(super) runs: Vec<ProbeRun>,
}

/// One run at a rate.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ProbeRun {
    pub(super) run_id: i64,
    /// Value of each objective.
    pub(super) values: Vec<f64>,
    /// Why it does not hold; `None` where it does.
    pub(super) failure: Option<String>,
}

impl Probe {
    /// What the search needs to know of it.
    pub(super) fn tried(&self) -> Tried {
        let held = self.runs.iter().map(|run| run.failure.is_none()).collect();
        Tried { rate_per_s: self.rate_per_s, held }
    }

    /// Runs that hold.
    pub(super) fn held(&self) -> usize {
        self.runs.iter().filter(|run| run.failure.is_none()).count()
    }

    /// Reads what is stored of a rate; `None` while a run is missing. A run that failed its gates as often as it may be
    /// tried again is there: it did not hold.
    ///
    /// # Errors
    /// A stored run cannot be read.
    pub(super) fn read(
        store: &Store,
        assignment: &Assignment,
        rate_per_s: f64,
        objectives: &[Objective],
    ) -> anyhow::Result<Option<Self>> {
        let Some(study) = store.find_study(&assignment.key())? else { return Ok(None) };
        let resolved = assignment.resolved();
        let stored = store.runs(study)?;
        let mut runs = Vec::new();
        for block in 0..resolved.repetitions {
            let of_block = || stored.iter().filter(|run| run.run.key.block_index == block);
            let invalid = || of_block().filter(|run| run.run.state == RunState::Invalid);
            if let Some(counting) = of_block().find(|run| run.counts()) {
                runs.push(judge(store, counting.run_id, objectives)?);
            } else if invalid().count() >= resolved.validity.attempts as usize {
                let last = invalid().next_back().context("a run that failed its gates is gone")?;
                runs.push(judge(store, last.run_id, objectives)?);
            } else {
                return Ok(None);
            }
        }
        Ok(Some(Self { rate_per_s, study, runs }))
    }
}

fn judge(store: &Store, run_id: i64, objectives: &[Objective]) -> anyhow::Result<ProbeRun> {
    let run = store.run(run_id)?.run;
    let values: Vec<_> = objectives.iter().map(|objective| objective.value(&run)).collect();
    let missed = objectives.iter().zip(&values).find(|(_, value)| !value.holds);
    let failure = failed_gate(&run).or_else(|| unkept(&run)).or_else(|| {
        missed.map(|(objective, value)| match value.value.is_finite() {
            true => format!("{objective}: {:.3} {}", value.value, objective.unit()),
            false => format!("{objective}: transactions were not started or failed"),
        })
    });
    Ok(ProbeRun { run_id, values: values.iter().map(|value| value.value).collect(), failure })
}

fn failed_gate(run: &Run) -> Option<String> {
    if run.state == RunState::Valid {
        return None;
    }
    let failed = run.gates.iter().find(|gate| gate.outcome == GateOutcome::Failed);
    Some(failed.map_or("it is not valid".to_owned(), |gate| format!("gate {}", gate.gate)))
}
