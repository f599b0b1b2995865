//! An experiment on one engine with the command line applied: all that a study needs, checked.

use std::collections::BTreeMap;

use results::model::{Cell, Design, Expectation, Factor, Level, Scale};
use results::redaction::redacted;

use super::assemble::LogPlace;
use super::canonical;
use super::claim::Claim;
use super::command::commands_of_spec;
use super::design::{DesignSpec, REPETITIONS_MAX, repeat};
use super::draft::Draft;
use super::error::SpecError;
use super::experiment::Experiment;
use super::own_workload::OwnCells;
use super::parameters::of_own_workload;
use super::resolved::{Request, Resolved};
use super::validity::Validity;
use super::values::{Conflict, Values, conflict};
use crate::engine::Layout;
use crate::work::{Work, Workload};

/// Studies beyond this many cells would never end; a slip in a list of levels reaches it quickly.
const CELLS_MAX: usize = 10_000;

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
            design: Design::default(),
            repeat_until: request.repeat_until.or(self.repeat_until),
            validity: self.validity(request.scale),
            layout: merged(&self.layout, &request.layout),
            expectations: Vec::new(),
            left_to_server,
            commands: Vec::new(),
            spec_toml: String::new(),
            works: Vec::new(),
        };
        if let Some(until) = &resolved.repeat_until {
            repeat::check(until, resolved.repetitions, &self.head)?;
        }
        resolved.refuse_passwords()?;
        resolved.works = self.works(&resolved, &draft, request.server_is_foreign)?;
        resolved.settle_key_order();
        resolved.design = self.design(request.scale).resolved(
            &request.wanted,
            &resolved.factors,
            &resolved.cells(),
            !request.overrides.is_empty(),
        )?;
        resolved.design.looks = repeat::looks(resolved.repeat_until, resolved.repetitions);
        resolved.expectations = self.expectations(request.scale, &resolved.factors);
        resolved.commands = commands_of_spec(self, &resolved.factors, &resolved.fixed, &request.overrides);
        resolved.spec_toml = canonical::to_toml(&resolved, self.own.as_ref());
        Ok(resolved)
    }

    /// The work of every cell, checked.
    fn works(&self, resolved: &Resolved, draft: &Draft, is_foreign: bool) -> Result<Vec<Work>, SpecError> {
        let own = self.own.as_ref();
        let mut own = own.map(|own| OwnCells::new(own, draft, resolved.engine.id)).transpose()?;
        let work = |cell: &Cell| {
            let levels = resolved.levels(cell);
            let mut work = resolved
                .assemble(&levels, draft.is_own, is_foreign)
                .map_err(|conflict| self.locate(draft, cell, conflict))?;
            if work.workload == Workload::Own && own.is_none() {
                let title = "`workload` is own, and the spec has no [workload]";
                let conflict = conflict(&["workload"], title).help("add [workload] with scripts");
                return Err(self.locate(draft, cell, conflict));
            }
            if let Some(own) = &mut own {
                work.own = Some(own.of_cell(&levels, &cell.label(), &work)?);
            }
            Ok(work)
        };
        resolved.cells().iter().map(work).collect()
    }

    /// Applies the command line; returns what is left to a foreign server, too.
    fn overridden(&self, request: &Request) -> Result<(Draft, Vec<(String, Level)>), SpecError> {
        let mut draft = self.draft(request.scale)?;
        let left = if request.server_is_foreign { draft.leave_to_server() } else { Vec::new() };
        let mut seen: Vec<String> = Vec::new();
        for (key, value) in &request.overrides {
            let name = draft.name_of(key);
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

    fn design(&self, scale: Scale) -> DesignSpec {
        let miniature = self.miniature.as_ref().filter(|_| scale != self.scale);
        miniature
            .map_or_else(|| self.design.clone(), |miniature| self.design.with_against_of(&miniature.design))
    }

    fn validity(&self, scale: Scale) -> Validity {
        let miniature = self.miniature.as_ref().filter(|_| scale != self.scale);
        miniature.map_or(&self.validity, |miniature| &miniature.validity).clone()
    }

    fn expectations(&self, scale: Scale, factors: &[Factor]) -> Vec<Expectation> {
        let fits = |check: &String| {
            Claim::parse(check).is_ok_and(|claim| claim.unknown_reference(factors).is_none())
        };
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
    /// All parameters of a cell.
    fn levels<'a>(&'a self, cell: &'a Cell) -> BTreeMap<&'a str, &'a Level> {
        let both = self.fixed.iter().chain(&cell.levels);
        both.map(|(name, level)| (name.as_str(), level)).collect()
    }

    fn assemble(
        &self,
        levels: &BTreeMap<&str, &Level>,
        is_own: bool,
        is_foreign: bool,
    ) -> Result<Work, Conflict> {
        let mut values = levels.clone();
        // Names of the user's own mean nothing here, even those of parameters of other workloads.
        values.retain(|name, _| !is_own || name.contains('.') || of_own_workload(name).is_some());
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
        if first.own.is_some() || self.works.iter().any(|work| work.key != first.key) {
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
}

fn merged(spec: &Layout, request: &Layout) -> Layout {
    Layout {
        data: if request.data.is_empty() { spec.data.clone() } else { request.data.clone() },
        log: request.log.clone().or_else(|| spec.log.clone()),
    }
}
