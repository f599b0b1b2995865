//! Parameters and factors on their way from the spec to the plan: what each layer sets, and where.

mod assignment;
mod command_line;
mod kind;

use results::EngineId;
use results::model::{Factor, Level};

use super::document::Entry;
use super::error::{Span, SpecError, SpecText, quoted};
use super::parameters::{self, Parameter, engine_names, is_engine, parameters, rival};
use super::value::{Scalar, level};
pub(crate) use assignment::Assignment;
use assignment::{factor, single};
use command_line::parse_override;
use kind::{canonical, kind_of};

/// Names of settings may nest (`auto_explain.log_timing`); no engine goes deeper.
const SETTING_DEPTH_MAX: usize = 3;

/// Factors in order, and the parameters that do not vary.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    /// Is the workload the user's own, so that a name which is no parameter of it is a name of the user's own?
    pub(crate) is_own: bool,
    pub(crate) factors: Vec<Assignment>,
    pub(crate) parameters: Vec<Assignment>,
}

impl Draft {
    /// An empty layer; see `is_own`.
    pub(crate) fn new(is_own: bool) -> Self {
        Self { is_own, ..Self::default() }
    }

    /// The name under which a parameter is kept, whatever alias is written.
    pub(crate) fn name_of<'a>(&self, key: &'a str) -> &'a str {
        canonical(key, self.is_own)
    }

    /// Reads the entries of `[factors]`, each a list.
    pub(crate) fn read_factors(&mut self, entries: &[Entry<'_>]) -> Result<(), SpecError> {
        for (name, entry) in self.flatten(entries)? {
            let kind = kind_of(&name, &entry.key_place, self.is_own)?;
            let Some(elements) = entry.elements() else {
                let title = format!("factor `{name}` takes a list of levels, found one value");
                return Err(SpecError::at(&entry.value_place, title, "expected a list")
                    .help("write it in brackets, or move it to [parameters]"));
            };
            let assignment = factor(&name, &kind, &elements, &entry)?;
            self.add(assignment, true)?;
        }
        Ok(())
    }

    /// Reads the entries of `[parameters]`, each a single value.
    pub(crate) fn read_parameters(&mut self, entries: &[Entry<'_>]) -> Result<(), SpecError> {
        for (name, entry) in self.flatten(entries)? {
            let kind = kind_of(&name, &entry.key_place, self.is_own)?;
            if entry.elements().is_some() {
                let title = format!("parameter `{name}` takes one value, found a list");
                return Err(SpecError::at(&entry.value_place, title, "expected one value")
                    .help(format!("move `{name}` to [factors] to vary it")));
            }
            self.add(single(&name, &kind, &entry)?, false)?;
        }
        Ok(())
    }

    /// Reads `define` of `[workload]`: own parameters, and `scale`, as `-D` of pgbench gives them.
    pub(crate) fn read_definitions(&mut self, entries: &[Entry<'_>]) -> Result<(), SpecError> {
        for entry in entries {
            let known = parameters::of_own_workload(entry.key).filter(|known| known.name != "scale");
            if known.is_some() || entry.key.contains('.') {
                let title = format!("{} is a parameter, and no variable of scripts", quoted(entry.key));
                return Err(SpecError::at(&entry.key_place, title, "")
                    .help("give the variable another name, or move it to [parameters]"));
            }
        }
        self.read_parameters(entries)
    }

    /// Reads `[engine]`: a table of settings for each engine, each with one value, or with a list of levels that makes it
    /// a factor on this engine alone.
    pub(crate) fn read_engines(&mut self, entries: &[Entry<'_>]) -> Result<(), SpecError> {
        for engine in entries {
            if !is_engine(engine.key) {
                return Err(engine.not_known("[engine]", &engine_names()));
            }
            if !engine.is_table() {
                return Err(engine.wrong_type("a table of settings"));
            }
        }
        for (name, entry) in self.flatten(entries)? {
            // `[engine.postgres.settings]` is `[engine.postgres]`.
            let name = name.replacen(".settings.", ".", 1);
            let kind = kind_of(&name, &entry.key_place, self.is_own)?;
            let (assignment, varies) = match entry.elements() {
                Some(elements) => (factor(&name, &kind, &elements, &entry)?, true),
                None => (single(&name, &kind, &entry)?, false),
            };
            self.add(Assignment { is_of_engine: true, ..assignment }, varies)?;
        }
        Ok(())
    }

    /// Adds to this layer, where each name stands once.
    fn add(&mut self, assignment: Assignment, varies: bool) -> Result<(), SpecError> {
        let clash = |name: &str| self.factors.iter().chain(&self.parameters).find(|other| other.name == name);
        if let Some(earlier) = clash(&assignment.name) {
            let title = format!("`{}` is set twice: a parameter is fixed or varies, once", assignment.name);
            return Err(SpecError::at(&assignment.place, title, "second")
                .and(&earlier.place, "first")
                .help("keep one of them"));
        }
        if let Some(earlier) = rival(&assignment.name).and_then(clash) {
            let title =
                format!("`{}` and `{}` are both given: a run has one of them", earlier.name, assignment.name);
            return Err(SpecError::at(&assignment.place, title, "second")
                .and(&earlier.place, "first")
                .help("keep one of them"));
        }
        if varies {
            self.factors.push(assignment)
        } else {
            self.parameters.push(assignment)
        }
        Ok(())
    }

    /// Lets a later layer set a parameter: it replaces a factor or a parameter of that name, and its rival.
    pub(crate) fn fix(&mut self, assignment: Assignment) {
        self.drop_rival(&assignment.name);
        self.factors.retain(|factor| factor.name != assignment.name);
        replace_or_push(&mut self.parameters, assignment);
    }

    /// Lets a later layer vary a parameter: an earlier factor of that name keeps its place in the order.
    pub(crate) fn vary(&mut self, assignment: Assignment) {
        self.drop_rival(&assignment.name);
        self.parameters.retain(|parameter| parameter.name != assignment.name);
        replace_or_push(&mut self.factors, assignment);
    }

    /// Applies one `--set key=value`.
    pub(crate) fn set(&mut self, key: &str, value: &str, engine: EngineId) -> Result<(), SpecError> {
        let assignment = parse_override(key, value, self.is_own)?;
        if let Some((prefix, _)) = assignment.name.split_once('.').filter(|(prefix, _)| **prefix != engine) {
            let title = format!("`{}` is a setting of {prefix}, and this runs on {engine}", assignment.name);
            return Err(SpecError::at(&assignment.place, title, "has no effect here"));
        }
        if assignment.levels.len() > 1 {
            self.vary(assignment)
        } else {
            self.fix(assignment)
        }
        Ok(())
    }

    /// Drops what belongs to other engines, and refuses settings of other engines among the factors of all.
    pub(crate) fn keep_engine(&mut self, engine: EngineId) -> Result<(), SpecError> {
        let foreign = |name: &str| name.split_once('.').is_some_and(|(prefix, _)| *prefix != engine);
        self.factors.retain(|factor| !(factor.is_of_engine && foreign(&factor.name)));
        if let Some(factor) = self.factors.iter().find(|factor| foreign(&factor.name)) {
            let title =
                format!("factor `{}` is a setting of another engine, and this runs on {engine}", factor.name);
            return Err(SpecError::at(&factor.place, title, "all its levels would be the same here").help(
                format!(
                    "run the experiment on the engine of that setting, or move its list to [engine.{}]",
                    factor.name.split('.').next().unwrap_or_default()
                ),
            ));
        }
        self.parameters.retain(|parameter| !foreign(&parameter.name));
        Ok(())
    }

    /// Takes away the sizes that only whoever runs the server can set, where they do not vary; returns them.
    pub(crate) fn leave_to_server(&mut self) -> Vec<(String, Level)> {
        const SIZES: [&str; 2] = ["buffer_pool_mib", "log_size_mib"];
        let is_size = |assignment: &Assignment| SIZES.contains(&assignment.name.as_str());
        let left = self.parameters.iter().filter(|set| is_size(set));
        let left = left.filter_map(|set| Some((set.name.clone(), set.levels.first().cloned()?))).collect();
        self.parameters.retain(|set| !is_size(set));
        left
    }

    /// The place where a parameter is set, when it is.
    pub(crate) fn place_of(&self, name: &str) -> Option<&Span> {
        self.factors.iter().chain(&self.parameters).find(|set| set.name == name).map(|set| &set.place)
    }

    /// The factors as results store them.
    pub(crate) fn model_factors(&self) -> Vec<Factor> {
        self.factors
            .iter()
            .map(|factor| Factor { name: factor.name.clone(), levels: factor.levels.clone() })
            .collect()
    }

    /// All parameters that do not vary, defaults included: those of the table in its order, the user's own as written,
    /// then settings by name.
    pub(crate) fn fixed(&self) -> Vec<(String, Level)> {
        let set = |set: &Assignment| Some((set.name.clone(), set.levels.first().cloned()?));
        let value = |name: &str| self.parameters.iter().find(|set| set.name == name)?.levels.first().cloned();
        let varies = |name: &str| self.factors.iter().any(|factor| factor.name == name);
        let mut fixed: Vec<(String, Level)> = parameters()
            .iter()
            .filter(|parameter| !varies(parameter.name))
            .filter(|parameter| !self.is_own || parameters::of_own_workload(parameter.name).is_some())
            .filter_map(|parameter| {
                let level = value(parameter.name).or_else(|| default_level(parameter, self.is_own))?;
                Some((parameter.name.to_owned(), level))
            })
            .collect();
        fixed.extend(self.parameters.iter().filter(|set| self.is_own_name(&set.name)).filter_map(set));
        let settings = self.parameters.iter().filter(|set| set.name.contains('.'));
        let mut settings: Vec<(String, Level)> = settings.filter_map(set).collect();
        settings.sort_by(|one, other| one.0.cmp(&other.0));
        fixed.extend(settings);
        fixed
    }

    /// Says that the workload is the user's own, where the spec does not say it again.
    pub(crate) fn settle_own_workload(&mut self, place: &Span) {
        const NAME: &str = "workload";
        if self.place_of(NAME).is_none() {
            let levels = vec![Level::Text("own".to_owned())];
            let set = Assignment { name: NAME.to_owned(), place: place.clone(), levels, is_of_engine: false };
            self.parameters.push(set);
        }
    }

    /// Own factors and parameters with their places.
    pub(crate) fn own_names(&self) -> impl Iterator<Item = (&str, &Span)> {
        let all = self.factors.iter().chain(&self.parameters);
        all.filter(|set| self.is_own_name(&set.name)).map(|set| (set.name.as_str(), &set.place))
    }

    fn is_own_name(&self, name: &str) -> bool {
        self.is_own && !name.contains('.') && parameters::of_own_workload(name).is_none()
    }

    /// Entries by parameter name, with `postgres.x = 1` and `[engine.postgres] x = 1` both as `postgres.x`.
    fn flatten<'a>(&self, entries: &[Entry<'a>]) -> Result<Vec<(String, Entry<'a>)>, SpecError> {
        let mut flat = Vec::new();
        let mut waiting: Vec<(String, Entry<'a>, usize)> = entries
            .iter()
            .rev()
            .map(|entry| (self.name_of(entry.key).to_owned(), entry.clone(), 1))
            .collect();
        while let Some((name, entry, depth)) = waiting.pop() {
            let engine = name.split('.').next().unwrap_or_default();
            if !entry.is_table() || !is_engine(engine) || depth > SETTING_DEPTH_MAX {
                flat.push((name, entry));
                continue;
            }
            for inner in entry.table()?.into_iter().rev() {
                waiting.push((format!("{name}.{}", inner.key), inner, depth + 1));
            }
        }
        Ok(flat)
    }

    fn drop_rival(&mut self, name: &str) {
        if let Some(rival) = rival(name) {
            self.factors.retain(|factor| factor.name != rival);
            self.parameters.retain(|parameter| parameter.name != rival);
        }
    }
}

fn replace_or_push(assignments: &mut Vec<Assignment>, assignment: Assignment) {
    match assignments.iter_mut().find(|other| other.name == assignment.name) {
        Some(earlier) => *earlier = assignment,
        None => assignments.push(assignment),
    }
}

fn default_level(parameter: &Parameter, is_own: bool) -> Option<Level> {
    let text = parameter.default.or_else(|| parameters::default_of_own_workload(parameter.name, is_own))?;
    let source = SpecText::new("default", text);
    level(parameter.name, &parameter.kind, &Scalar::Word(text.to_owned()), &source.place(0..text.len())).ok()
}
