//! The parameters of a run: one table that drives parsing, `--set`, messages and documentation.

use std::sync::LazyLock;
use std::time::Duration;

use results::EngineId;

mod every_run;
mod reading;

/// Names of the engines that a spec may name: in `[engine.NAME]`, and as the prefix of a setting (`postgres.shared_buffers`).
pub fn engine_names() -> Vec<&'static str> {
    EngineId::targets().map(EngineId::name).collect()
}

/// Is this the name of an engine that a spec may name?
pub(crate) fn is_engine(name: &str) -> bool {
    EngineId::targets().any(|engine| engine.name() == name)
}

/// What values a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParameterType {
    /// A whole number in this range, both ends included.
    Integer {
        /// Smallest allowed value.
        min: i64,
        /// Largest allowed value.
        max: i64,
    },
    /// A finite number in this range, both ends included; a whole number is accepted too.
    Float {
        /// Smallest allowed value.
        min: f64,
        /// Largest allowed value.
        max: f64,
    },
    /// One of these words, each with what it means.
    Word(&'static [(&'static str, &'static str)]),
    /// A length of time such as `250ms`, `10s`, `5m`, `2h`, in this range.
    Duration {
        /// Shortest allowed time.
        min: Duration,
        /// Longest allowed time.
        max: Duration,
    },
    /// Any text up to this many characters, without control characters.
    Text {
        /// Longest allowed text, in characters.
        chars_max: usize,
    },
    /// A setting of an engine: text, number or boolean, handed on as it is.
    Setting,
}

impl ParameterType {
    /// The allowed values in words: `a whole number from 1 to 8`.
    pub fn describe(&self) -> String {
        match self {
            Self::Integer { min, max } => format!("a whole number from {min} to {max}"),
            Self::Float { min, max } => format!("a number from {min} to {max}"),
            Self::Word(words) => {
                let names: Vec<String> = words.iter().map(|(name, _)| format!("`{name}`")).collect();
                format!("one of {}", names.join(", "))
            }
            Self::Duration { min, max } => format!(
                "a time from {} to {}, such as \"10s\"",
                super::value::duration_text(*min),
                super::value::duration_text(*max)
            ),
            Self::Text { chars_max } => format!("text of at most {chars_max} characters"),
            Self::Setting => "text, a number, true or false".to_owned(),
        }
    }
}

/// One parameter of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Name in specs, in `--set` and in results.
    pub name: &'static str,
    /// Other names that are understood; results always use `name`.
    pub aliases: &'static [&'static str],
    /// Allowed values.
    pub kind: ParameterType,
    /// Unit of the value; empty when it has none.
    pub unit: &'static str,
    /// Value when the spec does not give one, as it would be written; `None` when the parameter is then not set.
    pub default: Option<&'static str>,
    /// One or two sentences for people.
    pub doc: &'static str,
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

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Rows are counted in `i64` by all engines; this bound leaves room for sums over clients and for bytes in `u128`.
const ROWS_MAX: i64 = 1 << 48;

/// The table, put together once.
static PARAMETERS: LazyLock<Vec<Parameter>> = LazyLock::new(|| {
    let all = every_run::FIRST.iter().chain(&reading::READING).chain(&every_run::LAST);
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
