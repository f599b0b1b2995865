//! Who measured a run: fathom, or another tool whose results were imported.

use crate::model::{Run, RunState, Study};

/// Gate of every imported run, which does not apply: another tool measured it.
pub const GATE: &str = "measured_by_fathom";

impl Run {
    /// Did another tool measure it?
    pub fn is_imported(&self) -> bool {
        self.gates.iter().any(|gate| gate.gate == GATE)
    }

    /// Is there anything that it can have measured: time that passed, or what another tool measured?
    pub fn has_values(&self) -> bool {
        self.elapsed_ns > 0 || self.is_imported()
    }

    /// What became of it in a word: `valid` says that gates passed, which those of an imported run did not.
    pub fn state_word(&self) -> &'static str {
        match self.state {
            RunState::Running => "running",
            RunState::Valid if self.is_imported() => "imported",
            RunState::Valid => "valid",
            RunState::Invalid => "invalid",
            RunState::Interrupted => "interrupted",
        }
    }
}

impl Study {
    /// What was measured, for people: the engine, and for an imported study who measured it.
    pub fn target_words(&self) -> String {
        match &self.imported {
            Some(imported) => format!("{} ({})", self.engine, imported.mark()),
            None => self.engine.clone(),
        }
    }
}
