//! One thing that differs around the runs of two sides.

use serde::Serialize;

/// Where a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// A parameter of the experiment, level or fixed.
    Parameter,
    /// A query plan.
    Plan,
    /// A setting of the engine.
    Setting,
    /// Engine, version, build.
    Engine,
    /// Storage behind a role.
    Layout,
    /// Processor, memory, kernel.
    Machine,
    /// fathom itself.
    Fathom,
}

impl Part {
    /// The part in a word, as tables print it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Parameter => "parameter",
            Self::Plan => "plan",
            Self::Setting => "setting",
            Self::Engine => "engine",
            Self::Layout => "layout",
            Self::Machine => "machine",
            Self::Fathom => "fathom",
        }
    }
}

/// One thing that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Changed {
    /// Where.
    pub part: Part,
    /// Its name, e.g. `shared_buffers` or `data.storage.mount.file_system`.
    pub name: String,
    /// Value on the baseline; `None` when it is not there.
    pub baseline: Option<String>,
    /// Value on the candidate.
    pub candidate: Option<String>,
}
