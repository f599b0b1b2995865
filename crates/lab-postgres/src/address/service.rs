//! The connection service file, `pg_service.conf`, as libpq reads it.

use std::path::{Path, PathBuf};

use crate::address::connection_string::Parameters;

/// Service file in a home directory.
const HOME_FILE: &str = ".pg_service.conf";

/// Service file of the system.
const SYSTEM_FILE: &str = "pg_service.conf";

/// Directories of the system's file as the packages of Debian and PGDG set them, when `PGSYSCONFDIR` does not.
// OBSERVED: pg_config --sysconfdir of Debian's packages; --sysconfdir in the spec files of PGDG's RPM packages
const SYSTEM_DIRECTORIES: [&str; 2] = ["/etc/postgresql-common", "/etc/sysconfig/pgsql"];

/// The parameters of a service, such that a later one overrides an earlier one.
///
/// # Errors
/// A file or a service that is not there, a line that cannot be read; the line is not quoted.
// EVIDENCE: PostgreSQL documentation, "The Connection Service File" (libpq)
pub(super) fn parameters(
    service: &str,
    file: Option<String>,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Parameters, String> {
    let mut looked_in = Vec::new();
    for (path, is_required) in paths(file, environment) {
        let text = match disk::regular::read(&path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if is_required || error.kind() != std::io::ErrorKind::NotFound => {
                return Err(format!("service file \"{}\" cannot be read: {error}", path.display()));
            }
            Err(_) => continue,
        };
        if let Some(found) = group(&text, service)
            .map_err(|(line, reason)| format!("service file \"{}\", line {line}: {reason}", path.display()))?
        {
            return Ok(found);
        }
        looked_in.push(format!("\"{}\"", path.display()));
    }
    let places =
        if looked_in.is_empty() { "no service file exists".to_owned() } else { looked_in.join(", ") };
    Err(format!("service \"{service}\" is not defined ({places})"))
}

/// Files in the order in which they are searched, and whether each must be there.
fn paths(file: Option<String>, environment: &dyn Fn(&str) -> Option<String>) -> Vec<(PathBuf, bool)> {
    let first = match file.or_else(|| environment("PGSERVICEFILE")) {
        // The only one: libpq searches no other file then.
        Some(named) => return vec![(PathBuf::from(named), true)],
        None => environment("HOME").map(|home| (Path::new(&home).join(HOME_FILE), false)),
    };
    let directories = match environment("PGSYSCONFDIR") {
        Some(directory) => vec![directory],
        None => SYSTEM_DIRECTORIES.map(str::to_owned).to_vec(),
    };
    let system = directories.into_iter().map(|directory| (Path::new(&directory).join(SYSTEM_FILE), false));
    first.into_iter().chain(system).collect()
}

/// The lines below `[service]` up to the next bracket; the first of a name counts.
pub(super) fn group(text: &str, service: &str) -> Result<Option<Parameters>, (usize, &'static str)> {
    let mut found: Option<Parameters> = None;
    for (number, line) in text.lines().map(str::trim).enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(heading) = line.strip_prefix('[') {
            if found.is_some() {
                break;
            }
            if heading.strip_prefix(service).is_some_and(|rest| rest.starts_with(']')) {
                found = Some(Parameters::new());
            }
            continue;
        }
        let Some(parameters) = &mut found else { continue };
        if line.starts_with("ldap:") || line.starts_with("ldap://") {
            return Err((number + 1, "services from LDAP are not supported"));
        }
        let Some((name, value)) = line.split_once('=') else {
            return Err((number + 1, "it is not of the form name=value"));
        };
        if name == "service" || name == "servicefile" {
            return Err((number + 1, "a service cannot name another service"));
        }
        parameters.push((name.to_owned(), value.to_owned()));
    }
    Ok(found.map(|mut parameters| {
        parameters.reverse();
        parameters
    }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const TEXT: &str =
        "# services\n[a]\nhost=one\n\n[ab]\n host=two\nport=5433\nhost=three\npassword=x = y\n[ab]\nport=1\n";

    #[test]
    fn a_service_is_the_first_group_of_its_name_and_the_first_line_of_a_name_counts() {
        let found = group(TEXT, "ab").unwrap().unwrap();
        let flat: Vec<_> = found.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(flat, ["password=x = y", "host=three", "port=5433", "host=two"]);
        assert!(group(TEXT, "b").unwrap().is_none());
    }

    #[test]
    fn a_line_that_cannot_be_read_is_named_by_number_and_not_quoted() {
        for (text, number) in [("[a]\ngeheim", 2), ("[a]\nservice=b", 2), ("[a]\n\nldap://geheim/x=y", 3)] {
            let (line, reason) = group(text, "a").unwrap_err();
            assert_eq!(line, number);
            assert!(!reason.contains("geheim"));
        }
        assert!(group("[other]\nnonsense\n[a]\n", "a").unwrap().is_some());
    }

    #[test]
    fn the_file_of_the_user_comes_before_the_one_of_the_system_and_a_named_one_alone() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = scratch.path().display().to_string();
        let write = |name: &str, text: &str| std::fs::write(scratch.path().join(name), text).unwrap();
        write(HOME_FILE, "[a]\nhost=home\n");
        write(SYSTEM_FILE, "[a]\nhost=system\n[b]\nhost=system\n");
        write("named", "[c]\nhost=named\n");
        let environment = |name: &str| ["HOME", "PGSYSCONFDIR"].contains(&name).then(|| directory.clone());
        let host = |service: &str| parameters(service, None, &environment).map(|all| all[0].1.clone());
        assert_eq!(host("a").unwrap(), "home");
        assert_eq!(host("b").unwrap(), "system");
        let error = host("c").unwrap_err();
        assert!(error.contains("\"c\" is not defined") && error.contains(SYSTEM_FILE), "{error}");
        let named = |name: &str| Some(format!("{directory}/{name}"));
        assert_eq!(parameters("c", named("named"), &environment).unwrap()[0].1, "named");
        assert!(parameters("a", named("named"), &environment).is_err());
        let error = parameters("c", named("none"), &environment).unwrap_err();
        assert!(error.contains("No such file"), "{error}");
    }
}
