//! Finds installed PostgreSQL server binaries.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lab::engine::TargetError;

/// Oldest major version that is driven: the views and settings that are used exist from here on.
pub const MAJOR_MIN: u32 = 14;

/// Directories matched by one pattern that are looked into; nobody has more majors installed.
const MATCHES_MAX: usize = 64;

/// The binaries of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerBinaries {
    /// Directory that holds `postgres` and `initdb`, symbolic links resolved.
    pub bin_dir: PathBuf,
    /// Major version, e.g. 17.
    pub major: u32,
    /// Version as the server prints it, e.g. `17.11`.
    pub version: String,
}

/// Finds the servers of major version 14 and later, newest first, each directory once.
///
/// Looks into `extra`, then `FATHOM_PG_BIN` (directories separated by `:`), `PATH`, `/usr/lib/postgresql/*/bin`,
/// `/usr/pgsql-*/bin`, `~/.cache/fathom/pg/*/bin` and `/var/cache/fathom/pg/*/bin`. Runs `postgres --version` once per
/// directory found.
pub fn find_servers(extra: &[PathBuf]) -> Vec<ServerBinaries> {
    let mut places = extra.to_vec();
    places.extend(directories_in(std::env::var_os("FATHOM_PG_BIN")));
    places.extend(directories_in(std::env::var_os("PATH")));
    places.extend(matches(Path::new("/usr/lib/postgresql"), ""));
    places.extend(matches(Path::new("/usr"), "pgsql-"));
    if let Some(home) = std::env::var_os("HOME") {
        places.extend(matches(&Path::new(&home).join(".cache/fathom/pg"), ""));
    }
    places.extend(matches(Path::new("/var/cache/fathom/pg"), ""));
    servers_among(&places)
}

/// The servers in the directories that the user named, in that order; without any, all that [`find_servers`] finds.
///
/// # Errors
/// A named directory without a server, or no server anywhere.
pub fn require_servers(named: &[PathBuf]) -> Result<Vec<ServerBinaries>, TargetError> {
    if !named.is_empty() {
        return named.iter().map(|dir| server_in(dir)).collect();
    }
    let servers = find_servers(&[]);
    if servers.is_empty() { Err(no_servers()) } else { Ok(servers) }
}

/// The server in one directory.
///
/// # Errors
/// The directory has no `postgres` beside an `initdb`, or one that does not tell its version or is too old.
pub fn server_in(dir: &Path) -> Result<ServerBinaries, TargetError> {
    let hint = "name the directory that holds postgres and initdb, e.g. /usr/lib/postgresql/17/bin";
    let refused = |reason: String| {
        TargetError::refused(format!("no PostgreSQL server in \"{}\": {reason}", dir.display()), hint)
    };
    let postgres =
        dir.join("postgres").canonicalize().map_err(|error| refused(format!("postgres: {error}")))?;
    let Some(bin_dir) = postgres.parent().map(Path::to_path_buf) else {
        return Err(refused("postgres has no directory".to_owned()));
    };
    if !bin_dir.join("initdb").is_file() {
        return Err(refused(format!("\"{}\" has no initdb", bin_dir.display())));
    }
    let (major, version) = version_of(&postgres).map_err(refused)?;
    if major < MAJOR_MIN {
        return Err(refused(format!("version {version} is older than {MAJOR_MIN}")));
    }
    Ok(ServerBinaries { bin_dir, major, version })
}

/// Major version and version of one of PostgreSQL's programs.
///
/// # Errors
/// It does not start, or does not tell.
pub(crate) fn version_of(program: &Path) -> Result<(u32, String), String> {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let output = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("\"{name} --version\": {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    parse_version(&text).ok_or_else(|| format!("\"{name} --version\" printed \"{}\"", text.trim()))
}

/// The error for a machine without any server.
pub(crate) fn no_servers() -> TargetError {
    TargetError::refused(
        format!("no PostgreSQL server binaries of version {MAJOR_MIN} or later were found"),
        "install the package postgresql, or name the directory of the binaries with --pg-bin",
    )
}

fn servers_among(places: &[PathBuf]) -> Vec<ServerBinaries> {
    let mut servers: Vec<ServerBinaries> = Vec::new();
    for place in places {
        // Most directories of PATH have none: look before running anything.
        if !place.join("postgres").is_file() {
            continue;
        }
        if let Ok(server) = server_in(place)
            && !servers.iter().any(|known| known.bin_dir == server.bin_dir)
        {
            servers.push(server);
        }
    }
    // Stable: of two with the same version the first place wins.
    servers.sort_by_key(|server| std::cmp::Reverse((server.major, minor_of(server))));
    servers
}

fn minor_of(server: &ServerBinaries) -> u32 {
    server.version.split('.').nth(1).and_then(|minor| minor.parse().ok()).unwrap_or(0)
}

fn directories_in(list: Option<OsString>) -> Vec<PathBuf> {
    list.map(|list| std::env::split_paths(&list).filter(|dir| dir.is_absolute()).collect())
        .unwrap_or_default()
}

/// `<parent>/<prefix>*/bin`, in the order of the names.
fn matches(parent: &Path, prefix: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(parent) else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
        .map(|entry| entry.path().join("bin"))
        .filter(|bin| bin.is_dir())
        .take(MATCHES_MAX)
        .collect();
    found.sort();
    found
}

/// `postgres (PostgreSQL) 15.18 (Debian ...)` -> (15, "15.18"); also `18beta1`, `19devel`.
fn parse_version(text: &str) -> Option<(u32, String)> {
    let (_, after) = text.split_once("(PostgreSQL) ")?;
    let version = after.split_whitespace().next()?;
    let digits = version.find(|character: char| !character.is_ascii_digit()).unwrap_or(version.len());
    let major = version.get(..digits)?.parse().ok()?;
    Some((major, version.to_owned()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A directory with scripts that pass for a server of this version.
    fn fake_server(parent: &Path, name: &str, version: &str) -> PathBuf {
        let bin = parent.join(name).join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        for (tool, text) in [
            ("postgres", format!("#!/bin/sh\necho 'postgres (PostgreSQL) {version}'\n")),
            ("initdb", String::new()),
        ] {
            let path = bin.join(tool);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        bin
    }

    #[test]
    fn versions_are_read_as_the_server_prints_them() {
        for (text, major, version) in [
            ("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n", 15, "15.18"),
            ("postgres (PostgreSQL) 18.6\n", 18, "18.6"),
            ("postgres (PostgreSQL) 19devel\n", 19, "19devel"),
        ] {
            assert_eq!(parse_version(text), Some((major, version.to_owned())));
        }
        for text in ["", "postgres", "postgres (PostgreSQL) ", "postgres (PostgreSQL) devel"] {
            assert_eq!(parse_version(text), None);
        }
    }

    #[test]
    fn servers_come_newest_first_and_each_directory_once() {
        let scratch = tempfile::tempdir().unwrap();
        let older = fake_server(scratch.path(), "a", "14.2");
        let newer = fake_server(scratch.path(), "b", "17.11");
        let newer_minor_before = fake_server(scratch.path(), "c", "17.9");
        let too_old = fake_server(scratch.path(), "d", "13.4");
        let link = scratch.path().join("link");
        std::os::unix::fs::symlink(&newer, &link).unwrap();
        let places = [older, newer_minor_before, too_old, newer, link, scratch.path().join("nothing")];
        let versions: Vec<String> = servers_among(&places).into_iter().map(|server| server.version).collect();
        assert_eq!(versions, ["17.11", "17.9", "14.2"]);
    }

    #[test]
    fn a_named_directory_without_a_server_is_an_error_that_names_it() {
        let scratch = tempfile::tempdir().unwrap();
        let error = require_servers(&[scratch.path().to_path_buf()]).unwrap_err().to_string();
        assert!(error.contains(&scratch.path().display().to_string()), "{error}");
        assert!(error.contains("hint: "), "{error}");
        let old = fake_server(scratch.path(), "old", "13.4");
        assert!(require_servers(&[old]).unwrap_err().to_string().contains("older than 14"));
    }

    #[test]
    fn a_machine_without_servers_gets_one_hint() {
        assert!(no_servers().to_string().contains("hint: install the package postgresql"));
    }
}
