//! Commands that a spec has this machine run: a spec is data from elsewhere, and none of them runs unless it was allowed.

use std::collections::BTreeMap;
use std::fmt;

use results::model::{Factor, Level};

use super::experiment::Experiment;

/// Key of a spec for commands that watch its runs.
pub(super) const SAMPLERS: &str = "samplers";

/// Settings of PostgreSQL whose value the server hands to a shell.
// EVIDENCE: PostgreSQL documentation, "Server Configuration": archiving, archive recovery, SSL
const COMMAND_SETTINGS: [&str; 5] = [
    "archive_cleanup_command",
    "archive_command",
    "recovery_end_command",
    "restore_command",
    "ssl_passphrase_command",
];

/// Settings of PostgreSQL that name code to load. A name without a directory is that of a module of the installation.
// EVIDENCE: PostgreSQL documentation, "Shared Library Preloading", archive_library, dynamic_library_path
const LIBRARY_SETTINGS: [&str; 8] = [
    "archive_library",
    "dynamic_library_path",
    "extension_control_path",
    "jit_provider",
    "local_preload_libraries",
    "oauth_validator_libraries",
    "session_preload_libraries",
    "shared_preload_libraries",
];

/// A command, and what of the spec would run it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SpecCommand {
    /// `samplers`, or the name of a setting.
    pub origin: String,
    /// As it stands in the spec.
    pub command: String,
}

impl fmt::Display for SpecCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.origin, self.command)
    }
}

impl Experiment {
    /// Every command that the spec could have run, at any scale and on any engine, sorted.
    pub fn commands(&self) -> Vec<SpecCommand> {
        let drafts = self.scales().into_iter().filter_map(|scale| self.draft(scale).ok());
        let levels = drafts.flat_map(|draft| {
            let varied = draft.model_factors().into_iter().flat_map(|factor| {
                let name = factor.name;
                factor.levels.into_iter().map(move |level| (name.clone(), level)).collect::<Vec<_>>()
            });
            varied.chain(draft.fixed()).collect::<Vec<_>>()
        });
        sorted(of_samplers(self).chain(levels.filter_map(|(name, level)| of_setting(&name, &level))))
    }
}

/// The commands of the spec that run with these factors and fixed parameters, sorted. What the command line set itself
/// is none of them: its user knows.
pub(super) fn commands_of_spec(
    experiment: &Experiment,
    factors: &[Factor],
    fixed: &[(String, Level)],
    overrides: &[(String, String)],
) -> Vec<SpecCommand> {
    let is_typed = |name: &str| {
        overrides.iter().any(|(key, _)| {
            let parameter = super::parameters::parameter(key).map_or(key.as_str(), |found| found.name);
            parameter.eq_ignore_ascii_case(name)
        })
    };
    let factors = factors.iter().flat_map(|factor| factor.levels.iter().map(|level| (&factor.name, level)));
    let fixed = fixed.iter().map(|(name, level)| (name, level));
    let settings = factors.chain(fixed).filter(|(name, _)| !is_typed(name));
    sorted(of_samplers(experiment).chain(settings.filter_map(|(name, level)| of_setting(name, level))))
}

fn of_samplers(experiment: &Experiment) -> impl Iterator<Item = SpecCommand> + '_ {
    experiment
        .samplers
        .iter()
        .map(|sampler| SpecCommand { origin: SAMPLERS.to_owned(), command: sampler.line().to_owned() })
}

fn of_setting(name: &str, level: &Level) -> Option<SpecCommand> {
    let value = match level {
        Level::Text(text) => text.clone(),
        other => other.to_string(),
    };
    let is_in = |list: &[&str]| list.iter().any(|known| known.eq_ignore_ascii_case(plain(name)));
    let is_command = is_in(&COMMAND_SETTINGS) && !value.trim().is_empty();
    let is_code = is_in(&LIBRARY_SETTINGS) && value.contains('/');
    (is_command || is_code).then(|| SpecCommand { origin: name.to_owned(), command: value })
}

/// The setting's own name: `archive_command` of `postgres.archive_command`.
fn plain(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

fn sorted(commands: impl Iterator<Item = SpecCommand>) -> Vec<SpecCommand> {
    let unique: BTreeMap<SpecCommand, ()> = commands.map(|command| (command, ())).collect();
    unique.into_keys().collect()
}
