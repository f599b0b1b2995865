//! Names of imported studies: from files, and free of what fathom measures itself.

use std::path::Path;

use anyhow::bail;
use results::imported::Imported;
use results::model::Study;
use results::store::Store;

/// Longest name.
const CHARS_MAX: usize = 80;

/// The name that was given, or the one of the file: `pgbench_log` of `pgbench_log.8847.1`.
pub(super) fn name(given: Option<&str>, path: &str) -> anyhow::Result<String> {
    let name = match given {
        Some(name) => name.to_owned(),
        None => of_file(path),
    };
    let is_plain = |character: char| character.is_alphanumeric() || "_-.+".contains(character);
    let is_name = name.chars().all(is_plain)
        && name.chars().any(char::is_alphabetic)
        && name.chars().count() <= CHARS_MAX;
    if !is_name || name == "latest" {
        bail!(
            "\"{name}\" cannot name a study\nhint: --name takes letters, digits, _, -, . and +, with a letter in it"
        );
    }
    if lab::spec::shipped().iter().any(|shipped| shipped.name == name) {
        bail!(
            "\"{name}\" is an experiment that fathom runs itself\nhint: give the imported study another name with --name"
        );
    }
    Ok(name)
}

fn of_file(path: &str) -> String {
    let file =
        Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut stem = file.as_str();
    while let Some((before, ending)) = stem.rsplit_once('.') {
        if before.is_empty() || ending.len() > 8 {
            break;
        }
        stem = before;
    }
    let plain: String = stem
        .chars()
        .map(
            |character| {
                if character.is_alphanumeric() || "_-+".contains(character) { character } else { '-' }
            },
        )
        .take(CHARS_MAX)
        .collect();
    if plain.chars().any(char::is_alphabetic) { plain } else { format!("import-{plain}") }
}

/// Refuses a name that studies of another kind have: their history and their comparisons would mix them.
pub(super) fn require_free(store: &Store, study: &Study) -> anyhow::Result<()> {
    let hint = "hint: give the imported study another name with --name";
    for other in store.studies()?.into_iter().filter(|other| other.study.experiment == study.experiment) {
        let (id, other) = (other.id.0, other.study);
        let Some(origin) = &other.imported else {
            bail!("\"{}\" is the name of study {id}, which fathom measured\n{hint}", study.experiment);
        };
        let format = study.imported.as_ref().map_or("", |imported| imported.format.as_str());
        if origin.format != format {
            bail!(
                "\"{}\" is the name of study {id}, imported as {}, not {format}\n{hint}",
                study.experiment,
                origin.format
            );
        }
        if other.design.metric != study.design.metric {
            let words = |study: &Study| study.design.metric.clone().unwrap_or_default();
            bail!(
                "\"{}\" is the name of study {id}, which compares {}, not {}\nhint: choose the same with --metric, or another name with --name",
                study.experiment,
                words(&other),
                words(study)
            );
        }
    }
    Ok(())
}

/// What stands in the place of a spec: the origin as TOML.
pub(super) fn spec(origin: &Imported) -> String {
    // A JSON string is a basic string of TOML.
    let text = |text: &str| serde_json::Value::from(text).to_string();
    let mut spec = String::from("# imported: there is no spec that fathom could run\n[import]\n");
    spec.push_str(&format!("format = {}\n", text(&origin.format)));
    if let Some(tool) = &origin.tool {
        spec.push_str(&format!("tool = {}\n", text(tool)));
    }
    if let Some(version) = &origin.tool_version {
        spec.push_str(&format!("tool_version = {}\n", text(version)));
    }
    for file in &origin.files {
        spec.push_str(&format!(
            "\n[[import.file]]\npath = {}\nbytes = {}\nsha256 = {}\n",
            text(&file.path),
            file.bytes,
            text(&file.sha256)
        ));
    }
    spec
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn names_are_those_of_files_without_endings_and_numbers() {
        for (path, expected) in [
            ("a/wait_stats.csv", "wait_stats"),
            ("pgbench_log.8847.1", "pgbench_log"),
            ("run 1.json", "run-1"),
            ("2026.csv", "import-2026"),
            (".hidden", "-hidden"),
        ] {
            assert_eq!(name(None, path).unwrap(), expected);
        }
        for bad in ["", "12", "latest", "a/b", "a b", "a~1", "populate-batch"] {
            assert!(name(Some(bad), "x.csv").is_err(), "{bad}");
        }
    }
}
