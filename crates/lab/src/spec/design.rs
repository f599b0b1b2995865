//! What a spec compares: its metric, which way that improves, metrics beside it, and which cells stand against which.

pub(crate) mod repeat;

use results::measure::{self, Measure};
use results::model::{Cell, Design, Factor};
use stats::design::contrasts::{self, ContrastError, Contrasts, Pair};

use super::document::{Element, Entry};
use super::error::{Span, SpecError, quoted, suggestion};

/// The keys of a spec that say it.
pub(crate) const DESIGN_KEYS: [&str; 4] = ["metric", "better", "secondary", "against"];
/// Most repetitions that a spec or the command line may ask for.
pub(crate) const REPETITIONS_MAX: u32 = 10_000;
/// Most secondary metrics.
const SECONDARY_MAX: usize = 8;
/// Most contrasts.
const CONTRASTS_MAX: usize = 8;

/// What a spec compares, as written.
#[derive(Clone, Debug, Default)]
pub(crate) struct DesignSpec {
    metric: Option<String>,
    is_smaller_better: Option<bool>,
    secondary: Vec<String>,
    against: Vec<(Contrasts, Span)>,
}

impl DesignSpec {
    /// Takes one of [`DESIGN_KEYS`] in.
    pub(crate) fn read(&mut self, entry: &Entry<'_>) -> Result<(), SpecError> {
        match entry.key {
            "metric" => self.metric = Some(metric(&entry.element(), entry.key)?),
            "better" => {
                self.is_smaller_better = Some(entry.word(&[("smaller", true), ("larger", false)])?);
            }
            "secondary" => {
                let elements = entry.elements().ok_or_else(|| entry.wrong_type("a list of metrics"))?;
                limit(entry, elements.len(), SECONDARY_MAX)?;
                self.secondary =
                    elements.iter().map(|element| metric(element, entry.key)).collect::<Result<_, _>>()?;
            }
            _ => self.read_against(entry)?,
        }
        Ok(())
    }

    /// Takes `against` in: one contrast, or a list of them.
    pub(crate) fn read_against(&mut self, entry: &Entry<'_>) -> Result<(), SpecError> {
        let elements = entry.elements().unwrap_or_else(|| vec![entry.element()]);
        limit(entry, elements.len(), CONTRASTS_MAX)?;
        let read = |element: &Element<'_>| -> Result<(Contrasts, Span), SpecError> {
            let contrast =
                element.text(entry.key)?.parse().map_err(|error| located(&element.place, &error))?;
            Ok((contrast, element.place.clone()))
        };
        self.against = elements.iter().map(read).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// The contrasts of the miniature in place of these, where it has some.
    pub(crate) fn with_against_of(&self, miniature: &Self) -> Self {
        let against = if miniature.against.is_empty() { &self.against } else { &miniature.against };
        Self { against: against.clone(), ..self.clone() }
    }

    /// What is compared in these cells; the command line's words in place of the spec's. Contrasts of the spec that the
    /// command line left without their factor or level (`is_changed`) fall away.
    pub(crate) fn resolved(
        &self,
        wanted: &Wanted,
        factors: &[Factor],
        cells: &[Cell],
        is_changed: bool,
    ) -> Result<Design, SpecError> {
        let metric = match &wanted.metric {
            Some(name) => {
                Some(known(name).map_err(|(title, help)| SpecError::without_place(title).help(help))?)
            }
            None => self.metric.clone(),
        };
        // A direction in the spec is that of the spec's metric.
        let is_smaller_better = self.is_smaller_better.filter(|_| metric == self.metric);
        let parsed = wanted.against.iter().map(|text| text.parse::<Contrasts>());
        let of_request: Vec<Contrasts> =
            parsed.collect::<Result<_, _>>().map_err(|error| unlocated(&error))?;
        let (names, levels) = grid(factors, cells);
        let check = |contrast: &Contrasts| {
            contrasts::pairs(&names, &levels, std::slice::from_ref(contrast)).map(|_| contrast.to_string())
        };
        let against: Vec<String> = match of_request.is_empty() {
            false => of_request
                .iter()
                .map(|contrast| check(contrast).map_err(|error| unlocated(&error)))
                .collect::<Result<_, _>>()?,
            // One cell, and nothing to compare it with: not wrong, as long as nobody asked.
            true if cells.len() < 2 => Vec::new(),
            true if is_changed => {
                self.against.iter().filter_map(|(contrast, _)| check(contrast).ok()).collect()
            }
            true => self
                .against
                .iter()
                .map(|(contrast, place)| check(contrast).map_err(|error| located(place, &error)))
                .collect::<Result<_, _>>()?,
        };
        Ok(Design { metric, is_smaller_better, secondary: self.secondary.clone(), against, looks: None })
    }
}

/// What the command line wants compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// In place of the spec's metric.
    pub metric: Option<String>,
    /// In place of the spec's contrasts, when not empty.
    pub against: Vec<String>,
}

/// Factors and cells as contrasts take them.
fn grid(factors: &[Factor], cells: &[Cell]) -> (Vec<contrasts::Factor>, Vec<Vec<String>>) {
    let factor = |factor: &Factor| contrasts::Factor {
        name: factor.name.clone(),
        levels: factor.levels.iter().map(ToString::to_string).collect(),
    };
    let levels = |cell: &Cell| cell.levels.iter().map(|(_, level)| level.to_string()).collect();
    (factors.iter().map(factor).collect(), cells.iter().map(levels).collect())
}

/// The pairs of cells that a design compares, each with the contrast that asks for it.
pub(crate) fn pairs(design: &Design, factors: &[Factor], cells: &[Cell]) -> Vec<(Contrasts, Pair)> {
    let (names, levels) = grid(factors, cells);
    let against: Vec<Contrasts> = design.against.iter().filter_map(|text| text.parse().ok()).collect();
    contrasts::asked(&names, &levels, &against)
}

fn limit(entry: &Entry<'_>, count: usize, most: usize) -> Result<(), SpecError> {
    if (1..=most).contains(&count) {
        return Ok(());
    }
    let title = format!("`{}` has {count} elements, 1 to {most} are possible", entry.key);
    Err(SpecError::at(&entry.value_place, title, ""))
}

fn metric(element: &Element<'_>, key: &str) -> Result<String, SpecError> {
    known(&element.text(key)?).map_err(|(title, help)| SpecError::at(&element.place, title, "").help(help))
}

/// The name, if some run can have such a number; else title and hint of the error.
fn known(name: &str) -> Result<String, (String, String)> {
    if Measure::find(name).is_some() {
        return Ok(name.to_owned());
    }
    let names: Vec<&str> = measure::names().collect();
    let hint = super::error::nearest(name, names.iter().copied())
        .map(|_| suggestion(name, &names))
        .unwrap_or_else(|| "`fathom explain` prints the metrics".to_owned());
    Err((format!("{} is not a metric of a run", quoted(name)), hint))
}

fn located(place: &Span, error: &ContrastError) -> SpecError {
    let (title, help) = parts(error);
    SpecError::at(place, title, "").help(help)
}

fn unlocated(error: &ContrastError) -> SpecError {
    let (title, help) = parts(error);
    SpecError::without_place(title).help(help)
}

fn parts(error: &ContrastError) -> (String, String) {
    let text = error.to_string();
    match text.split_once("\nhint: ") {
        Some((title, hint)) => (title.to_owned(), hint.to_owned()),
        None => (text, String::new()),
    }
}
