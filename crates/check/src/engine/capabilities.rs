//! What an engine can do, said before a check begins.

use results::EngineId;

use crate::options::Options;

/// What an engine can do beyond reading a file and checking it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Its files are checked.
    pub check: bool,
    /// A check that was stopped goes on where it ended.
    pub resume: bool,
    /// The files of a running server are checked by its address.
    pub live: bool,
    /// Each page is judged alone.
    pub raw: bool,
    /// Files that no engine recognises are judged page by page as its own.
    pub raw_of_any_file: bool,
    /// Objects are compared in batches.
    pub object_batch: bool,
    /// Several files of one database are checked together.
    pub several_files: bool,
}

/// An option that an engine does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot check files of {} with --{option}: {why}\nhint: {hint}", engine.title())]
pub struct Refused {
    /// The engine.
    pub engine: EngineId,
    /// The option, without its dashes.
    pub option: &'static str,
    /// The reason.
    pub why: &'static str,
    /// One thing to do.
    pub hint: &'static str,
}

impl Capabilities {
    /// Refuses options that the engine does not honour.
    ///
    /// # Errors
    /// The first option that it does not have.
    pub fn admit(&self, engine: EngineId, options: &Options) -> Result<(), Refused> {
        let asked = [
            (
                options.resume_file.is_some() && !self.resume,
                "resume",
                "a stopped check of them starts from the beginning",
                "leave --resume out; --max-time ends a check with what was verified until then",
            ),
            (
                options.is_raw && !self.raw,
                "raw",
                "its pages are judged with their catalog",
                "leave --raw out",
            ),
            (
                options.object_batch.is_some() && !self.object_batch,
                "object-batch",
                "all objects are compared in one pass",
                "leave --object-batch out",
            ),
        ];
        match asked.into_iter().find(|(is_refused, ..)| *is_refused) {
            Some((_, option, why, hint)) => Err(Refused { engine, option, why, hint }),
            None => Ok(()),
        }
    }
}
