//! The password file, `~/.pgpass`, as libpq reads it.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::super::wire::{Endpoint, Secret};

/// Password file in a home directory.
const HOME_FILE: &str = ".pgpass";

/// Largest password file that is read.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Socket directories that libpq is built with: the source's and the packages'. A connection to one is to `localhost`.
// EVIDENCE: DEFAULT_PGSOCKET_DIR is /tmp; Debian's and PGDG's packages set /var/run/postgresql (a link to /run)
const DEFAULT_SOCKET_DIRECTORIES: [&str; 3] = ["/tmp", "/var/run/postgresql", "/run/postgresql"];

/// What a connection is, as a line of the file names it.
pub(super) struct Connection<'a> {
    /// The host of the URL, or the address where it has no host; `None` on a Unix socket.
    pub(super) host: Option<&'a str>,
    pub(super) endpoint: &'a Endpoint,
    pub(super) database: &'a str,
    pub(super) user: &'a str,
}

/// The file that is read: the one named in the URL or the service, `PGPASSFILE`, or the one in the home directory.
pub(super) fn path(named: Option<String>, environment: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    named
        .or_else(|| environment("PGPASSFILE"))
        .map(PathBuf::from)
        .or_else(|| environment("HOME").map(|home| Path::new(&home).join(HOME_FILE)))
}

/// The password of the first line that matches; `None` when there is no file, no line, or an empty password.
///
/// # Errors
/// Why a file that is there is ignored, in words.
// EVIDENCE: PostgreSQL documentation, "The Password File" (libpq): a file with access for group or world is ignored
pub(super) fn password(path: &Path, connection: &Connection<'_>) -> Result<Option<Secret>, String> {
    let ignored = |reason: String| format!("password file \"{}\" is ignored: {reason}", path.display());
    let Ok(found) = std::fs::metadata(path) else { return Ok(None) };
    if !found.is_file() {
        return Err(ignored("it is not a plain file".to_owned()));
    }
    let mode = found.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(ignored(format!(
            "its permissions are {mode:04o}, group or world has access; run chmod 0600 on it"
        )));
    }
    let mut bytes = Vec::new();
    disk::regular::open(path)
        .and_then(|file| file.take(FILE_BYTES_MAX).read_to_end(&mut bytes))
        .map_err(|error| ignored(error.to_string()))?;
    Ok(matching(&String::from_utf8_lossy(&bytes), connection).map(Secret::new))
}

/// On a socket, lines that name it as libpq does come first, then lines with its other name.
pub(super) fn matching(text: &str, connection: &Connection<'_>) -> Option<String> {
    let (port, hosts) = match connection.endpoint {
        Endpoint::Tcp { host, port } => (port, vec![connection.host.unwrap_or(host).to_owned()]),
        Endpoint::Unix { directory, port } => {
            let directory = directory.to_string_lossy().into_owned();
            let mut hosts = vec![directory.clone(), "localhost".to_owned()];
            if DEFAULT_SOCKET_DIRECTORIES.contains(&directory.trim_end_matches('/')) {
                hosts.reverse();
            }
            (port, hosts)
        }
    };
    let port = port.to_string();
    hosts.iter().find_map(|host| {
        let wanted = [host.as_str(), &port, connection.database, connection.user];
        text.lines().find_map(|line| password_of(line, wanted)).filter(|password| !password.is_empty())
    })
}

/// The password of `host:port:database:user:password`, if the line is about this connection.
fn password_of(line: &str, wanted: [&str; 4]) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let mut rest = line;
    for wanted in wanted {
        let is_any = rest.starts_with("*:");
        let (field, after) = field(rest);
        if !is_any && field != wanted {
            return None;
        }
        rest = after?;
    }
    // Colons in the password need no backslash; backslashes do.
    Some(unescaped(rest))
}

/// The field up to the next colon without a backslash before it, and what follows the colon.
fn field(text: &str) -> (String, Option<&str>) {
    let mut is_escaped = false;
    for (place, byte) in text.bytes().enumerate() {
        match byte {
            b':' if !is_escaped => return (unescaped(&text[..place]), text.get(place + 1..)),
            _ => is_escaped = byte == b'\\' && !is_escaped,
        }
    }
    (unescaped(text), None)
}

/// A backslash takes the next character as it is; one at the end stands for itself.
fn unescaped(text: &str) -> String {
    let mut characters = text.chars();
    let mut plain = String::with_capacity(text.len());
    while let Some(character) = characters.next() {
        plain.push(if character == '\\' { characters.next().unwrap_or('\\') } else { character });
    }
    plain
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn tcp(text: &str) -> Option<String> {
        let endpoint = Endpoint::Tcp { host: "10.0.0.7".to_owned(), port: 5432 };
        let host = Some("db.example");
        matching(text, &Connection { host, endpoint: &endpoint, database: "orders", user: "karl" })
    }

    fn socket(directory: &str, text: &str) -> Option<String> {
        let endpoint = Endpoint::Unix { directory: directory.into(), port: 5432 };
        matching(text, &Connection { host: None, endpoint: &endpoint, database: "a:b", user: r"k\l" })
    }

    #[test]
    fn the_first_line_whose_four_fields_match_gives_the_password() {
        let text = "# db.example:5432:orders:karl:comment\nother:5432:orders:karl:1\ndb.example:5433:*:*:2\n\
            db.example:*:orders:karl:3\n*:*:*:*:4\n";
        assert_eq!(tcp(text).as_deref(), Some("3"));
        assert_eq!(tcp("*:*:*:*:4\r\ndb.example:5432:orders:karl:3").as_deref(), Some("4"));
        assert_eq!(tcp("10.0.0.7:5432:orders:karl:by address"), None);
        for text in ["", "db.example:5432:orders:karl", "*:*:*", "**:*:*:*:x", "*:*:*:*:", "*:*:*:k*:x"] {
            assert_eq!(tcp(text), None, "{text}");
        }
    }

    #[test]
    fn colons_and_backslashes_are_escaped_by_a_backslash() {
        let line = r"*:*:a\:b:k\\l:p\:q:r\\s";
        assert_eq!(socket("/tmp", line).as_deref(), Some(r"p:q:r\s"));
        assert_eq!(socket("/tmp", r"*:*:a\:b:k\\l:x\").as_deref(), Some(r"x\"));
        assert_eq!(socket("/tmp", r"\*:*:a\:b:k\\l:x"), None);
        assert_eq!(socket("/tmp", r"*:*:a:b:k\\l:x"), None);
    }

    #[test]
    fn a_socket_is_localhost_and_its_directory() {
        let lines = "/tmp:*:*:*:by directory\n/srv/pg:*:*:*:by directory\nlocalhost:*:*:*:by name\n";
        assert_eq!(socket("/var/run/postgresql", lines).as_deref(), Some("by name"));
        assert_eq!(socket("/tmp", lines).as_deref(), Some("by name"));
        assert_eq!(socket("/srv/pg", lines).as_deref(), Some("by directory"));
        assert_eq!(socket("/srv/other", lines).as_deref(), Some("by name"));
        assert_eq!(socket("/srv/other", "db.example:*:*:*:x"), None);
    }
}
