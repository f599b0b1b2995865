//! An experiment on one engine with the command line applied: all that a study needs, checked.

use std::collections::BTreeMap;

use results::model::{Cell, Expectation, Factor, Level, Scale};
use results::redaction::redacted;

use super::assemble::{Conflict, LogPlace, Values};
use super::canonical;
use super::claim::Claim;
use super::command::SpecCommand;
use super::draft::Draft;
use super::error::SpecError;
use super::experiment::{Experiment, Kind, REPETITIONS_MAX};
use super::validity::Validity;
use crate::engine::{Engine, Layout};
use crate::plan::RepeatUntil;
use crate::work::Work;

/// Studies beyond this many cells would never end; a slip in a list of levels reaches it quickly.
const CELLS_MAX: usize = 10_000;

/// What the command line adds to a spec.
#[derive(Clone, Debug)]
pub struct Request {
    /// Full or miniature.
    pub scale: Scale,
    /// `--set` in order: a key, and one value that fixes it or several with commas between that vary it.
    pub overrides: Vec<(String, String)>,
    /// Kind of target.
    pub engine: &'static Engine,
    /// In place of the spec's repetitions.
    pub repetitions: Option<u32>,
    /// In place of the spec's `[repeat_until]`.
    pub repeat_until: Option<RepeatUntil>,
    /// Data directories, when not empty, and log directory, when given, in place of the spec's.
    pub layout: Layout,
    /// Is the server somebody else's? Then the sizes of memory and log that a spec fixes are left to it; as a factor or
    /// on the command line they still are a wish, and its target refuses it.
    pub server_is_foreign: bool,
}

impl Request {
    /// A request that changes nothing in the spec.
    pub fn plain(scale: Scale, engine: &'static Engine) -> Self {
        Self {
            scale,
            overrides: Vec::new(),
            engine,
            repetitions: None,
            repeat_until: None,
            layout: Layout::default(),
            server_is_foreign: false,
        }
    }
}

/// An experiment ready to run: every cell has been checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// Name of the experiment.
    pub name: String,
    /// One line.
    pub title: String,
    /// The question.
    pub question: String,
    /// Where the experiment comes from.
    pub kind: Kind,
    /// Where it was published, when it was.
    pub published_in: Option<String>,
    /// Full or miniature.
    pub scale: Scale,
    /// Kind of target.
    pub engine: &'static Engine,
    /// Factors in the order of the spec, those added by `--set` last.
    pub factors: Vec<Factor>,
    /// Parameters that do not vary, defaults included; parameters without value and default are left out, and
    /// settings of other engines too. In the order of the table of parameters, settings last.
    pub fixed: Vec<(String, Level)>,
    /// Blocks; with `repeat_until` the smallest number of blocks.
    pub repetitions: u32,
    /// When to stop repeating, where the number of blocks is not fixed.
    pub repeat_until: Option<RepeatUntil>,
    /// Limits of the gates.
    pub validity: Validity,
    /// Directories by role.
    pub layout: Layout,
    /// Claims for this scale. A check that names a factor or level which the command line took away is left out,
    /// and its claim stays as words.
    pub expectations: Vec<Expectation>,
    /// Sizes that the spec fixes and a foreign server has in its own way, with their values in the spec.
    pub left_to_server: Vec<(String, Level)>,
    /// Commands of the spec that a run of this runs on this machine; whoever conducts it must have allowed them.
    pub commands: Vec<SpecCommand>,
    /// What runs, as a spec: reading and resolving it on the same engine gives this again.
    pub spec_toml: String,
    /// The work of each cell, by its index, with seed 0.
    works: Vec<Work>,
}

impl Experiment {
    /// Applies scale, command line, defaults and engine, and checks every cell.
    pub fn resolve(&self, request: &Request) -> Result<Resolved, SpecError> {
        let (draft, left_to_server) = self.overridden(request)?;
        let factors = draft.model_factors();
        let cell_count = factors.iter().map(|factor| factor.levels.len()).try_fold(1, usize::checked_mul);
        if cell_count.is_none_or(|count| count > CELLS_MAX) {
            let shape: Vec<String> =
                factors.iter().map(|factor| format!("{} {}", factor.levels.len(), factor.name)).collect();
            let title = format!("the study would have more than {CELLS_MAX} cells: {}", shape.join(" × "));
            return Err(SpecError::at(&self.head, title, "").help("take away factors or levels"));
        }
        let mut resolved = Resolved {
            name: self.name.clone(),
            title: self.title.clone(),
            question: self.question.clone(),
            kind: self.kind,
            published_in: self.published_in.clone(),
            scale: request.scale,
            engine: request.engine,
            fixed: draft.fixed(),
            factors,
            repetitions: self.repetitions(request)?,
            repeat_until: request.repeat_until.or(self.repeat_until),
            validity: self.validity(request.scale),
            layout: merged(&self.layout, &request.layout),
            expectations: Vec::new(),
            left_to_server,
            commands: Vec::new(),
            spec_toml: String::new(),
            works: Vec::new(),
        };
        resolved.check_repeat_until(self)?;
        resolved.refuse_passwords()?;
        resolved.works = resolved
            .cells()
            .iter()
            .map(|cell| {
                resolved
                    .assemble(cell, request.server_is_foreign)
                    .map_err(|conflict| self.locate(&draft, cell, conflict))
            })
            .collect::<Result<_, _>>()?;
        resolved.settle_key_order();
        resolved.expectations = self.expectations(request.scale, &resolved.factors);
        resolved.commands = resolved.commands_of_spec(self, request);
        resolved.spec_toml = canonical::to_toml(&resolved);
        Ok(resolved)
    }

    /// Applies the command line; returns what is left to a foreign server, too.
    fn overridden(&self, request: &Request) -> Result<(Draft, Vec<(String, Level)>), SpecError> {
        let mut draft = self.draft(request.scale)?;
        let left = if request.server_is_foreign { draft.leave_to_server() } else { Vec::new() };
        let mut seen: Vec<String> = Vec::new();
        for (key, value) in &request.overrides {
            let name = super::parameters::parameter(key).map_or(key.as_str(), |parameter| parameter.name);
            if seen.iter().any(|earlier| earlier == name) {
                let title = format!("`{name}` is set twice on the command line");
                return Err(
                    SpecError::without_place(title).help("give all its values at once: key=value,value")
                );
            }
            seen.push(name.to_owned());
            draft.set(key, value, request.engine.id)?;
        }
        draft.keep_engine(request.engine.id)?;
        let left = left.into_iter().filter(|(name, _)| draft.place_of(name).is_none()).collect();
        Ok((draft, left))
    }

    fn repetitions(&self, request: &Request) -> Result<u32, SpecError> {
        match request.repetitions {
            Some(repetitions) if (1..=REPETITIONS_MAX).contains(&repetitions) => Ok(repetitions),
            Some(repetitions) => {
                let title = format!("{repetitions} repetitions: 1 to {REPETITIONS_MAX} are possible");
                Err(SpecError::without_place(title))
            }
            None => {
                let miniature = self.miniature.as_ref().filter(|_| request.scale != self.scale);
                Ok(miniature.and_then(|miniature| miniature.repetitions).unwrap_or(self.repetitions))
            }
        }
    }

    fn validity(&self, scale: Scale) -> Validity {
        let miniature = self.miniature.as_ref().filter(|_| scale != self.scale);
        miniature.map_or(&self.validity, |miniature| &miniature.validity).clone()
    }

    fn expectations(&self, scale: Scale, factors: &[Factor]) -> Vec<Expectation> {
        let fits = |check: &String| Claim::parse(check).is_ok_and(|claim| claim.misfit(factors).is_none());
        self.claims
            .iter()
            .map(|claim| &claim.expectation)
            .filter(|expectation| expectation.scope.is_none_or(|scope| scope == scale))
            .map(|expectation| Expectation {
                check: expectation.check.clone().filter(fits),
                ..expectation.clone()
            })
            .collect()
    }

    /// Puts a conflict at the parameter at fault, and first at one that varies, with the cell in which it appears.
    fn locate(&self, draft: &Draft, cell: &Cell, conflict: Conflict) -> SpecError {
        let varies = |name: &str| draft.factors.iter().any(|factor| factor.name == name);
        let mut parameters = conflict.parameters;
        parameters.sort_by_key(|name| !varies(name));
        let title = match parameters.first() {
            Some(first) if varies(first) => format!("{} (in cell {})", conflict.title, cell.label()),
            _ => conflict.title,
        };
        let mut places = parameters.iter().filter_map(|name| Some((name, draft.place_of(name)?)));
        let primary = places.next().map_or(&self.head, |(_, place)| place);
        let mut error = SpecError::at(primary, title, "");
        for (name, place) in places {
            error = error.and(place, format!("with this `{name}`"));
        }
        match conflict.help {
            Some(help) => error.help(help),
            None => error,
        }
    }
}

impl Resolved {
    /// All cells, the last factor fastest; one without levels when there is no factor.
    pub fn cells(&self) -> Vec<Cell> {
        let count: usize = self.factors.iter().map(|factor| factor.levels.len()).product();
        (0..count).map(|index| self.cell(index)).collect()
    }

    /// What a run of `cell` does; `seed` is that of the run's keys and arrival times.
    ///
    /// The cell must be one of `cells()`.
    pub fn work(&self, cell: &Cell, seed: u64) -> Work {
        let mut work = self.works[cell.index as usize].clone();
        work.seed = seed;
        work
    }

    fn cell(&self, index: usize) -> Cell {
        let mut rest = index;
        let mut levels: Vec<(String, Level)> = Vec::with_capacity(self.factors.len());
        for factor in self.factors.iter().rev() {
            levels.push((factor.name.clone(), factor.levels[rest % factor.levels.len()].clone()));
            rest /= factor.levels.len();
        }
        levels.reverse();
        Cell { index: index as u32, levels }
    }

    fn assemble(&self, cell: &Cell, is_foreign: bool) -> Result<Work, Conflict> {
        let both = self.fixed.iter().chain(&cell.levels);
        let values: BTreeMap<&str, &Level> = both.map(|(name, level)| (name.as_str(), level)).collect();
        let place = if is_foreign { LogPlace::Foreign } else { LogPlace::Ours(&self.layout) };
        Values(values).work(self.engine, place)
    }

    /// Writes the order of keys down where it follows from the workload and is the same in all cells.
    fn settle_key_order(&mut self) {
        let is_known = |name: &str| {
            self.fixed.iter().any(|(fixed, _)| fixed == name)
                || self.factors.iter().any(|factor| factor.name == name)
        };
        let (Some(first), false) = (self.works.first(), is_known("key")) else { return };
        if self.works.iter().any(|work| work.key != first.key) {
            return;
        }
        let word = match first.key {
            crate::work::KeyOrder::Sequential => "sequential",
            crate::work::KeyOrder::Random => "random",
        };
        let place =
            |name: &str| super::parameters::parameters().iter().position(|parameter| parameter.name == name);
        let at =
            self.fixed.iter().position(|(name, _)| place(name) > place("key")).unwrap_or(self.fixed.len());
        self.fixed.insert(at, ("key".to_owned(), Level::Text(word.to_owned())));
    }

    /// Specs are stored with the results, and shown with them.
    fn refuse_passwords(&self) -> Result<(), SpecError> {
        let levels =
            self.factors.iter().flat_map(|factor| factor.levels.iter().map(|level| (&factor.name, level)));
        let fixed = self.fixed.iter().map(|(name, level)| (name, level));
        let holds_one = |level: &Level| matches!(level, Level::Text(text) if redacted(text) != *text);
        match levels.chain(fixed).find(|(_, level)| holds_one(level)) {
            Some((name, _)) => {
                let title = format!("`{name}` holds a password, and would be stored with the results");
                Err(SpecError::without_place(title)
                    .help("take it out: a password belongs into PGPASSWORD or ~/.pgpass"))
            }
            None => Ok(()),
        }
    }

    fn check_repeat_until(&self, experiment: &Experiment) -> Result<(), SpecError> {
        let Some(until) = self.repeat_until else { return Ok(()) };
        let width = until.half_width_percent;
        if !(width > 0.0 && width.is_finite()) {
            let title = format!("an interval cannot become as narrow as {width} %");
            return Err(SpecError::without_place(title).help("give a half width above 0 %, such as 2 %"));
        }
        if until.blocks_max < self.repetitions || until.blocks_max > REPETITIONS_MAX {
            let title = format!(
                "repeating ends after {} blocks, and {} repetitions are asked for",
                until.blocks_max, self.repetitions
            );
            return Err(SpecError::at(&experiment.head, title, "")
                .help(format!("set the cap between the repetitions and {REPETITIONS_MAX}")));
        }
        Ok(())
    }
}

fn merged(spec: &Layout, request: &Layout) -> Layout {
    Layout {
        data: if request.data.is_empty() { spec.data.clone() } else { request.data.clone() },
        log: request.log.clone().or_else(|| spec.log.clone()),
    }
}
