//! Values of the parameters of one cell, and parameters that cannot stand together.

use std::collections::BTreeMap;
use std::time::Duration;

use results::model::Level;

use super::duration::duration;

/// Parameters that cannot stand together.
#[derive(Debug)]
pub(crate) struct Conflict {
    /// The parameter at fault first, then those that it clashes with.
    pub(crate) parameters: Vec<&'static str>,
    pub(crate) title: String,
    pub(crate) help: Option<String>,
}

/// Values of all parameters of one cell by name, defaults included; each of the right type and in range.
pub(crate) struct Values<'a>(pub(crate) BTreeMap<&'a str, &'a Level>);

impl Values<'_> {
    /// A whole number that is not negative; `None` where it is not given.
    pub(super) fn count(&self, name: &str) -> Option<u64> {
        match self.0.get(name) {
            Some(Level::Integer(value)) => u64::try_from(*value).ok(),
            _ => None,
        }
    }

    /// A word; empty where it is not given.
    pub(super) fn word(&self, name: &str) -> &str {
        match self.0.get(name) {
            Some(Level::Text(word)) => word,
            _ => "",
        }
    }

    /// A length of time; `None` where it is not given.
    pub(super) fn time(&self, name: &str) -> Option<Duration> {
        self.0.get(name).and_then(|level| duration(&level.to_string()))
    }
}

pub(super) fn conflict(parameters: &[&'static str], title: impl Into<String>) -> Conflict {
    Conflict { parameters: parameters.to_vec(), title: title.into(), help: None }
}

impl Conflict {
    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}
