//! Specs with a workload of the user's own.

use std::path::Path;
use std::sync::Arc;

use lab::own::OwnWorkload;
use lab::spec::{Experiment, FilesBeside, Request, Resolved, SpecError};
use results::model::Scale;

pub(super) fn parsed(path: &str, text: &str) -> Result<Experiment, SpecError> {
    Experiment::parse_with(path, text, &FilesBeside::spec(Path::new(path)))
}

pub(super) fn on(engine: &str, overrides: &[(&str, &str)]) -> Request {
    let overrides = overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Request { overrides, ..Request::plain(Scale::Full, crate::engine(engine)) }
}

/// A spec whose only script is `script`.
pub(super) fn inline(script: &str, rest: &str) -> String {
    format!(
        "name = \"mine\"\nquestion = \"What?\"\n[workload]\nscripts = [ {{ sql = '''{script}''' }} ]\n{rest}"
    )
}

pub(super) fn resolve(text: &str, request: &Request) -> Result<Resolved, SpecError> {
    Experiment::parse("mine.toml", text)?.resolve(request)
}

pub(super) fn workloads(resolved: &Resolved) -> Vec<Arc<OwnWorkload>> {
    resolved.cells().iter().map(|cell| resolved.work(cell, 1).own.unwrap()).collect()
}

#[track_caller]
pub(super) fn refused(text: &str, request: &Request, phrases: &[&str]) {
    let message = match resolve(text, request) {
        Err(error) => error.to_string(),
        Ok(resolved) => panic!("accepted:\n{text}\nas\n{}", resolved.spec_toml),
    };
    for phrase in phrases {
        assert!(message.contains(phrase), "\"{phrase}\" is missing in:\n{message}");
    }
}

pub(super) const RUNS: &str = "[parameters]\nconnections = 2\nduration = \"1s\"\n";
