//! Results that were doubted or replaced.

use std::collections::BTreeMap;

use crate::model::{GateOutcome, RunState, StoredRun};
use crate::store::{CorrectedRun, Correction, Store, StoreError, StudyId};

impl Store {
    /// Lists results that were doubted or replaced, in the order in which they ran.
    ///
    /// These are the runs with a mark, and the ended runs whose place another one took. Interrupted runs measured
    /// nothing and are left out.
    ///
    /// # Errors
    /// A stored value cannot be read, or SQLite refuses.
    pub fn corrections(&self, study: StudyId) -> Result<Vec<Correction>, StoreError> {
        let runs = self.runs(study)?;
        let by_id: BTreeMap<i64, &StoredRun> = runs.iter().map(|stored| (stored.run_id, stored)).collect();
        let doubted = runs.iter().filter(|stored| {
            let ended = matches!(stored.run.state, RunState::Valid | RunState::Invalid);
            ended && (stored.suspect.is_some() || stored.superseded_by.is_some())
        });
        let correction = |old: &StoredRun| {
            let new = old.superseded_by.and_then(|run_id| by_id.get(&run_id).copied());
            let replaced_at = || new.unwrap_or(old).run.started_at.clone();
            Correction {
                old: corrected(old),
                new: new.map(corrected),
                reason: reason(old),
                at: old.suspect.as_ref().map_or_else(replaced_at, |mark| mark.marked_at.clone()),
            }
        };
        Ok(doubted.map(correction).collect())
    }
}

fn corrected(stored: &StoredRun) -> CorrectedRun {
    CorrectedRun {
        run_id: stored.run_id,
        key: stored.run.key,
        state: stored.run.state,
        elapsed_ns: stored.run.elapsed_ns,
        rows: if stored.run.scripts.is_empty() { stored.run.rows() } else { stored.run.transactions() },
    }
}

fn reason(old: &StoredRun) -> String {
    if let Some(mark) = &old.suspect {
        return mark.reason.clone();
    }
    let failed = old.run.gates.iter().filter(|gate| gate.outcome == GateOutcome::Failed);
    let failed: Vec<String> = failed.map(|gate| format!("{}: {}", gate.gate, gate.found)).collect();
    if failed.is_empty() { "run again".to_owned() } else { failed.join("; ") }
}
