//! A parameter with its level, a factor with its levels.

use results::model::Level;

use crate::spec::document::{Element, Entry};
use crate::spec::error::{Span, SpecError, quoted};
use crate::spec::parameters::ParameterType;
use crate::spec::value::level;

/// More levels than this are a slip of the pen, not an experiment.
const LEVELS_MAX: usize = 1000;

/// A parameter with its level, or a factor with its levels, and where they are written.
#[derive(Clone, Debug)]
pub(crate) struct Assignment {
    /// Canonical name.
    pub(crate) name: String,
    pub(crate) place: Span,
    pub(crate) levels: Vec<Level>,
    /// Given in a table of its engine's: it does not exist where the experiment runs on another engine. A setting of
    /// another engine among the factors of all is a slip.
    pub(crate) is_of_engine: bool,
}

pub(super) fn single(name: &str, kind: &ParameterType, entry: &Entry<'_>) -> Result<Assignment, SpecError> {
    let element = entry.element();
    let value = level(name, kind, &element.scalar(name)?, &element.place)?;
    Ok(Assignment {
        name: name.to_owned(),
        place: entry.key_place.clone(),
        levels: vec![value],
        is_of_engine: false,
    })
}

pub(super) fn factor(
    name: &str,
    kind: &ParameterType,
    elements: &[Element<'_>],
    entry: &Entry<'_>,
) -> Result<Assignment, SpecError> {
    let levels = elements
        .iter()
        .map(|element| {
            Ok((level(name, kind, &element.scalar(name)?, &element.place)?, element.place.clone()))
        })
        .collect::<Result<Vec<_>, SpecError>>()?;
    distinct(name, levels, &entry.key_place, &entry.value_place)
}

/// Levels without repeats, at least one and not too many.
pub(super) fn distinct(
    name: &str,
    levels: Vec<(Level, Span)>,
    key_place: &Span,
    value_place: &Span,
) -> Result<Assignment, SpecError> {
    if levels.is_empty() {
        return Err(SpecError::at(value_place, format!("factor `{name}` has no levels"), "an empty list")
            .help("give at least one level, or remove the factor"));
    }
    if levels.len() > LEVELS_MAX {
        let title = format!("factor `{name}` has {} levels, at most {LEVELS_MAX} are taken", levels.len());
        return Err(SpecError::at(key_place, title, ""));
    }
    for (index, (level, place)) in levels.iter().enumerate() {
        if let Some((_, earlier)) =
            levels[..index].iter().find(|(earlier, _)| earlier.to_string() == level.to_string())
        {
            let title = format!("level {} of factor `{name}` is given twice", quoted(&level.to_string()));
            return Err(SpecError::at(place, title, "again here")
                .and(earlier, "first here")
                .help("remove one: the same cell would be measured under two names"));
        }
    }
    let levels = levels.into_iter().map(|(level, _)| level).collect();
    Ok(Assignment { name: name.to_owned(), place: key_place.clone(), levels, is_of_engine: false })
}
