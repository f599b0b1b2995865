//! Texts of `[workload]`: from a file, or as the spec has them.

use super::files::{Files, TEXT_BYTES_MAX};
use super::template::{Template, placeholders};
use crate::spec::document::{Element, Entry};
use crate::spec::error::SpecError;
use crate::spec::value::Scalar;

const TEXT_KEYS: [&str; 2] = ["file", "sql"];
const TEXT_WANTED: &str = "a path, or { sql = '''...''' }";

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
pub(super) fn text_of(
    element: &Element<'_>,
    entries: &[Entry<'_>],
    name: &str,
    files: &dyn Files,
) -> Result<Template, SpecError> {
    let find = |key: &str| entries.iter().find(|entry| entry.key == key);
    match (find("file"), find("sql")) {
        (file, Some(sql)) => {
            let text = sql.element();
            let text = text.any_text().ok_or_else(|| sql.wrong_type("text"))?;
            if text.len() > TEXT_BYTES_MAX {
                let title = format!("`sql` has {} bytes, at most {TEXT_BYTES_MAX} are read", text.len());
                return Err(SpecError::at(&sql.key_place, title, ""));
            }
            let place = sql.value_place.clone();
            match file {
                Some(file) => Ok(Template::new(&path(&file.element())?, text, place)),
                None => Ok(Template::inline(name, text, place)),
            }
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
        Scalar::Text(text) if !placeholders(&text).is_empty() => text,
        _ => return Err(entry.wrong_type("a whole number, or \"{{name}}\" with an own factor")),
    };
    Ok(Template::new(name, &text, entry.value_place.clone()))
}
