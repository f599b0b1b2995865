//! Names of parameters, of settings and of the user's own, and what values they take.

use crate::spec::error::{Span, SpecError, nearest, quoted, suggestion};
use crate::spec::parameters::{self, ParameterType, engine_names, is_engine, parameter, parameters};

/// Names that scripts and schedules give a meaning of their own.
const TAKEN: [(&str, &str); 8] = [
    ("engine", "blocks of texts have this name"),
    ("server", "the factor of several targets has this name"),
    ("client_id", "scripts have a variable of this name"),
    ("random_seed", "scripts have a variable of this name"),
    ("default_seed", "scripts have a variable of this name"),
    ("row", "the load has a variable of this name"),
    ("first_row", "the load has a variable of this name"),
    ("last_row", "the load has a variable of this name"),
];
/// Letters of an own name at most.
const OWN_NAME_CHARS_MAX: usize = 64;

/// The name of a parameter for what may be an alias; any other name as it is.
pub(super) fn canonical(key: &str, is_own: bool) -> &str {
    let found = if is_own { parameters::of_own_workload(key) } else { parameter(key) };
    found.map_or(key, |parameter| parameter.name)
}

/// The type of a parameter or of an engine's setting.
pub(super) fn kind_of(name: &str, place: &Span, is_own: bool) -> Result<ParameterType, SpecError> {
    if let Some((engine, setting)) = name.split_once('.') {
        if !is_engine(engine) {
            let title = format!("{} is not an engine", quoted(engine));
            return Err(SpecError::at(place, title, "expected ENGINE.SETTING")
                .help(suggestion(engine, &engine_names())));
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        if setting.is_empty() || setting.len() > 128 || !setting.chars().all(plain) {
            let title = format!("{} is not the name of a setting", quoted(setting));
            return Err(SpecError::at(place, title, "letters, digits and _ are expected"));
        }
        return Ok(ParameterType::Setting);
    }
    if is_own {
        return own_kind(name, place);
    }
    if let Some(found) = parameter(name) {
        if parameters::is_of_own_workload_alone(found.name) {
            let title = format!("`{name}` is a parameter of own workloads, and the spec has no [workload]");
            return Err(SpecError::at(place, title, "").help("add [workload] with scripts, or leave it out"));
        }
        return Ok(found.kind);
    }
    let title = format!("{} is not a parameter", quoted(name));
    let error = SpecError::at(place, title, "not a parameter");
    if name == "repetitions" {
        return Err(error
            .help("repetitions belong to the spec itself, above the first table, or to the command line"));
    }
    let known: Vec<&str> = parameters()
        .iter()
        .filter(|parameter| parameter.kind != ParameterType::Setting)
        .flat_map(|parameter| [parameter.name].into_iter().chain(parameter.aliases.iter().copied()))
        .collect();
    let names: Vec<&str> = parameters().iter().map(|parameter| parameter.name).collect();
    Err(match nearest(name, known.iter().copied()) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.help(format!("parameters are {}", names.join(", "))),
    })
}

/// The type of a parameter of a workload of the user's own: one that means something for it, or one of the user's own.
fn own_kind(name: &str, place: &Span) -> Result<ParameterType, SpecError> {
    if name == "workload" {
        return Ok(ParameterType::Word(&[("own", "what [workload] has")]));
    }
    if let Some(found) = parameters::of_own_workload(name) {
        return Ok(found.kind);
    }
    if name == "repetitions" {
        let title = format!("{} is not a parameter", quoted(name));
        return Err(SpecError::at(place, title, "not a parameter")
            .help("repetitions belong to the spec itself, above the first table, or to the command line"));
    }
    if let Some((_, reason)) = TAKEN.iter().find(|(taken, _)| *taken == name) {
        let title = format!("{} cannot be the name of an own factor: {reason}", quoted(name));
        return Err(SpecError::at(place, title, "").help("choose another name"));
    }
    if !script::is_variable_name(name) || name.chars().count() > OWN_NAME_CHARS_MAX {
        let title = format!("{} cannot be the name of an own factor", quoted(name));
        let help = format!(
            "letters, digits and _, at most {OWN_NAME_CHARS_MAX}, no digit first: it is written {{{{name}}}} and :name"
        );
        return Err(SpecError::at(place, title, "").help(help));
    }
    Ok(ParameterType::Own)
}
