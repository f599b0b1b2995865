//! `[workload]`: a workload of the user's own, as its spec has it.
//!
//! ```text
//! [workload], files -> OwnSpec (texts with placeholders) -> OwnCells -> lab::own::OwnWorkload of each cell, parsed
//! ```

mod canonical;
mod cells;
mod files;
mod load;
mod read;
mod template;

use super::error::{Span, SpecText};
use load::LoadSpec;

pub(crate) use cells::OwnCells;
pub use files::{DataFile, Files, FilesBeside, NoFiles};

/// What `[workload]` has, with the texts of its files.
#[derive(Clone, Debug)]
pub(crate) struct OwnSpec {
    schema: Option<Template>,
    load: Option<LoadSpec>,
    scripts: Vec<ScriptSpec>,
    after: Option<Template>,
}

/// A script and how often it is chosen.
#[derive(Clone, Debug)]
struct ScriptSpec {
    sql: Template,
    weight: u32,
}

/// A text with placeholders.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    /// The text, and the name that messages call it by: its file.
    source: SpecText,
    /// Where the spec names it.
    place: Span,
}

impl Template {
    fn new(name: &str, text: &str, place: Span) -> Self {
        Self { source: SpecText::new(name, text), place }
    }

    fn text(&self) -> &str {
        self.source.text()
    }
}

impl OwnSpec {
    /// All texts in which own factors are replaced or used.
    fn templates(&self) -> impl Iterator<Item = &Template> {
        let scripts = self.scripts.iter().map(|script| &script.sql);
        let load = self.load.iter().flat_map(LoadSpec::templates);
        self.schema.iter().chain(load).chain(scripts).chain(&self.after)
    }

    /// What is executed after a run, whose rows become metrics; as written.
    pub(crate) fn after(&self) -> Option<&str> {
        self.after.as_ref().map(Template::text)
    }
}
