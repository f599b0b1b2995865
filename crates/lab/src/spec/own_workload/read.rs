//! Reads `[workload]` with its files.

use script::Builtin;

use super::files::{Files, TEXT_BYTES_MAX};
use super::load::LoadSpec;
use super::{OwnSpec, ScriptSpec, Template};
use crate::spec::document::{Element, Entry};
use crate::spec::draft::Draft;
use crate::spec::error::{SpecError, quoted, suggestion};
use crate::spec::value::Scalar;

const KEYS: [&str; 5] = ["schema", "load", "scripts", "after", "define"];
const TEXT_KEYS: [&str; 2] = ["file", "sql"];
const SCRIPT_KEYS: [&str; 4] = ["file", "sql", "builtin", "weight"];
const SCRIPTS_MAX: usize = 128;
/// Bytes of all texts together.
const TEXTS_BYTES_MAX: usize = 2 * TEXT_BYTES_MAX;
const TEXT_WANTED: &str = "a path, or { sql = '''...''' }";

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

/// A text of SQL: a path, or a table with `file` or `sql`. `key` is what messages about its type call it, `name` what
/// those about a text without a file do.
pub(super) fn sql(
    element: &Element<'_>,
    key: &str,
    name: &str,
    files: &dyn Files,
) -> Result<Template, SpecError> {
    match element.table() {
        Some(entries) => {
            if let Some(other) = entries.iter().find(|entry| !TEXT_KEYS.contains(&entry.key)) {
                return Err(other.not_known(&format!("`{key}`"), &TEXT_KEYS));
            }
            text_of(element, &entries, name, files)
        }
        None if element.any_text().is_some() => file(element, files),
        None => Err(element.wrong_type(key, TEXT_WANTED)),
    }
}

/// The text of a table: `sql` as it is, under the name of `file` where there is one; else that of the file.
fn text_of(
    element: &Element<'_>,
    entries: &[Entry<'_>],
    name: &str,
    files: &dyn Files,
) -> Result<Template, SpecError> {
    let find = |key: &str| entries.iter().find(|entry| entry.key == key);
    match (find("file"), find("sql")) {
        (file, Some(sql)) => {
            let name = match file {
                Some(file) => path(&file.element())?,
                None => name.to_owned(),
            };
            let text = sql.element();
            let text = text.any_text().ok_or_else(|| sql.wrong_type("text"))?;
            if text.len() > TEXT_BYTES_MAX {
                let title = format!("`sql` has {} bytes, at most {TEXT_BYTES_MAX} are read", text.len());
                return Err(SpecError::at(&sql.key_place, title, ""));
            }
            Ok(Template::new(&name, text, sql.value_place.clone()))
        }
        (Some(entry), None) => file(&entry.element(), files),
        (None, None) => Err(SpecError::at(&element.place, format!("{name} has no text"), "")
            .help("write file = \"my.sql\" or sql = '''...'''")),
    }
}

fn file(element: &Element<'_>, files: &dyn Files) -> Result<Template, SpecError> {
    let path = path(element)?;
    let text = files.text(&path).map_err(|reason| {
        SpecError::at(&element.place, format!("could not read {path:?}: {reason}"), "")
            .help("a path is relative to the directory of the spec")
    })?;
    Ok(Template::new(&path, &text, element.place.clone()))
}

fn path(element: &Element<'_>) -> Result<String, SpecError> {
    let path = element.text("file")?;
    if path.is_empty() || path.contains(['\n', '\t']) {
        return Err(SpecError::at(&element.place, format!("{path:?} is not the path of a file"), ""));
    }
    Ok(path)
}

/// A whole number, or a text with placeholders that becomes one.
pub(super) fn counted(entry: &Entry<'_>, name: &str) -> Result<Template, SpecError> {
    let text = match entry.element().scalar(entry.key)? {
        Scalar::Integer(value) => value.to_string(),
        Scalar::Text(text) if !super::template::placeholders(&text).is_empty() => text,
        _ => return Err(entry.wrong_type("a whole number, or \"{{name}}\" with an own factor")),
    };
    Ok(Template::new(name, &text, entry.value_place.clone()))
}
