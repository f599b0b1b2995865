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
/// Longest name of a metric of the user's own.
const FREE_NAME_CHARS_MAX: usize = 64;
/// Most contrasts.
const CONTRASTS_MAX: usize = 8;

/// What a spec compares, as written.
#[derive(Clone, Debug, Default)]
pub(crate) struct DesignSpec {
    metric: Option<String>,
    is_smaller_better: Option<bool>,
    secondary: Vec<String>,
    /// Names of metrics that only what is executed after a run can give, with their places.
    free: Vec<(String, Span)>,
    against: Vec<(Contrasts, Span)>,
}

impl DesignSpec {
    /// Takes one of [`DESIGN_KEYS`] in.
    pub(crate) fn read(&mut self, entry: &Entry<'_>) -> Result<(), SpecError> {
        match entry.key {
            "metric" => self.metric = Some(self.metric(&entry.element(), entry.key)?),
            "better" => {
                self.is_smaller_better = Some(entry.word(&[("smaller", true), ("larger", false)])?);
            }
            "secondary" => {
                let elements = entry.elements().ok_or_else(|| entry.wrong_type("a list of metrics"))?;
                limit(entry, elements.len(), SECONDARY_MAX)?;
                self.secondary = elements
                    .iter()
                    .map(|element| self.metric(element, entry.key))
                    .collect::<Result<_, _>>()?;
            }
            _ => self.read_against(entry)?,
        }
        Ok(())
    }

    fn metric(&mut self, element: &Element<'_>, key: &str) -> Result<String, SpecError> {
        let name = element.text(key)?;
        if Measure::find(&name).is_none() {
            self.free.push((name.clone(), element.place.clone()));
        }
        Ok(name)
    }

    /// Refuses metrics that no run can have. `after` is what an own workload executes after a run, whose rows become
    /// metrics: their names are free, and nobody but the spec knows which way they improve.
    pub(crate) fn check_metrics(&self, after: Option<&str>) -> Result<(), SpecError> {
        for (name, place) in &self.free {
            let near = super::error::nearest(name, measure::names());
            let is_written = after.is_some_and(|after| after.to_lowercase().contains(name.as_str()));
            if !is_free_name(name) || after.is_none() || (near.is_some() && !is_written) {
                let (title, help) = unknown(name);
                return Err(SpecError::at(place, title, "").help(help));
            }
            if self.metric.as_ref() == Some(name) && self.is_smaller_better.is_none() {
                let title = format!("nothing says which way {} improves", quoted(name));
                return Err(SpecError::at(place, title, "a metric of `after`")
                    .help("add better = \"smaller\" or better = \"larger\""));
            }
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
            Some(name) if Measure::find(name).is_some() || self.metric.as_ref() == Some(name) => {
                Some(name.clone())
            }
            Some(name) => {
                let (title, help) = unknown(name);
                return Err(SpecError::without_place(title).help(help));
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

/// May a row of what is executed after a run have this name?
fn is_free_name(name: &str) -> bool {
    let begins = name.starts_with(|letter: char| letter.is_ascii_lowercase());
    let plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    begins && name.len() <= FREE_NAME_CHARS_MAX && name.chars().all(plain)
}

/// Title and hint of the error for a name that no number of a run has.
fn unknown(name: &str) -> (String, String) {
    let names: Vec<&str> = measure::names().collect();
    let hint = super::error::nearest(name, names.iter().copied())
        .map(|_| suggestion(name, &names))
        .unwrap_or_else(|| "`fathom explain` prints the metrics".to_owned());
    (format!("{} is not a metric of a run", quoted(name)), hint)
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
