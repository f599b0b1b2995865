//! The file of `check --resume`: a check writes, replaces and removes it, so it must be nothing else.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::bail;
use check::stopped::Header;

use crate::engines::CHECKERS;

/// How every stopped check begins: files of other kinds are not read further.
const BEGINNING: &[u8] = b"{\"engine\":\"";

/// Refuses a file that belongs to a database or is there and holds no stopped check.
pub(crate) fn admit(path: &Path, targets: &[&Path]) -> anyhow::Result<()> {
    let Some(reason) = refusal(path, targets) else { return Ok(()) };
    bail!(
        "cannot use \"{}\" for --resume: {reason}\nhint: name a file that does not exist yet, outside the database; the check writes it when it stops",
        path.display()
    )
}

fn refusal(path: &Path, targets: &[&Path]) -> Option<String> {
    let places = places(path);
    for target in targets {
        let Ok(target) = target.canonicalize() else { continue };
        if target.is_dir() && places.iter().any(|place| place.starts_with(&target)) {
            return Some("it is inside the checked directory".to_owned());
        }
        if places.contains(&target) {
            return Some("it is the checked file".to_owned());
        }
        for suffix in ["-wal", "-shm", "-journal"] {
            let mut beside: OsString = target.clone().into_os_string();
            beside.push(suffix);
            if places.contains(&PathBuf::from(beside)) {
                return Some(format!("it is the {suffix} file of the checked database"));
            }
        }
    }
    let is_cluster = |directory: &Path| directory.join("PG_VERSION").is_file();
    if places.iter().any(|place| place.ancestors().skip(1).any(is_cluster)) {
        return Some("it is inside a PostgreSQL data directory".to_owned());
    }
    if fs::metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
        return None;
    }
    content_refusal(path)
}

/// Where a name leads: the name itself in its directory, and the file behind it when it is a link.
fn places(path: &Path) -> Vec<PathBuf> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let named = directory.canonicalize().ok().zip(path.file_name()).map(|(parent, name)| parent.join(name));
    named.into_iter().chain(path.canonicalize()).collect()
}

/// Why an existing file is no stopped check.
fn content_refusal(path: &Path) -> Option<String> {
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => return Some("it is not a regular file".to_owned()),
        Ok(metadata) if metadata.len() == 0 => return Some("it is empty, not a stopped check".to_owned()),
        Ok(_) => {}
        Err(error) => return Some(format!("it cannot be read: {error}")),
    }
    let mut beginning = Vec::new();
    let read = disk::regular::open(path)
        .and_then(|file| file.take(BEGINNING.len() as u64).read_to_end(&mut beginning));
    if let Err(error) = read {
        return Some(format!("it cannot be read: {error}"));
    }
    let is_stopped_check = beginning == BEGINNING
        && Header::load(path).is_ok_and(|stopped| {
            CHECKERS.iter().any(|checker| checker.supports.resume && checker.id() == stopped.engine)
        });
    (!is_stopped_check).then(|| "it exists and is not a stopped check of fathom".to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn stopped_checks_and_new_names_are_admitted_and_places_of_databases_are_not() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let target = at("app.db");
        fs::write(&target, b"SQLite format 3\0").unwrap();
        let admitted = |path: &Path| admit(path, &[&target]).is_ok();
        for engine in ["sqlite", "postgres", "sqlserver"] {
            let stopped =
                format!("{{\"engine\":\"{engine}\",\"version\":9,\"identity\":[1],\"state\":{{}}}}");
            fs::write(at(&format!("{engine}.json")), stopped).unwrap();
        }
        for name in ["sqlite.json", "postgres.json", "new.json"] {
            assert!(admitted(&at(name)), "{name}");
        }
        fs::write(at("other.json"), b"{\"engine\":\"sqlite\"}").unwrap();
        for name in
            ["app.db", "app.db-wal", "app.db-shm", "app.db-journal", "other.json", "sqlserver.json", "."]
        {
            assert!(!admitted(&at(name)), "{name}");
        }
        fs::create_dir_all(at("data/base")).unwrap();
        assert!(admit(&at("data/base/new.json"), &[&at("data")]).is_err());
        fs::write(at("data/PG_VERSION"), b"15\n").unwrap();
        assert!(!admitted(&at("data/base/new.json")));
    }
}
