//! `load` of `[workload]`: a script over slices of rows, a CSV file, or a generator for each column.

use std::path::Path;

use super::files::{DataFile, Files};
use super::sql_text::{counted, sql};
use super::template::{Template, variables};
use crate::spec::document::{Element, Entry};
use crate::spec::error::SpecError;

const SCRIPT_KEYS: [&str; 4] = ["script", "rows", "batch", "connections"];
const COPY_KEYS: [&str; 8] = ["copy", "table", "columns", "header", "delimiter", "null", "sha256", "bytes"];
const COLUMNS_KEYS: [&str; 4] = ["table", "rows", "connections", "columns"];
/// Columns of a table at most.
const COLUMNS_MAX: usize = 10_000;

/// How the rows come into the tables; numbers may be placeholders.
#[derive(Clone, Debug)]
pub(super) enum LoadSpec {
    Script {
        sql: Template,
        rows: Option<Template>,
        batch: Option<Template>,
        connections: Option<Template>,
    },
    Copy {
        file: DataFile,
        table: Template,
        columns: Vec<Template>,
        has_header: bool,
        delimiter: char,
        null: String,
    },
    Columns {
        table: Template,
        rows: Template,
        connections: Option<Template>,
        columns: Vec<(String, Template)>,
    },
}

impl LoadSpec {
    /// All its texts.
    pub(super) fn templates(&self) -> Vec<&Template> {
        match self {
            Self::Script { sql, rows, batch, connections } => {
                [Some(sql), rows.as_ref(), batch.as_ref(), connections.as_ref()]
                    .into_iter()
                    .flatten()
                    .collect()
            }
            Self::Copy { table, columns, .. } => [table].into_iter().chain(columns).collect(),
            Self::Columns { table, rows, connections, columns } => {
                let generators = columns.iter().map(|(_, generator)| generator);
                [table, rows].into_iter().chain(connections).chain(generators).collect()
            }
        }
    }

    /// Reads `load`: a path of a script that is executed once, or a table with one of the three forms.
    pub(super) fn read(entry: &Entry<'_>, files: &dyn Files) -> Result<Self, SpecError> {
        let Some(entries) = entry.element().table() else {
            let sql = sql(&entry.element(), "load", "load", files)?;
            return Ok(Self::Script { sql, rows: None, batch: None, connections: None });
        };
        let has = |key: &str| entries.iter().any(|entry| entry.key == key);
        if has("script") || has("sql") || has("file") {
            return script(entry, &entries, files);
        }
        if has("copy") {
            return copy(entry, &entries, files);
        }
        if has("table") || has("columns") {
            return columns(entry, &entries);
        }
        Err(SpecError::at(&entry.value_place, "the load has no `script`, `copy` or `table`", "").help(
            "write { script = \"load.sql\", rows = 1000 }, { copy = \"orders.csv\" } or { table = \"orders\", rows = 1000, \
             columns = { id = \"row\" } }",
        ))
    }
}

fn script(entry: &Entry<'_>, entries: &[Entry<'_>], files: &dyn Files) -> Result<LoadSpec, SpecError> {
    let (mut text, mut rows, mut batch, mut connections) = (None, None, None, None);
    for entry in entries {
        match entry.key {
            "script" => text = Some(sql(&entry.element(), "script", "load", files)?),
            "rows" => rows = Some(counted(entry, "load.rows")?),
            "batch" => batch = Some(counted(entry, "load.batch")?),
            "connections" => connections = Some(counted(entry, "load.connections")?),
            _ => return Err(entry.not_known("a load by a script", &SCRIPT_KEYS)),
        }
    }
    let Some(text) = text else {
        return Err(SpecError::at(&entry.value_place, "the load has no `script`", "")
            .help("write script = \"load.sql\" or script = { sql = '''...''' }"));
    };
    let slices = ["row", "first_row", "last_row", "rows"];
    let written = variables(text.text());
    let used = slices.iter().find(|name| written.contains(*name));
    if let Some(used) = used.filter(|_| rows.is_none()) {
        let title = format!("the load uses `:{used}`, and `rows` is not given");
        return Err(SpecError::at(&entry.value_place, title, "")
            .help("say how many rows all executions make together: rows = 1000"));
    }
    Ok(LoadSpec::Script { sql: text, rows, batch, connections })
}

fn copy(load: &Entry<'_>, entries: &[Entry<'_>], files: &dyn Files) -> Result<LoadSpec, SpecError> {
    let (mut path, mut table, mut columns) = (None, None, Vec::new());
    let (mut has_header, mut delimiter, mut null) = (false, ',', String::new());
    let (mut sha256, mut bytes) = (None, None);
    for entry in entries {
        match entry.key {
            "copy" => path = Some((entry.text()?, entry)),
            "table" => table = Some(named(&entry.element(), "table")?),
            "columns" => {
                let elements = entry.elements().ok_or_else(|| entry.wrong_type("a list of columns"))?;
                columns =
                    elements.iter().map(|element| named(element, "columns")).collect::<Result<_, _>>()?;
            }
            "header" => has_header = entry.flag()?,
            "delimiter" => delimiter = character(entry)?,
            "null" => null = entry.text()?,
            "sha256" => sha256 = Some((entry.text()?, entry)),
            "bytes" => bytes = Some(size(entry)?),
            _ => return Err(entry.not_known("a load of a CSV file", &COPY_KEYS)),
        }
    }
    let Some((path, entry)) = path else {
        return Err(SpecError::at(&load.value_place, "the load has no `copy`", ""));
    };
    let file = data_file(&path, entry, files, sha256, bytes)?;
    let table = match table {
        Some(table) => table,
        None => stem(&file.path)
            .map(|stem| Template::new("load.table", stem, entry.value_place.clone()))
            .ok_or_else(|| {
                SpecError::at(&entry.value_place, format!("{path:?} names no table"), "")
                    .help("add table = \"orders\"")
            })?,
    };
    Ok(LoadSpec::Copy { file, table, columns, has_header, delimiter, null })
}

/// The file with its content: as the spec states it, or as it is.
fn data_file(
    path: &str,
    entry: &Entry<'_>,
    files: &dyn Files,
    sha256: Option<(String, &Entry<'_>)>,
    bytes: Option<u64>,
) -> Result<DataFile, SpecError> {
    let unreadable =
        |reason: String| SpecError::at(&entry.value_place, format!("could not read {path:?}: {reason}"), "");
    let is_digest =
        |text: &str| text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if let Some((stated, place)) = sha256.as_ref().filter(|(stated, _)| !is_digest(stated)) {
        let title = format!("{} is not a SHA-256", crate::spec::error::quoted(stated));
        return Err(SpecError::at(&place.value_place, title, "64 digits of 0 to 9 and a to f"));
    }
    if let (Some((sha256, _)), Some(bytes)) = (&sha256, bytes) {
        // As a stored spec has it; the file is compared with it before a run.
        let path = files.locate(path).map_err(unreadable)?;
        return Ok(DataFile { path, sha256: sha256.clone(), bytes });
    }
    let file = files.data(path).map_err(unreadable)?;
    match sha256.filter(|(stated, _)| *stated != file.sha256) {
        Some((_, place)) => {
            let title = format!("{path:?} has the SHA-256 {}, not the one that is stated", file.sha256);
            Err(SpecError::at(&place.value_place, title, "stated here"))
        }
        None => Ok(file),
    }
}

fn columns(entry: &Entry<'_>, entries: &[Entry<'_>]) -> Result<LoadSpec, SpecError> {
    let (mut table, mut rows, mut connections, mut columns) = (None, None, None, None);
    for entry in entries {
        match entry.key {
            "table" => table = Some(named(&entry.element(), "table")?),
            "rows" => rows = Some(counted(entry, "load.rows")?),
            "connections" => connections = Some(counted(entry, "load.connections")?),
            "columns" => columns = Some(generators(entry)?),
            _ => return Err(entry.not_known("a load by generators", &COLUMNS_KEYS)),
        }
    }
    let missing = |key: &str, example: &str| {
        SpecError::at(&entry.value_place, format!("the load has no `{key}`"), "")
            .help(format!("write {key} = {example}"))
    };
    Ok(LoadSpec::Columns {
        table: table.ok_or_else(|| missing("table", "\"orders\""))?,
        rows: rows.ok_or_else(|| missing("rows", "1000"))?,
        connections,
        columns: columns.ok_or_else(|| missing("columns", "{ id = \"row\", note = \"text(20, 100)\" }"))?,
    })
}

fn generators(entry: &Entry<'_>) -> Result<Vec<(String, Template)>, SpecError> {
    if !entry.is_table() {
        return Err(entry
            .wrong_type("a table with a generator for each column")
            .help("write columns = { id = \"row\", customer = \"random(1, 1000)\" }"));
    }
    let entries = entry.table()?;
    if entries.is_empty() || entries.len() > COLUMNS_MAX {
        let title = format!("the load has {} columns, 1 to {COLUMNS_MAX} are possible", entries.len());
        return Err(SpecError::at(&entry.value_place, title, ""));
    }
    let generator = |entry: &Entry<'_>| {
        let text = entry.text()?;
        let name = format!("load.columns.{}", entry.key);
        Ok((entry.key.to_owned(), Template::new(&name, &text, entry.value_place.clone())))
    };
    entries.iter().map(generator).collect()
}

/// The name of a table or column.
fn named(element: &Element<'_>, key: &str) -> Result<Template, SpecError> {
    let name = element.text(key)?;
    if name.is_empty() || name.contains('\n') {
        return Err(SpecError::at(&element.place, format!("`{key}` has an empty name"), "expected a name"));
    }
    Ok(Template::new(&format!("load.{key}"), &name, element.place.clone()))
}

fn character(entry: &Entry<'_>) -> Result<char, SpecError> {
    let text = entry.text()?;
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some(one), None) if one.is_ascii() && !matches!(one, '\n' | '"') => Ok(one),
        _ => Err(SpecError::at(
            &entry.value_place,
            format!("{text:?} is not a delimiter"),
            "one ASCII character, such as \",\" or \"\\t\"",
        )),
    }
}

fn size(entry: &Entry<'_>) -> Result<u64, SpecError> {
    use crate::spec::value::Scalar;
    match entry.element().scalar(entry.key)? {
        Scalar::Integer(bytes) if bytes >= 0 => Ok(bytes as u64),
        _ => Err(entry.wrong_type("a number of bytes")),
    }
}

fn stem(path: &Path) -> Option<&str> {
    path.file_stem().and_then(|stem| stem.to_str()).filter(|stem| !stem.is_empty())
}
