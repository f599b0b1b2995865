//! What is written down of one wait, of a class of waits, and of all of one engine.

use results::EngineId;

use super::limit::Limit;

/// The waits of one engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineWaits {
    /// The engine.
    pub engine: EngineId,
    /// Its heading in the document.
    pub title: &'static str,
    /// Waits with an entry of their own.
    pub entries: &'static [Entry],
    /// What a wait without an entry of its own means, by its class.
    pub classes: &'static [ClassEntry],
}

/// One wait of one engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Class as the engine has it.
    pub class: &'static str,
    /// Name as the newest version of the engine has it.
    pub name: &'static str,
    /// What it stands for.
    pub limit: Limit,
    /// What a session that shows it is doing, as a clause after "the session".
    pub meaning: &'static str,
    /// Where that is written down.
    pub source: &'static str,
}

impl Entry {
    pub(super) const fn new(
        class: &'static str,
        name: &'static str,
        limit: Limit,
        meaning: &'static str,
        source: &'static str,
    ) -> Self {
        Self { class, name, limit, meaning, source }
    }
}

/// What a whole class of waits means, for those without an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassEntry {
    /// Class as the engine has it.
    pub class: &'static str,
    /// What it stands for.
    pub limit: Limit,
    /// What a session that shows it is doing, as a clause after "the session".
    pub meaning: &'static str,
    /// Where that is written down.
    pub source: &'static str,
}
