//! What the waits of an engine mean: one entry for each wait, one for each class, and all of one engine.

use super::limit::Limit;
use crate::EngineId;

/// The waits of one engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineWaits {
    /// The engine.
    pub engine: EngineId,
    /// Waits with an entry of their own.
    pub entries: &'static [WaitEntry],
    /// What a wait without an entry of its own means, by its class.
    pub classes: &'static [WaitClass],
    /// Waits (`class:name`) in which a session itself writes or flushes what other sessions queue for, with the limit that
    /// the queue stands for.
    pub device_work: &'static [(Limit, &'static str)],
    /// Waits (`class:name`) in which a session reads data files.
    pub reads: &'static [&'static str],
    /// What a load whose limit is known waits in on this engine, for the document of the waits.
    pub shown_by: &'static [(Limit, &'static str)],
}

impl EngineWaits {
    /// What a wait means: by its own entry, else by its class; in any case of letters. `None` for an unknown class.
    #[must_use]
    pub fn meaning(&self, class: &str, name: &str) -> Option<WaitMeaning> {
        let is_same = |left: &str, right: &str| left.eq_ignore_ascii_case(right);
        let is_this = |wait: &str| {
            wait.split_once(':').is_some_and(|(of, wait)| is_same(of, class) && is_same(wait, name))
        };
        let is_meant = |entry: &&WaitEntry| is_same(entry.class, class) && is_same(entry.name, name);
        let (limit, meaning, source) = match self.entries.iter().find(is_meant) {
            Some(entry) => (entry.limit, entry.meaning, entry.source),
            None => {
                let of_class = self.classes.iter().find(|entry| is_same(entry.class, class))?;
                (of_class.limit, of_class.meaning, of_class.source)
            }
        };
        let device_work = self.device_work.iter().find(|(_, wait)| is_this(wait)).map(|(limit, _)| *limit);
        let is_read = self.reads.iter().any(|wait| is_this(wait));
        Some(WaitMeaning { limit, meaning, source, device_work, is_read })
    }
}

/// What is known about a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitMeaning {
    /// What it stands for.
    pub limit: Limit,
    /// What the session is doing, as a clause after "the session".
    pub meaning: &'static str,
    /// Where that is written down.
    pub source: &'static str,
    /// The limit that sessions stand for which queue behind this one; `None` where it does no such work.
    pub device_work: Option<Limit>,
    /// Does the session read data files?
    pub is_read: bool,
}

/// One wait of one engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitEntry {
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

impl WaitEntry {
    /// An entry, in the order of a row of the document.
    #[must_use]
    pub const fn new(
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
pub struct WaitClass {
    /// Class as the engine has it.
    pub class: &'static str,
    /// What it stands for.
    pub limit: Limit,
    /// What a session that shows it is doing, as a clause after "the session".
    pub meaning: &'static str,
    /// Where that is written down.
    pub source: &'static str,
}
