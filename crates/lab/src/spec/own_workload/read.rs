//! Reads `[workload]` with its files.

use script::Builtin;

use super::files::{Files, TEXT_BYTES_MAX};
use super::load::LoadSpec;
use super::sql_text::{sql, text_of};
use super::table::{OwnSpec, ScriptSpec};
use super::template::Template;
use crate::spec::document::{Element, Entry};
use crate::spec::draft::Draft;
use crate::spec::error::{SpecError, quoted, suggestion};

const KEYS: [&str; 5] = ["schema", "load", "scripts", "after", "define"];
const SCRIPT_KEYS: [&str; 4] = ["file", "sql", "builtin", "weight"];
const SCRIPTS_MAX: usize = 128;
/// Bytes of all texts together.
const TEXTS_BYTES_MAX: usize = 2 * TEXT_BYTES_MAX;

impl OwnSpec {
    /// Reads the table; `define` goes to the parameters of `draft`.
    pub(crate) fn read(
        workload: &Entry<'_>,
        files: &dyn Files,
        draft: &mut Draft,
    ) -> Result<Self, SpecError> {
        let mut own = Self { schema: None, load: None, scripts: Vec::new(), after: None };
        for entry in &workload.table()? {
            match entry.key {
                "schema" => own.schema = Some(sql(&entry.element(), "schema", "schema", files)?),
                "load" => own.load = Some(LoadSpec::read(entry, files)?),
                "scripts" => own.scripts = scripts(entry, files)?,
                "after" => own.after = Some(sql(&entry.element(), "after", "after", files)?),
                "define" => draft.read_definitions(&entry.table()?)?,
                _ => return Err(entry.not_known("[workload]", &KEYS)),
            }
        }
        if own.scripts.is_empty() {
            return Err(SpecError::at(&workload.key_place, "[workload] has no scripts", "")
                .help("add scripts = [ { file = \"my.sql\" } ]"));
        }
        let bytes: usize = own.templates().map(|template| template.text().len()).sum();
        if bytes > TEXTS_BYTES_MAX {
            let title =
                format!("the texts of [workload] have {bytes} bytes, at most {TEXTS_BYTES_MAX} are read");
            return Err(SpecError::at(&workload.key_place, title, ""));
        }
        Ok(own)
    }
}

fn scripts(entry: &Entry<'_>, files: &dyn Files) -> Result<Vec<ScriptSpec>, SpecError> {
    let Some(elements) = entry.elements() else { return Err(entry.wrong_type("a list of scripts")) };
    if elements.len() > SCRIPTS_MAX {
        let title = format!("{} scripts are given, at most {SCRIPTS_MAX} are taken", elements.len());
        return Err(SpecError::at(&entry.value_place, title, ""));
    }
    let scripts: Vec<ScriptSpec> = elements
        .iter()
        .enumerate()
        .map(|(index, element)| script(element, &format!("script {}", index + 1), files))
        .collect::<Result<_, _>>()?;
    if !scripts.is_empty() && scripts.iter().all(|script| script.weight == 0) {
        return Err(SpecError::at(&entry.value_place, "the weights of all scripts are 0", "")
            .help("give at least one script a weight above 0"));
    }
    Ok(scripts)
}

fn script(element: &Element<'_>, name: &str, files: &dyn Files) -> Result<ScriptSpec, SpecError> {
    let mut weight = 1;
    let Some(entries) = element.table() else {
        return Ok(ScriptSpec { sql: sql(element, "scripts", name, files)?, weight });
    };
    let mut builtin = None;
    let mut others = Vec::new();
    for entry in entries {
        match entry.key {
            "weight" => weight = entry.count(0..=i32::MAX as u32)?,
            "builtin" => builtin = Some(built_in(&entry)?),
            "file" | "sql" => others.push(entry),
            _ => return Err(entry.not_known("a script", &SCRIPT_KEYS)),
        }
    }
    let sql = match builtin {
        Some(builtin) => match others.first() {
            Some(other) => {
                let title = format!("a script is `builtin` or has `{}`, not both", other.key);
                return Err(SpecError::at(&other.key_place, title, "").help("keep one of them"));
            }
            None => builtin,
        },
        None => text_of(element, &others, name, files)?,
    };
    Ok(ScriptSpec { sql, weight })
}

fn built_in(entry: &Entry<'_>) -> Result<Template, SpecError> {
    let name = entry.text()?;
    match Builtin::find(&name).as_slice() {
        [one] => Ok(Template::new(one.name, one.script, entry.value_place.clone())),
        found => {
            let known: Vec<&str> = script::BUILTINS.iter().map(|builtin| builtin.name).collect();
            let many = if found.is_empty() { "is no built-in script" } else { "is not one built-in script" };
            let title = format!("{} {many}", quoted(&name));
            Err(SpecError::at(&entry.value_place, title, format!("one of {}", known.join(", ")))
                .help(suggestion(&name, &known)))
        }
    }
}
