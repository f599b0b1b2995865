//! What `[workload]` has.

use super::load::LoadSpec;
use super::template::Template;

/// What `[workload]` has, with the texts of its files.
#[derive(Clone, Debug)]
pub(crate) struct OwnSpec {
    pub(super) schema: Option<Template>,
    pub(super) load: Option<LoadSpec>,
    pub(super) scripts: Vec<ScriptSpec>,
    pub(super) after: Option<Template>,
}

/// A script and how often it is chosen.
#[derive(Clone, Debug)]
pub(super) struct ScriptSpec {
    pub(super) sql: Template,
    pub(super) weight: u32,
}

impl OwnSpec {
    /// All texts in which own factors are replaced or used.
    pub(super) fn templates(&self) -> impl Iterator<Item = &Template> {
        let scripts = self.scripts.iter().map(|script| &script.sql);
        let load = self.load.iter().flat_map(LoadSpec::templates);
        self.schema.iter().chain(load).chain(scripts).chain(&self.after)
    }

    /// What is executed after a run, whose rows become metrics; as written.
    pub(crate) fn after(&self) -> Option<&str> {
        self.after.as_ref().map(Template::text)
    }
}
