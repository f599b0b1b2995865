//! The parameters of a run: one table that drives parsing, `--set`, messages and documentation.

use std::sync::LazyLock;

use results::EngineId;

mod every_run;
mod own_workload;
mod parameter;
mod reading;

pub(crate) use own_workload::{default_of_own_workload, is_of_own_workload_alone};
pub use parameter::{Parameter, ParameterType};

/// Names of the engines that a spec may name: in `[engine.NAME]`, and as the prefix of a setting (`postgres.shared_buffers`).
pub fn engine_names() -> Vec<&'static str> {
    EngineId::targets().map(EngineId::name).collect()
}

/// Is this the name of an engine that a spec may name?
pub(crate) fn is_engine(name: &str) -> bool {
    EngineId::targets().any(|engine| engine.name() == name)
}

/// All parameters, in the order in which specs and documentation list them. Settings of engines are not in here:
/// they are whatever the engine knows.
pub fn parameters() -> &'static [Parameter] {
    &PARAMETERS
}

/// The parameter called `name`, also by an alias; `None` when there is none.
pub fn parameter(name: &str) -> Option<&'static Parameter> {
    PARAMETERS.iter().find(|parameter| parameter.name == name || parameter.aliases.contains(&name))
}

/// The parameter that means something for workloads of the user's own under this name or alias; `None` for all others.
pub(crate) fn of_own_workload(name: &str) -> Option<&'static Parameter> {
    parameter(name).filter(|parameter| own_workload::is_named(parameter, name))
}

/// Pairs of parameters of which a run has at most one: setting one replaces the other of an earlier layer.
pub(crate) const RIVALS: [(&str, &str); 2] = [("rows_total", "duration"), ("warm_up", "warm_up_rows")];

/// The parameter that cannot be given together with `name`.
pub(crate) fn rival(name: &str) -> Option<&'static str> {
    RIVALS.iter().find_map(|(one, other)| match name {
        _ if name == *one => Some(*other),
        _ if name == *other => Some(*one),
        _ => None,
    })
}

/// The table, put together once.
static PARAMETERS: LazyLock<Vec<Parameter>> = LazyLock::new(|| {
    let all =
        every_run::FIRST.iter().chain(&reading::READING).chain(&own_workload::OWN).chain(&every_run::LAST);
    all.copied().collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_or_alias_is_used_twice() {
        let mut names: Vec<&str> = PARAMETERS
            .iter()
            .flat_map(|parameter| parameter.aliases.iter().copied().chain([parameter.name]))
            .collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn rivals_name_each_other_and_exist() {
        for (one, other) in RIVALS {
            assert_eq!(rival(one), Some(other));
            assert_eq!(rival(other), Some(one));
            assert!(parameter(one).is_some() && parameter(other).is_some());
        }
        assert_eq!(rival("connections"), None);
    }

    #[test]
    fn every_parameter_has_a_sentence_that_ends() {
        for parameter in parameters() {
            assert!(parameter.doc.ends_with('.'), "{}", parameter.name);
            assert!(!parameter.kind.describe().is_empty());
        }
    }
}
