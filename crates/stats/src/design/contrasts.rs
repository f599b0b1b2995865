//! Which cells of a study are compared: with a reference, with the level before, level by level, or named levels.

use std::collections::BTreeSet;
use std::fmt;

/// A factor with its levels in the order of the spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Factor {
    /// Its name.
    pub name: String,
    /// Its levels, each as it is printed.
    pub levels: Vec<String>,
}

/// The comparisons that a study asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contrasts {
    /// Every cell with one cell: the first level of every factor.
    Reference,
    /// Every level of the last factor with the level before it, the other factors equal.
    Previous,
    /// Every level of this factor with the level before it, the other factors equal.
    PreviousOf(String),
    /// Within each level of this factor: every cell with the first cell of that level.
    EachLevelOf(String),
    /// Two named levels of a factor, the other factors equal: the first is the reference.
    Pairs {
        /// The factor.
        factor: String,
        /// Level of the reference.
        reference: String,
        /// Level of the candidate.
        candidate: String,
    },
}

/// Positions of two cells that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair {
    /// Position of the reference among the cells.
    pub reference: usize,
    /// Position of the candidate.
    pub candidate: usize,
}

/// Why a contrast cannot be read or made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContrastError {
    /// The text is none of the four forms.
    Syntax(String),
    /// The study has no such factor.
    UnknownFactor {
        /// The name that was given.
        factor: String,
        /// The factors of the study, in order.
        known: Vec<String>,
    },
    /// The factor has no such level.
    UnknownLevel {
        /// The factor.
        factor: String,
        /// The level that was given.
        level: String,
        /// The levels of the factor, in order.
        known: Vec<String>,
    },
    /// Both sides of a pair are one level.
    SameLevel {
        /// The factor.
        factor: String,
        /// The level.
        level: String,
    },
    /// The contrast needs a factor, and the study has one cell only.
    NoFactor,
    /// No two cells stand against each other, for example since a factor has one level only.
    NoPair(String),
}

impl fmt::Display for ContrastError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(text) => write!(
                formatter,
                "contrast '{text}' is not valid\nhint: write reference, previous, previous(FACTOR), \
                 each-level-of(FACTOR) or pairs(FACTOR: LEVEL, LEVEL)"
            ),
            Self::UnknownFactor { factor, known } => {
                write!(formatter, "factor '{factor}' is not in the experiment\nhint: {}", listed("factors", known))
            }
            Self::UnknownLevel { factor, level, known } => write!(
                formatter,
                "level '{level}' is not a level of factor '{factor}'\nhint: {}",
                listed("levels", known)
            ),
            Self::SameLevel { factor, level } => write!(
                formatter,
                "pairs({factor}: {level}, {level}) compares a level with itself\nhint: name two levels"
            ),
            Self::NoFactor => formatter.write_str(
                "a contrast needs a factor, and the experiment has none\nhint: add a factor or remove the contrast",
            ),
            Self::NoPair(contrasts) => write!(
                formatter,
                "contrast {contrasts} gives no pair of cells\nhint: the factor needs at least two levels"
            ),
        }
    }
}

impl std::error::Error for ContrastError {}

fn listed(what: &str, known: &[String]) -> String {
    if known.is_empty() { format!("there are no {what}") } else { format!("{what}: {}", known.join(", ")) }
}

impl fmt::Display for Contrasts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reference => formatter.write_str("reference"),
            Self::Previous => formatter.write_str("previous"),
            Self::PreviousOf(factor) => write!(formatter, "previous({factor})"),
            Self::EachLevelOf(factor) => write!(formatter, "each-level-of({factor})"),
            Self::Pairs { factor, reference, candidate } => {
                write!(formatter, "pairs({factor}: {reference}, {candidate})")
            }
        }
    }
}

impl std::str::FromStr for Contrasts {
    type Err = ContrastError;

    /// Reads what [`Contrasts`] prints; spaces around names play no part.
    fn from_str(text: &str) -> Result<Self, ContrastError> {
        let syntax = || ContrastError::Syntax(text.to_owned());
        let trimmed = text.trim();
        match trimmed {
            "reference" => return Ok(Self::Reference),
            "previous" => return Ok(Self::Previous),
            _ => {}
        }
        let (form, rest) = trimmed.split_once('(').ok_or_else(syntax)?;
        let argument = rest.strip_suffix(')').ok_or_else(syntax)?.trim();
        if argument.is_empty() {
            return Err(syntax());
        }
        match form.trim() {
            "previous" => Ok(Self::PreviousOf(argument.to_owned())),
            "each-level-of" => Ok(Self::EachLevelOf(argument.to_owned())),
            "pairs" => {
                let (factor, levels) = argument.split_once(':').ok_or_else(syntax)?;
                let (reference, candidate) = levels.split_once(',').ok_or_else(syntax)?;
                let [factor, reference, candidate] = [factor, reference, candidate].map(str::trim);
                if factor.is_empty()
                    || reference.is_empty()
                    || candidate.is_empty()
                    || candidate.contains(',')
                {
                    return Err(syntax());
                }
                let [factor, reference, candidate] = [factor, reference, candidate].map(str::to_owned);
                Ok(Self::Pairs { factor, reference, candidate })
            }
            _ => Err(syntax()),
        }
    }
}

/// Lists the pairs of cells that the contrasts compare, each once, in the order of the contrasts and of the cells.
///
/// A cell is one level per factor, in the order of `factors`; cells may be missing. Two contrasts that compare the same
/// two cells give one pair, whichever is the reference in the later one.
///
/// # Errors
/// A factor or level is not known, or a contrast gives no pair. A cell has another number of levels than there are
/// factors, or a level that its factor lacks: also an unknown level.
pub fn pairs(
    factors: &[Factor],
    cells: &[Vec<String>],
    contrasts: &[Contrasts],
) -> Result<Vec<Pair>, ContrastError> {
    let grid = Grid::of(factors, cells)?;
    let mut seen = BTreeSet::new();
    let mut pairs = Vec::new();
    for contrast in contrasts {
        let found = grid.pairs(contrast)?;
        if found.is_empty() {
            return Err(ContrastError::NoPair(contrast.to_string()));
        }
        for pair in found {
            let key = (pair.reference.min(pair.candidate), pair.reference.max(pair.candidate));
            if seen.insert(key) {
                pairs.push(pair);
            }
        }
    }
    Ok(pairs)
}

/// The pairs of a study whose design is already checked, each with the contrast that asks for it first.
///
/// Contrasts that give no pair here are passed over; without any, every cell stands against the first one.
pub fn asked(factors: &[Factor], cells: &[Vec<String>], contrasts: &[Contrasts]) -> Vec<(Contrasts, Pair)> {
    let mut found: Vec<(Contrasts, Pair)> = Vec::new();
    for contrast in contrasts {
        for pair in pairs(factors, cells, std::slice::from_ref(contrast)).unwrap_or_default() {
            let turned = Pair { reference: pair.candidate, candidate: pair.reference };
            if !found.iter().any(|(_, known)| [pair, turned].contains(known)) {
                found.push((contrast.clone(), pair));
            }
        }
    }
    if found.is_empty() {
        let against_first = |candidate| (Contrasts::Reference, Pair { reference: 0, candidate });
        found.extend((1..cells.len()).map(against_first));
    }
    found
}

/// Cells as positions of levels.
struct Grid<'a> {
    factors: &'a [Factor],
    cells: Vec<Vec<usize>>,
}

impl<'a> Grid<'a> {
    fn of(factors: &'a [Factor], cells: &[Vec<String>]) -> Result<Self, ContrastError> {
        let place = |(factor, level): (&Factor, &String)| position(factor, level);
        let read = |cell: &Vec<String>| -> Result<Vec<usize>, ContrastError> {
            if let (Some(level), true) = (cell.get(factors.len()), cell.len() > factors.len()) {
                let (factor, known) = (String::new(), Vec::new());
                return Err(ContrastError::UnknownLevel { factor, level: level.clone(), known });
            }
            if let Some(factor) = factors.get(cell.len()) {
                let (level, known) = (String::new(), factor.levels.clone());
                return Err(ContrastError::UnknownLevel { factor: factor.name.clone(), level, known });
            }
            factors.iter().zip(cell).map(place).collect()
        };
        Ok(Self { factors, cells: cells.iter().map(read).collect::<Result<_, _>>()? })
    }

    fn factor(&self, name: &str) -> Result<usize, ContrastError> {
        self.factors.iter().position(|factor| factor.name == name).ok_or_else(|| {
            ContrastError::UnknownFactor {
                factor: name.to_owned(),
                known: self.factors.iter().map(|factor| factor.name.clone()).collect(),
            }
        })
    }

    fn pairs(&self, contrast: &Contrasts) -> Result<Vec<Pair>, ContrastError> {
        match contrast {
            // The first cell as it stands: the first level of every factor, unless that cell is missing.
            Contrasts::Reference => {
                let first = self.first_of(0..self.cells.len());
                Ok(first.map(|first| self.against(first, 0..self.cells.len())).unwrap_or_default())
            }
            Contrasts::Previous => match self.factors.len().checked_sub(1) {
                Some(last) => Ok(self.previous(last)),
                None => Err(ContrastError::NoFactor),
            },
            Contrasts::PreviousOf(name) => self.factor(name).map(|factor| self.previous(factor)),
            Contrasts::EachLevelOf(name) => {
                let factor = self.factor(name)?;
                let of_level = |level: usize| {
                    (0..self.cells.len()).filter(move |&cell| self.cells[cell][factor] == level)
                };
                let levels = 0..self.factors[factor].levels.len();
                Ok(levels
                    .filter_map(|level| Some((level, self.first_of(of_level(level))?)))
                    .flat_map(|(level, first)| self.against(first, of_level(level)))
                    .collect())
            }
            Contrasts::Pairs { factor: name, reference, candidate } => {
                let factor = self.factor(name)?;
                let known = &self.factors[factor];
                let (reference, candidate) = (position(known, reference)?, position(known, candidate)?);
                if reference == candidate {
                    let level = known.levels[reference].clone();
                    return Err(ContrastError::SameLevel { factor: name.clone(), level });
                }
                Ok(self.between(factor, |level| (level == candidate).then_some(reference)))
            }
        }
    }

    /// The cell with the earliest levels, compared factor by factor.
    fn first_of(&self, cells: impl Iterator<Item = usize>) -> Option<usize> {
        cells.min_by_key(|&cell| &self.cells[cell])
    }

    fn against(&self, reference: usize, cells: impl Iterator<Item = usize>) -> Vec<Pair> {
        cells.filter(|&cell| cell != reference).map(|candidate| Pair { reference, candidate }).collect()
    }

    fn previous(&self, factor: usize) -> Vec<Pair> {
        self.between(factor, |level| level.checked_sub(1))
    }

    /// Pairs each cell with the one at another level of the factor that differs in nothing else.
    fn between(&self, factor: usize, reference_of: impl Fn(usize) -> Option<usize>) -> Vec<Pair> {
        let partner = |candidate: usize| {
            let mut levels = self.cells[candidate].clone();
            levels[factor] = reference_of(levels[factor])?;
            let reference = self.cells.iter().position(|cell| *cell == levels)?;
            Some(Pair { reference, candidate })
        };
        (0..self.cells.len()).filter_map(partner).collect()
    }
}

fn position(factor: &Factor, level: &str) -> Result<usize, ContrastError> {
    factor.levels.iter().position(|known| known == level).ok_or_else(|| ContrastError::UnknownLevel {
        factor: factor.name.clone(),
        level: level.to_owned(),
        known: factor.levels.clone(),
    })
}
