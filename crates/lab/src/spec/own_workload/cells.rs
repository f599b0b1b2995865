//! From `[workload]` to the workload of each cell: placeholders replaced, every text parsed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use results::EngineId;
use results::model::Level;
use results::redaction::sql_password;
use script::ScriptError;

use super::load::LoadSpec;
use super::table::{OwnSpec, ScriptSpec};
use super::template::{Rendered, Template, TemplateError, names, render, variables};
use crate::own::{
    Load, OnError, OwnWorkload, Part, Plan, PlanError, Protocol, SqlText, WeightedScript, column_program,
};
use crate::spec::draft::Draft;
use crate::spec::duration::duration;
use crate::spec::error::{SpecError, nearest, quoted};
use crate::spec::parameters::{of_own_workload, parameters};
use crate::work::Work;

/// Rows of one execution of a load script, where the spec does not say.
const BATCH_ROWS: u64 = 10_000;
/// Rows of a load at most.
const ROWS_MAX: u64 = 1 << 48;
/// Connections of a load at most.
const CONNECTIONS_MAX: u64 = 10_000;
/// Bytes of the texts of all cells together, equal ones once.
const BYTES_MAX: usize = 256 << 20;
/// Parameters that are part of the workload itself.
const PARAMETERS: [&str; 6] =
    ["protocol", "max_tries", "on_error", "latency_limit", "scale", "transaction_log"];

/// Makes the workloads of cells; cells whose texts and parameters are equal share one.
pub(crate) struct OwnCells<'a> {
    spec: &'a OwnSpec,
    engine: EngineId,
    /// Own names that occur as `:name`.
    variables: BTreeSet<String>,
    /// Names whose levels make a difference.
    used: BTreeSet<String>,
    made: HashMap<Vec<String>, Arc<OwnWorkload>>,
    bytes: usize,
}

/// The texts of a cell, each with what it was made from.
struct Texts<'a> {
    spec: &'a OwnSpec,
    levels: &'a BTreeMap<&'a str, &'a Level>,
    label: &'a str,
    rendered: Vec<(Part, &'a Template, Rendered)>,
}

impl<'a> OwnCells<'a> {
    /// Refuses own factors and parameters that no text uses, and texts with a password: they are stored with the results.
    pub(crate) fn new(spec: &'a OwnSpec, draft: &Draft, engine: EngineId) -> Result<Self, SpecError> {
        for template in spec.templates() {
            if let Some(secret) = sql_password(template.text()) {
                let title = "the text holds a password, and would be stored with the results";
                return Err(SpecError::at(&template.at(secret), title, "")
                    .help("leave out the password: roles of a workload need none"));
            }
        }
        let mut used: BTreeSet<String> = spec
            .templates()
            .flat_map(|template| names(template.text()))
            .map(|name| of_own_workload(name).map_or(name, |known| known.name).to_owned())
            .collect();
        let written: BTreeSet<&str> =
            spec.templates().flat_map(|template| variables(template.text())).collect();
        let mut variables = BTreeSet::new();
        for (name, place) in draft.own_names() {
            if written.contains(name) {
                variables.insert(name.to_owned());
            } else if !used.contains(name) {
                return Err(unused(name, place, &used));
            }
        }
        used.extend(variables.iter().cloned());
        used.extend(PARAMETERS.map(str::to_owned));
        Ok(Self { spec, engine, variables, used, made: HashMap::new(), bytes: 0 })
    }

    /// The workload of a cell with these parameters, parsed for the engine.
    pub(crate) fn of_cell(
        &mut self,
        levels: &BTreeMap<&str, &Level>,
        label: &str,
        work: &Work,
    ) -> Result<Arc<OwnWorkload>, SpecError> {
        let written =
            |name: &String| levels.get(name.as_str()).map_or(String::new(), |level| level.to_string());
        let key: Vec<String> = self.used.iter().map(written).collect();
        if let Some(made) = self.made.get(&key) {
            return Ok(Arc::clone(made));
        }
        let mut texts = Texts { spec: self.spec, levels, label, rendered: Vec::new() };
        let own = texts.workload(&self.variables)?;
        self.bytes += texts.rendered.iter().map(|(_, _, rendered)| rendered.text.len()).sum::<usize>();
        if self.bytes > BYTES_MAX {
            let title = format!("the texts of all cells have more than {BYTES_MAX} bytes");
            return Err(SpecError::without_place(title).help("take away levels of own factors"));
        }
        for part in [Part::Schema, Part::Load, Part::Scripts, Part::After] {
            Plan::new(&own, part, self.engine, work).map_err(|error| match error {
                PlanError::Script(error) => texts.locate(part, error),
                PlanError::Definition(error) => SpecError::without_place(error.to_string()),
            })?;
        }
        self.check_generators(&own)?;
        let own = Arc::new(own);
        self.made.insert(key, Arc::clone(&own));
        Ok(own)
    }
}

impl OwnCells<'_> {
    /// Refuses generators of columns that cannot be read.
    fn check_generators(&self, own: &OwnWorkload) -> Result<(), SpecError> {
        let Some(LoadSpec::Columns { columns: written, .. }) = &self.spec.load else { return Ok(()) };
        let Some(Load::Columns { columns, .. }) = &own.load else { return Ok(()) };
        for ((_, template), column) in written.iter().zip(columns) {
            column_program(own, std::slice::from_ref(column))
                .map_err(|reason| SpecError::at(&template.place, reason, ""))?;
        }
        Ok(())
    }
}

/// The error for a name that no text has.
fn unused(name: &str, place: &crate::spec::error::Span, used: &BTreeSet<String>) -> SpecError {
    let title =
        format!("{} is no parameter of own workloads, and no text of [workload] uses it", quoted(name));
    let known = parameters().iter().filter_map(|parameter| of_own_workload(parameter.name));
    let candidates = used.iter().map(String::as_str).chain(known.map(|known| known.name));
    let help = match nearest(name, candidates) {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            format!("write {{{{{name}}}}} where its level belongs, or :{name} in a script; or leave it out")
        }
    };
    SpecError::at(place, title, "used nowhere").help(help)
}

impl<'a> Texts<'a> {
    fn workload(&mut self, variables: &BTreeSet<String>) -> Result<OwnWorkload, SpecError> {
        let spec = self.spec;
        let schema = spec.schema.as_ref().map(|template| self.sql(Part::Schema, template)).transpose()?;
        let load = spec.load.as_ref().map(|load| self.load(load)).transpose()?;
        let script = |script: &'a ScriptSpec| {
            Ok(WeightedScript { sql: self.sql(Part::Scripts, &script.sql)?, weight: script.weight })
        };
        let scripts = spec.scripts.iter().map(script).collect::<Result<_, SpecError>>()?;
        let after = spec.after.as_ref().map(|template| self.sql(Part::After, template)).transpose()?;
        let count = |name: &str, default: u64| match self.levels.get(name) {
            Some(Level::Integer(value)) => u64::try_from(*value).unwrap_or(default),
            _ => default,
        };
        Ok(OwnWorkload {
            schema,
            load,
            scripts,
            after,
            definitions: self.definitions(variables)?,
            scale: count("scale", 1),
            protocol: match self.word("protocol") {
                "extended" => Protocol::Extended,
                "prepared" => Protocol::Prepared,
                _ => Protocol::Simple,
            },
            max_tries: u32::try_from(count("max_tries", 1)).unwrap_or(u32::MAX),
            on_error: match self.word("on_error") {
                "continue" => OnError::Continue,
                "retry" => OnError::Retry,
                _ => OnError::Abort,
            },
            latency_limit: duration(self.word("latency_limit")),
            transaction_log: self.levels.get("transaction_log") == Some(&&Level::Boolean(true)),
        })
    }

    fn word(&self, name: &str) -> &str {
        match self.levels.get(name) {
            Some(Level::Text(word)) => word,
            _ => "",
        }
    }

    /// What stands in a text for a name. A decimal number of the user's own keeps its point: `1.0` is no integer in SQL.
    fn value(&self, name: &str) -> Option<String> {
        match (of_own_workload(name), self.levels.get(name)) {
            (Some(known), _) => self.levels.get(known.name).map(|level| level.to_string()),
            (None, Some(Level::Float(value))) => Some(format!("{value:?}")),
            (None, level) => level.map(|level| level.to_string()),
        }
    }

    fn definitions(&self, variables: &BTreeSet<String>) -> Result<Vec<(String, String)>, SpecError> {
        let mut definitions = Vec::new();
        for name in variables {
            let Some(value) = self.value(name) else { continue };
            if value.is_empty() {
                let title = format!("`{name}` is empty, and `:{name}` is used (in cell {})", self.label);
                return Err(SpecError::without_place(title)
                    .help(format!("give it a value, or write {{{{{name}}}}} in place of :{name}")));
            }
            definitions.push((name.clone(), value));
        }
        Ok(definitions)
    }

    fn load(&mut self, load: &'a LoadSpec) -> Result<Load, SpecError> {
        Ok(match load {
            LoadSpec::Script { sql, rows, batch, connections } => {
                let rows = self.count(rows.as_ref(), 1, ROWS_MAX)?;
                let batch = self.count(batch.as_ref(), BATCH_ROWS, ROWS_MAX)?.min(rows);
                let connections = self.count(connections.as_ref(), 1, CONNECTIONS_MAX)? as u32;
                Load::Script { sql: self.sql(Part::Load, sql)?, rows, batch, connections }
            }
            LoadSpec::Copy { file, table, columns, has_header, delimiter, null } => Load::Copy {
                path: file.path.clone(),
                sha256: file.sha256.clone(),
                table: self.text(table)?,
                columns: columns.iter().map(|column| self.text(column)).collect::<Result<_, _>>()?,
                has_header: *has_header,
                delimiter: *delimiter,
                null: null.clone(),
            },
            LoadSpec::Columns { table, rows, connections, columns } => Load::Columns {
                table: self.text(table)?,
                rows: self.count(Some(rows), 1, ROWS_MAX)?,
                connections: self.count(connections.as_ref(), 1, CONNECTIONS_MAX)? as u32,
                columns: columns
                    .iter()
                    .map(|(name, generator)| Ok((name.clone(), self.text(generator)?)))
                    .collect::<Result<_, SpecError>>()?,
            },
        })
    }

    fn sql(&mut self, part: Part, template: &'a Template) -> Result<SqlText, SpecError> {
        let rendered = self.rendered(template)?;
        let text = rendered.text.clone();
        self.rendered.push((part, template, rendered));
        Ok(SqlText { file: template.source.name().to_owned(), text })
    }

    fn text(&self, template: &Template) -> Result<String, SpecError> {
        Ok(self.rendered(template)?.text)
    }

    /// A whole number from 1 on; `default` where the spec has none.
    fn count(&self, template: Option<&Template>, default: u64, most: u64) -> Result<u64, SpecError> {
        let Some(template) = template else { return Ok(default) };
        let text = self.text(template)?;
        text.parse().ok().filter(|value| (1..=most).contains(value)).ok_or_else(|| {
            let name = template.source.name();
            let title = format!("`{name}` takes a whole number from 1 to {most}, found {}", quoted(&text));
            SpecError::at(&template.place, title, "")
        })
    }

    fn rendered(&self, template: &Template) -> Result<Rendered, SpecError> {
        render(template.text(), &|name| self.value(name)).map_err(|error| match error {
            TemplateError::Unknown(name, place) => self.unknown(&name).placed(&template.at(place)),
            TemplateError::TooLarge => {
                let title = format!(
                    "{} is larger than a text may be when its placeholders are replaced (in cell {})",
                    template.source.name(),
                    self.label
                );
                SpecError::at(&template.place, title, "")
            }
        })
    }

    /// What to say of a placeholder that no factor and no parameter has the name of.
    fn unknown(&self, name: &str) -> Unknown {
        if let Some(known) = of_own_workload(name) {
            return Unknown {
                title: format!("the parameter `{}` has no value here", known.name),
                help: format!("set `{}` in [parameters]", known.name),
            };
        }
        let help = match nearest(name, self.levels.keys().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!(
                "add {name} = [\"...\"] to [factors]; braces that are no placeholder have a blank between them"
            ),
        };
        Unknown { title: format!("no factor or parameter is called {}", quoted(name)), help }
    }

    /// The error of a script at its place in the text as written.
    fn locate(&self, part: Part, error: ScriptError) -> SpecError {
        let of_file = |(of_part, template, _): &&(Part, &Template, Rendered)| {
            *of_part == part && template.source.name() == error.file
        };
        let Some((_, template, rendered)) = self.rendered.iter().find(of_file) else {
            return SpecError::without_place(error.to_string());
        };
        let place = template.at(rendered.origin(offset(&rendered.text, error.line, error.column)));
        let has_levels = names(template.text()).next().is_some();
        let title = match has_levels {
            true => format!("{} (in cell {})", error.message, self.label),
            false => error.message,
        };
        let label = if place.written().starts_with("{{") { "with the level of this factor" } else { "" };
        let located = SpecError::at(&place, title, label);
        match error.hint {
            Some(hint) => located.help(hint),
            None => located,
        }
    }
}

/// An error without its place.
struct Unknown {
    title: String,
    help: String,
}

impl Unknown {
    fn placed(self, place: &crate::spec::error::Span) -> SpecError {
        SpecError::at(place, self.title, "").help(self.help)
    }
}

/// The byte at a line and a column in characters, both counted from 1.
fn offset(text: &str, line: u32, column: u32) -> usize {
    let mut start = 0;
    for _ in 1..line {
        match text[start..].find('\n') {
            Some(end) => start += end + 1,
            None => break,
        }
    }
    let line = text[start..].split('\n').next().unwrap_or_default();
    let characters = line.char_indices().nth(column.saturating_sub(1) as usize);
    start + characters.map_or(line.len(), |(at, _)| at)
}
